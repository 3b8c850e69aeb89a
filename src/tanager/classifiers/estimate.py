"""What a fit will take, in memory and time, before it is begun."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError
from tanager.table.columns import code_dtype

SHARES = (1 / 8, 1 / 4)
"""Of the rows, to which fits are timed; a line through both times gives that of all rows."""
MAX_ROWS_TO_TIME = 20_000
FEWEST_ROWS = 100


@dataclass(frozen=True)
class FitEstimate:
    """Bytes, about, and seconds; None where rows are too few to tell.

    rows    the codes of all rows
    tables  what the learner holds for the tables of the structure, or for the terms of an additive model, about
    """

    rows: int
    tables: int
    seconds: float | None

    @property
    def bytes(self) -> int:
        return self.rows + self.tables


def estimate_fit(clf: TableClassifier, X: pa.Table, y: NDArray[np.generic]) -> FitEstimate:
    """By the tables of all rows, and the times of fits to parts of them."""
    table = clone(clf)._read(X, y, None, clf._row_needs())
    codes = table.rows.n_rows * table.rows.n_attributes * code_dtype(max(table.rows.n_states)).itemsize
    return FitEstimate(codes, clf._needed_memory(table), _seconds(clf, X, y))


def _seconds(clf: TableClassifier, X: pa.Table, y: NDArray[np.generic]) -> float | None:
    sizes = [round(share * min(X.num_rows, MAX_ROWS_TO_TIME / SHARES[-1])) for share in SHARES]
    if sizes[0] < FEWEST_ROWS:
        return None
    drawn = np.random.default_rng(0).permutation(X.num_rows)
    times = []
    for size in (sizes[0], *sizes):  # the first for what is compiled
        rows = np.sort(drawn[:size])
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(clf).fit(X.take(rows), y[rows])
        except DataError:  # a class is missing in so few rows
            return None
        times.append(time.perf_counter() - begin)
    slope = max(0.0, times[2] - times[1]) / (sizes[1] - sizes[0])
    return times[2] + slope * (X.num_rows - sizes[1])
