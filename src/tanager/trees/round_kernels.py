"""Compiled rounds of boosting: shares of classes, the tree of a class, what it adds to other rows, and many rounds."""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel, kernel_part
from tanager.table.categories import Codes
from tanager.trees.grow_kernels import grow_tree, partition
from tanager.trees.split_kernels import Flags, Floats, Ints

# Gradients of a tree add up to so many units at most, and Hessians to fewer: each is half of a whole number of 64 bits.
MOST_UNITS = 1 << 30
LEAST_TOTAL = 1e-6
LEAST_SHARE = 1e-18  # of a class: from zero it could not come back
# Of a leaf: enough to come back from there. The penalty bounds no value where rows of great weight are all missed.
LARGEST_VALUE = 41.0


@kernel
def normalize(shares: Floats) -> None:
    """Make shares (n_classes, n_rows) of each row add up to one."""
    n_classes, n_rows = shares.shape
    total = np.zeros(n_rows)
    for c in range(n_classes):
        for i in range(n_rows):
            total[i] += shares[c, i]
    for c in range(n_classes):
        for i in range(n_rows):
            shares[c, i] = max(shares[c, i] / total[i], LEAST_SHARE)


@kernel_part
def rows_that_matter(classes: Ints, weights: Floats, number: int, share: Floats, trimmed: float) -> tuple[Ints, float]:
    """Rows to grow the tree of a class on, and the sum of all gradients' sizes.

    A gradient below `trimmed` times their mean hardly moves a split: all such rows together have less than that share
    of the sum, and are left out (weight trimming: Friedman, Hastie and Tibshirani 2000).
    """
    n_rows = len(share)
    sizes = np.empty(n_rows)
    total = weight = 0.0
    for i in range(n_rows):
        sizes[i] = 1.0 - share[i] if classes[i] == number else share[i]
        total += weights[i] * sizes[i]
        weight += weights[i]
    least = trimmed * total / weight
    order, n_kept = np.empty(n_rows, np.int64), 0
    for i in range(n_rows):
        order[n_kept] = i
        n_kept += sizes[i] >= least
    return order[:n_kept], total


@kernel
def grow_class(
    bins: Codes,
    classes: Ints,
    weights: Floats,
    number: int,
    share: Floats,
    asked: Ints,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    max_attributes: int,
    rate: float,
    histograms: Ints,
    nodes: Ints,
    left: Flags,
    values: Floats,
    leaf_weights: Floats,
    score: Floats,
) -> int:
    """Grow the tree of a class, whose share of each row is given, and add it to the class's log odds `score` (n_rows,).

    Returns the number of splits. The splits are those of the rows that matter, in whole units; the values are of all
    rows: - gradient / (Hessian + penalty) times `rate`. The shares are multiplied by exp(value), so that those of all
    classes need only be made to add up to one: a round computes no exponential for each row.

    limits        least Hessian of a leaf, L2 penalty on leaf values, `trimmed` of `rows_that_matter`
    values        (max_leaves,) of the leaves
    leaf_weights  (max_leaves,) of the rows in them; the rest is as in `grow_tree`
    """
    order, total = rows_that_matter(classes, weights, number, share, limits[2])
    scale = 2.0 ** math.floor(math.log2(MOST_UNITS / max(total, LEAST_TOTAL)))
    packed, leaf_of_row = np.empty(len(score), np.int64), np.full(len(score), -1)
    pack_rows(classes, weights, number, share, order, scale, packed)
    units = scale * limits[:2]
    n_splits = grow_tree(
        bins, packed, order, asked, starts, ordered, units, max_attributes, histograms, nodes, left, leaf_of_row
    )
    if len(order) < len(score):
        others = rows_without_leaf(leaf_of_row, len(score) - len(order))
        find_leaves(bins, nodes, left, n_splits, starts, others, leaf_of_row)
    set_values(classes, weights, number, share, leaf_of_row, rate, limits[1], n_splits + 1, values, leaf_weights, score)
    return n_splits


@kernel_part
def pack_rows(
    classes: Ints, weights: Floats, number: int, share: Floats, order: Ints, scale: float, packed: Ints
) -> None:
    """Gradient and Hessian of the rows of `order` in whole units, `scale` of them to one, as `grow_tree` takes them."""
    for i in order:
        gradient = share[i] - (1.0 if classes[i] == number else 0.0)
        hessian = share[i] * (1.0 - share[i])
        packed[i] = (nearest(scale * weights[i] * gradient) << 32) + nearest(scale * weights[i] * hessian)


@kernel_part
def rows_without_leaf(leaf_of_row: Ints, number: int) -> Ints:
    """The rows, so many of them, that the tree has not grown on, marked by -1."""
    found, n = np.empty(number + 1, np.int64), 0
    for i in range(len(leaf_of_row)):
        found[n] = i
        n += leaf_of_row[i] < 0
    return found[:number]


