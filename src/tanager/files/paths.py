"""Paths of files to read and to write: checked before any work, and written all at once.

A command never writes over a file that it reads, and over a file of another kind only by force. The cells of a
compressed file are counted before they are held, since few bytes may unpack to any number.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from tanager.errors import FileError, MemoryLimitError
from tanager.runtime.resources import available_memory

AnyPath = str | os.PathLike[str]


def check_readable(path: AnyPath) -> Path:
    """The path of a file that exists and can be opened; otherwise an error names the reason.

    A pipe is not opened: it can be read once.
    """
    file = Path(path)
    with _faults(path, "read", (OSError, ValueError)):
        if file.is_dir():
            raise FileError(f"{str(file)!r} is a folder, not a file.")
        if not file.exists() or file.is_file():
            file.open("rb").close()
    return file


@contextmanager
def _faults(path: AnyPath, action: str, kinds: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Say why a file cannot be read, or written; of a null character in its path the system says a ValueError."""
    try:
        yield
    except FileError:
        raise
    except kinds as error:
        raise FileError(f"cannot {action} {str(path)!r}: {reason(error)}.") from error


def check_regular(path: AnyPath) -> Path:
    """As `check_readable`, for a file that is read more than once: a pipe can be read once, and may never end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise FileError(f"{str(path)!r} is no regular file.", hint="give CSV on standard input, as '-'.")
    return check_readable(path)


def reason(error: Exception) -> str:
    """Why a file operation failed, in the system's words and without the path."""
    return (getattr(error, "strerror", None) or str(error)).strip().rstrip(".").lower()


def check_writable(path: AnyPath) -> None:
    """Raise now if `path` could not be written later: called before long work, so that no work is lost."""
    target = _target(path)
    with _faults(path, "write"):
        if _is_special(target):
            # Not opened: whoever reads a pipe would take its closing for the end.
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        with suppress(FileNotFoundError):
            target.lstat()  # a name too long for the file system is told of here
        # An unnamed file: it proves that the folder takes files and leaves nothing behind.
        tempfile.TemporaryFile(dir=target.parent).close()


@contextmanager
def atomic_write(path: AnyPath) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends without an error, all at once.

    They go to a temporary file in the same folder, which then takes the place of the old one; a link keeps pointing
    to its target, and an existing file keeps its permissions. A device or a pipe has no place to take and is written
    directly.
    """
    target = _target(path)
    with _faults(path, "write"):
        if _is_special(target):
            with target.open("wb") as stream:
                yield stream
            return
        # A short name of its own: beside a long one there would be no room for more.
        temporary = target.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            # The permissions of the file whose place it takes, from its first byte on.
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
            opener = None if mode is None else lambda path, flags: os.open(path, flags, 0o600)
            with open(temporary, "xb", opener=opener) as stream:
                if mode is not None:
                    temporary.chmod(mode)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def _target(path: AnyPath) -> Path:
    """The file to write, links followed; a folder is refused."""
    with _faults(path, "write", (OSError, ValueError)):
        # What /dev/stdout leads to may be a pipe, which has no path of its own.
        target = Path(path) if _is_special(Path(path)) else Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(f"cannot write {str(path)!r}: it is a folder.", hint="name a file inside it.")
        if not target.parent.is_dir():
            raise FileError(f"cannot write {str(path)!r}: its folder {str(target.parent)!r} does not exist.")
        return target


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


HEAD_BYTES = 4096
"""Bytes at the beginning of a file by which its kind is recognised."""
STDIN, STDOUT = 0, 1


@dataclass(frozen=True)
class OutputKind:
    """A kind of file that a command writes: its name, and whether a file is of that kind and may be replaced."""

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
    with _faults(folder, "make the folder"):
        folder.mkdir(parents=True, exist_ok=True)


def check_not_read(path: AnyPath, reads: Iterable[AnyPath | None]) -> None:
    """Raise if writing `path` would change one of `reads`: that file by any name or link, or a file in that folder."""
    target = Path(os.path.realpath(path))
    touched = _identities(STDOUT) if os.fspath(path) == "-" else _identities(target, *target.parents)
    for read in reads:
        inside = Path(read).rglob("*") if read is not None and os.path.isdir(read) else ()
        if read is not None and touched & _identities(STDIN if os.fspath(read) == "-" else read, *inside):
            raise FileError(
                f"cannot write {str(path)!r}: that would change {str(read)!r}, which this command reads.",
                hint="name another file for the result.",
            )


def _identities(*places: AnyPath | int) -> set[tuple[int, int]]:
    """Device and number, the same for all names of a file, of those that are there and neither device nor pipe."""
    found = set()
    for place in places:
        with suppress(OSError, ValueError):
            status = os.stat(place)
            if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                found.add((status.st_dev, status.st_ino))
    return found


ALWAYS_ALLOWED = 1 << 26
"""Bytes that may be unpacked however little memory the machine has."""
PIECE = 1 << 20
NUMBER_BYTES = 8
SEPARATORS = b",;\t\n"


def table_bytes(text: bytes | memoryview) -> int:
    """The memory in bytes that a table takes by its text: its letters, and a number for every cell."""
    piece = bytes(text)
    return len(piece) + NUMBER_BYTES * (len(piece) - len(piece.translate(None, SEPARATORS)))


def check_unpacked(n_bytes: int, where: str) -> None:
    """Refuse what would take more than half of the memory left: work on a table needs more than the table."""
    limit = max(ALWAYS_ALLOWED, available_memory() // 2)
    if n_bytes > limit:
        raise MemoryLimitError(
            f"{where} unpacks to a table of more than {limit / 2**30:.1f} GiB, half of the memory that is left.",
            hint="if that is right, unpack it and convert it to Parquet, which is read batch by batch.",
        )


def open_text(file: Path) -> IO[bytes]:
    """The bytes of a text file, decompressed if its name ends in .gz."""
    if not file.name.lower().endswith(".gz"):
        return file.open("rb")
    return cast(IO[bytes], io.BufferedReader(_Counted(file)))


class _Counted(io.RawIOBase):
    """The bytes that gzip unpacks; more than fits in memory is refused."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._where = f"file {str(file)!r}"
        self._unpacked = gzip.GzipFile(file, "rb")
        self._n_bytes = 0
        self._next_check = ALWAYS_ALLOWED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        n_bytes = self._unpacked.readinto(buffer)
        self._n_bytes += table_bytes(buffer[:n_bytes])
        if self._n_bytes > self._next_check:
            check_unpacked(self._n_bytes, self._where)
            self._next_check = self._n_bytes + ALWAYS_ALLOWED
        return n_bytes

    def close(self) -> None:
        self._unpacked.close()
        super().close()
