"""The passes of `CompiledPass`: look-ups, residuals, and their sums back into the tables.

A pass takes the rows first .. last of a column-major code matrix in blocks that stay in cache: the positions of all
groups, the log odds against the last class, the residuals, and these scattered to the same positions. Tables hold log
odds of every class but the last, so two classes cost one look-up and one exponential a row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.parameters.conditional.objectives import LINEAR_TO, MARGIN, ZERO_FROM
from tanager.runtime.kernel import kernel

Integers = NDArray[np.uint32]

BLOCK_ROWS = 1_024
# Normalisers of rows are multiplied up to here before a logarithm is taken: one for hundreds of rows.
LARGEST_PRODUCT = 1e250
SMALLEST = 1e-300


@kernel
def find_cells(
    codes: Codes, nodes: Integers, strides: Integers, offset: int, first: int, n_rows: int, out: Integers
) -> None:
    """The cell of each row of a block in the table of one group; a stride of zero ends the group's attributes."""
    out[:n_rows] = offset
    for m in range(len(nodes)):
        stride = strides[m]
        if stride == 0:
            break
        column = codes[first : first + n_rows, nodes[m]]
        for i in range(n_rows):
            out[i] += stride * np.uint32(column[i])


@kernel
def hinge(y: float, wrong: float, weight: float) -> tuple[float, float]:
    """The loss of a row at log odds y, and minus its derivative by log p; `wrong` is 1 - p (`objectives`)."""
    if y >= ZERO_FROM:
        return 0.0, 0.0
    if y >= LINEAR_TO:
        return weight * 0.5 * (ZERO_FROM - y) ** 2, weight * (ZERO_FROM - y) / wrong
    return weight * (1.0 - y), weight * (ZERO_FROM - LINEAR_TO) / wrong


@kernel
def pass_two_classes(
    codes: Codes,
    classes: Codes,
    weights: Array,
    nodes: Integers,
    strides: Integers,
    offsets: Integers,
    table: Array,
    gradient: Array,
    first: int,
    last: int,
    power: int,
) -> float:
    """Adds to `gradient` and returns the loss; table and gradient are (cells,), of class 0 against class 1."""
    n_groups = len(offsets)
    cells = np.empty((n_groups, BLOCK_ROWS), np.uint32)
    odds = np.empty(BLOCK_ROWS)
    loss = 0.0
    for start in range(first, last, BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, last - start)
        odds[:n_rows] = 0.0
        for g in range(n_groups):
            row = cells[g]
            find_cells(codes, nodes[g], strides[g], offsets[g], start, n_rows, row)
            for i in range(n_rows):
                odds[i] += table[row[i]]
        product = 1.0
        for i in range(n_rows):
            z = odds[i]
            weight = weights[start + i] if len(weights) else 1.0
            is_first = classes[start + i] == 0
            smaller = math.exp(-abs(z))
            p = (1.0 if z > 0.0 else smaller) / (1.0 + smaller)
            residual = p - 1.0 if is_first else p
            if power == 0:
                slope = weight
                missed = abs(z) if (z > 0.0) != is_first else 0.0
                if len(weights):
                    loss += weight * (missed + math.log1p(smaller))
                else:
                    loss += missed
                    product *= 1.0 + smaller
                    if product > LARGEST_PRODUCT:
                        loss += math.log(product)
                        product = 1.0
            elif power == MARGIN:
                distance, slope = hinge(z if is_first else -z, abs(residual), weight)
                loss += distance
            else:
                wrong = abs(residual)
                loss += weight * wrong**power
                slope = weight * power * wrong ** (power - 1) * (1.0 - wrong)
            odds[i] = slope * residual
        loss += math.log(product)
        for g in range(n_groups):
            row = cells[g]
            for i in range(n_rows):
                gradient[row[i]] += odds[i]
    return loss


@kernel
def pass_many_classes(
    codes: Codes,
    classes: Codes,
    weights: Array,
    nodes: Integers,
    strides: Integers,
    offsets: Integers,
    tables: Array,
    gradient: Array,
    first: int,
    last: int,
    power: int,
) -> float:
    """The same for any number of classes, the classes innermost: tables and gradient are (cells, n_classes - 1)."""
    n_groups, n_odds = len(offsets), tables.shape[1]
    cells = np.empty((n_groups, BLOCK_ROWS), np.uint32)
    odds = np.empty((BLOCK_ROWS, n_odds))
    loss = 0.0
    for start in range(first, last, BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, last - start)
        odds[:n_rows] = 0.0
        for g in range(n_groups):
            row = cells[g]
            find_cells(codes, nodes[g], strides[g], offsets[g], start, n_rows, row)
            for i in range(n_rows):
                # Views of one row let the compiler take several classes at once.
                sums, addends = odds[i], tables[row[i]]
                for c in range(n_odds):
                    sums[c] += addends[c]
        product = 1.0
        for i in range(n_rows):
            scores = odds[i]
            weight = weights[start + i] if len(weights) else 1.0
            y = np.int64(classes[start + i])
            top = 0.0
            for c in range(n_odds):
                top = max(top, scores[c])
            own = (scores[y] if y < n_odds else 0.0) - top
            total = math.exp(-top)
            for c in range(n_odds):
                scores[c] = math.exp(scores[c] - top)
                total += scores[c]
            if power == 0:
                slope = weight
                if len(weights):
                    loss += weight * (math.log(total) - own)
                else:
                    loss -= own
                    product *= total
                    if product > LARGEST_PRODUCT:
                        loss += math.log(product)
                        product = 1.0
            elif power == MARGIN:
                others = max(total - math.exp(own), SMALLEST)
                distance, slope = hinge(own - math.log(others), others / total, weight)
                loss += distance
            else:
                wrong = 1.0 - math.exp(own) / total
                loss += weight * wrong**power
                slope = weight * power * wrong ** (power - 1) * (1.0 - wrong)
            scale = slope / total
            for c in range(n_odds):
                scores[c] *= scale
            if y < n_odds:
                scores[y] -= slope
        loss += math.log(product)
        for g in range(n_groups):
            row = cells[g]
            for i in range(n_rows):
                sums, residuals = gradient[row[i]], odds[i]
                for c in range(n_odds):
                    sums[c] += residuals[c]
    return loss
