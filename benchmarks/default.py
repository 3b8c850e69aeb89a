"""The additive model against LightGBM at its defaults, on the benchmark tables.

Processor seconds on one thread: of a fit with warm kernels, of a prediction of 10,000 rows, and of one row from pandas.
Whole tables of up to 6,500 rows, text as categories. Runs where $TANAGER_DATA (or ../shared/data) holds the tables.
`python -m benchmarks.default german vehicle` takes these tables alone.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.flagship import DATA
from benchmarks.timing import best_time, print_head, print_row
from experiments.studies.data_sets import DataSet, find_data_sets
from tanager import AdditiveClassifier
from tanager.errors import DataWarning

SHOWN = ("german", "vehicle", "tic-tac-toe", "chess", "segment", "splice", "waveform-21", "spambase", "satimage")
"""Tables with lines of their own; the others are in the geometric means."""
ROWS_TO_PREDICT, MAX_ROWS = 10_000, 6_500
SLOW_FIT = 1.0  # seconds from which one fit is enough


def main(names: Sequence[str]) -> None:
    if not DATA.is_dir():
        print(f"\nNo benchmark tables in {DATA.name}: nothing measured.\n")
        return
    warnings.simplefilter("ignore", DataWarning)
    print_head()
    sets = [each for each in find_data_sets(DATA) if (each.name in names if names else each.n_rows <= MAX_ROWS)]
    found = {}
    for data_set in sets:
        X, y = read(data_set)
        if len(set(y)) > 1:
            found[data_set.name] = np.array([measure(model, X, y) for model in models()])
            if data_set.name in (names or SHOWN):
                shape = f"{data_set.name}, {len(y):,} x {X.shape[1]}, {len(set(y))} classes"
                (fit, predict, one), (other_fit, other_predict, _) = found[data_set.name]
                print_row(f"fit, {shape}", fit, "LightGBM", other_fit, "at least 0.10x, or 0.5 s")
                print_row(f"10,000 rows of {data_set.name}", predict, "LightGBM", other_predict, "at least 0.67x")
                print_row(f"one row of {data_set.name}", one, "", None, "2 ms")
    seconds = np.array(list(found.values()))
    for k, (what, asked) in enumerate((("fit", "at least 0.33x"), ("10,000 rows", "at least 0.67x"))):
        ours, theirs = np.exp(np.log(seconds[:, :, k]).mean(axis=0))
        print_row(f"{what}, geometric mean of {len(seconds)} tables", ours, "LightGBM", theirs, asked)
    beyond = (seconds[:, 0, 0] > 0.5) & (seconds[:, 0, 0] > 10 * seconds[:, 1, 0])
    slow = ", ".join(np.array(list(found))[beyond]) or "none"
    print(f"| tables above 0.5 s and 10 times LightGBM: {slow} | {beyond.sum()} of {len(seconds)} | | | none |")


def models() -> list[Any]:
    from lightgbm import LGBMClassifier

    return [AdditiveClassifier(n_jobs=1), LGBMClassifier(n_jobs=1, verbose=-1)]


def measure(model: Any, X: pd.DataFrame, y: NDArray[np.str_]) -> tuple[float, float, float]:
    """Processor seconds of a fit, of a prediction of 10,000 rows and of one row."""
    model.fit(X, y)
    fit = best_time(lambda: model.fit(X, y), 1, time.process_time)[0]
    if fit < SLOW_FIT:
        fit = min(fit, best_time(lambda: model.fit(X, y), 3, time.process_time)[0])
    rows, one = X.iloc[np.arange(ROWS_TO_PREDICT) % len(X)], X.iloc[:1]
    model.predict_proba(rows)
    whole = best_time(lambda: model.predict_proba(rows), 3, time.process_time)[0]
    return fit, whole, best_time(lambda: model.predict_proba(one), 20, time.process_time)[0]


def read(data_set: DataSet) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """A table with its text as categories; LightGBM refuses some names of columns."""
    table, y = data_set.read()
    X = table.to_pandas().set_axis([f"x{number}" for number in range(table.num_columns)], axis=1)
    texts = X.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes]]
    return X.astype(dict.fromkeys(texts, "category")), y


if __name__ == "__main__":
    main(sys.argv[1:])
