"""Fine ordered bins: the coarse bins of a numeric column cut further, for effects whose neighbours share strength."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.discretize_quantile import quantile_cuts
from tanager.table.value_counts import ValueCounts

N_FINE = 32


def fine_bins(coarse: NDArray[np.float64], counts: ValueCounts) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Cut points of the fine bins, and the coarse bin of each fine one.

    The fine cuts are the quantiles that make N_FINE bins of equal weight where values allow, and the coarse cuts. A
    column without a coarse cut gets one at its median: it may tell the classes apart in a pair though not alone.
    """
    if coarse.size == 0:
        coarse = quantile_cuts(counts, n_bins=2)
    fine = np.union1d(quantile_cuts(counts, N_FINE), coarse)
    # Fine bin k > 0 begins at cut k - 1, and lies in the coarse bin that has as many coarse cuts at or below it.
    groups = [0, *np.searchsorted(coarse, fine, side="right").tolist()]
    return fine, tuple(groups) if fine.size else ()
