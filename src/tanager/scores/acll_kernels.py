"""aCLL of all pairs of attributes, both directions, and the vectorised logarithm it needs."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Ints
from tanager.counts.family import CountTable
from tanager.runtime.kernel import kernel
from tanager.scores.pair_kernels import LANES, add_row

MANTISSA_BITS = 52
BITS_OF_ROOT_HALF = int(np.array(np.sqrt(0.5)).view(np.int64))
LOG_2 = float(np.log(2.0))


@kernel
def acll_pairs(
    counts: CountTable,
    offsets: Ints,
    rows: Ints,
    columns: Ints,
    shape: tuple[int, int, int],
    beta: Array,
    pseudo_count: float,
    at_optimum: bool,
    result: Array,
) -> None:
    """Write result[i, j] and result[j, i] for every i in rows and j > i in columns; all tables have this shape.

    w and p of a cell are the same in both directions (`ACLL.weights`); only the normaliser, a sum over the child's
    states, differs. So a pair takes one lane: its cells, then the sums over j's states, then those over i's.
    """
    n_attributes = result.shape[0]
    n_classes, r_i, r_j = shape
    over_j = n_classes * r_i * r_j
    over_i = over_j + n_classes * r_i
    end = over_i + n_classes * r_j
    w = np.ones((end, LANES))
    p = np.ones((end, LANES))
    mantissas, exponents = np.empty(LANES), np.empty(LANES)
    first_cell = np.empty(LANES, np.int64)
    every_class = np.empty((2, LANES))
    sums = np.empty((3, LANES))
    for i in rows:
        for start in range(np.searchsorted(columns, i, side="right"), len(columns), LANES):
            lanes = min(LANES, len(columns) - start)
            for lane in range(lanes):
                number = i * n_attributes - i * (i + 1) // 2 + (columns[start + lane] - i - 1)
                first_cell[lane] = offsets[number]
                every_class[1, lane] = beta[number]
            w[over_j:] = 0.0
            p[over_j:] = 0.0
            for x in range(r_i):
                for y in range(r_j):
                    every_class[0] = 0.0
                    for c in range(n_classes):
                        cell = (c * r_i + x) * r_j + y
                        for lane in range(lanes):
                            w[cell, lane] = counts[first_cell[lane] + cell]
                            every_class[0, lane] += w[cell, lane]
                    for c in range(n_classes):
                        cell = (c * r_i + x) * r_j + y
                        _weigh(w, p, cell, every_class, pseudo_count, at_optimum, lanes)
                        add_row(w, over_j + c * r_i + x, cell, lanes)
                        add_row(p, over_j + c * r_i + x, cell, lanes)
                        add_row(w, over_i + c * r_j + y, cell, lanes)
                        add_row(p, over_i + c * r_j + y, cell, lanes)
            for place in range(end):
                take_logs(p, place, mantissas, exponents, lanes)
            sums[:] = 0.0
            _add_products(w, p, 0, over_j, lanes, sums, 0)
            _add_products(w, p, over_j, over_i, lanes, sums, 1)
            _add_products(w, p, over_i, end, lanes, sums, 2)
            for lane in range(lanes):
                result[i, columns[start + lane]] = sums[0, lane] - sums[1, lane]
                result[columns[start + lane], i] = sums[0, lane] - sums[2, lane]


@kernel
def _weigh(
    w: Array,
    p: Array,
    cell: int,
    every_class: Array,
    pseudo_count: float,
    at_optimum: bool,
    lanes: int,
) -> None:
    """From the counts in w[cell] to w and p; every_class holds the counts summed over the classes, and beta."""
    if at_optimum:
        for lane in range(lanes):
            w[cell, lane] += every_class[1, lane] * every_class[0, lane]
            p[cell, lane] = max(w[cell, lane], pseudo_count)
    else:
        for lane in range(lanes):
            p[cell, lane] = w[cell, lane] + pseudo_count
            w[cell, lane] += every_class[1, lane] * every_class[0, lane]


@kernel
def _add_products(
    w: Array,
    logs: Array,
    begin: int,
    end: int,
    lanes: int,
    sums: Array,
    into: int,
) -> None:
    for place in range(begin, end):
        for lane in range(lanes):
            sums[into, lane] += w[place, lane] * logs[place, lane]


@kernel
def take_logs(values: Array, row: int, mantissas: Array, exponents: Array, lanes: int) -> None:
    """Natural logarithms, in place, of values[row, :lanes], positive normal numbers; to the last bit or two.

    The library's log is a call per number. These loops have no call and no branch (division by `np.divide`, which does
    not ask for zeros), and none reads what it wrote as another type, so the compiler makes vectors of them: 1.3 ns
    instead of 3.4. x = 2^e m with sqrt(1/2) <= m < sqrt(2), and log m = 2 artanh((m-1)/(m+1)), whose series after ten
    terms leaves 1e-17.
    """
    bits = values.view(np.int64)
    bits_of_mantissas = mantissas.view(np.int64)
    for lane in range(lanes):
        exponent = (bits[row, lane] - BITS_OF_ROOT_HALF) >> MANTISSA_BITS
        bits_of_mantissas[lane] = bits[row, lane] - (exponent << MANTISSA_BITS)
        exponents[lane] = exponent
    for lane in range(lanes):
        m = mantissas[lane]
        t = np.divide(m - 1.0, m + 1.0)
        u = t * t
        series = 1.0 / 19.0
        series = series * u + 1.0 / 17.0
        series = series * u + 1.0 / 15.0
        series = series * u + 1.0 / 13.0
        series = series * u + 1.0 / 11.0
        series = series * u + 1.0 / 9.0
        series = series * u + 1.0 / 7.0
        series = series * u + 1.0 / 5.0
        series = series * u + 1.0 / 3.0
        values[row, lane] = exponents[lane] * LOG_2 + 2.0 * (t + t * u * series)
