"""Atomic writes: a file is either replaced as a whole or left as it was."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tanager.errors import FileError
from tanager.files.paths import reason


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later: called before long work, so that no work is lost."""
    target = _target(path)
    try:
        if _is_special(target):
            # Not opened: whoever reads a pipe would take its closing for the end.
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with suppress(FileNotFoundError):
            target.lstat()  # a name too long for the file system is told of here
        # An unnamed file: it proves that the folder takes files and leaves nothing behind.
        with tempfile.TemporaryFile(dir=target.parent):
            return
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends without an error, all at once.

    They go to a temporary file in the same folder, which then takes the place of the old one; a link keeps pointing
    to its target, and an existing file keeps its permissions. A device or a pipe has no place to take and is written
    directly.
    """
    target = _target(path)
    if _is_special(target):
        try:
            with target.open("wb") as stream:
                yield stream
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    # A short name of its own: beside a long one there would be no room for more.
    temporary = target.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        with _create_like(target, temporary) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def _create_like(target: Path, temporary: Path) -> BinaryIO:
    """A new file with the permissions of the one whose place it takes, from its first byte on."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return temporary.open("xb")
    stream = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115
    temporary.chmod(mode)
    return stream


def _target(path: str | os.PathLike[str]) -> Path:
    """The file to write, links followed; a folder or an impossible name is refused."""
    try:
        # What /dev/stdout leads to may be a pipe, which has no path of its own.
        target = Path(path) if _is_special(Path(path)) else Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(f"cannot write {str(path)!r}: it is a folder.", hint="name a file inside it.")
        if not target.parent.is_dir():
            raise FileError(f"cannot write {str(path)!r}: its folder {str(target.parent)!r} does not exist.")
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise _cannot_write(path, error) from error
    return target


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


def _cannot_write(path: str | os.PathLike[str], error: Exception) -> FileError:
    return FileError(f"cannot write {str(path)!r}: {reason(error)}.")
