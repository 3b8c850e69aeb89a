"""Shell completion: a script for every shell, and the words it then asks the command for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tanager.cli.main import app, run
from tanager.structure import STRUCTURES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_is_printed_for_each_shell(shell, capsys):
    assert run(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"complete_{shell}" in out
    assert "tanager" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_itself_takes_the_script(shell, capsys, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} here.")
    run(["completion", shell])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    subprocess.run([program, "-n", str(script)], check=True, capture_output=True)


def complete(words: str, number: int) -> list[str]:
    """What bash is told when a word is to be completed."""
    question = {"_TANAGER_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run(
        [sys.executable, "-c", "from tanager.cli.main import app; app(prog_name='tanager')"],
        env={**os.environ, **question},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_names_of_parts_are_completed():
    assert set(complete("tanager ", 1)) == {command.callback.__name__ for command in app.registered_commands}
    assert complete("tanager fit --struc", 2) == ["--structure"]
    assert set(complete("tanager fit --structure ", 3)) == set(STRUCTURES)
