"""How often each class has each value of a column, exactly or as a sketch, and the bins of equal weight of a column.

Both add up over batches, and are all that a discretiser needs to know, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Flags, Places

# Sums by key go into one array of slots when there are at most this many slots per row: memory stays O(rows).
_SLOTS_PER_ROW = 4
# A quantile is reached when the running weight falls short by no more than this part: sums of fractions are not exact.
# The sum of a million equal weights is off by up to 1e-10 of it.
_SLACK = 1e-9
# Integers from here on are no longer all represented by float64.
_LARGEST_INTEGER = 2.0**53
# Values that a sketch keeps of a batch.
N_GROUPS = 8_192


@dataclass(frozen=True)
class ValueCounts:
    """The distinct (value, class) pairs of a column with their total weight, sorted by value, then class.

    values   (n_pairs,) finite or infinite, never NaN, never -0.0
    classes  (n_pairs,) class codes
    weights  (n_pairs,) total weight of the rows with this value and class, positive
    n_rows   how many rows were counted, whatever their weight
    """

    values: NDArray[np.float64]
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    n_rows: int

    @classmethod
    def of_distinct(cls, values: NDArray[np.float64]) -> ValueCounts:
        """One for each of these values, which are all that is wanted of a column of categories."""
        return cls(values, np.zeros(len(values), dtype=np.intp), np.ones(len(values)), len(values))

    def merge(self, other: ValueCounts) -> ValueCounts:
        classes = np.concatenate([self.classes, other.classes])
        merged = count_values(
            np.concatenate([self.values, other.values]),
            classes,
            np.concatenate([self.weights, other.weights]),
            n_classes=int(classes.max(initial=0)) + 1,
        )
        return replace(merged, n_rows=self.n_rows + other.n_rows)


def count_values(
    column: NDArray[Any],
    class_codes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
    *,
    n_classes: int,
) -> ValueCounts:
    """Total weight of each (value, class) pair; rows with a NaN cell or of weight zero count for nothing.

    column       (n_rows,) of any real dtype
    class_codes  (n_rows,) in 0 .. n_classes-1
    weights      (n_rows,) non-negative, or None for all ones
    """
    missing = np.isnan(column) if column.dtype.kind not in "iu" else np.empty(0, dtype=bool)
    if missing.any():
        column, class_codes = column[~missing], class_codes[~missing]
        weights = None if weights is None else weights[~missing]
    n_rows = column.size if weights is None else int(np.count_nonzero(weights))
    offsets = _integer_offsets(column)
    if offsets is not None:
        ranks, distinct = offsets
    else:
        column = column.astype(np.float64, copy=False)
        order = np.argsort(column)
        class_codes = class_codes[order]
        weights = None if weights is None else weights[order]
        ranks, distinct = rank_sorted(column[order])
    ranks *= n_classes
    ranks += class_codes
    keys, totals = _sum_by_key(ranks, weights, distinct.size * n_classes)
    pair_ranks, classes = np.divmod(keys, n_classes)
    return ValueCounts(distinct[pair_ranks], classes, totals, n_rows)


def midpoints(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut points between neighbouring values low < high, with low < cut <= high.

    The halves are added, because low + high may overflow. The midpoint of adjacent floats may round to the lower one;
    the cut is then the higher, as a cut belongs to the bin above it.
    """
    middle = low / 2 + high / 2
    return np.where(middle > low, middle, high)


def quantile_cuts(counts: ValueCounts, n_bins: int) -> NDArray[np.float64]:
    """At most n_bins - 1 increasing cut points; a value x is in bin k when exactly k cuts are <= x.

    Cut j comes right after the quantile of level j / n_bins: the least value with at least that part of the total
    weight at or below it (inverted distribution function, so a weight of w equals w rows). Where that is the largest
    value, the cut comes right before it. Equal cuts are one, so no bin is empty.
    """
    ranks, values = rank_sorted(counts.values)
    if values.size < 2:
        return np.empty(0)
    weights = sum_by(ranks, counts.weights)
    # Multiplied out, so that whole weights are compared exactly.
    below = _quantiles(weights * n_bins, weights.sum(), n_bins)
    return midpoints(values[below], values[below + 1])


def no_cuts(counts: ValueCounts, n_classes: int) -> NDArray[np.float64]:
    """The discretiser that cuts nowhere: bins that share strength with their neighbours need no cuts beside theirs."""
    return np.empty(0)


