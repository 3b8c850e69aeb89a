"""How many rows a choice on folds needs: `python -m experiments.large_tables` writes experiments/LARGE_TABLES.md.

Four generated tables of 50,000 rows. The constant `additive.folds.ALL_ROWS` says up to how many rows all of them are
used; of n rows above, sqrt(ALL_ROWS n) are. scikit-learn's HistGradientBoosting stands beside it as a reference.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_hastie_10_2
from sklearn.ensemble import HistGradientBoostingClassifier

from experiments.commit import commit
from tanager import AdditiveClassifier
from tanager.additive import folds

PAGE = Path(__file__).with_name("LARGE_TABLES.md")
N_TRAINING, N_TEST = 50_000, 20_000
ALL_ROWS = (3_000, 10_000, 20_000)
Table = tuple[pd.DataFrame, NDArray[np.int64]]


def clusters(n: int) -> Table:
    """Five classes, each of six clusters of points in ten dimensions."""
    X, y = make_classification(
        n, 20, n_informative=10, n_redundant=4, n_classes=5, n_clusters_per_class=6, class_sep=1.2, random_state=3
    )
    return pd.DataFrame(X).add_prefix("x"), y


def boxes(n: int) -> Table:
    """Three classes; the log odds of each are a sum of 60 indicators of four cuts."""
    rng = np.random.default_rng(5)
    X, scores = rng.normal(size=(n, 15)), np.zeros((n, 3))
    for label in range(3):
        for _ in range(60):
            columns, cuts = rng.integers(0, 15, 4), rng.normal(0, 0.6, 4)
            scores[:, label] += 3 * rng.normal() * np.prod(X[:, columns] > cuts, axis=1)
    p = np.exp(1.5 * scores)
    p /= p.sum(axis=1, keepdims=True)
    return pd.DataFrame(X).add_prefix("x"), (rng.random(n)[:, np.newaxis] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)


def cards(n: int) -> Table:
    """Eight categories; the class counts equal ones among six of them, and is random in one row of 50."""
    rng = np.random.default_rng(6)
    X = rng.integers(0, 6, (n, 8))
    equal = (np.diff(np.sort(X[:, :6], axis=1), axis=1) == 0).sum(axis=1)
    y = np.where(rng.random(n) < 0.02, rng.integers(0, 5, n), np.minimum(equal, 4))
    return pd.DataFrame(X.astype(str)).add_prefix("c"), y


def sphere(n: int) -> Table:
    """Two classes, inside and outside of a sphere in ten dimensions (Hastie's example)."""
    X, y = make_hastie_10_2(n, random_state=1)
    return pd.DataFrame(X).add_prefix("x"), (y > 0).astype(np.int64)


def main() -> None:
    text = [
        "# How many rows a choice on folds needs",
        "",
        f"Written by `python -m experiments.large_tables`, {commit()}. Log-loss on {N_TEST:,} test rows and processor "
        f"seconds of a fit to {N_TRAINING:,} generated rows, by the number of rows that choices are made on.",
        "",
        f"| table | {' | '.join(f'{rows_used(each):,} rows' for each in ALL_ROWS)} | HistGradientBoosting |",
        "| --- |" + " ---: |" * (len(ALL_ROWS) + 1),
    ]
    for table in (clusters, boxes, cards, sphere):
        cells = []
        for folds.ALL_ROWS in ALL_ROWS:
            cells.append(_measure(table, lambda: AdditiveClassifier(n_jobs=1)))
        cells.append(_measure(table, lambda: HistGradientBoostingClassifier(categorical_features="from_dtype")))
        text.append(f"| {table.__name__} | {' | '.join(cells)} |")
        print(text[-1], flush=True)
    PAGE.write_text("\n".join(text) + "\n", encoding="utf-8")


def rows_used(all_rows: int) -> int:
    return round(np.sqrt(all_rows * N_TRAINING))


def _measure(table: Callable[[int], Table], classifier: Callable[[], AdditiveClassifier]) -> str:
    X, y = table(N_TRAINING + N_TEST)
    X = X.astype({column: "category" for column in X.columns if X[column].dtype == object or X[column].dtype == "str"})
    started = time.process_time()
    clf = classifier().fit(X[:N_TRAINING], y[:N_TRAINING])
    seconds = time.process_time() - started
    p = clf.predict_proba(X[N_TRAINING:])[np.arange(N_TEST), y[N_TRAINING:]]
    return f"{-np.log(np.maximum(p, 1e-15)).mean():.3f} ({seconds:.0f} s)"


if __name__ == "__main__":
    main()
