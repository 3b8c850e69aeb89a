"""ValueSketch: the values of a column too many to keep, as a few thousand of them with a bounded error of rank."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tanager.table.value_counts import ValueCounts, count_values, rank_sorted

N_GROUPS = 8_192


@dataclass(frozen=True)
class _Summary:
    """Some rows; `error` bounds what is missing of the weight at or below any value."""

    counts: ValueCounts
    weight: float
    error: float


class ValueSketch:
    """Summaries of batches, merged two by two as a binary counter adds: memory grows with the logarithm of batches.

    A summary of weight W keeps at most `n_groups` values. It cuts the running weight into parts of W / n_groups; all
    values that begin in one part are taken for the largest of them, so the weight (of all rows, and of those of a
    class) at or below any x is short by less than W / n_groups. Merging adds errors up. After b batches of total
    weight n every row has gone through at most 1 + log2 b summaries, so that the rank of any x is right to

        (1 + ceil(log2 b)) n / n_groups,

    0.17 % for a billion rows in batches of 131,072; a value is never taken for a smaller one. `error` is the bound
    that holds for the batches seen, which is less.
    """

    def __init__(self, n_groups: int = N_GROUPS) -> None:
        self._n_groups = n_groups
        self._levels: dict[int, _Summary] = {}

    def add(self, counts: ValueCounts) -> None:
        """Add the rows of one batch."""
        summary = self._compress(_Summary(counts, float(counts.weights.sum()), 0.0))
        level = 0
        while level in self._levels:
            summary = self._compress(_merge(self._levels.pop(level), summary))
            level += 1
        self._levels[level] = summary

    @property
    def error(self) -> float:
        """Most weight by which a rank taken from `counts` falls short."""
        return sum(summary.error for summary in self._levels.values())

    def counts(self) -> ValueCounts:
        """All rows."""
        total = _Summary(ValueCounts.of_distinct(np.empty(0)), 0.0, 0.0)
        for summary in self._levels.values():
            total = _merge(total, summary)
        return total.counts

    def _compress(self, summary: _Summary) -> _Summary:
        counts = summary.counts
        ranks, distinct = rank_sorted(counts.values)
        if len(distinct) <= self._n_groups:
            return summary
        weights = np.bincount(ranks, counts.weights)
        before = np.cumsum(weights) - weights
        groups = np.minimum((before * (self._n_groups / summary.weight)).astype(np.intp), self._n_groups - 1)
        last = np.append(np.flatnonzero(np.diff(groups)), len(groups) - 1)
        largest = distinct[last[np.searchsorted(groups[last], groups)]]
        kept = count_values(
            largest[ranks], counts.classes, counts.weights, n_classes=int(counts.classes.max(initial=0)) + 1
        )
        kept = replace(kept, n_rows=counts.n_rows)
        return _Summary(kept, summary.weight, summary.error + summary.weight / self._n_groups)


def _merge(one: _Summary, other: _Summary) -> _Summary:
    return _Summary(one.counts.merge(other.counts), one.weight + other.weight, one.error + other.error)
