"""What a fit will take in memory and time, by fits to parts of the rows."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from tanager.errors import DataError, OptionError

SHARES = (1 / 8, 1 / 4)
"""Of the rows: a line through what both fits take gives what all rows take."""
MAX_ROWS = 20_000
FEWEST_ROWS = 100


@dataclass(frozen=True)
class FitEstimate:
    """Bytes at most beyond the table itself, and seconds; both about."""

    bytes: float
    seconds: float


def estimate_fit(clf: BaseEstimator, X: pa.Table, y: NDArray[np.generic]) -> FitEstimate:
    """Fit clones to an eighth and a quarter of the rows, of at most 20,000."""
    sizes = [round(share * min(X.num_rows, MAX_ROWS / SHARES[-1])) for share in SHARES]
    if sizes[0] < FEWEST_ROWS:
        raise OptionError(
            f"--estimate needs at least {round(FEWEST_ROWS / SHARES[0]):,} rows; got {X.num_rows:,}.",
            hint="fit the model: so few rows take moments.",
        )
    drawn = np.random.default_rng(0).permutation(X.num_rows)
    taken = []
    for size in sizes:
        rows = np.sort(drawn[:size])
        part, labels = X.take(rows), y[rows]
        try:
            bytes_ = _peak(clf, part, labels)  # first, for what is compiled
            begin = time.perf_counter()
            clone(clf).fit(part, labels)
        except DataError as error:
            raise OptionError(f"a part of {size:,} rows cannot be fitted: {error}") from None
        taken.append((bytes_, time.perf_counter() - begin))
    (fewer_bytes, fewer_seconds), (bytes_, seconds) = taken
    times = (X.num_rows - sizes[1]) / (sizes[1] - sizes[0])
    return FitEstimate(
        bytes_ + times * max(0.0, bytes_ - fewer_bytes), seconds + times * max(0.0, seconds - fewer_seconds)
    )


def _peak(clf: BaseEstimator, X: pa.Table, y: NDArray[np.generic]) -> float:
    """Bytes that a fit allocates at most."""
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(clf).fit(X, y)
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
