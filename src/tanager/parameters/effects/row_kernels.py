"""Compiled: what rows find in the tables of blocks, what they add to cells, and their probabilities.

What belongs to rows is (n_rows, width), the width as in `block_kernels`.
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
        table, own = tables[offsets[b] : offsets[b + 1]], cells[b]
        if not is_filled(table):
            continue
        if width == 1:
            for i in range(n_rows):
                scores[i, 0] += table[own[first + i], 0]
        else:
            for i in range(n_rows):
                line, score = table[own[first + i]], scores[i]
                for c in range(width):
                    score[c] += line[c]


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
        lanes, last = np.zeros((len(sums), LANES)), n_rows - n_rows % LANES
        for i in range(0, last, LANES):
            for lane in range(LANES):
                lanes[cells[i + lane], lane] += values[i + lane, 0]
        for i in range(last, n_rows):
            lanes[cells[i], 0] += values[i, 0]
        for i in range(len(sums)):
            sums[i, 0] = (lanes[i, 0] + lanes[i, 1]) + (lanes[i, 2] + lanes[i, 3])
        return
    for i in range(n_rows):
        own, line = sums[cells[i]], values[i]
        for c in range(width):
            own[c] += line[c]


@summing_kernel
def move_rows(
    steps: Array, cells: NDArray[np.uint32], weights: Array, p: Array, bounds: Array, moved: Array, slopes: Array
) -> float:
    """Add a block's steps (cells, width) to the scores, and to the model's slopes of them.

    Returns the model's curvature along the step; zero for two classes, whose bounds are the curvature.
    """
    n_rows, width = p.shape
    if width == 1:
        for i in range(n_rows):
            moved[i, 0] += steps[cells[i], 0]
            slopes[i, 0] += bounds[i, 0] * steps[cells[i], 0]
        return 0.0
    bent = 0.0
    for i in range(n_rows):
        step, own, weight = steps[cells[i]], p[i], weights[i]
        line, slope, mean, square = moved[i], slopes[i], 0.0, 0.0
        for c in range(width):
            mean += own[c] * step[c]
        for c in range(width):
            square += own[c] * step[c] * step[c]
        for c in range(width):
            line[c] += step[c]
            slope[c] += weight * own[c] * (step[c] - mean)
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
