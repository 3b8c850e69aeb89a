"""Where a command writes: never over a file that it reads, and over a file of another kind only by force."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tanager.errors import FileError
from tanager.files.atomic import check_writable
from tanager.files.paths import reason

HEAD_BYTES = 4096
"""By its first bytes a file is recognised."""
STDIN, STDOUT = 0, 1

AnyPath = str | os.PathLike[str]
Identity = tuple[int, int]


@dataclass(frozen=True)
class OutputKind:
    """What a command writes: its name, and whether a file already holds it, so that a new one may take its place."""

    name: str
    is_in: Callable[[Path], bool]


def begins_with(pattern: bytes) -> Callable[[Path], bool]:
    """Whether the first bytes of a file match a regular expression."""

    def is_in(file: Path) -> bool:
        with file.open("rb") as stream:
            return re.match(pattern, stream.read(HEAD_BYTES), re.DOTALL) is not None

    return is_in


def check_output(path: AnyPath, kind: OutputKind, *, reads: Iterable[AnyPath | None] = (), force: bool = False) -> None:
    """Raise now, before any work, if a command that reads `reads` should not, or could not, write `path`.

    An older file of the same kind may be replaced, and so may an empty one; any other only by force. "-" is standard
    output. Devices and pipes hold nothing that could be lost.
    """
    if os.fspath(path) != "-":
        check_writable(path)
    check_not_read(path, reads)
    file = Path(path)
    try:
        if force or os.fspath(path) == "-" or not file.is_file() or not file.stat().st_size or kind.is_in(file):
            return
    except OSError:
        pass  # what cannot be looked at may be anything
    raise FileError(
        f"cannot write {str(path)!r}: the file that is there is not {kind.name}.",
        hint="name another file, or replace this one with --force.",
    )


def make_folder(folder: Path) -> None:
    """Make a folder to write into, and those it is in, where they are not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {str(folder)!r}: {reason(error)}.") from error


def check_not_read(path: AnyPath, reads: Iterable[AnyPath | None]) -> None:
    """Raise if writing `path` would change one of `reads`: that file by any name or link, or a file in that folder."""
    touched = set(_written(path))
    for read in reads:
        if read is not None and not touched.isdisjoint(_read(read)):
            raise FileError(
                f"cannot write {str(path)!r}: that would change {str(read)!r}, which this command reads.",
                hint="name another file for the result.",
            )


def _written(path: AnyPath) -> Iterator[Identity]:
    """The file and the folders it is in; what standard output goes to."""
    if os.fspath(path) == "-":
        yield from _identity(STDOUT)
        return
    target = Path(os.path.realpath(path))
    for place in (target, *target.parents):
        yield from _identity(place)


def _read(path: AnyPath) -> Iterator[Identity]:
    """The file, or the folder and all that is in it; what standard input comes from."""
    yield from _identity(STDIN if os.fspath(path) == "-" else path)
    for file in Path(path).rglob("*") if os.path.isdir(path) else ():
        yield from _identity(file)


def _identity(path: AnyPath | int) -> Iterator[Identity]:
    """Device and number: the same for all names of a file. None for what is absent, and for devices and pipes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        yield status.st_dev, status.st_ino
