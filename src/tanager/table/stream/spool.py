"""Spool: provisional codes on disk, chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.table.stream.final_codes import RawCells
from tanager.table.stream.scratch_file import ScratchFile, check_space

CHUNK_ROWS = 1 << 18


@dataclass(frozen=True)
class Chunk:
    """Rows written together: where they begin in the file, and the dtype of each column."""

    start: int
    n_rows: int
    dtypes: tuple[np.dtype[Any], ...]

    @property
    def sizes(self) -> list[int]:
        """Bytes of each column."""
        return [self.n_rows * dtype.itemsize for dtype in self.dtypes]

    def columns(self, data: NDArray[np.uint8]) -> list[RawCells]:
        """The columns in the bytes of the chunk."""
        ends = np.cumsum(self.sizes).tolist()
        parts = zip(ends, self.sizes, self.dtypes, strict=True)
        return [data[end - size : end].view(dtype) for end, size, dtype in parts]


class Spool:
    """Columns of cells, appended batch by batch and read back chunk by chunk.

    Within a chunk a column is one run of bytes, in the dtype its cells need there.
    """

    def __init__(self) -> None:
        self._file = ScratchFile()
        self._pending: list[list[RawCells]] = []
        self._n_pending = 0
        self.chunks: list[Chunk] = []

    @property
    def n_rows(self) -> int:
        return sum(chunk.n_rows for chunk in self.chunks) + self._n_pending

    def append(self, columns: Sequence[RawCells]) -> None:
        """Add the rows of a batch, a column each."""
        if self._pending and any(
            part[-1].dtype.kind != cells.dtype.kind for part, cells in zip(self._pending, columns, strict=True)
        ):
            self.flush()
        self._pending = self._pending or [[] for _ in columns]
        for part, cells in zip(self._pending, columns, strict=True):
            part.append(cells)
        self._n_pending += len(columns[0])
        if self._n_pending >= CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what is pending as a chunk."""
        if not self._n_pending:
            return
        columns = [_widen(parts) for parts in self._pending]
        check_space(sum(part.nbytes for parts in columns for part in parts), "the codes of the next rows")
        self.chunks.append(Chunk(self._file.size, self._n_pending, tuple(parts[0].dtype for parts in columns)))
        for parts in columns:
            for part in parts:
                self._file.append(part)
        self._pending, self._n_pending = [], 0

    def read(self, chunk: Chunk) -> NDArray[np.uint8]:
        """The bytes of a chunk, mapped into memory."""
        return self._file.read(chunk.start, sum(chunk.sizes))

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()


def _widen(parts: Sequence[RawCells]) -> Sequence[RawCells]:
    """Several batches of a column in the widest of their dtypes; the largest number goes on to say missing."""
    dtype = np.result_type(*parts)
    if all(part.dtype == dtype for part in parts):
        return parts
    wide: list[RawCells] = []
    for part in parts:
        other = part.astype(dtype)
        if dtype.kind == "u":
            other[part == np.iinfo(part.dtype).max] = np.iinfo(dtype).max
        wide.append(other)
    return wide
