"""Compressed files: what is in them is counted before it is held, since a few bytes may unpack to any number."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import IO, cast

from tanager.errors import MemoryLimitError
from tanager.runtime.resources import available_memory

ALWAYS_ALLOWED = 1 << 26
"""Bytes that may be unpacked whatever the machine says of its memory."""


def check_unpacked(n_bytes: int, where: str) -> None:
    """Refuse what would take more than half of the memory left: a table needs more than its text."""
    limit = max(ALWAYS_ALLOWED, available_memory() // 2)
    if n_bytes > limit:
        raise MemoryLimitError(
            f"{where} unpacks to more than {limit / 2**30:.1f} GiB, half of the memory that is left.",
            hint="if that is right, unpack it and convert it to Parquet, which is read batch by batch.",
        )


def open_text(file: Path) -> IO[bytes]:
    """The bytes of a text file, decompressed if its name ends in .gz."""
    if not file.name.lower().endswith(".gz"):
        return file.open("rb")
    return cast(IO[bytes], io.BufferedReader(_Counted(file)))


class _Counted(io.RawIOBase):
    """What gzip unpacks, as far as it fits in memory."""

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
        self._n_bytes += n_bytes
        if self._n_bytes > self._next_check:
            check_unpacked(self._n_bytes, self._where)
            self._next_check = self._n_bytes + ALWAYS_ALLOWED
        return n_bytes

    def close(self) -> None:
        self._unpacked.close()
        super().close()
