"""Threads, kernels and progress: what every room runs on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tanager.cli.main import run
from tanager.runtime import progress
from tanager.runtime.resources import count_threads, map_threads, thread_limit
from terminal import on_a_terminal


def test_a_limit_holds_inside_and_ends_outside():
    everywhere = count_threads()
    with thread_limit(3):
        assert count_threads() == 3
        with thread_limit(-1):
            assert count_threads() == everywhere
        assert count_threads() == 3
    assert count_threads() == everywhere


def test_no_more_threads_run_than_the_limit_allows():
    started = set()
    barrier = threading.Barrier(3)

    def work(_):
        started.add(threading.get_ident())
        barrier.wait(timeout=10)

    with thread_limit(3):
        map_threads(work, range(9))
    assert len(started) == 3


def test_threads_inside_threads_are_not_started():
    with thread_limit(2):
        assert map_threads(lambda _: count_threads(), range(4)) == [1, 1, 1, 1]


def test_an_error_in_a_thread_is_raised():
    def fail(k):
        if k == 7:
            raise KeyError(k)

    with thread_limit(2), pytest.raises(KeyError):
        map_threads(fail, range(20))


def test_callers_on_several_threads_each_get_their_own_results():
    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(lambda first: map_threads(lambda k: first + k, range(50)), range(40)))
    assert found == [[first + k for k in range(50)] for first in range(40)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    with thread_limit(3):
        map_threads(str, range(9))  # the threads of this process
        child = os.fork()
        if child == 0:
            os._exit(0 if map_threads(lambda k: k + 1, range(100)) == list(range(1, 101)) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SCRIPT = """
import sys
from tanager.runtime.kernel import kernel
assert "numba" not in sys.modules
from numba.core import caching

def refuse(locator):
    raise OSError("read-only")  # the superuser may write to every directory

caching._CacheLocator.ensure_cache_path = refuse
from tanager.counts import numba_kernels  # every decorator of it runs

@kernel
def double(x):
    return 2 * x

assert double(21) == 42
print("cache" if double.stats.cache_path else "no cache")
"""


def test_kernels_are_compiled_without_a_cache_where_nothing_can_be_written(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ignored = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert (ran.stdout, ran.stderr) == ("no cache\n", "")
    assert not list(tmp_path.rglob("*.nbi"))


def test_without_any_home_no_folder_of_that_name_is_made(tmp_path, monkeypatch):
    from tanager.runtime import kernel

    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
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


def test_a_terminal_says_once_that_kernels_are_compiled():
    out, shown = on_a_terminal(COMPILE.format(context="nullcontext()"))
    assert out == "done\n"
    assert shown.splitlines() == [MESSAGE]
    _, shown = on_a_terminal(COMPILE.format(context='progress.working("Learning")'))
    assert shown.count(MESSAGE) == 1


def test_without_a_terminal_nothing_is_said_of_kernels():
    script = COMPILE.format(context="nullcontext()")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("done\n", "")


WORK = """
import time
from tanager.runtime import progress
progress.LONG = {long}
with progress.working("Reading [b]a.csv[/b]") as update:
    for fold in range(4):
        time.sleep(0.15)
        update("Fold {{}} of 4".format(fold + 1), fold, 4)
print("done")
progress.say("said")
"""


def test_long_work_shows_a_bar_that_says_how_far_it_is():
    out, shown = on_a_terminal(WORK.format(long=0.0))
    assert out == "done\n"
    assert "Fold 4 of 4" in shown
    assert "━" in shown
    assert re.search(r"0:00:0\d.*0:00:0\d", shown), "what has passed, and what is left"
    assert "Reading [b]a.csv[/b]" in shown
    assert shown.rstrip().endswith("said")


def test_short_work_shows_nothing():
    out, shown = on_a_terminal(WORK.format(long=60.0))
    assert out == "done\n"
    assert "Fold" not in shown


def test_without_a_terminal_nothing_is_shown(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LONG", 0.0)
    with progress.working("Reading") as update:
        time.sleep(0.05)
        update("Fold 1", 0, 2)
    progress.say("said")
    assert capsys.readouterr() == ("", "")


def test_evaluate_says_every_fold(tmp_path, monkeypatch):
    said: list[tuple[str, int, int | None]] = []

    class Spy:
        def __init__(self, message: str) -> None:
            pass

        def __enter__(self):
            return lambda message, done=0, total=None: said.append((message, done, total))

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + "u,a\nv,b\n" * 10)
    monkeypatch.setattr("tanager.cli.evaluate.working", Spy)
    assert run(["evaluate", "a.csv", "--class", "y", "--folds", "3", "--json"]) == 0
    assert said == [(f"Fold {k + 1} of 3", k, 3) for k in range(3)]


FIT = """
import numpy as np
from tanager import TANClassifier
from tanager.runtime import progress
progress.LONG = 0.0
rng = np.random.default_rng(0)
X = rng.integers(0, 3, (300, 4))
y = (X[:, 0] > 0) ^ (rng.random(300) < 0.1)
TANClassifier(categorical_features="all", verbose=1).fit(X, y)
"""


def test_a_verbose_fit_shows_a_bar_and_a_few_lines_without_internals():
    _, shown = on_a_terminal(FIT)
    assert "Learning" in shown
    assert "━" in shown
    assert "Trying" not in shown
