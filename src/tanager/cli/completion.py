"""`tanager completion`: the script that lets a shell complete commands, options and their values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells that typer has a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to write it for.")]) -> None:
    """Print a script that completes commands, options and names of parts in a shell.

    Examples:

      source <(tanager completion bash)

      tanager completion zsh > ~/.zfunc/_tanager

      tanager completion fish > ~/.config/fish/completions/tanager.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print(get_completion_script(prog_name="tanager", complete_var="_TANAGER_COMPLETE", shell=shell.value))
