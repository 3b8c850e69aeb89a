"""Kernels work without a directory to keep them in, and a terminal says when they are compiled."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from terminal import on_a_terminal

HEAD = """
import os, sys
from tanager.runtime.kernel import kernel
assert "numba" not in sys.modules
from numba.core import caching

def ensure(locator, ensure=caching._CacheLocator.ensure_cache_path):
    # As if all directories but those below the one given were read-only: the superuser may write to every one.
    if len(sys.argv) < 2 or not locator.get_cache_path().startswith(sys.argv[1]):
        raise OSError("read-only")
    ensure(locator)

caching._CacheLocator.ensure_cache_path = ensure
"""
USE = """
from tanager.counts import numba_kernels  # every decorator of it runs

@kernel
def double(x):
    return 2 * x

assert double(21) == 42
print(sum(double.stats.cache_hits.values()) if double.stats.cache_path else "no cache")
"""


def run_without_home(folder: Path, *writable: Path) -> str:
    """What the script prints in a process that has no home, and may write kernels below `writable` only."""
    script = folder / "script.py"
    script.write_text(HEAD + USE)
    ignored = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TMPDIR")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    environment["TMPDIR"] = str(temporary)
    command = [sys.executable, str(script), *map(str, writable)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout.strip()


def test_kernels_are_kept_among_temporary_files_where_no_other_directory_can_be_written(tmp_path):
    temporary = tmp_path / "temporary"
    assert run_without_home(tmp_path, temporary) == "0"
    (directory,) = temporary.iterdir()
    assert list(directory.rglob("*.nbi"))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert run_without_home(tmp_path, temporary) == "1", "loaded from there"


def test_kernels_are_compiled_without_a_cache_where_nothing_can_be_written(tmp_path):
    assert run_without_home(tmp_path) == "no cache"
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="directories have no owners")
@pytest.mark.parametrize("foreign", ["open", "link"])
def test_a_directory_that_another_user_may_have_filled_is_not_used(tmp_path, foreign):
    temporary = tmp_path / "temporary"
    assert run_without_home(tmp_path, temporary) == "0"
    (directory,) = temporary.iterdir()
    if foreign == "open":
        directory.chmod(0o777)
    else:
        directory = directory.rename(tmp_path / "elsewhere")
        (temporary / f"tanager-kernels-{os.getuid()}").symlink_to(directory)
    assert run_without_home(tmp_path, temporary) == "no cache"


def test_without_any_home_no_folder_of_that_name_is_made(tmp_path, monkeypatch):
    from tanager.runtime import kernel

    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(kernel, "_temporary_cache", lambda: None)
    monkeypatch.setattr(kernel, "_dispatchers", [])
    monkeypatch.chdir(tmp_path)

    def half(x):
        return x / 2

    assert kernel.kernel(half)(3) == 1.5
    assert list(tmp_path.iterdir()) == []


COMPILE = """
from contextlib import nullcontext
from tanager.runtime import progress
from tanager.runtime.kernel import kernel
progress.LONG = {long}

@kernel
def double(x):
    return 2 * x

@kernel
def both(x):
    return double(x) + x

with {context}:
    assert both(2) == 6
print("done")
"""
MESSAGE = "tanager: compiling kernels (first use on this machine) ..."


def test_a_terminal_says_that_kernels_are_compiled_and_the_line_is_cleared():
    out, shown = on_a_terminal(COMPILE.format(long=0.0, context="nullcontext()"))
    assert out == "done\n"
    assert shown == f"\r{MESSAGE}\r{' ' * len(MESSAGE)}\r"


def test_the_line_is_one_of_the_bar_where_there_is_one():
    _, shown = on_a_terminal(COMPILE.format(long=0.0, context='progress.working("Learning")'))
    assert "Learning" in shown
    assert MESSAGE[:30] in shown
    assert f"\r{MESSAGE}" not in shown


def test_nothing_is_said_of_short_work_or_without_a_terminal():
    assert on_a_terminal(COMPILE.format(long=60.0, context="nullcontext()")) == ("done\n", "")
    script = COMPILE.format(long=0.0, context="nullcontext()")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("done\n", "")
