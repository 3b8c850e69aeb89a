"""DiskRows: the rows of a table too large for memory, as blocks that come one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import EncodedBatch, PreparedHere, check_fits, join_blocks
from tanager.table.needs import Place
from tanager.table.rows import Made, Outline, Outlined, RowNumbers, Value, add
from tanager.table.stream.scratch_file import ScratchFile, check_space

Change = Callable[[EncodedBatch], EncodedBatch]
Array = NDArray[Any]


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
        """The rows in their order, block by block."""
        return map(self._change, self.source())

    def map(self, function: Change, name: str = "map") -> DiskRows:
        """Nothing is done before the rows are asked for."""
        n_states = function(EncodedBatch.empty(self.n_states)).n_states
        return replace(self, n_states=n_states, changes=(*self.changes, function), known=None)

    def sum(self, function: Callable[[EncodedBatch], Value], name: str = "sum") -> Value:
        blocks = self.blocks()
        total = function(next(blocks, EncodedBatch.empty(self.n_states)))
        for block in blocks:
            total = add(total, function(block))
        return total

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
        """Every block is written once; what is a view of arrays in a file is not written again."""
        if self.mapped and not self.changes:
            return self
        blocks = keep_blocks((self._change(block), _arrays(block) if self.mapped else ()) for block in self.source())
        return DiskRows(self.n_states, lambda: blocks, known=self.known, mapped=True)

    def _change(self, block: EncodedBatch) -> EncodedBatch:
        for change in self.changes:
            block = change(block)
        return block


def _arrays(block: EncodedBatch) -> tuple[NDArray[Any], ...]:
    arrays = (block.codes, block.class_codes)
    return arrays if block.weights is None else (*arrays, block.weights)


@dataclass(frozen=True)
class WrittenArray:
    """Where a column-major array lies in a file."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def find(self, data: NDArray[np.uint8]) -> Array:
        """The array in the bytes of the file."""
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        return data[self.start : self.start + size].view(self.dtype).reshape(self.shape, order="F")


@dataclass(frozen=True)
class WrittenBlock:
    """A block whose arrays are in a file; those that were in another already stay there."""

    arrays: tuple[Array | WrittenArray | None, ...]
    n_states: tuple[int, ...]
    incomplete: NDArray[np.bool_]

    def find(self, data: NDArray[np.uint8]) -> EncodedBatch:
        """The block in the bytes of the file."""
        found: list[Any] = [each.find(data) if isinstance(each, WrittenArray) else each for each in self.arrays]
        codes, class_codes, weights = found
        return EncodedBatch(codes, class_codes, self.n_states, self.incomplete, weights)


def keep_blocks(blocks: Iterable[tuple[EncodedBatch, Sequence[Array]]]) -> list[EncodedBatch]:
    """Write each block, and read none back before it is asked for; blocks without a row are left out.

    With a block come the arrays that are on disk already: a view of these is not written.
    """
    file = ScratchFile()
    try:
        written = [_write(block, on_disk, file) for block, on_disk in blocks if block.n_rows]
        data = file.read(0, file.size)  # one mapping for all: there may be more blocks than files a process may open
    finally:
        file.close()
    return [block.find(data) for block in written]


def _write(block: EncodedBatch, on_disk: Sequence[Array], file: ScratchFile) -> WrittenBlock:
    arrays: list[Array | WrittenArray | None] = []
    for array in (np.asfortranarray(block.codes), block.class_codes, block.weights):
        if array is None or any(np.may_share_memory(array, other) for other in on_disk):
            arrays.append(array)
            continue
        check_space(array.nbytes, "the codes")
        file.align()
        arrays.append(WrittenArray(file.append(array), array.shape, array.dtype))
    return WrittenBlock(tuple(arrays), block.n_states, block.incomplete)
