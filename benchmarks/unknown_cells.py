"""Unknown and missing cells, thousands of categories, a hundred classes; seconds of processor beside LightGBM's.

Cells are removed from the rows to predict (unknown), or from training rows too (missing). The table has ten numbers and
six columns of categories; the model has boosted trees. The first call is that of a model just fitted.
"""

from __future__ import annotations

import resource
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from benchmarks.timing import best_time, print_head, print_row
from tanager import AdditiveClassifier, BayesianNetworkClassifier, DataError

N_TRAINING = N_ROWS = 10_000
N_SINGLE = 40
RATES = (0.1, 0.5)
N_STATES = [8_000, 4_000, 2_000, 1_000, 500, 200, 100, 50, 20, 10]


def main() -> None:
    warnings.simplefilter("ignore")
    print_head()
    measure_predictions()
    measure_categories()
    measure_classes()


def measure_predictions() -> None:
    X, y = mixed_table(N_TRAINING, 0)
    rows, _ = mixed_table(N_ROWS, 1)
    whole = AdditiveClassifier(n_jobs=1).fit(X, y)
    trees = 0 if whole.model_.forest is None else len(whole.model_.forest.roots)
    for rate in RATES:
        removed, training = remove(rows, rate), remove(X, rate)
        for case in ("unknown", "missing"):
            table = X if case == "unknown" else training
            ours = AdditiveClassifier(n_jobs=1).fit(table, y)
            first, _ = best_time(lambda ours=ours, removed=removed: ours.predict_proba(removed), 1, time.process_time)
            seconds, _ = best_time(lambda ours=ours, removed=removed: ours.predict_proba(removed), 3, time.process_time)
            peer = lightgbm_seconds(table, y, removed)
            workload = f"{rate:.0%} {case}, {N_ROWS:,} x {X.shape[1]}, {trees} trees"
            print_row(workload, seconds, "LightGBM", peer, "at most 1.5 times")
            print_row(f"{workload}: first call", first, "LightGBM", peer, "at most 1.5 times")
    networks = BayesianNetworkClassifier(n_jobs=1).fit(X, y)
    for name, clf in (("additive model", whole), ("TAN, conditional tables", networks)):
        single = [remove(rows, 0.1).iloc[k : k + 1] for k in range(N_SINGLE)]
        times = [best_time(lambda clf=clf, row=row: clf.predict_proba(row), 3, time.process_time)[0] for row in single]
        print_row(f"{name}: one row, 10% unknown, median of {N_SINGLE}", float(np.median(times)), "", None, "3 ms")


def lightgbm_seconds(X: pd.DataFrame, y: NDArray[np.int64], rows: pd.DataFrame) -> float | None:
    if find_spec("lightgbm") is None:
        return None
    from lightgbm import LGBMClassifier

    model: Any = LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y)
    return best_time(lambda: model.predict_proba(rows), 3, time.process_time)[0]


def measure_categories() -> None:
    """Zipf frequencies; the class depends on two columns and on their pair."""
    rng, n_rows = np.random.default_rng(0), 30_000
    codes = np.column_stack([zipf(rng, n, n_rows + N_ROWS) for n in N_STATES])
    one, other, pair = rng.normal(size=N_STATES[3]), rng.normal(size=N_STATES[5]), rng.normal(size=(8, 8))
    odds = one[codes[:, 3]] + other[codes[:, 5]] + pair[codes[:, 3] % 8, codes[:, 5] % 8]
    truth = 1 / (1 + np.exp(-odds))
    y = (rng.random(len(truth)) < truth).astype(np.int64)
    whole = pd.DataFrame(codes, columns=[f"x{k}" for k in range(len(N_STATES))]).astype(str)
    X, rows = whole.head(n_rows), whole.tail(N_ROWS)
    seconds, clf = best_time(lambda: AdditiveClassifier().fit(X, y[:n_rows]), 1, time.process_time)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print_row(f"{n_rows:,} x 10, up to 8,000 categories: fit ({memory:.1f} GB)", seconds, "", None, "60 s, 2 GB")
    losses = {"ours": log_loss(y[n_rows:], clf.predict_proba(rows)), "the truth": log_loss(y[n_rows:], truth[n_rows:])}
    if find_spec("catboost") is not None:
        from catboost import CatBoostClassifier

        options = {"verbose": False, "thread_count": 2, "random_seed": 0, "allow_writing_files": False}
        peer = CatBoostClassifier(**options, cat_features=list(X.columns))
        losses["CatBoost"] = log_loss(y[n_rows:], peer.fit(X, y[:n_rows]).predict_proba(rows)[:, 1])
    words = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    print(f"| log-loss on {N_ROWS:,} further rows: {words} | | | | no worse than CatBoost |")
    new = rows.assign(x3="never seen")
    unseen, seen = (
        best_time(lambda table=table: clf.predict_proba(table), 3, time.process_time)[0] for table in (new, rows)
    )
    print_row(f"{N_ROWS:,} rows with an unseen category", unseen, "seen", seen, "as seen ones")


def measure_classes() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 100, 1_500)
    X = rng.normal(size=(100, 60))[y] + 1.5 * rng.normal(size=(1_500, 60))
    seconds, _ = best_time(lambda: AdditiveClassifier().fit(X, y), 1, time.process_time)
    print_row("1,500 x 60 numbers, 100 classes: fit", seconds, "", None, "30 s")

    def refused() -> str:
        try:
            AdditiveClassifier().fit(rng.normal(size=(6_000, 20)), np.arange(6_000) % 2_000)
        except DataError as error:
            return str(error)
        raise AssertionError("2,000 classes are not refused")

    print_row("6,000 x 20, 2,000 classes: refused", best_time(refused, 1)[0], "", None, "60 s, or refused")


def mixed_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    numbers, codes = rng.normal(size=(n_rows, 10)), rng.integers(0, 5, (n_rows, 6))
    three = (numbers[:, 2] > 0) ^ (numbers[:, 3] > 0) ^ (codes[:, 0] > 2)
    odds = numbers[:, 0] + np.sin(2 * numbers[:, 1]) + 3.0 * three - (codes[:, 1] == 1) - 1.5
    X = pd.DataFrame(numbers, columns=[f"n{k}" for k in range(10)])
    for k, column in enumerate(codes.T):
        X[f"c{k}"] = pd.Categorical.from_codes(column, list("abcde"))
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def remove(X: pd.DataFrame, rate: float) -> pd.DataFrame:
    return X.mask(np.random.default_rng(2).random(X.shape) < rate)


def zipf(rng: np.random.Generator, n_states: int, n_rows: int) -> NDArray[np.int64]:
    shares = 1.0 / np.arange(1, n_states + 1)
    return rng.choice(n_states, n_rows, p=shares / shares.sum())


if __name__ == "__main__":
    main()
