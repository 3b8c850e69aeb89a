"""DiskRows: the rows of a table too large for memory, in blocks; and the temporary files in which codes are kept."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import RowNumbers
from tanager.errors import MemoryLimitError
from tanager.table.rows import (
    EncodedBatch,
    Made,
    Outline,
    Outlined,
    Place,
    PreparedHere,
    Value,
    add,
    check_fits,
    join_blocks,
)
from tanager.table.stream.coder import RawCells

Change = Callable[[EncodedBatch], EncodedBatch]

CHUNK_ROWS = 1 << 18
# Bytes to which arrays are aligned that are looked at where they lie.
ALIGNMENT = 8


@dataclass(frozen=True)
class DiskRows(Outlined):
    """`Rows` on disk.

    n_states  states of each node, the class last
    source    gives the blocks as they are on disk, in their order, as often as it is called
    changes   what `map` was given, made to a block whenever it is read
    known     the outline, where it is known without looking at the rows
    mapped    the arrays of the source's blocks lie in a file and can be looked at there
    """

    n_states: tuple[int, ...]
    source: Callable[[], Iterable[EncodedBatch]]
    changes: tuple[Change, ...] = ()
    known: Outline | None = None
    mapped: bool = False

    place: ClassVar[Place] = "disk"

    @cached_property
    def outline(self) -> Outline:
        return self.known or self.sum(lambda block: block.outline)

    def blocks(self) -> Iterator[EncodedBatch]:
        return map(self._change, self.source())

    def map(self, function: Change, name: str = "map") -> DiskRows:
        """Nothing is done before the rows are asked for."""
        n_states = function(EncodedBatch.empty(self.n_states)).n_states
        return replace(self, n_states=n_states, changes=(*self.changes, function), known=None)

    def sum(self, function: Callable[[EncodedBatch], Value], name: str = "sum") -> Value:
        blocks = self.blocks()
        return reduce(add, map(function, blocks), function(next(blocks, EncodedBatch.empty(self.n_states))))

    def prepare(self, make: Callable[[list[EncodedBatch]], Made], name: str = "prepare") -> PreparedHere[Made]:
        return PreparedHere(make(list(self.kept().blocks()) or [EncodedBatch.empty(self.n_states)]))

    def take(self, numbers: RowNumbers) -> EncodedBatch:
        check_fits(len(numbers), self.n_states)
        taken, first = [], 0
        for block in self.blocks():
            low, high = np.searchsorted(numbers, [first, first + block.n_rows])
            if high > low:
                taken.append(block.take(numbers[low:high] - first))
            first += block.n_rows
        return join_blocks(taken, self.n_states)

    def kept(self) -> DiskRows:
        """Every block is written once."""
        if self.mapped and not self.changes:
            return self
        blocks = _keep_blocks(self.blocks())
        return DiskRows(self.n_states, lambda: blocks, known=self.known, mapped=True)

    def _change(self, block: EncodedBatch) -> EncodedBatch:
        for change in self.changes:
            block = change(block)
        return block


def _keep_blocks(blocks: Iterable[EncodedBatch]) -> list[EncodedBatch]:
    """Write each block, and read none back before it is asked for; blocks without a row are left out."""
    file, written = ScratchFile(), []
    try:
        for block in blocks:
            if block.n_rows:
                arrays = (np.asfortranarray(block.codes), block.class_codes, block.weights)
                stored = [None if array is None else file.append(array) for array in arrays]
                written.append((stored, block.n_states, block.incomplete))
        data = file.read()  # one mapping for all: there may be more blocks than files a process may open
    finally:
        file.close()
    kept = []
    for stored, n_states, incomplete in written:
        codes, class_codes, weights = (None if array is None else array.of(data) for array in stored)
        kept.append(EncodedBatch(codes, class_codes, n_states, incomplete, weights))  # type: ignore[arg-type]
    return kept


class Spool:
    """Columns of cells, appended batch by batch and read back chunk by chunk.

    Within a chunk a column is one run of bytes, in the widest of the dtypes that its batches have there.
    """

    def __init__(self) -> None:
        self._file = ScratchFile()
        self._pending: list[list[RawCells]] = []
        self._n_pending = 0
        self._chunks: list[list[StoredArray]] = []
        self.n_rows = 0

    def append(self, columns: Sequence[RawCells]) -> None:
        if self._pending and any(
            part[-1].dtype.kind != cells.dtype.kind for part, cells in zip(self._pending, columns, strict=True)
        ):
            self.flush()
        self._pending = self._pending or [[] for _ in columns]
        for part, cells in zip(self._pending, columns, strict=True):
            part.append(cells)
        self._n_pending += len(columns[0])
        self.n_rows += len(columns[0])
        if self._n_pending >= CHUNK_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._n_pending:
            self._chunks.append([self._file.append(np.concatenate(parts)) for parts in self._pending])
            self._pending, self._n_pending = [], 0

    def chunks(self) -> Iterator[list[RawCells]]:
        """The columns of each chunk that is written, mapped into memory."""
        for chunk in self._chunks:
            start, end = chunk[0].start, chunk[-1].end
            data = self._file.read(start, end - start)
            yield [column.of(data, start) for column in chunk]

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()


@dataclass(frozen=True)
class StoredArray:
    """Where the bytes of an array, column-major, lie in a file."""

    start: int
    end: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def of(self, data: NDArray[np.uint8], first: int = 0) -> NDArray[Any]:
        """The array, a view of the bytes of the file from the `first` on."""
        return data[self.start - first : self.end - first].view(self.dtype).reshape(self.shape, order="F")


class ScratchFile:
    """Arrays that are appended, and read by being mapped into memory."""

    def __init__(self) -> None:
        # The system keeps an unlinked file as long as this process has it open or mapped, and no longer.
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 closed by `close`
        self._size = 0

    def append(self, array: NDArray[Any]) -> StoredArray:
        """Write an array that lies in one piece, where it can be looked at without a copy."""
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < array.nbytes:
            raise no_space(array.nbytes, free)
        gap = -self._size % ALIGNMENT
        try:
            for part in (np.zeros(gap, dtype=np.uint8), array.ravel(order="K").view(np.uint8)):
                data = part.data
                while data:
                    data = data[self._file.write(data) :]
        except OSError as error:
            raise no_space(len(data), shutil.disk_usage(tempfile.gettempdir()).free) from error
        start, self._size = self._size + gap, self._size + gap + array.nbytes
        return StoredArray(start, self._size, array.dtype, array.shape)

    def read(self, start: int = 0, size: int | None = None) -> NDArray[np.uint8]:
        """Some of the bytes, or all, mapped into memory; they outlive `close`."""
        size = self._size if size is None else size
        if not size:
            return np.empty(0, dtype=np.uint8)
        # A plain array on top, and one that may be written to: kernels are compiled for those.
        return np.asarray(np.memmap(self._file, np.uint8, "r+", start, size))

    def close(self) -> None:
        """Give the disk space back, once nothing is mapped."""
        self._file.close()


def no_space(n_bytes: int, free: int) -> MemoryLimitError:
    return MemoryLimitError(
        f"the codes of the next rows take {n_bytes:,} bytes in the temporary folder {tempfile.gettempdir()!r}, which "
        f"has {free:,} left.",
        hint="name a folder with more space in the environment variable TMPDIR.",
    )
