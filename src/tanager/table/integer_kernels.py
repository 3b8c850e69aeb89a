"""Kernels over integer matrices, row by row: a row-major matrix is read in the order it lies in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes


@kernel
def column_bounds(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """(2, n_columns): smallest and largest value of each column."""
    bounds = np.empty((2, matrix.shape[1]), np.int64)
    bounds[0] = matrix[0]
    bounds[1] = matrix[0]
    for i in range(1, matrix.shape[0]):
        for j in range(matrix.shape[1]):
            bounds[0, j] = min(bounds[0, j], matrix[i, j])
            bounds[1, j] = max(bounds[1, j], matrix[i, j])
    return bounds


@kernel
def mark_present(matrix: NDArray[np.int64], shift: NDArray[np.int64], present: NDArray[np.bool_]) -> None:
    """Set `present[shift[j] + value]` for every cell."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            present[shift[j] + matrix[i, j]] = True


@kernel
def encode_integers(
    matrix: NDArray[np.int64],
    low: NDArray[np.int64],
    span: NDArray[np.int64],
    offset: NDArray[np.int64],
    codes: NDArray[np.uint32],
    missing: NDArray[np.uint32],
    out: Codes,
) -> bool:
    """See `IntegerLookup`. `out` is column-major: a block of rows of it stays in cache while it is filled."""
    unseen = False
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            place = matrix[i, j] - low[j]
            code = missing[j]
            # A negative place is a huge unsigned one: one comparison checks both ends.
            if np.uint64(place) < np.uint64(span[j]):
                code = codes[offset[j] + place]
            unseen |= code == missing[j]
            out[i, j] = code
    return unseen
