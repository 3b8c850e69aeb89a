"""Compiled: the tables of a block from its effects, and the slopes of its effects from those of its cells.

A block is a line of integers (`blocks.Blocks.shapes`). Values are stored class by class, so that every inner loop runs
over neighbouring numbers.
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


@kernel
def fill_table(shape: Shape, bases: Array, shares: Array, effects: Array, gaps: bool, table: Array) -> None:
    """table (cells,) = left basis @ effects @ right basis', of one class; with `gaps` also what missing cells expect.

    A centred block is less its mean over the rows, which the free intercept takes: so the two are apart in the Hessian.
    """
    n_left, n_right = shape[LEFT], shape[RIGHT]
    k_left, k_right = shape[LEFT_EFFECTS], shape[RIGHT_EFFECTS]
    width = n_right + shape[IS_PAIR]
    at = shape[LEFT_AT]
    for i in range(len(table)):
        table[i] = 0.0
    if not shape[IS_PAIR]:
        if at == IDENTITY:
            for i in range(n_left):
                table[i] = effects[i]
        else:
            for a in range(k_left):
                column, value = bases[at + (k_left + a) * n_left : at + (k_left + a + 1) * n_left], effects[a]
                for i in range(n_left):
                    table[i] += column[i] * value
    else:
        right = np.zeros((k_left, n_right))
        for a in range(k_left):
            own = effects[a * k_right : (a + 1) * k_right]
            if shape[RIGHT_AT] == IDENTITY:
                for j in range(n_right):
                    right[a, j] = own[j]
            else:
                for b in range(k_right):
                    first, value = shape[RIGHT_AT] + (k_right + b) * n_right, own[b]
                    for j in range(n_right):
                        right[a, j] += bases[first + j] * value
        for i in range(n_left):
            line = table[i * width : i * width + n_right]
            if at == IDENTITY:
                for j in range(n_right):
                    line[j] = right[i, j]
            else:
                for a in range(k_left):
                    value = bases[at + i * k_left + a]
                    for j in range(n_right):
                        line[j] += value * right[a, j]
    if shape[CENTRED]:
        mean, at = 0.0, shape[SHARES_AT] + 2 * shape[IS_PAIR] * n_left * n_right
        for i in range(n_left):
            for j in range(n_right):
                mean += shares[at + i * n_right + j] * table[i * width + j]
        for i in range(n_left):
            for j in range(n_right):
                table[i * width + j] -= mean
    if gaps:
        _fill_gaps(shape, shares, table)


@kernel
def _fill_gaps(shape: Shape, shares: Array, table: Array) -> None:
    """A missing cell's entry is the mean of the entries it stands for, by their shares."""
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    width, size, at = n_right + pair, n_left * n_right, shape[SHARES_AT]
    for i in range(n_left):
        for j in range(n_right):
            value, cell = table[i * width + j], at + i * n_right + j
            table[n_left * width + j] += shares[cell] * value
            if pair:
                table[i * width + n_right] += shares[size + cell] * value
                table[n_left * width + n_right] += shares[2 * size + cell] * value


@kernel
def sum_slopes(shape: Shape, bases: Array, shares: Array, table: Array, slopes: Array) -> None:
    """slopes (effects,) from those of the cells, which are used up: the transpose of `fill_table`."""
    n_left, n_right = shape[LEFT], shape[RIGHT]
    k_left, k_right = shape[LEFT_EFFECTS], shape[RIGHT_EFFECTS]
    width = n_right + shape[IS_PAIR]
    if shape[HAS_GAPS]:
        _spread_gaps(shape, shares, table)
    if shape[CENTRED]:
        total, at = 0.0, shape[SHARES_AT] + 2 * shape[IS_PAIR] * n_left * n_right
        for i in range(n_left):
            for j in range(n_right):
                total += table[i * width + j]
        for i in range(n_left):
            for j in range(n_right):
                table[i * width + j] -= shares[at + i * n_right + j] * total
    at = shape[LEFT_AT]
    for e in range(len(slopes)):
        slopes[e] = 0.0
    if not shape[IS_PAIR]:
        for i in range(n_left):
            if at == IDENTITY:
                slopes[i] = table[i]
            else:
                for a in range(k_left):
                    slopes[a] += bases[at + i * k_left + a] * table[i]
        return
    right = np.zeros((k_left, n_right))
    for i in range(n_left):
        for j in range(n_right):
            if at == IDENTITY:
                right[i, j] = table[i * width + j]
            else:
                for a in range(k_left):
                    right[a, j] += bases[at + i * k_left + a] * table[i * width + j]
    for a in range(k_left):
        own = slopes[a * k_right : (a + 1) * k_right]
        for j in range(n_right):
            if shape[RIGHT_AT] == IDENTITY:
                own[j] = right[a, j]
            else:
                for b in range(k_right):
                    own[b] += bases[shape[RIGHT_AT] + j * k_right + b] * right[a, j]


@kernel
def _spread_gaps(shape: Shape, shares: Array, table: Array) -> None:
    n_left, n_right, pair = shape[LEFT], shape[RIGHT], shape[IS_PAIR]
    width, size, at = n_right + pair, n_left * n_right, shape[SHARES_AT]
    for i in range(n_left):
        for j in range(n_right):
            cell = at + i * n_right + j
            value = shares[cell] * table[n_left * width + j]
            if pair:
                value += shares[size + cell] * table[i * width + n_right]
                value += shares[2 * size + cell] * table[n_left * width + n_right]
            table[i * width + j] += value


@kernel
def fill_tables(shapes: Shape, bases: Array, shares: Array, u: Array, tables: Array) -> None:
    """tables (n_odds, n_cells) of effects u (n_odds, n_effects), those of missing cells among them."""
    for b in range(len(shapes) - 1):
        first, last = shapes[b, EFFECTS_AT], shapes[b + 1, EFFECTS_AT]
        for c in range(len(u)):
            effects, filled = u[c, first:last], False
            for effect in effects:
                filled = filled or effect != 0.0
            if filled:
                gaps = b < len(shapes) - 2  # the intercept has none
                fill_table(
                    shapes[b], bases, shares, effects, gaps, tables[c, shapes[b, CELLS_AT] : shapes[b + 1, CELLS_AT]]
                )


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
