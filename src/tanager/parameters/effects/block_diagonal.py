"""A sparse matrix of blocks along its diagonal, put together at once: scipy's takes far longer for many small ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class BlockDiagonal:
    """Blocks are added one after another, entry by entry."""

    def __init__(self) -> None:
        self._rows: list[Index] = []
        self._columns: list[Index] = []
        self._values: list[Array] = []
        self._corner = self._shape = (0, 0)

    def begin(self, n_rows: int, n_columns: int) -> None:
        """The entries that are added next are of one more block."""
        self._corner = self._shape
        self._shape = (self._shape[0] + n_rows, self._shape[1] + n_columns)

    def add(self, rows: Index, columns: Index, values: Array) -> None:
        """Entries of the block: arrays that are broadcast against each other."""
        rows, columns, values = np.broadcast_arrays(rows + self._corner[0], columns + self._corner[1], values)
        self._rows.append(rows.reshape(-1))
        self._columns.append(columns.reshape(-1))
        self._values.append(values.reshape(-1))

    def add_identity(self, size: int) -> None:
        """A whole block."""
        self.begin(size, size)
        each = np.arange(size)
        self.add(each, each, np.ones(size))

    def matrix(self) -> sparse.csr_array:
        at = (np.concatenate(self._rows), np.concatenate(self._columns))
        return sparse.csr_array((np.concatenate(self._values), at), shape=self._shape)
