"""Compressed files: the cells in them are counted before they are held, since few bytes may unpack to any number."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from tanager.errors import DataWarning, FileError, MemoryLimitError
from tanager.files.paths import reason
from tanager.registry import list_names
from tanager.runtime.resources import available_memory

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


BROKEN_ARCHIVE = (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError)
LONGEST_NAME = 40
"""Letters of a member's name that are kept, its end with the suffix: file systems limit the length of names."""


@contextmanager
def unzipped(archive: Path, is_table: Callable[[str], bool]) -> Iterator[Path]:
    """The path of a copy of the table in an archive, for as long as the block runs."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(archive) as files:
                member = _table(archive, files.namelist(), is_table)
                check_unpacked(files.getinfo(member).file_size, f"{str(archive)!r}")
                target = Path(folder, PurePosixPath(member).name[-LONGEST_NAME:])
                is_text = not member.lower().endswith((".parquet", ".xlsx", ".gz"))
                with files.open(member) as packed, target.open("wb") as unpacked:
                    n_bytes = 0
                    while piece := packed.read(PIECE):
                        unpacked.write(piece)
                        n_bytes += table_bytes(piece) if is_text else 0
                        check_unpacked(n_bytes, f"{str(archive)!r}")
        except BROKEN_ARCHIVE as error:
            raise FileError(
                f"{str(archive)!r} is not a complete zip archive: {reason(error)}.", hint="copy it again."
            ) from error
        except RuntimeError as error:  # what zipfile raises for an archive with a password
            raise FileError(f"cannot read {str(archive)!r}: {reason(error)}.", hint="unpack it first.") from error
        with _named(str(target), f"{archive}: {member}"):
            yield target


@contextmanager
def _named(path: str, name: str) -> Iterator[None]:
    """Name a file otherwise in what is recorded of it in the block."""
    try:
        with warnings.catch_warnings(record=True) as recorded:
            warnings.simplefilter("always", DataWarning)
            yield
    except FileError as error:
        raise FileError(str(error).replace(path, name)) from error
    for each in recorded:
        warnings.warn(str(each.message).replace(path, name), each.category, stacklevel=4)


def _table(archive: Path, names: list[str], is_table: Callable[[str], bool]) -> str:
    """The only table; what a Mac adds to an archive is none."""
    tables = [name for name in names if is_table(name) and not name.startswith("__MACOSX/")]
    if len(tables) != 1:
        held = f"{len(tables)} tables: {list_names(tables)}" if tables else f"no table, but {list_names(names)}"
        raise FileError(f"{str(archive)!r} holds {held}; expected one.", hint="unpack it, and give the table.")
    return tables[0]
