"""Equal-weight bins: cut a numeric column at its quantiles, whatever the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.value_counts import ValueCounts, midpoints, rank_sorted

# A quantile is reached when the running weight falls short by no more than this part: sums of fractions are not exact.
_SLACK = 1e-12


def quantile_cuts(counts: ValueCounts, n_bins: int) -> NDArray[np.float64]:
    """At most n_bins - 1 increasing cut points; a value x is in bin k when exactly k cuts are <= x.

    Cut j comes right after the quantile of level j / n_bins: the least value with at least that part of the total
    weight at or below it (inverted distribution function, so a weight of w equals w rows). Where that is the largest
    value, the cut comes right before it. Equal cuts are one, so no bin is empty.
    """
    ranks, values = rank_sorted(counts.values)
    if values.size < 2:
        return np.empty(0)
    running = np.cumsum(np.bincount(ranks, counts.weights))
    # Multiplied out, so that whole weights are compared exactly.
    levels = np.arange(1, n_bins) * running[-1] * (1 - _SLACK)
    quantiles = np.searchsorted(running * n_bins, levels, side="left")
    below = np.unique(np.minimum(quantiles, values.size - 2))
    return midpoints(values[below], values[below + 1])
