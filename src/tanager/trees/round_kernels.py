"""Compiled rounds of boosting: shares of classes, the tree of a class, and what it adds to other rows."""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel
from tanager.table.batch import Codes
from tanager.trees.grow_kernels import Flags, Floats, Ints, grow_tree


@kernel
def set_shares(scores: Floats, shares: Floats) -> None:
    """shares (n_classes, n_rows) of the classes by the log odds `scores` (n_classes, n_rows)."""
    n_classes, n_rows = scores.shape
    top, total = np.full(n_rows, -np.inf), np.zeros(n_rows)
    for c in range(n_classes):
        for i in range(n_rows):
            top[i] = max(top[i], scores[c, i])
    for c in range(n_classes):
        for i in range(n_rows):
            shares[c, i] = math.exp(scores[c, i] - top[i])
            total[i] += shares[c, i]
    for c in range(n_classes):
        for i in range(n_rows):
            shares[c, i] /= total[i]


@kernel
def grow_class(
    columns: Codes,
    classes: Ints,
    weights: Floats,
    number: int,
    share: Floats,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    max_attributes: int,
    rate: float,
    nodes: Ints,
    left: Flags,
    values: Floats,
    leaf_weights: Floats,
    score: Floats,
) -> int:
    """Grow the tree of a class, whose share of each row is given, and add it to the class's log odds `score` (n_rows,).

    Returns the number of splits. `values` are those of `grow_tree` times `rate`; the rest is as there.
    """
    n_rows = len(score)
    sums, leaf_of_row = np.empty((n_rows, 3)), np.empty(n_rows, np.int64)
    for i in range(n_rows):
        sums[i, 0] = weights[i] * (share[i] - (1.0 if classes[i] == number else 0.0))
        sums[i, 1] = weights[i] * share[i] * (1.0 - share[i])
        sums[i, 2] = weights[i]
    n_splits = grow_tree(columns, sums, starts, ordered, limits, max_attributes, nodes, left, values, leaf_of_row)
    for leaf in range(n_splits + 1):
        values[leaf] *= rate
    for i in range(n_rows):
        leaf_weights[leaf_of_row[i]] += weights[i]
        score[i] += values[leaf_of_row[i]]
    return n_splits


@kernel
def add_tree(codes: Codes, nodes: Ints, left: Flags, values: Floats, score: Floats) -> None:
    """Add the leaves that rows of codes (n_rows, n_attributes) end in to `score` (n_rows,)."""
    for row in range(len(codes)):
        at = 0 if len(nodes) else -1
        while at >= 0:
            at = nodes[at, 1] if left[at, codes[row, nodes[at, 0]]] else nodes[at, 2]
        score[row] += values[~at]
