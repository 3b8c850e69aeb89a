"""Compiled: the tables of a block from its effects, and the slopes of its effects from those of its cells.

A block is a line of integers (`blocks.Blocks.shapes`). Values are (effects, cells or rows; width): the log odds of two
classes, or a number for every class and zeros up to a multiple of four, so that loops over classes run in fours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel

Array = NDArray[np.float64]
Shape = NDArray[np.int64]
Cells = NDArray[np.uint32]

# Entries of a line of `shapes`.
(
    LEFT,
    RIGHT,
    LEFT_EFFECTS,
    RIGHT_EFFECTS,
    IS_PAIR,
    LEFT_AT,
    RIGHT_AT,
    EFFECTS_AT,
    CELLS_AT,
    SHARES_AT,
    HAS_GAPS,
    CENTRED,
) = range(12)
IDENTITY = -1
LANES = 4
MAX_LANES = 32
LINES = 4


def padded(n_odds: int) -> int:
    """The width."""
    return 1 if n_odds == 1 else -(-n_odds // LANES) * LANES


@kernel
def add_product(bases: Array, at: int, values: Array, out: Array) -> None:
    """out (n, width) += B^T values, B the (m, n) matrix that begins `at` a place of the bases, values (m, width)."""
    m, width = values.shape
    n = len(out)
    if width > MAX_LANES:
        for i in range(m):
            for j in range(n):
                b, own, value = bases[at + i * n + j], out[j], values[i]
                for c in range(width):
                    own[c] += b * value[c]
        return
    # A plane for every class, so that the loop over j runs along memory; four lines at once, since one would spend its
    # time on loading and storing the sums. The log odds of two classes are such a plane already.
    planes, last = out.reshape(1, n) if width == 1 else np.zeros((width, n)), m - m % LINES
    for i in range(0, last, LINES):
        four = bases[at + i * n : at + (i + LINES) * n]
        for c in range(width):
            v0, v1, v2, v3, own = values[i, c], values[i + 1, c], values[i + 2, c], values[i + 3, c], planes[c]
            for j in range(n):
                own[j] += (four[j] * v0 + four[n + j] * v1) + (four[2 * n + j] * v2 + four[3 * n + j] * v3)
    for i in range(last, m):
        line = bases[at + i * n : at + (i + 1) * n]
        for c in range(width):
            value_of_class, own = values[i, c], planes[c]
            for j in range(n):
                own[j] += line[j] * value_of_class
    if width > 1:
        for j in range(n):
            for c in range(width):
                out[j, c] += planes[c, j]


@kernel
def add(values: Array, out: Array) -> None:
    """Add to the first lines of `out`; a slice would compile for long."""
    for i in range(len(values)):
        for c in range(values.shape[1]):
            out[i, c] += values[i, c]


@kernel
def fill_table(shape: Shape, bases: Array, shares: Array, effects: Array, gaps: bool, table: Array) -> None:
    """table (cells, width) = left basis @ effects @ right basis'; with `gaps` also what missing cells expect.

    A centred block is less its mean over the rows, which the free intercept takes: so the two are apart in the Hessian.
    """
    n_left, n_right, width = shape[LEFT], shape[RIGHT], effects.shape[1]
    k_left, k_right = shape[LEFT_EFFECTS], shape[RIGHT_EFFECTS]
    line = (n_right + shape[IS_PAIR]) * width  # of the table, one for each left state
    flat, of_effects, at = table.reshape(-1), effects.reshape(-1), shape[LEFT_AT]
    flat[:] = 0.0
    if not shape[IS_PAIR]:
        if at == IDENTITY:
            add(effects, table)
        else:
            add_product(bases, at + k_left * n_left, effects, table[:n_left])
    elif at == IDENTITY and shape[RIGHT_AT] == IDENTITY:
        for i in range(n_left):
            for j in range(n_right * width):
                flat[i * line + j] = of_effects[i * n_right * width + j]
    else:
        right = np.zeros((k_left, n_right * width))
        for a in range(k_left):
            own, out = effects[a * k_right : (a + 1) * k_right], right[a].reshape(n_right, width)
            if shape[RIGHT_AT] == IDENTITY:
                add(own, out)
            else:
                add_product(bases, shape[RIGHT_AT] + k_right * n_right, own, out)
        both = right
        if at != IDENTITY:
            both = np.zeros((n_left, n_right * width))
            add_product(bases, at + k_left * n_left, right, both)
        for i in range(n_left):
            for j in range(n_right * width):
                flat[i * line + j] = both[i, j]
    if shape[CENTRED]:
        _center(shape, shares, table)
    if gaps:
        _fill_gaps(shape, shares, table)


@kernel
def _center(shape: Shape, shares: Array, table: Array) -> None:
    """Take the mean over the rows from every cell."""
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    at, across = shape[SHARES_AT] + 2 * pair * n_left * n_right, n_right + pair
    for c in range(table.shape[1]):
        mean = 0.0
        for i in range(n_left):
            for j in range(n_right):
                mean += shares[at + i * n_right + j] * table[i * across + j, c]
        for i in range(n_left):
            for j in range(n_right):
                table[i * across + j, c] -= mean


@kernel
def _fill_gaps(shape: Shape, shares: Array, table: Array) -> None:
    """A missing cell's entry is the mean of the entries it stands for, by their shares."""
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    across, size, at = n_right + pair, n_left * n_right, shape[SHARES_AT]
    for i in range(n_left):
        for j in range(n_right):
            cell = at + i * n_right + j
            for c in range(table.shape[1]):
                value = table[i * across + j, c]
                table[n_left * across + j, c] += shares[cell] * value
                if pair:
                    table[i * across + n_right, c] += shares[size + cell] * value
                    table[n_left * across + n_right, c] += shares[2 * size + cell] * value


