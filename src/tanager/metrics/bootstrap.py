"""Intervals of measures: how they vary over tables drawn from the rows judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.metrics.basic import (
    ClassArea,
    ClassCodes,
    Measures,
    Probabilities,
    log_true,
    mean_area,
    one_hot,
    squared_errors,
)

PERCENTILES = (2.5, 97.5)
MAX_DRAWS, MIN_DRAWS = 1000, 200
# About a second for the areas of all classes; an interval by 200 draws is good to a tenth of its width.
CELLS_IN_ALL_DRAWS = 20_000_000


def measure_intervals(
    probabilities: Probabilities, class_codes: ClassCodes, units: NDArray[np.generic], seed: int = 0
) -> tuple[Measures, Measures]:
    """The ends of a 95 % interval of each measure, by the percentiles of a bootstrap.

    Every draw takes as many units as there are, with replacement. A unit is a row, or all the rows of a group.
    """
    n_classes = probabilities.shape[1]
    distinct, unit = np.unique(units, return_inverse=True)
    right = probabilities.argmax(axis=1) == class_codes
    by_row = np.column_stack([right, -log_true(probabilities, class_codes), squared_errors(probabilities, class_codes)])
    truth = one_hot(class_codes, n_classes)
    areas = [ClassArea(p, is_class) for p, is_class in zip(probabilities.T, truth.T, strict=True)]
    n_draws = int(np.clip(CELLS_IN_ALL_DRAWS // probabilities.size, MIN_DRAWS, MAX_DRAWS))
    generator = np.random.default_rng(seed)
    found = np.empty((n_draws, len(Measures._fields)))
    for draw in found:
        times = np.bincount(generator.integers(len(distinct), size=len(distinct)), minlength=len(distinct))
        weights = times[unit].astype(np.float64)
        draw[:3] = weights @ by_row / weights.sum()
        draw[3] = mean_area(np.array([area(weights) for area in areas]))
    low, high = (_percentiles(found, percentile) for percentile in PERCENTILES)
    return low, high


def _percentiles(found: NDArray[np.float64], percentile: float) -> Measures:
    """Of each measure over the draws that have it; NaN if none has."""
    columns = (column[~np.isnan(column)] for column in found.T)
    return Measures(*(float(np.percentile(each, percentile)) if len(each) else float("nan") for each in columns))
