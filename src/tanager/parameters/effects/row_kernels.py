"""Compiled: what rows find in the tables of blocks, what they add to cells, and their probabilities.

What belongs to rows is (n_rows, width), the width as in `block_kernels`. Loops are written out for a width of one, as
lines, since of a table of one column the compiler does not know that it is one; and for that of three or four classes:
a length that is known when a loop is compiled saves up to a third of the time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel, summing_kernel
from tanager.parameters.effects.block_kernels import LANES, Array, Cells, Shape


@kernel
def is_filled(table: Array) -> bool:
    """Whether a table (cells, width) has an entry that is not zero."""
    for i in range(len(table)):
        for c in range(table.shape[1]):
            if table[i, c] != 0.0:
                return True
    return False


@kernel
def add_tables(offsets: Shape, cells: Cells, first: int, tables: Array, scores: Array) -> None:
    """Add to scores (n, width) what n rows from the first on find in the tables (n_cells, width) of all blocks."""
    n_rows, width = scores.shape
    for b in range(len(cells)):
        table, own = tables[offsets[b] : offsets[b + 1]], cells[b, first:]
        if not is_filled(table):
            continue
        if width == 1:
            odds, line = scores.reshape(-1), table.reshape(-1)
            for i in range(n_rows):
                odds[i] += line[own[i]]
        elif width == LANES:
            for i in range(n_rows):
                cell = own[i]
                for c in range(LANES):
                    scores[i, c] += table[cell, c]
        else:
            for i in range(n_rows):
                entries, score = table[own[i]], scores[i]
                for c in range(width):
                    score[c] += entries[c]


@kernel
def row_losses(offsets: Shape, cells: Cells, classes: NDArray[np.int64], tables: Array, losses: Array) -> None:
    """- log P(class | attributes) of every row, (n_rows,), by tables (n_cells, n_classes)."""
    scores = np.zeros((len(classes), tables.shape[1]))
    add_tables(offsets, cells, 0, tables, scores)
    for i in range(len(classes)):
        top, total = scores[i].max(), 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[i, c] - top)
        losses[i] = math.log(total) + top - scores[i, classes[i]]


@kernel
def sum_cells(cells: NDArray[np.uint32], values: Array, sums: Array) -> None:
    """sums (cells, width): those of the values (n_rows, width) of the rows in each cell."""
    n_rows, width = values.shape
    sums[:] = 0.0
    if width == 1:
        # Four sums for every cell: one would wait for the addition before.
        lanes, last, line = np.zeros((len(sums), LANES)), n_rows - n_rows % LANES, values.reshape(-1)
        for i in range(0, last, LANES):
            for lane in range(LANES):
                lanes[cells[i + lane], lane] += line[i + lane]
        for i in range(last, n_rows):
            lanes[cells[i], 0] += line[i]
        for i in range(len(sums)):
            sums[i, 0] = (lanes[i, 0] + lanes[i, 1]) + (lanes[i, 2] + lanes[i, 3])
    elif width == LANES:
        for i in range(n_rows):
            cell = cells[i]
            for c in range(LANES):
                sums[cell, c] += values[i, c]
    else:
        for i in range(n_rows):
            own, entries = sums[cells[i]], values[i]
            for c in range(width):
                own[c] += entries[c]


@summing_kernel
def move_rows(
    steps: Array, cells: NDArray[np.uint32], weights: Array, p: Array, bounds: Array, moved: Array, slopes: Array
) -> float:
    """Add a block's steps (cells, width) to the scores, and to the model's slopes of them.

    Returns the model's curvature along the step; zero for two classes, whose bounds are the curvature.
    """
    n_rows, width = p.shape
    bent = 0.0
    if width == 1:
        by_cell, of_rows, line, of_slopes = steps.reshape(-1), bounds.reshape(-1), moved.reshape(-1), slopes.reshape(-1)
        for i in range(n_rows):
            step = by_cell[cells[i]]
            line[i] += step
            of_slopes[i] += of_rows[i] * step
    elif width == LANES:
        for i in range(n_rows):
            cell, weight, mean, square = cells[i], weights[i], 0.0, 0.0
            for c in range(LANES):
                mean += p[i, c] * steps[cell, c]
                square += p[i, c] * steps[cell, c] * steps[cell, c]
            for c in range(LANES):
                moved[i, c] += steps[cell, c]
                slopes[i, c] += weight * p[i, c] * (steps[cell, c] - mean)
            bent += weight * (square - mean * mean)
    else:
        for i in range(n_rows):
            cell, weight, mean, square = cells[i], weights[i], 0.0, 0.0
            for c in range(width):
                mean += p[i, c] * steps[cell, c]
                square += p[i, c] * steps[cell, c] * steps[cell, c]
            for c in range(width):
                moved[i, c] += steps[cell, c]
            for c in range(width):
                slopes[i, c] += weight * p[i, c] * (steps[cell, c] - mean)
            bent += weight * (square - mean * mean)
    return bent


@kernel
def count_cells(offsets: Shape, cells: Cells, classes: NDArray[np.int64], weights: Array, counted: Array) -> None:
    """counted (n_cells, n_classes): the weights of the rows in each cell."""
    for b in range(len(cells)):
        table, own = counted[offsets[b] :], cells[b]
        for i in range(len(classes)):
            table[own[i], classes[i]] += weights[i]


@kernel
def probabilities(scores: Array, n_odds: int, classes: NDArray[np.int64], weights: Array, p: Array) -> float:
    """The loss at scores (n_rows, width), and p (n_rows, width): of the first class of two, or of each of several."""
    loss = 0.0
    for i in range(len(scores)):
        if n_odds == 1:
            z = scores[i, 0]
            smaller = math.exp(-abs(z))
            p[i, 0] = (1.0 if z > 0.0 else smaller) / (1.0 + smaller)
            missed = abs(z) if (z > 0.0) != (classes[i] == 0) else 0.0
            loss += weights[i] * (missed + math.log1p(smaller))
        else:
            top, total = scores[i, 0], 0.0
            for c in range(1, n_odds):
                top = max(top, scores[i, c])
            for c in range(n_odds):
                p[i, c] = math.exp(scores[i, c] - top)
                total += p[i, c]
            for c in range(n_odds):
                p[i, c] /= total
            for c in range(n_odds, scores.shape[1]):
                p[i, c] = 0.0
            loss += weights[i] * (math.log(total) + top - scores[i, classes[i]])
    return loss
