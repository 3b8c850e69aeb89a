"""Ties: values that differ by rounding alone are equal, so that the order of rows and of sums decides nothing."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

SMALLEST_INFORMATION = 1e-12  # in nats per row


def smallest_gain(score: float) -> float:
    """A change of a score that gains less is rounding, and could turn an edge round for ever."""
    return 1e-10 * max(1.0, abs(score) if isfinite(score) else 1.0)


def level(values: ArrayLike, smallest: float) -> NDArray[np.float64]:
    """The values in units of the smallest difference that counts, rounded to whole ones."""
    return np.round(np.asarray(values) / smallest)
