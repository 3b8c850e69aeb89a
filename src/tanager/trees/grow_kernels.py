"""Compiled growing of one tree: leaf by leaf, the split of the largest gain first.

columns   (n_attributes, n_rows) codes, a column one run of memory
sums      (n_rows, 3) gradient, Hessian and weight of each row
starts    (n_attributes + 1,) where the codes of each attribute begin in a histogram; its last code is a missing cell
ordered   (n_attributes,) how many codes, from the first, have an order; 0 for categories. The others of an ordered
          attribute are gaps: they go together to the better side
histogram (n_codes, 3) the sums over the rows with each code

A sum over rows is taken in the order of the rows, whatever thread does it, so that a tree is the same for any number of
threads. Of equally good splits the first is taken: gains that differ by rounding are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1.0 + 1e-9
NO_WEIGHT = 1e-9  # of a leaf: what subtracting histograms leaves of a code without rows


@kernel
def grow_tree(
    columns: Codes,
    sums: Floats,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    max_attributes: int,
    nodes: Ints,
    left: Flags,
    values: Floats,
    leaf_of_row: Ints,
) -> int:
    """Grow a tree; returns the number of its splits. It has one leaf more.

    limits         least weight of a leaf, least Hessian of a leaf, L2 penalty on leaf values
    max_attributes  a leaf may depend on
    nodes          (max_leaves - 1, 3) of each split the attribute, its left and its right end: a split, or ~leaf
    left           (max_leaves - 1, most codes of an attribute) whether a code goes to the left
    values         (max_leaves,) of the leaves: - gradient / (Hessian + penalty)
    leaf_of_row    (n_rows,) the leaf each row ends in
    """
    n_attributes, n_rows = columns.shape
    max_leaves = len(values)
    least, penalty = limits[:2], limits[2]
    order, spare = np.arange(n_rows), np.empty(n_rows, np.int64)
    begins, ends = np.zeros(max_leaves, np.int64), np.zeros(max_leaves, np.int64)
    ends[0] = n_rows
    above = np.full(max_leaves, -1)  # the split each leaf hangs on, 2 * split + side
    histograms = np.zeros((max_leaves, starts[-1], 3))
    gains = np.full((max_leaves, n_attributes), -np.inf)
    totals = np.zeros((max_leaves, 3))
    used = np.zeros((max_leaves, n_attributes), np.bool_)
    ranks = np.empty(starts[-1], np.int64)
    add_rows(columns, sums, order, starts, histograms[0])
    totals[0] = total(histograms[0], starts)
    find_gains(histograms[0], totals[0], starts, ordered, least, penalty, ranks, gains[0])
    n_splits = 0
    while n_splits < max_leaves - 1:
        leaf, attribute = best_split(gains[: n_splits + 1], used, max_attributes)
        if leaf < 0:
            break
        new = n_splits + 1
        used[leaf, attribute] = True
        used[new] = used[leaf]
        own = slice(starts[attribute], starts[attribute + 1])
        goes_left = left[n_splits]
        divide(histograms[leaf, own], totals[leaf], ordered[attribute], least, penalty, ranks, goes_left)
        nodes[n_splits, 0], nodes[n_splits, 1], nodes[n_splits, 2] = attribute, ~leaf, ~new
        if above[leaf] >= 0:
            nodes[above[leaf] // 2, 1 + above[leaf] % 2] = n_splits
        above[leaf], above[new] = 2 * n_splits, 2 * n_splits + 1
        begin, end = begins[leaf], ends[leaf]
        middle = partition(columns[attribute], goes_left, order[begin:end], spare) + begin
        ends[leaf], begins[new], ends[new] = middle, middle, end
        totals[new] = 0.0
        for code in range(starts[attribute + 1] - starts[attribute]):
            if not goes_left[code]:
                totals[new] += histograms[leaf, starts[attribute] + code]
        totals[leaf] -= totals[new]
        n_splits += 1
        if n_splits == max_leaves - 1:
            break
        small, large = (leaf, new) if middle - begin <= end - middle else (new, leaf)
        if large == new:
            histograms[new] = histograms[leaf]
        histograms[small] = 0.0
        add_rows(columns, sums, order[begins[small] : ends[small]], starts, histograms[small])
        histograms[large] -= histograms[small]
        for child in (leaf, new):
            find_gains(histograms[child], totals[child], starts, ordered, least, penalty, ranks, gains[child])
    for leaf in range(n_splits + 1):
        values[leaf] = -totals[leaf, 0] / (totals[leaf, 1] + penalty)
        for position in range(begins[leaf], ends[leaf]):
            leaf_of_row[order[position]] = leaf
    return n_splits


@kernel
def add_rows(columns: Codes, sums: Floats, rows: Ints, starts: Ints, histogram: Floats) -> None:
    """Add these rows to a histogram."""
    n_rows = len(rows)
    own = sums[rows]
    for attribute in range(len(columns)):
        column = columns[attribute]
        start = np.uint64(starts[attribute])
        for i in range(n_rows):
            at = start + np.uint64(column[np.uint64(rows[i])])
            histogram[at, 0] += own[i, 0]
            histogram[at, 1] += own[i, 1]
            histogram[at, 2] += own[i, 2]


@kernel
def total(histogram: Floats, starts: Ints) -> Floats:
    """(3,) the sums over all rows: over the codes of the first attribute."""
    found = np.zeros(3)
    for at in range(starts[0], starts[1]):
        found += histogram[at]
    return found


@kernel
def partition(column: Codes, goes_left: Flags, rows: Ints, spare: Ints) -> int:
    """Put the rows that go left first, each side in its order; returns how many there are."""
    n_left = n_right = 0
    for row in rows:
        if goes_left[column[row]]:
            rows[n_left] = row
            n_left += 1
        else:
            spare[n_right] = row
            n_right += 1
    rows[n_left:] = spare[:n_right]
    return n_left


@kernel
def best_split(gains: Floats, used: Flags, max_attributes: int) -> tuple[int, int]:
    """The leaf and the attribute of the largest gain; (-1, -1) if none is above zero."""
    best, leaf, attribute = 0.0, -1, -1
    for i in range(gains.shape[0]):
        full = used[i].sum() >= max_attributes
        for j in range(gains.shape[1]):
            if gains[i, j] > best * ROUNDING and (used[i, j] or not full):
                best, leaf, attribute = gains[i, j], i, j
    return leaf, attribute


@kernel
def find_gains(
    histogram: Floats,
    whole: Floats,
    starts: Ints,
    ordered: Ints,
    least: Floats,
    penalty: float,
    ranks: Ints,
    gains: Floats,
) -> None:
    """(n_attributes,) what the best split of a leaf by each attribute gains."""
    for attribute in range(len(ordered)):
        own = histogram[starts[attribute] : starts[attribute + 1]]
        gains[attribute] = scan(own, whole, ordered[attribute], least, penalty, ranks)[0]


@kernel
def divide(
    histogram: Floats,
    whole: Floats,
    n_ordered: int,
    least: Floats,
    penalty: float,
    ranks: Ints,
    goes_left: Flags,
) -> None:
    """Which codes of an attribute go left in its best split of a leaf; codes without rows go where most rows go."""
    _, length, gap_left = scan(histogram, whole, n_ordered, least, penalty, ranks)
    goes_left[:] = False
    for position in range(length):
        goes_left[ranks[position]] = True
    if n_ordered > 0:
        goes_left[n_ordered : len(histogram)] = gap_left
    weight = 0.0
    for code in range(len(histogram)):
        if goes_left[code]:
            weight += histogram[code, 2]
    for code in range(n_ordered, len(histogram)):
        if histogram[code, 2] <= NO_WEIGHT * whole[2]:
            goes_left[code] = weight > 0.5 * whole[2]


@kernel
def scan(
    histogram: Floats, whole: Floats, n_ordered: int, least: Floats, penalty: float, ranks: Ints
) -> tuple[float, int, bool]:
    """The best gain of one attribute, how many codes of `ranks`, from the first, go left in it, and whether gaps do.

    Codes of an ordered attribute keep their order. Categories are ranked by gradient / (Hessian + penalty): the best
    of all subsets is then among the first ones (Fisher 1958). A category that no row has is last.
    """
    gap = np.zeros(3)
    if n_ordered > 0:
        n = n_ordered
        for code in range(n):
            ranks[code] = code
        for code in range(n, len(histogram)):
            gap += histogram[code]
    else:
        n = len(histogram)
        keys = np.empty(n)
        for code in range(n):
            weight = histogram[code, 2]
            keys[code] = (
                histogram[code, 0] / (histogram[code, 1] + penalty) if weight > NO_WEIGHT * whole[2] else np.inf
            )
        ranks[:n] = np.argsort(keys, kind="mergesort")
    best, length, gap_left = -np.inf, 0, False
    nothing = whole[0] ** 2 / (whole[1] + penalty)
    for with_gap in range(2 if gap[2] > 0.0 else 1):
        g, h, w = 0.0, 0.0, 0.0
        if with_gap:
            g, h, w = gap[0], gap[1], gap[2]
        for position in range(n):
            code = ranks[position]
            g += histogram[code, 0]
            h += histogram[code, 1]
            w += histogram[code, 2]
            if w < least[0] or h < least[1]:
                continue
            if whole[2] - w < least[0] or whole[1] - h < least[1]:
                break
            gain = g * g / (h + penalty) + (whole[0] - g) ** 2 / (whole[1] - h + penalty) - nothing
            if gain > 0.0 and gain > best * ROUNDING:
                best, length, gap_left = gain, position + 1, with_gap == 1
    return best, length, gap_left