@kernel
def sum_slopes(shape: Shape, bases: Array, shares: Array, table: Array, slopes: Array) -> None:
    """slopes (effects, width) from those of the cells, which are used up: the transpose of `fill_table`."""
    n_left, n_right, width = shape[LEFT], shape[RIGHT], slopes.shape[1]
    k_left, k_right = shape[LEFT_EFFECTS], shape[RIGHT_EFFECTS]
    line = (n_right + shape[IS_PAIR]) * width
    flat, at = table.reshape(-1), shape[LEFT_AT]
    if shape[HAS_GAPS]:
        _spread_gaps(shape, shares, table)
    if shape[CENTRED]:
        _spread_mean(shape, shares, table)
    slopes[:] = 0.0
    if not shape[IS_PAIR]:
        if at == IDENTITY:
            add(table[:n_left], slopes)
        else:
            add_product(bases, at, table[:n_left], slopes)
        return
    if at == IDENTITY and shape[RIGHT_AT] == IDENTITY:
        of_slopes = slopes.reshape(-1)
        for i in range(n_left):
            for j in range(n_right * width):
                of_slopes[i * n_right * width + j] = flat[i * line + j]
        return
    both = np.empty((n_left, n_right * width))
    for i in range(n_left):
        for j in range(n_right * width):
            both[i, j] = flat[i * line + j]
    right = both
    if at != IDENTITY:
        right = np.zeros((k_left, n_right * width))
        add_product(bases, at, both, right)
    for a in range(k_left):
        own, by_state = slopes[a * k_right : (a + 1) * k_right], right[a].reshape(n_right, width)
        if shape[RIGHT_AT] == IDENTITY:
            add(by_state, own)
        else:
            add_product(bases, shape[RIGHT_AT], by_state, own)


@kernel
def _spread_mean(shape: Shape, shares: Array, table: Array) -> None:
    """The transpose of `_center`."""
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    at, across = shape[SHARES_AT] + 2 * pair * n_left * n_right, n_right + pair
    for c in range(table.shape[1]):
        total = 0.0
        for i in range(n_left):
            for j in range(n_right):
                total += table[i * across + j, c]
        for i in range(n_left):
            for j in range(n_right):
                table[i * across + j, c] -= shares[at + i * n_right + j] * total


