"""What a fit will take, in memory and time, before it is begun."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from tanager.additive.model import AdditiveModel
from tanager.classifiers.additive import BYTES_PER_CELL
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.bayesian_network import BayesianNetworkClassifier
from tanager.classifiers.learning import needed_memory
from tanager.errors import DataError
from tanager.table.categories import code_dtype

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
    seconds, of_part = _time(clf, X, y)
    if isinstance(clf, BayesianNetworkClassifier):
        structure, task = clf._learning(clf._count_engine()).prepare(table)
        return FitEstimate(codes, needed_memory(clf._parts().parameters, task, structure.members), seconds)
    # Which pairs there will be is known after a fit alone: those of a part are about as many.
    model = cast(AdditiveModel, (clone(clf).fit(X, y) if of_part is None else of_part).model_)
    cells = sum(effect.size for effect in (*model.mains, *model.tables))
    return FitEstimate(codes, BYTES_PER_CELL * cells, seconds)


def _time(clf: TableClassifier, X: pa.Table, y: NDArray[np.generic]) -> tuple[float | None, TableClassifier | None]:
    """Seconds of a fit to all rows, and the model of the largest part; None where rows are too few."""
    sizes = [round(share * min(X.num_rows, MAX_ROWS_TO_TIME / SHARES[-1])) for share in SHARES]
    if sizes[0] < FEWEST_ROWS:
        return None, None
    drawn = np.random.default_rng(0).permutation(X.num_rows)
    times, fitted = [], clone(clf)
    for size in (sizes[0], *sizes):  # the first for what is compiled
        rows = np.sort(drawn[:size])
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = clone(clf).fit(X.take(rows), y[rows])
        except DataError:  # a class is missing in so few rows
            return None, None
        times.append(time.perf_counter() - begin)
    slope = max(0.0, times[2] - times[1]) / (sizes[1] - sizes[0])
    return times[2] + slope * (X.num_rows - sizes[1]), fitted
