"""Compiled: what rows find in the tables of blocks, their probabilities, and counts of their cells."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.parameters.effects.block_kernels import Array, Cells, Shape


@kernel
def add_tables(offsets: Shape, blocks: Shape, cells: Cells, tables: Array, scores: Array) -> None:
    """Add to scores (n_odds, n_rows) what the rows find in the tables (n_odds, n_cells) of these blocks."""
    for c in range(len(scores)):
        line = scores[c]
        for b in blocks:
            table, own = tables[c, offsets[b] :], cells[b]
            for i in range(len(line)):
                line[i] += table[own[i]]


@kernel
def count_cells(offsets: Shape, cells: Cells, classes: NDArray[np.int64], weights: Array, counted: Array) -> None:
    """counted (n_cells, n_classes): the weights of the rows in each cell."""
    for b in range(len(cells)):
        table, own = counted[offsets[b] :], cells[b]
        for i in range(len(classes)):
            table[own[i], classes[i]] += weights[i]


@kernel
def probabilities(scores: Array, classes: NDArray[np.int64], weights: Array, p: Array) -> float:
    """The loss at scores (n_odds, n_rows), and p (n_odds, n_rows): of the first class of two, or of each of several."""
    n_odds, n_rows = scores.shape
    loss = 0.0
    if n_odds == 1:
        for i in range(n_rows):
            z = scores[0, i]
            smaller = math.exp(-abs(z))
            p[0, i] = (1.0 if z > 0.0 else smaller) / (1.0 + smaller)
            missed = abs(z) if (z > 0.0) != (classes[i] == 0) else 0.0
            loss += weights[i] * (missed + math.log1p(smaller))
        return loss
    top, total = np.full(n_rows, -np.inf), np.zeros(n_rows)
    for c in range(n_odds):
        for i in range(n_rows):
            top[i] = max(top[i], scores[c, i])
    for c in range(n_odds):
        for i in range(n_rows):
            p[c, i] = math.exp(scores[c, i] - top[i])
            total[i] += p[c, i]
    for i in range(n_rows):
        loss += weights[i] * (math.log(total[i]) + top[i] - scores[classes[i], i])
        total[i] = 1.0 / total[i]
    for c in range(n_odds):
        for i in range(n_rows):
            p[c, i] *= total[i]
    return loss