@kernel
def _spread_gaps(shape: Shape, shares: Array, table: Array) -> None:
    """The transpose of `_fill_gaps`."""
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    across, size, at = n_right + pair, n_left * n_right, shape[SHARES_AT]
    for i in range(n_left):
        for j in range(n_right):
            cell = at + i * n_right + j
            for c in range(table.shape[1]):
                value = shares[cell] * table[n_left * across + j, c]
                if pair:
                    value += shares[size + cell] * table[i * across + n_right, c]
                    value += shares[2 * size + cell] * table[n_left * across + n_right, c]
                table[i * across + j, c] += value


@kernel
def fill_tables(shapes: Shape, bases: Array, shares: Array, u: Array, tables: Array) -> None:
    """tables (n_cells, width) of effects u (n_effects, width), those of missing cells among them."""
    for b in range(len(shapes) - 1):
        effects, filled = u[shapes[b, EFFECTS_AT] : shapes[b + 1, EFFECTS_AT]], False
        for e in range(len(effects)):
            for c in range(effects.shape[1]):
                filled = filled or effects[e, c] != 0.0
        if filled:
            gaps = b < len(shapes) - 2  # the intercept has none
            fill_table(shapes[b], bases, shares, effects, gaps, tables[shapes[b, CELLS_AT] : shapes[b + 1, CELLS_AT]])


@kernel
def fill_shares(shapes: Shape, rows: Array, shares: Array) -> None:
    """shares of `Blocks` from rows (n_cells,); where there are none beside a state, those of all; equal for no row."""
    for b in range(len(shapes) - 2):
        n_left, n_right, pair = shapes[b, LEFT], shapes[b, RIGHT], shapes[b, IS_PAIR]
        size, width = n_left * n_right, n_right + pair
        table, out = rows[shapes[b, CELLS_AT] :], shares[shapes[b, SHARES_AT] :]
        left, right = np.zeros(n_left), np.zeros(n_right)
        for i in range(n_left):
            for j in range(n_right):
                left[i] += table[i * width + j]
                right[j] += table[i * width + j]
        total = 0.0
        for i in range(n_left):
            total += left[i]
        for i in range(n_left):
            for j in range(n_right):
                cell, own = i * n_right + j, table[i * width + j]
                share_left = left[i] / total if total > 0.0 else 1.0 / n_left
                share_right = right[j] / total if total > 0.0 else 1.0 / n_right
                out[cell] = own / right[j] if right[j] > 0.0 else share_left
                if pair:
                    out[size + cell] = own / left[i] if left[i] > 0.0 else share_right
                    out[2 * size + cell] = own / total if total > 0.0 else 1.0 / size


@kernel
def fill_squared_means(shapes: Shape, bases: Array, shares: Array, squared_means: Array) -> None:
    """squared_means (n_effects,) of `Blocks` from its shares."""
    for b in range(len(shapes) - 2):
        if not shapes[b, CENTRED]:
            continue
        n_left, n_right, pair, alone = shapes[b, LEFT], shapes[b, RIGHT], shapes[b, IS_PAIR], shapes[b].copy()
        at, across = shapes[b, SHARES_AT] + 2 * pair * n_left * n_right, n_right + pair
        alone[CENTRED], alone[HAS_GAPS] = 0, 0
        table = np.zeros((shapes[b + 1, CELLS_AT] - shapes[b, CELLS_AT], 1))
        for i in range(n_left):
            for j in range(n_right):
                table[i * across + j, 0] = shares[at + i * n_right + j]
        means = squared_means[shapes[b, EFFECTS_AT] : shapes[b + 1, EFFECTS_AT]].reshape(-1, 1)
        sum_slopes(alone, bases, shares, table, means)
        for e in range(len(means)):
            means[e, 0] *= means[e, 0]
