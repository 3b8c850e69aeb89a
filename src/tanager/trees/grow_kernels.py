"""Compiled growing of one tree: leaf by leaf, the split of the largest gain first.

columns   (n_attributes, n_rows) codes, a column one run of memory
sums      (n_rows, 3) gradient, Hessian and weight of each row
starts    (n_attributes + 1,) where the codes of each attribute begin in a histogram; its last code is a missing cell
ordered   (n_attributes,) how many codes, from the first, have an order; 0 for categories. The others of an ordered
          attribute are gaps: they go together to the better side
histogram (n_codes, 3) the sums over the rows with each code

A sum over rows is taken in the order of the rows, whatever thread does it, so that a tree is the same for any number of
threads. Of equally good splits the first is taken: gains that differ by rounding are equal. Loops are written out:
array expressions take numba several times as long to compile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel, kernel_part
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
    max_leaves, n_codes = len(values), starts[n_attributes]
    order, spare = np.arange(n_rows), np.empty(n_rows, np.int64)
    begins, ends = np.zeros(max_leaves, np.int64), np.zeros(max_leaves, np.int64)
    ends[0] = n_rows
    above = np.full(max_leaves, -1)  # the split each leaf hangs on, 2 * split + side
    histograms = np.empty((max_leaves, n_codes, 3))
    gains = np.empty((max_leaves, n_attributes))
    totals = np.zeros((max_leaves, 3))
    used = np.zeros((max_leaves, n_attributes), np.bool_)
    ranks, keys = np.empty(n_codes, np.int64), np.empty(n_codes)
    add_rows(columns, sums, order, 0, n_rows, starts, histograms[0])
    for code in range(starts[1]):
        for k in range(3):
            totals[0, k] += histograms[0, code, k]
    find_gains(histograms[0], totals[0], starts, ordered, limits, ranks, keys, gains[0])
    n_splits = 0
    while n_splits < max_leaves - 1:
        leaf, attribute = best_split(gains, n_splits + 1, used, max_attributes)
        if leaf < 0:
            break
        new, first, last = n_splits + 1, starts[attribute], starts[attribute + 1]
        used[leaf, attribute] = True
        for k in range(n_attributes):
            used[new, k] = used[leaf, k]
        goes_left = left[n_splits]
        divide(histograms[leaf, first:last], totals[leaf], ordered[attribute], limits, ranks, keys, goes_left)
        nodes[n_splits, 0], nodes[n_splits, 1], nodes[n_splits, 2] = attribute, ~leaf, ~new
        if above[leaf] >= 0:
            nodes[above[leaf] // 2, 1 + above[leaf] % 2] = n_splits
        above[leaf], above[new] = 2 * n_splits, 2 * n_splits + 1
        begin, end = begins[leaf], ends[leaf]
        middle = partition(columns[attribute], goes_left, order, begin, end, spare)
        ends[leaf], begins[new], ends[new] = middle, middle, end
        for k in range(3):
            for code in range(last - first):
                if not goes_left[code]:
                    totals[new, k] += histograms[leaf, first + code, k]
            totals[leaf, k] -= totals[new, k]
        n_splits += 1
        if n_splits == max_leaves - 1:
            break
        small, large = (leaf, new) if middle - begin <= end - middle else (new, leaf)
        if large == new:
            swap(histograms[leaf], histograms[new])
        add_rows(columns, sums, order, begins[small], ends[small], starts, histograms[small])
        subtract(histograms[large], histograms[small])
        find_gains(histograms[leaf], totals[leaf], starts, ordered, limits, ranks, keys, gains[leaf])
        find_gains(histograms[new], totals[new], starts, ordered, limits, ranks, keys, gains[new])
    for leaf in range(n_splits + 1):
        values[leaf] = -totals[leaf, 0] / (totals[leaf, 1] + limits[2])
        for position in range(begins[leaf], ends[leaf]):
            leaf_of_row[order[position]] = leaf
    return n_splits


@kernel
def add_rows(columns: Codes, sums: Floats, order: Ints, begin: int, end: int, starts: Ints, histogram: Floats) -> None:
    """The histogram of the rows order[begin:end]."""
    for code in range(len(histogram)):
        for k in range(3):
            histogram[code, k] = 0.0
    n_rows = end - begin
    own = np.empty((n_rows, 3))  # the rows' sums side by side: every attribute asks for them
    for i in range(n_rows):
        row = order[begin + i]
        for k in range(3):
            own[i, k] = sums[row, k]
    for attribute in range(len(columns)):
        column = columns[attribute]
        start = np.uint64(starts[attribute])
        for i in range(n_rows):
            at = start + np.uint64(column[np.uint64(order[begin + i])])
            for k in range(3):
                histogram[at, k] += own[i, k]


@kernel_part
def swap(one: Floats, other: Floats) -> None:
    for code in range(len(one)):
        for k in range(3):
            one[code, k], other[code, k] = other[code, k], one[code, k]


@kernel_part
def subtract(whole: Floats, part: Floats) -> None:
    for code in range(len(whole)):
        for k in range(3):
            whole[code, k] -= part[code, k]


@kernel_part
def partition(column: Codes, goes_left: Flags, order: Ints, begin: int, end: int, spare: Ints) -> int:
    """Put those of order[begin:end] that go left first, each side in its order; returns where the others begin."""
    middle, n_right = begin, 0
    for position in range(begin, end):
        row = order[position]
        if goes_left[column[row]]:
            order[middle] = row
            middle += 1
        else:
            spare[n_right] = row
            n_right += 1
    for position in range(n_right):
        order[middle + position] = spare[position]
    return middle


@kernel_part
def best_split(gains: Floats, n_leaves: int, used: Flags, max_attributes: int) -> tuple[int, int]:
    """The leaf and the attribute of the largest gain; (-1, -1) if none is above zero."""
    best, leaf, attribute = 0.0, -1, -1
    n_attributes = gains.shape[1]
    for i in range(n_leaves):
        n_used = 0
        for j in range(n_attributes):
            n_used += used[i, j]
        for j in range(n_attributes):
            if gains[i, j] > best * ROUNDING and (used[i, j] or n_used < max_attributes):
                best, leaf, attribute = gains[i, j], i, j
    return leaf, attribute


@kernel
def find_gains(
    histogram: Floats,
    whole: Floats,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    ranks: Ints,
    keys: Floats,
    gains: Floats,
) -> None:
    """(n_attributes,) what the best split of a leaf by each attribute gains."""
    for attribute in range(len(ordered)):
        own = histogram[starts[attribute] : starts[attribute + 1]]
        gains[attribute] = scan(own, whole, ordered[attribute], limits, ranks, keys)[0]


@kernel_part
def divide(
    histogram: Floats,
    whole: Floats,
    n_ordered: int,
    limits: Floats,
    ranks: Ints,
    keys: Floats,
    goes_left: Flags,
) -> None:
    """Which codes of an attribute go left in its best split of a leaf; codes without rows go where most rows go."""
    _, length, gap_left = scan(histogram, whole, n_ordered, limits, ranks, keys)
    for code in range(len(goes_left)):
        goes_left[code] = False
    for position in range(length):
        goes_left[ranks[position]] = True
    if n_ordered > 0:
        for code in range(n_ordered, len(histogram)):
            goes_left[code] = gap_left
    weight = 0.0
    for code in range(len(histogram)):
        if goes_left[code]:
            weight += histogram[code, 2]
    for code in range(n_ordered, len(histogram)):
        if histogram[code, 2] <= NO_WEIGHT * whole[2]:
            goes_left[code] = weight > 0.5 * whole[2]


@kernel
def scan(
    histogram: Floats, whole: Floats, n_ordered: int, limits: Floats, ranks: Ints, keys: Floats
) -> tuple[float, int, bool]:
    """The best gain of one attribute, how many codes of `ranks`, from the first, go left in it, and whether gaps do.

    Codes of an ordered attribute keep their order. Categories are ranked by gradient / (Hessian + penalty): the best
    of all subsets is then among the first ones (Fisher 1958). A category that no row has is last.
    """
    least_weight, least_hessian, penalty = limits[0], limits[1], limits[2]
    n_codes, n = len(histogram), n_ordered
    gap_g = gap_h = gap_w = 0.0
    if n_ordered > 0:
        for code in range(n):
            ranks[code] = code
        for code in range(n, n_codes):
            gap_g += histogram[code, 0]
            gap_h += histogram[code, 1]
            gap_w += histogram[code, 2]
    else:
        n = n_codes
        for code in range(n):
            has_rows = histogram[code, 2] > NO_WEIGHT * whole[2]
            keys[code] = histogram[code, 0] / (histogram[code, 1] + penalty) if has_rows else np.inf
        rank(keys, n, ranks)
    best, length, gap_left = -np.inf, 0, False
    nothing = whole[0] ** 2 / (whole[1] + penalty)
    for with_gap in range(2 if gap_w > 0.0 else 1):
        g, h, w = with_gap * gap_g, with_gap * gap_h, with_gap * gap_w
        for position in range(n):
            code = ranks[position]
            g += histogram[code, 0]
            h += histogram[code, 1]
            w += histogram[code, 2]
            if w < least_weight or h < least_hessian:
                continue
            if whole[2] - w < least_weight or whole[1] - h < least_hessian:
                break
            rest, below, rest_below = whole[0] - g, h + penalty, whole[1] - h + penalty
            # g^2 / below + rest^2 / rest_below in one division
            score = (g * g * rest_below + rest * rest * below) / (below * rest_below)
            if score > nothing * ROUNDING and score - nothing > best * ROUNDING:
                best, length, gap_left = score - nothing, position + 1, with_gap == 1
    return best, length, gap_left


@kernel_part
def rank(keys: Floats, n: int, ranks: Ints) -> None:
    """The codes 0 ... n - 1 by ascending key, of equal ones the lower first: Shell's sort, which compiles at once."""
    for code in range(n):
        ranks[code] = code
    gap = n // 2
    while gap > 0:
        for position in range(gap, n):
            code, at = ranks[position], position
            while at >= gap:
                other = ranks[at - gap]
                if keys[other] < keys[code] or (keys[other] == keys[code] and other < code):
                    break
                ranks[at] = other
                at -= gap
            ranks[at] = code
        gap //= 2
