"""Integer matrices declared categorical, the common form of benchmark and genetic data: whole-matrix look-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.runtime.resources import map_threads
from tanager.table.categories import NARROW_SPAN
from tanager.table.cells import CELLS_WORTH_COMPILING
from tanager.table.columns import Numbers
from tanager.table.schema import ColumnSchema

# A block of rows is read once while its codes, one byte each, stay in cache.
BLOCK_CELLS = 1 << 19


@dataclass(frozen=True)
class IntegerLookup:
    """For every column a table from value - low to code; values outside it, and gaps in it, are unseen.

    A value v of column j has code `codes[offset[j] + v - low[j]]` if 0 <= v - low[j] < span[j].
    """

    low: NDArray[np.int64]
    span: NDArray[np.int64]
    offset: NDArray[np.int64]
    codes: NDArray[np.uint32]
    missing: NDArray[np.uint32]

    @classmethod
    def of(cls, attributes: Sequence[ColumnSchema]) -> IntegerLookup | None:
        """The tables of a schema, or None where a column is not a narrow range of integers."""
        low = np.zeros(len(attributes), dtype=np.int64)
        span = np.zeros(len(attributes), dtype=np.int64)
        for j, column in enumerate(attributes):
            whole = [value for value in column.categories if type(value) is int]
            if column.kind != "categorical" or len(whole) < len(column.categories):
                return None
            if whole:
                lowest, highest = min(whole), max(whole)
                if highest - lowest >= NARROW_SPAN or highest > np.iinfo(np.int64).max:
                    return None
                low[j], span[j] = lowest, highest - lowest + 1
        offset = np.concatenate([[0], np.cumsum(span)[:-1]])
        missing = np.array([column.missing_code for column in attributes], dtype=np.uint32)
        codes = np.repeat(missing, span)
        for j, column in enumerate(attributes):
            codes[offset[j] + np.array(column.categories, dtype=np.int64) - low[j]] = range(len(column.categories))
        return cls(low, span, offset, codes, missing)

    def suits(self, matrix: Numbers) -> bool:
        """Whether the matrix is small, and its integers can be subtracted from."""
        small = matrix.size < CELLS_WORTH_COMPILING
        return small and matrix.dtype.kind in "iu" and np.can_cast(matrix.dtype, np.int64)

    def encode(self, matrix: Numbers, out: Codes) -> bool:
        """Write the codes of all rows into `out`; True if a value was unseen (its code is the missing one)."""

        def run(rows: slice) -> bool:
            return self._encode(matrix[rows], out[rows])

        return any(map_threads(run, _row_blocks(matrix)))

    def _encode(self, matrix: Numbers, out: Codes) -> bool:
        place = matrix - self.low
        known = (place >= 0) & (place < self.span)
        codes = self.codes[np.where(known, place + self.offset, 0)]
        codes = np.where(known, codes, self.missing)
        out[:] = codes
        return bool((codes == self.missing).any())


def _row_blocks(matrix: Numbers) -> list[slice]:
    rows = max(1, BLOCK_CELLS // max(1, matrix.shape[1]))
    return [slice(start, start + rows) for start in range(0, len(matrix), rows)]