def bin_cuts(counts: ValueCounts, n_bins: int) -> NDArray[np.float64]:
    """Cut points like those of `quantile_cuts`, but a frequent value counts as one bin and no more.

    Where nine rows of ten are zero, quantiles would spend nine bins of ten on it: here a value that weighs as much as a
    bin or more counts as one, and the others share the bins left. Up to n_bins values have a bin each.
    """
    ranks, values = rank_sorted(counts.values)
    if values.size <= n_bins:
        return midpoints(values[:-1], values[1:])
    weights = sum_by(ranks, counts.weights)
    frequent, n_frequent = np.zeros(values.size, dtype=bool), -1
    while n_frequent < np.count_nonzero(frequent):
        n_frequent = int(np.count_nonzero(frequent))
        n_left, weight_left = n_bins - n_frequent, weights[~frequent].sum()
        frequent |= weights * n_left >= weight_left * (1 - _SLACK)
    # A bin weighs weight_left / n_left.
    below = _quantiles(np.where(frequent, weight_left, weights * n_left), weight_left, n_bins)
    return midpoints(values[below], values[below + 1])


def _quantiles(weights: NDArray[np.float64], bin_weight: float, n_bins: int) -> NDArray[np.intp]:
    """The places, but for the last, at which the running weight reaches a multiple of a bin's."""
    levels = np.arange(1, n_bins) * bin_weight * (1 - _SLACK)
    reached = np.searchsorted(np.cumsum(weights), levels, side="left")
    return np.unique(np.minimum(reached, weights.size - 2))


def _integer_offsets(column: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
    """Ranks and values as `rank_sorted` gives them, in the order of the rows, for integers of small range; else None.

    Spares the sort. Some of the values may not occur.
    """
    if column.size == 0:
        return None
    low, high = float(column.min()), float(column.max())
    if not (high - low < _SLOTS_PER_ROW * column.size and max(-low, high) < _LARGEST_INTEGER):
        return None
    integers = column.astype(np.intp)
    if column.dtype.kind not in "iu" and not np.array_equal(integers, column):
        return None
    integers -= int(low)
    return integers, np.arange(int(low), int(high) + 1, dtype=np.float64)


def rank_sorted(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The rank of each of the sorted values among the distinct ones (n_values,), and these (n_distinct,)."""
    first = changes(values)
    return np.cumsum(first) - 1, values[first] + 0.0  # -0.0 + 0.0 is 0.0


def changes(items: NDArray[np.generic]) -> Flags:
    """Whether each item differs from the one before it; the first does."""
    differs = np.ones(items.size, dtype=np.bool_)
    np.not_equal(items[1:], items[:-1], out=differs[1:])
    return differs


def sum_by(index: Places, weights: Array | None, minlength: int = 0) -> Array:
    return np.bincount(index, weights, minlength).astype(np.float64, copy=False)


def _sum_by_key(
    keys: NDArray[np.intp], weights: NDArray[np.float64] | None, n_keys: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Distinct keys of positive total weight, increasing, and that weight."""
    if n_keys <= _SLOTS_PER_ROW * keys.size:
        totals = sum_by(keys, weights, n_keys)
        distinct = np.flatnonzero(totals)
        return distinct, totals[distinct]
    # Keys made from sorted values are nearly sorted, which the stable sort inside np.unique makes use of.
    distinct, ranks = np.unique(keys, return_inverse=True)
    totals = sum_by(ranks, weights, distinct.size)
    positive = totals > 0
    return distinct[positive], totals[positive]


class ValueSketch:
    """Summaries of batches, merged two by two as a binary counter adds: memory grows with the logarithm of batches.

    A summary of weight W keeps at most `n_groups` values. It cuts the running weight into parts of W / n_groups; all
    values that begin in one part are taken for the largest of them, so the weight (of all rows, and of those of a
    class) at or below any x is short by less than W / n_groups. Merging adds errors up. After b batches of total
    weight n every row has gone through at most 1 + log2 b summaries, so that the rank of any x is right to

        (1 + ceil(log2 b)) n / n_groups,

    0.17 % for a billion rows in batches of 131,072; a value is never taken for a smaller one.
    """

    def __init__(self, n_groups: int = N_GROUPS) -> None:
        self._n_groups = n_groups
        self._levels: dict[int, ValueCounts] = {}

    def add(self, counts: ValueCounts) -> None:
        summary, level = self._compress(counts), 0
        while level in self._levels:
            summary = self._compress(self._levels.pop(level).merge(summary))
            level += 1
        self._levels[level] = summary

    def counts(self) -> ValueCounts:
        return reduce(ValueCounts.merge, self._levels.values(), ValueCounts.of_distinct(np.empty(0)))

    def _compress(self, counts: ValueCounts) -> ValueCounts:
        ranks, distinct = rank_sorted(counts.values)
        if len(distinct) <= self._n_groups:
            return counts
        weights = np.bincount(ranks, counts.weights)
        reached = np.cumsum(weights)
        groups = ((reached - weights) * (self._n_groups / reached[-1])).astype(np.intp)
        groups = np.minimum(groups, self._n_groups - 1)
        last = np.append(np.flatnonzero(np.diff(groups)), len(groups) - 1)
        largest = distinct[last[np.searchsorted(groups[last], groups)]]
        n_classes = int(counts.classes.max(initial=0)) + 1
        kept = count_values(largest[ranks], counts.classes, counts.weights, n_classes=n_classes)
        return replace(kept, n_rows=counts.n_rows)
