"""Compiled: what rows find in the tables of blocks, what they add to cells, and their probabilities.

What belongs to rows is (n_rows, width): the log odds of two classes, or a number for every class and zeros up to a
multiple of four, so that the loops over classes run in fours.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.parameters.effects.block_kernels import Array, Cells, Shape

LANES = 4


def padded(n_odds: int) -> int:
    """The width of what belongs to rows."""
    return 1 if n_odds == 1 else -(-n_odds // LANES) * LANES


@kernel
def add_tables(offsets: Shape, blocks: Shape, cells: Cells, tables: Array, scores: Array) -> None:
    """Add to scores (n_rows, width) what the rows find in the tables (n_cells, width) of these blocks."""
    n_rows, width = scores.shape
    for b in blocks:
        table, own = tables[offsets[b] :], cells[b]
        if width == 1:
            for i in range(n_rows):
                scores[i, 0] += table[own[i], 0]
        else:
            for i in range(n_rows):
                line, score = table[own[i]], scores[i]
                for c in range(0, width, LANES):
                    s0, s1, s2, s3 = score[c], score[c + 1], score[c + 2], score[c + 3]
                    t0, t1, t2, t3 = line[c], line[c + 1], line[c + 2], line[c + 3]
                    score[c], score[c + 1], score[c + 2], score[c + 3] = s0 + t0, s1 + t1, s2 + t2, s3 + t3


@kernel
def sum_cells(cells: NDArray[np.uint32], values: Array, sums: Array) -> None:
    """sums (cells, width, but at least four): those of the values (n_rows, width) of the rows in each cell."""
    n_rows, width = values.shape
    sums[:] = 0.0
    if width == 1:
        # Four sums for every cell: one would wait for the addition before.
        last = n_rows - n_rows % LANES
        for i in range(0, last, LANES):
            for lane in range(LANES):
                sums[cells[i + lane], lane] += values[i + lane, 0]
        for i in range(last, n_rows):
            sums[cells[i], 0] += values[i, 0]
        for i in range(len(sums)):
            sums[i, 0] = (sums[i, 0] + sums[i, 1]) + (sums[i, 2] + sums[i, 3])
        return
    for i in range(n_rows):
        own, line = sums[cells[i]], values[i]
        for c in range(0, width, LANES):
            s0, s1, s2, s3 = own[c], own[c + 1], own[c + 2], own[c + 3]
            v0, v1, v2, v3 = line[c], line[c + 1], line[c + 2], line[c + 3]
            own[c], own[c + 1], own[c + 2], own[c + 3] = s0 + v0, s1 + v1, s2 + v2, s3 + v3


@kernel
def move_rows(
    steps: Array, cells: NDArray[np.uint32], weights: Array, p: Array, bounds: Array, moved: Array, slopes: Array
) -> float:
    """Add a block's steps (cells, width) to the scores, and to the model's slopes of them.

    Returns the model's curvature along the step; zero for two classes, whose bounds are the curvature.
    """
    n_rows, width = p.shape
    if width == 1:
        for i in range(n_rows):
            step = steps[cells[i], 0]
            moved[i, 0] += step
            slopes[i, 0] += bounds[i, 0] * step
        return 0.0
    b0 = b1 = b2 = b3 = 0.0
    for i in range(n_rows):
        step, own, weight = steps[cells[i]], p[i], weights[i]
        m0 = m1 = m2 = m3 = 0.0
        for c in range(0, width, LANES):
            m0 += own[c] * step[c]
            m1 += own[c + 1] * step[c + 1]
            m2 += own[c + 2] * step[c + 2]
            m3 += own[c + 3] * step[c + 3]
        mean, line, slope = (m0 + m1) + (m2 + m3), moved[i], slopes[i]
        for c in range(0, width, LANES):
            d0, d1, d2, d3 = step[c], step[c + 1], step[c + 2], step[c + 3]
            g0, g1 = weight * own[c] * (d0 - mean), weight * own[c + 1] * (d1 - mean)
            g2, g3 = weight * own[c + 2] * (d2 - mean), weight * own[c + 3] * (d3 - mean)
            b0, b1, b2, b3 = b0 + g0 * d0, b1 + g1 * d1, b2 + g2 * d2, b3 + g3 * d3
            s0, s1, s2, s3 = slope[c] + g0, slope[c + 1] + g1, slope[c + 2] + g2, slope[c + 3] + g3
            d0, d1, d2, d3 = line[c] + d0, line[c + 1] + d1, line[c + 2] + d2, line[c + 3] + d3
            slope[c], slope[c + 1], slope[c + 2], slope[c + 3] = s0, s1, s2, s3
            line[c], line[c + 1], line[c + 2], line[c + 3] = d0, d1, d2, d3
    return (b0 + b1) + (b2 + b3)


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
