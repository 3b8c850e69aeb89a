"""No thresholds: how much five more rows change the additive model, for many numbers of rows.

    python -m experiments.thresholds [MOST_ROWS] [JOBS]

d(n) is the mean |P(n rows) - P(n + 5 rows)| on fixed test rows, averaged over five orders of the rows. A rule that
switches at a number of rows shows as a d(n) far above its neighbours: the page has the largest d(n) / median of the six
neighbours of each table. Written to experiments/THRESHOLDS.md; the tables are those of $TANAGER_DATA.
"""

from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.studies.data_sets import DataSet, find_data_sets
from tanager import AdditiveClassifier

TABLES = ("adult", "magic", "waveform-21")
N_SIZES, N_ORDERS, N_TEST, MORE = 40, 5, 2_000, 5
OLD_THRESHOLDS = (495, 745, 2_995, 8_995, 19_995)


def sizes(most: int) -> list[int]:
    grid = np.geomspace(100, 50_000, N_SIZES).round().astype(int).tolist()
    return sorted(n for n in {*grid, *OLD_THRESHOLDS} if n <= most)


def change(data_set: DataSet, n: int, order: int) -> float:
    """Mean |P(n rows) - P(n + MORE rows)| of one order of the rows."""
    warnings.simplefilter("ignore")
    X, y = data_set.read()
    shuffled = np.random.default_rng(order).permutation(len(y))
    test, train = shuffled[:N_TEST], shuffled[N_TEST:]
    fits = [
        _probabilities(X.take(rows), y[rows], X.take(test), np.unique(y)) for rows in (train[:n], train[: n + MORE])
    ]
    return float(np.abs(fits[0] - fits[1]).mean())


def _probabilities(X: object, y: NDArray[np.str_], test: object, classes: NDArray[np.str_]) -> NDArray[np.float64]:
    clf = AdditiveClassifier(n_jobs=1).fit(X, y)
    p = np.zeros((N_TEST, len(classes)))
    p[:, np.searchsorted(classes, clf.classes_)] = clf.predict_proba(test)
    return p


def ratios(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value divided by the median of the three before it and the three after it."""
    n = len(values)
    near = [[k for k in range(i - 3, i + 4) if k != i and 0 <= k < n] for i in range(n)]
    return np.array([values[i] / np.median(values[near[i]]) for i in range(n)])


def main(most: int, n_jobs: int) -> None:
    found = {each.name: each for each in find_data_sets(Path(os.environ.get("TANAGER_DATA", "../shared/data")))}
    text = [
        "# No thresholds",
        "",
        f"Written by `python -m experiments.thresholds {most}`. d(n) is the mean |P(n rows) - P(n + {MORE} rows)| on "
        f"{N_TEST:,} test rows, mean of {N_ORDERS} orders of the rows; asked: never above 3 times the median of "
        "its six neighbours.",
        "",
        "| table | sizes | largest d(n) / median of neighbours | at n | d(n) there | median d(n) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with ProcessPoolExecutor(n_jobs) as pool:
        for name in TABLES:
            own = [n for n in sizes(most) if n + MORE <= found[name].n_rows - N_TEST]
            tasks = [(found[name], n, order) for n in reversed(own) for order in range(N_ORDERS)]
            done = list(pool.map(change, *zip(*tasks, strict=True)))
            by_size = np.array(done).reshape(len(own), N_ORDERS).mean(axis=1)[::-1]
            above = ratios(by_size)
            k = int(above.argmax())
            text.append(
                f"| {name} | {len(own)} | {above[k]:.2f} | {own[k]:,} | {by_size[k]:.4f} | {np.median(by_size):.4f} |"
            )
            print(text[-1], flush=True)
    (Path(__file__).parent / "THRESHOLDS.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*(int(each) for each in (sys.argv[1:] or ["50000", "1"])))
