"""All pair tables in one compiled pass: sums of tabulated functions over their margins."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Ints
from tanager.counts.family import CountTable
from tanager.runtime.kernel import kernel

# Pairs worked on side by side, one per column of a buffer, so that the compiler makes vectors of the inner loops.
LANES = 64


@kernel
def look_up_pairs(
    counts: CountTable,
    offsets: Ints,
    rows: Ints,
    columns: Ints,
    shape: tuple[int, int, int],
    functions: Array,
    used: Ints,
    result: Array,
) -> None:
    """Write result[i, j] and result[j, i] for every i in rows and j > i in columns; all tables have this shape.

    counts are integers. functions (n_used, largest count + 1, 2) for the directions i -> j and j -> i; used (8,) is the
    place there of each of `margins.STORED_MARGINS`, or -1.
    """
    n_attributes = result.shape[0]
    n_classes, r_i, r_j = shape
    # Where each margin begins in a lane: cells, ci, cj, ij, i, j, c, total.
    ci = n_classes * r_i * r_j
    cj = ci + n_classes * r_i
    ij = cj + n_classes * r_j
    i_ = ij + r_i * r_j
    j_ = i_ + r_i
    c_ = j_ + r_j
    total = c_ + n_classes
    begins = (0, ci, cj, ij, i_, j_, c_, total, total + 1)
    margins = np.empty((total + 1, LANES), np.int64)
    first_cell = np.empty(LANES, np.int64)
    sums = np.empty((2, LANES))
    for i in rows:
        for start in range(np.searchsorted(columns, i, side="right"), len(columns), LANES):
            lanes = min(LANES, len(columns) - start)
            for lane in range(lanes):
                first_cell[lane] = offsets[i * n_attributes - i * (i + 1) // 2 + (columns[start + lane] - i - 1)]
            margins[ci:] = 0
            for c in range(n_classes):
                for x in range(r_i):
                    for y in range(r_j):
                        cell = (c * r_i + x) * r_j + y
                        for lane in range(lanes):
                            margins[cell, lane] = counts[first_cell[lane] + cell]
                        add_row(margins, ci + c * r_i + x, cell, lanes)
                        add_row(margins, cj + c * r_j + y, cell, lanes)
                        add_row(margins, ij + x * r_j + y, cell, lanes)
                    add_row(margins, i_ + x, ci + c * r_i + x, lanes)
                for y in range(r_j):
                    add_row(margins, j_ + y, cj + c * r_j + y, lanes)
                    add_row(margins, c_ + c, cj + c * r_j + y, lanes)
                add_row(margins, total, c_ + c, lanes)
            sums[:] = 0.0
            for margin in range(8):
                if used[margin] >= 0:
                    _look_up(functions, used[margin], margins, begins[margin], begins[margin + 1], lanes, sums)
            for lane in range(lanes):
                result[i, columns[start + lane]] = sums[0, lane]
                result[columns[start + lane], i] = sums[1, lane]


@kernel
def add_row(buffer: Ints | Array, into: int, row: int, lanes: int) -> None:
    # One sum per loop: the compiler checks two rows for overlap, but gives up on four.
    for lane in range(lanes):
        buffer[into, lane] += buffer[row, lane]


@kernel
def _look_up(
    functions: Array,
    function: int,
    margins: Ints,
    begin: int,
    end: int,
    lanes: int,
    sums: Array,
) -> None:
    for place in range(begin, end):
        for lane in range(lanes):
            # Both directions lie side by side, so the second look-up finds the line in the cache.
            sums[0, lane] += functions[function, margins[place, lane], 0]
            sums[1, lane] += functions[function, margins[place, lane], 1]