@kernel_part
def find_leaves(
    bins: Codes, nodes: Ints, left: Flags, n_splits: int, starts: Ints, order: Ints, leaf_of_row: Ints
) -> None:
    """Of the rows of `order`, which is left in another order.

    All rows of a split are parted at once: a row that walks down alone waits for every split it comes to.
    """
    begins, ends, spare = np.zeros(n_splits + 1, np.int64), np.zeros(n_splits + 1, np.int64), np.empty_like(order)
    ends[0] = len(order)
    if n_splits == 0:
        leaf_of_row[order] = 0
    for split in range(n_splits):
        attribute = nodes[split, 0]
        begin, end = begins[split], ends[split]
        middle = partition(bins, attribute, starts[attribute], left[split], order, begin, end, spare)
        for side in range(1, 3):
            child = nodes[split, side]
            first, last = (begin, middle) if side == 1 else (middle, end)
            if child >= 0:  # a later split
                begins[child], ends[child] = first, last
            else:
                for position in range(first, last):
                    leaf_of_row[order[position]] = ~child


@kernel_part
def set_values(
    classes: Ints,
    weights: Floats,
    number: int,
    share: Floats,
    leaf_of_row: Ints,
    rate: float,
    penalty: float,
    n_leaves: int,
    values: Floats,
    leaf_weights: Floats,
    score: Floats,
) -> None:
    """Values and weights of the leaves by all rows; they are added to the rows' log odds `score`, and to `share`."""
    sums, factors = np.zeros((n_leaves, 3)), np.empty(n_leaves)
    for i in range(len(score)):
        leaf = leaf_of_row[i]
        sums[leaf, 0] += weights[i] * (share[i] - (1.0 if classes[i] == number else 0.0))
        sums[leaf, 1] += weights[i] * share[i] * (1.0 - share[i])
        sums[leaf, 2] += weights[i]
    for leaf in range(n_leaves):
        value = -rate * sums[leaf, 0] / (sums[leaf, 1] + penalty)
        values[leaf] = min(max(value, -LARGEST_VALUE), LARGEST_VALUE)
        leaf_weights[leaf], factors[leaf] = sums[leaf, 2], math.exp(values[leaf])
    for i in range(len(score)):
        score[i] += values[leaf_of_row[i]]
        share[i] *= factors[leaf_of_row[i]]


@kernel_part
def nearest(value: float) -> int:
    return math.floor(value + 0.5)


@kernel_part
def mean_loss(scores: Floats, classes: Ints, weights: Floats) -> float:
    """Of - log P(class | row), from log odds (n_classes, n_rows)."""
    loss = weight = 0.0
    for i in range(scores.shape[1]):
        if len(scores) == 2:  # one exponential is enough
            odds = scores[1 - classes[i], i] - scores[classes[i], i]
            loss += weights[i] * (max(odds, 0.0) + math.log1p(math.exp(-abs(odds))))
        else:
            top, total = -np.inf, 0.0
            for c in range(len(scores)):
                top = max(top, scores[c, i])
            for c in range(len(scores)):
                total += math.exp(scores[c, i] - top)
            loss += weights[i] * (math.log(total) + top - scores[classes[i], i])
        weight += weights[i]
    return loss / weight


@kernel
def grow_rounds(
    bins: Codes,
    classes: Ints,
    weights: Floats,
    shares: Floats,
    scores: Floats,
    first_class: int,
    asked: Ints,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    max_attributes: int,
    rates: Floats,
    nodes: Ints,
    left: Flags,
    values: Floats,
    leaf_weights: Floats,
    n_splits: Ints,
) -> None:
    """Rounds of one tree for each class from `first_class` on; arrays of a tree have the axes (round, tree) before.

    asked  (n_rounds, n_asked) attributes of each round
    rates  (n_rounds,)
    """
    histograms = np.empty((values.shape[2], starts[-1]), np.int64)
    for k in range(len(rates)):
        normalize(shares)
        for tree in range(nodes.shape[1]):
            number = first_class + tree
            n_splits[k, tree] = grow_class(
                bins,
                classes,
                weights,
                number,
                shares[number],
                asked[k],
                starts,
                ordered,
                limits,
                max_attributes,
                rates[k],
                histograms,
                nodes[k, tree],
                left[k, tree],
                values[k, tree],
                leaf_weights[k, tree],
                scores[number],
            )


@kernel
def follow_rounds(
    bins: Codes,
    classes: Ints,
    weights: Floats,
    scores: Floats,
    first_class: int,
    starts: Ints,
    nodes: Ints,
    left: Flags,
    values: Floats,
    n_splits: Ints,
    losses: Floats,
) -> None:
    """Add rounds of trees to the log odds `scores` of other rows; losses (n_rounds,) are the mean ones after each."""
    order, leaf_of_row = np.empty(len(bins), np.int64), np.empty(len(bins), np.int64)
    for k in range(len(losses)):
        for tree in range(nodes.shape[1]):
            for row in range(len(bins)):
                order[row] = row
            find_leaves(bins, nodes[k, tree], left[k, tree], n_splits[k, tree], starts, order, leaf_of_row)
            score = scores[first_class + tree]
            for row in range(len(bins)):
                score[row] += values[k, tree, leaf_of_row[row]]
        losses[k] = mean_loss(scores, classes, weights)
