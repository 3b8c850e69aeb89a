"""Compiled growing of one tree: leaf by leaf, the split of the largest gain first.

bins       (n_rows, n_attributes) where a row's code of each attribute stands in a histogram, a row one run of memory
packed     (n_rows,) gradient and Hessian of each row, in whole units: gradient * 2^32 + Hessian
asked      (n_asked,) attributes that the tree may ask for, ascending
starts     (n_attributes + 1,) where the codes of each attribute begin in a histogram; its last code is a missing cell
ordered    (n_attributes,) how many codes, from the first, have an order; 0 for categories. The others of an ordered
           attribute are gaps: they go together to the better side
histogram  (n_codes,) the sums of `packed` over the rows with each code

Sums of whole numbers are exact, so that a tree is the same for any number of threads and any order of rows, and one
addition serves gradient and Hessian. Of equally good splits the first is taken: gains that differ by rounding are
equal. Loops are written out: array expressions take numba several times as long to compile.
"""

from __future__ import annotations

import numpy as np

from tanager.kernel import kernel, kernel_part
from tanager.table.categories import Codes
from tanager.trees.split_kernels import HESSIAN, ROUNDING, Flags, Floats, Ints, best_split, divide, make_room


@kernel
def grow_tree(
    bins: Codes,
    packed: Ints,
    order: Ints,
    asked: Ints,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    max_attributes: int,
    histograms: Ints,
    nodes: Ints,
    left: Flags,
    leaf_of_row: Ints,
) -> int:
    """Grow a tree; returns the number of its splits. It has one leaf more.

    order           the rows it grows on; left in the order of the leaves
    limits          least Hessian of a leaf, L2 penalty on leaf values: both in units
    max_attributes  a leaf may depend on
    histograms      (max_leaves, n_codes) room for them
    nodes           (max_leaves - 1, 3) of each split the attribute, its left and its right end: a split, or ~leaf
    left            (max_leaves - 1, most codes of an attribute) whether a code goes to the left
    leaf_of_row     (n_rows,) the leaf that each row of `order` ends in; others stay as they are
    """
    n_attributes, max_leaves = bins.shape[1], len(histograms)
    spare = np.empty(len(order), np.int64)
    begins, ends = np.zeros(max_leaves, np.int64), np.zeros(max_leaves, np.int64)
    ends[0] = len(order)
    above = np.full(max_leaves, -1)  # the split each leaf hangs on, 2 * split + side
    place = np.zeros(max_leaves, np.int64)  # of its histogram
    gains, best = np.full(max_leaves, -np.inf), np.zeros(max_leaves, np.int64)
    totals = np.zeros(max_leaves, np.int64)
    used = np.zeros((max_leaves, n_attributes), np.bool_)
    room = make_room(starts)
    for row in order:
        totals[0] += packed[row]
    add_rows(bins, packed, order, asked, starts, histograms[0])
    gains[0], best[0] = best_split(
        histograms[0], totals[0], asked, starts, ordered, limits, used[0], max_attributes, room
    )
    n_splits = 0
    while n_splits < max_leaves - 1:
        leaf = 0
        for other in range(1, n_splits + 1):
            if gains[other] > gains[leaf] * ROUNDING:
                leaf = other
        if gains[leaf] <= 0.0:
            break
        new, attribute = n_splits + 1, best[leaf]
        used[leaf, attribute] = True
        for k in range(n_attributes):
            used[new, k] = used[leaf, k]
        own = histograms[place[leaf], starts[attribute] : starts[attribute + 1]]
        goes_left = left[n_splits]
        totals[new] = totals[leaf] - divide(own, totals[leaf], ordered[attribute], limits, room, goes_left)
        totals[leaf] -= totals[new]
        nodes[n_splits, 0], nodes[n_splits, 1], nodes[n_splits, 2] = attribute, ~leaf, ~new
        if above[leaf] >= 0:
            nodes[above[leaf] // 2, 1 + above[leaf] % 2] = n_splits
        above[leaf], above[new] = 2 * n_splits, 2 * n_splits + 1
        begin, end = begins[leaf], ends[leaf]
        middle = partition(bins, attribute, starts[attribute], goes_left, order, begin, end, spare)
        ends[leaf], begins[new], ends[new] = middle, middle, end
        n_splits += 1
        gains[leaf] = -np.inf
        if n_splits == max_leaves - 1 or max(totals[leaf] & HESSIAN, totals[new] & HESSIAN) < 2.0 * limits[0]:
            continue
        # The histogram of the smaller part is added up, that of the larger one is what is left of the whole.
        small, large = (leaf, new) if middle - begin <= end - middle else (new, leaf)
        place[large], place[small] = place[leaf], new
        add_rows(bins, packed, order[begins[small] : ends[small]], asked, starts, histograms[new])
        subtract(histograms[place[large]], histograms[new], asked, starts)
        for part in (leaf, new):
            own = histograms[place[part]]
            gains[part], best[part] = best_split(
                own, totals[part], asked, starts, ordered, limits, used[part], max_attributes, room
            )
    for leaf in range(n_splits + 1):
        for position in range(begins[leaf], ends[leaf]):
            leaf_of_row[order[position]] = leaf
    return n_splits


@kernel_part
def add_rows(bins: Codes, packed: Ints, rows: Ints, asked: Ints, starts: Ints, histogram: Ints) -> None:
    """The histogram of some rows. Row by row: the next addition never waits for the one before."""
    for attribute in asked:
        for at in range(starts[attribute], starts[attribute + 1]):
            histogram[at] = 0
    n_asked = np.uint64(len(asked))
    for row in rows:
        value = packed[row]
        for k in range(n_asked):
            histogram[np.uint64(bins[np.uint64(row), np.uint64(asked[k])])] += value


@kernel_part
def subtract(whole: Ints, part: Ints, asked: Ints, starts: Ints) -> None:
    for attribute in asked:
        for at in range(starts[attribute], starts[attribute + 1]):
            whole[at] -= part[at]


@kernel_part
def partition(
    bins: Codes, attribute: int, start: int, goes_left: Flags, order: Ints, begin: int, end: int, spare: Ints
) -> int:
    """Put those of order[begin:end] that go left first, each side in its order; returns where the others begin."""
    middle, n_right = begin, 0
    # No branch, which the processor would guess wrong half of the time: each row is written to both sides.
    for position in range(begin, end):
        row = order[position]
        goes = int(goes_left[np.int64(bins[row, attribute]) - start])
        order[middle] = row
        spare[n_right] = row
        middle += goes
        n_right += 1 - goes
    for position in range(n_right):
        order[middle + position] = spare[position]
    return middle
