"""The compiled row loop of `dfe`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.runtime.kernel import kernel

Places = NDArray[np.int64]


@kernel
def add_rows(
    cells: Places,
    configurations: Places,
    classes: Codes,
    weights: Array,
    counted: Array,
    totals: Array,
    log_counted: Array,
    log_totals: Array,
    losses: Array,
) -> None:
    """See `RunningTables`. Logarithms are kept: only those of the row's own class change, the others are looked up."""
    n_rows, n_families = cells.shape
    n_classes = counted.shape[1]
    last = n_families - 1  # the class's own family has no total
    scores = np.empty(n_classes)
    for t in range(n_rows):
        scores[:] = 0.0
        for f in range(n_families):
            cell = cells[t, f]
            if cell >= 0:
                for c in range(n_classes):
                    scores[c] += log_counted[cell, c]
                if f < last:
                    below = configurations[t, f]
                    for c in range(n_classes):
                        scores[c] -= log_totals[below, c]
        own = classes[t]
        highest = scores.max()
        total = 0.0
        others = 0.0
        for c in range(n_classes):
            share = math.exp(scores[c] - highest)
            total += share
            if c != own:
                others += share
        losses[t] = others / total
        step = weights[t] * losses[t]
        for f in range(n_families):
            cell = cells[t, f]
            if cell >= 0:
                counted[cell, own] += step
                log_counted[cell, own] = math.log(counted[cell, own])
                if f < last:
                    below = configurations[t, f]
                    totals[below, own] += step
                    log_totals[below, own] = math.log(totals[below, own])
