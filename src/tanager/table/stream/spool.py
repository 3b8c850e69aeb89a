"""Spool: encoded rows on disk, chunk by chunk. Its files have no name, so nothing is left of them after a crash."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager.errors import MemoryLimitError
from tanager.table.batch import Codes
from tanager.table.stream.final_codes import Cells

CHUNK_ROWS = 1 << 18

Number = TypeVar("Number", bound=np.number[Any])


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

    def columns(self, data: NDArray[np.uint8]) -> list[Cells]:
        """The columns in the bytes of the chunk."""
        ends = np.cumsum(self.sizes).tolist()
        parts = zip(ends, self.sizes, self.dtypes, strict=True)
        return [data[end - size : end].view(dtype) for end, size, dtype in parts]


class Spool:
    """Columns of cells, appended batch by batch and read back chunk by chunk.

    Within a chunk a column is one run of bytes, in the dtype its cells need there.
    """

    def __init__(self) -> None:
        # The system keeps an unlinked file as long as this process has it open, and no longer.
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 closed by `close`
        self._size = 0
        self._pending: list[list[Cells]] = []
        self._n_pending = 0
        self.chunks: list[Chunk] = []

    @property
    def n_rows(self) -> int:
        return sum(chunk.n_rows for chunk in self.chunks) + self._n_pending

    def append(self, columns: Sequence[Cells]) -> None:
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
        n_bytes = sum(part.nbytes for parts in columns for part in parts)
        check_space(n_bytes, "the codes of the next rows")
        self.chunks.append(Chunk(self._size, self._n_pending, tuple(parts[0].dtype for parts in columns)))
        for parts in columns:
            for part in parts:
                self._write(np.ascontiguousarray(part).view(np.uint8).data)
        self._size += n_bytes
        self._pending, self._n_pending = [], 0

    def _write(self, data: memoryview) -> None:
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise no_space(len(data), "the codes of the next rows") from error

    def read(self, chunk: Chunk) -> NDArray[np.uint8]:
        """The bytes of a chunk, mapped into memory."""
        return np.asarray(np.memmap(self._file, np.uint8, "r+", chunk.start, sum(chunk.sizes)))

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()


def mapped_array(shape: tuple[int, ...], dtype: np.dtype[Number]) -> NDArray[Number]:
    """An array in a file without a name, which goes when the array does. Its space is taken now, not at a store."""
    size = int(np.prod(shape)) * dtype.itemsize
    check_space(size, "the codes")
    with tempfile.TemporaryFile() as file:
        if size == 0:
            return np.empty(shape, dtype=dtype)
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                raise no_space(size, "the codes") from error
        # A plain array on top: kernels are compiled for those.
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))


def codes_like(codes: Codes, n_rows: int, n_columns: int, dtype: np.dtype[np.unsignedinteger]) -> Codes:
    """An empty array of codes, column-major, that is mapped into memory where `codes` are."""
    base: object = codes
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    if isinstance(base, np.memmap):
        return mapped_array((n_columns, n_rows), dtype).T
    return np.empty((n_rows, n_columns), dtype=dtype, order="F")


def check_space(n_bytes: int, what: str) -> None:
    """Refuse what would not fit on the disk with the temporary folder."""
    if shutil.disk_usage(tempfile.gettempdir()).free < n_bytes:
        raise no_space(n_bytes, what)


def no_space(n_bytes: int, what: str) -> MemoryLimitError:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    return MemoryLimitError(
        f"{what} take {n_bytes:,} bytes in the temporary folder {folder!r}, which has {free:,} left.",
        hint="name a folder with more space in the environment variable TMPDIR.",
    )


def _widen(parts: Sequence[Cells]) -> Sequence[Cells]:
    """Several batches of a column in the widest of their dtypes; the largest number goes on to say missing."""
    dtype = np.result_type(*parts)
    if all(part.dtype == dtype for part in parts):
        return parts
    wide: list[Cells] = []
    for part in parts:
        other = part.astype(dtype)
        if dtype.kind == "u":
            other[part == np.iinfo(part.dtype).max] = np.iinfo(dtype).max
        wide.append(other)
    return wide
