"""Averages over gaps: 100,000 rows of 30 attributes, a tenth of the cells missing, and one row; seconds of processor.

The classes depend on four attributes, two of which tell only together. The more states an attribute has, the more
completions a row has to be summed over: all of them up to 4,096, else as many draws.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.timing import best_time, print_head, print_row
from tanager import BayesianNetworkClassifier

N_ROWS, N_TRAINING, N_ATTRIBUTES, GAPS = 100_000, 5_000, 30, 0.1
STATES = (2, 3, 4)
MODELS = {"default": {}, "tan, conditional": {"structure": "tan", "parameters": "conditional"}}
N_SINGLE = 40


def main() -> None:
    print_head()
    for n_states in STATES:
        X, y = draw(N_TRAINING, n_states, 0)
        rows, _ = draw(N_ROWS, n_states, 1)
        rows = rows.mask(np.random.default_rng(2).random(rows.shape) < GAPS)
        for name, parts in MODELS.items():
            clf = BayesianNetworkClassifier(**parts, n_jobs=1).fit(X, y)
            clf.predict_proba(rows.head())  # learns what fills gaps, and compiles
            workload = f"{name}, {n_states} states"
            seconds, _ = best_time(lambda clf=clf, rows=rows: clf.predict_proba(rows), 2, time.process_time)
            print_row(f"{workload}: {N_ROWS:,} x {N_ATTRIBUTES}", seconds, "", None, "at most 3 s")
            single = [rows.iloc[k : k + 1] for k in range(N_SINGLE)]
            each = [best_time(lambda clf=clf, row=row: clf.predict_proba(row))[0] for row in single]
            print_row(f"{workload}: one row, median of {N_SINGLE}", float(np.median(each)), "", None, "below 5 ms")
            print_row(f"{workload}: the slowest of them", max(each), "", None, "below 5 ms")


def draw(n_rows: int, n_states: int, seed: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, n_states, (n_rows, N_ATTRIBUTES))
    odds = (codes[:, 0] == 1) * 1.0 + (codes[:, 1] > 1) - (codes[:, 2] == codes[:, 3])
    names = [f"x{j}" for j in range(N_ATTRIBUTES)]
    y = (generator.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    return pd.DataFrame(codes.astype(str), columns=names).astype("category"), y


if __name__ == "__main__":
    main()
