"""Compiled growing of the trees of a round; `grow` has the same in NumPy, to the last digit.

bins     (n_rows, n_attributes) where a row's code of each attribute stands in a histogram of all attributes
packed   (n_trees, n_rows) gradient and Hessian of each row in whole units, gradient * 2^32 + Hessian; 0: the row is led
         to a leaf and has no influence
asked    (n_trees, n_asked) the attributes that a tree may split on
starts   (n_attributes + 1,) where the codes of each attribute begin in a histogram
ordered  (n_attributes,) how many codes, from the first, have an order, 0 for categories; the others of an ordered
         attribute (missing, unknown) go together to the better side

Sums of whole numbers are exact: a tree does not depend on the number of threads or the order of rows, and one addition
serves gradient and Hessian. Loops are written out: array expressions take numba several times as long to compile.
"""

from __future__ import annotations

import numpy as np

from tanager.additive.grow import LEAST_GAIN, UNIT_BITS
from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.kernel import kernel, kernel_part

HESSIAN = (1 << UNIT_BITS) - 1  # the bits of the Hessian


@kernel
def grow_tree(
    bins: Codes,
    packed: Ints,
    asked: Ints,
    starts: Ints,
    ordered: Ints,
    least: float,
    penalty: float,
    depth: int,
    attributes: Ints,
    left: Flags,
    node_of_row: Ints,
) -> None:
    """Grow one tree level by level; node k leads to 2 k + 1 (left) and 2 k + 2.

    least, penalty  least Hessian of a node and the L2 penalty on values, in units
    attributes      (2^depth - 1,) what each node splits on, -1 for none
    left            (2^depth - 1, codes) which codes go left
    node_of_row     (n_rows,) where each row ends
    """
    n_rows = len(packed)
    begins, shifts = histogram_places(asked, starts)
    n_codes = begins[-1]
    above = np.zeros((1, n_codes), np.int64)
    totals = np.zeros(2 ** (depth + 1) - 1, np.int64)
    counted = np.ones(1, np.bool_)
    ranks, keys = np.empty(n_codes, np.int64), np.empty(n_codes)
    rows, n_used = np.empty(n_rows, np.int64), 0
    for row in range(n_rows):
        rows[n_used] = row
        n_used += packed[row] != 0
        totals[0] += packed[row]
        node_of_row[row] = 0
    for level in range(depth):
        first, width = 2**level - 1, 2**level
        histograms = np.zeros((width, n_codes), np.int64)
        for at in range(n_used):
            row = rows[at]
            node = node_of_row[row] - first
            if node >= 0 and counted[node]:
                value, histogram = packed[row], histograms[node]
                for k in range(len(asked)):
                    histogram[bins[row, asked[k]] + shifts[k]] += value
        n_open = 0
        following = np.zeros(2 * width, np.bool_)
        for node in range(width):
            sibling = node ^ 1
            if level > 0 and not counted[node] and counted[sibling]:
                for code in range(n_codes):
                    histograms[node, code] = above[node // 2, code] - histograms[sibling, code]
            attributes[first + node] = -1
            whole = totals[first + node]
            if (whole & HESSIAN) < 2 * least or (level > 0 and attributes[(first + node - 1) // 2] < 0):
                continue
            best = best_split(
                histograms[node], whole, begins, asked, ordered, least, penalty, ranks, keys, left[first + node]
            )
            if best < 0:
                continue
            attributes[first + node] = asked[best]
            goes, total = left[first + node], 0
            for code in range(begins[best], begins[best + 1]):
                if goes[code - begins[best]]:
                    total += histograms[node, code]
            child = 2 * (first + node) + 1
            totals[child], totals[child + 1] = total, whole - total
            # The histogram of the lighter child is added up, that of the other is what is left of the whole.
            lighter = 2 * node if (total & HESSIAN) * 2 <= (whole & HESSIAN) else 2 * node + 1
            following[lighter] = True
            n_open += 1
        for row in range(n_rows):
            node = node_of_row[row]
            if node >= first and attributes[node] >= 0:
                split = attributes[node]
                node_of_row[row] = 2 * node + 2 - left[node, np.int64(bins[row, split]) - starts[split]]
        if n_open == 0:
            attributes[2 * first + 1 :] = -1
            break
        above, counted = histograms, following


@kernel_part
def histogram_places(asked: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """Where the codes of each attribute asked for begin in a histogram of those alone, and how far from `bins`."""
    begins, shifts = np.zeros(len(asked) + 1, np.int64), np.empty(len(asked), np.int64)
    for k in range(len(asked)):
        shifts[k] = begins[k] - starts[asked[k]]
        begins[k + 1] = begins[k] + starts[asked[k] + 1] - starts[asked[k]]
    return begins, shifts


@kernel
def best_split(
    histogram: Ints,
    whole: int,
    begins: Ints,
    asked: Ints,
    ordered: Ints,
    least: float,
    penalty: float,
    ranks: Ints,
    keys: Array,
    left: Flags,
) -> int:
    """Which of the attributes asked for has the split that gains most, -1 for none; `left`: which codes go left.

    begins  (n_asked + 1,) where the codes of each of them begin in the histogram

    Categories are ranked by gradient / (Hessian + penalty): the best of all subsets is then among the first ones
    (Fisher 1958). Codes without rows go to the side of the larger Hessian.
    """
    whole_g, whole_h = float(whole >> UNIT_BITS), float(whole & HESSIAN)
    nothing = whole_g * whole_g / (whole_h + penalty)
    best, best_gain = -1, LEAST_GAIN * nothing
    best_length, best_apart = 0, False
    for turn in range(len(asked) + 1):
        # The last turn ranks the best attribute again.
        at_turn = turn if turn < len(asked) else best
        if at_turn < 0:
            break
        start, n, apart = begins[at_turn], ordered[asked[at_turn]], np.int64(0)
        if n > 0:
            for code in range(start + n, begins[at_turn + 1]):
                apart += histogram[code]
            for code in range(n):
                ranks[code] = code
        else:
            for code in range(begins[at_turn + 1] - start):
                own = histogram[start + code]
                if own != 0:
                    keys[code] = float(own >> UNIT_BITS) / (float(own & HESSIAN) + penalty)
                    at = n
                    while at > 0 and keys[ranks[at - 1]] > keys[code]:
                        ranks[at] = ranks[at - 1]
                        at -= 1
                    ranks[at] = code
                    n += 1
        if turn == len(asked):
            break
        for with_apart in range(2 if apart != 0 else 1):
            total = apart if with_apart == 1 else np.int64(0)
            for length in range(1, n + 1):
                own = histogram[start + ranks[length - 1]]
                if own == 0:
                    continue
                total += own
                g, h = float(total >> UNIT_BITS), float(total & HESSIAN)
                other_g, other_h = whole_g - g, whole_h - h
                if h >= least and other_h >= least:
                    gain = g * g / (h + penalty) + other_g * other_g / (other_h + penalty) - nothing
                    if gain > best_gain:
                        best, best_gain, best_length, best_apart = turn, gain, length, with_apart == 1
    if best < 0:
        return best
    n_codes, n_ordered = begins[best + 1] - begins[best], ordered[asked[best]]
    total = np.int64(0)
    for code in range(n_codes):
        left[code] = n_ordered > 0 and (code < best_length if code < n_ordered else best_apart)
    if n_ordered == 0:
        for position in range(best_length):
            left[ranks[position]] = True
    for code in range(n_codes):
        if left[code]:
            total += histogram[begins[best] + code]
    heavier = 2 * (total & HESSIAN) > (whole & HESSIAN)
    for code in range(n_ordered, n_codes):
        if histogram[begins[best] + code] == 0:
            left[code] = heavier
    return best
