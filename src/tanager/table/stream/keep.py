"""Blocks of rows -> the same blocks with their arrays in one file that is mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import EncodedBatch
from tanager.table.stream.scratch_file import ScratchFile, check_space

Array = NDArray[Any]


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
