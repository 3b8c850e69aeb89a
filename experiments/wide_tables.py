"""Which columns the additive model keeps where few of many are informative.

    python -m experiments.wide_tables

Simulated tables of normal columns, of which the first two or three decide the class: y = x0 + x1 (- x2) + noise > 0.
A column is kept if it has an effect that is not exactly zero. The log-loss is that of 20,000 fresh rows; the truth is
that of the probabilities from which the classes are drawn. Writes experiments/WIDE_TABLES.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from experiments.commit import commit
from tanager import AdditiveClassifier

PAGE = Path(__file__).parent / "WIDE_TABLES.md"
SIGNS = (1.0, 1.0, -1.0)
N_TEST = 20_000
CASES = ((2, 20, 500, 5), (2, 200, 500, 5), (2, 500, 500, 5), (3, 200, 300, 4), (3, 200, 500, 4), (3, 200, 1_000, 4))
"""Informative columns, columns, rows, seeds."""


@dataclass(frozen=True)
class Fitted:
    """What one fit kept, and its log-loss beside that of the truth."""

    kept: list[int]
    log_loss: float
    truth: float


def main() -> None:
    lines = [
        "# Wide tables",
        "",
        f"Written by `python -m experiments.wide_tables`, {commit()}. Normal columns, of which the first two or three "
        "decide the class; log-loss on 20,000 fresh rows, mean over the seeds.",
        "",
        "| informative of all columns | rows | tables | exactly the informative ones kept | most kept "
        "| an informative one lost | log-loss | truth |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for informative, n_columns, n_rows, n_seeds in CASES:
        fits = [fit(informative, n_columns, n_rows, seed) for seed in range(n_seeds)]
        wanted = list(range(informative))
        lines.append(
            f"| {informative} of {n_columns} | {n_rows:,} | {n_seeds} | {sum(each.kept == wanted for each in fits)} "
            f"| {max(len(each.kept) for each in fits)} | {sum(not {*wanted} <= {*each.kept} for each in fits)} "
            f"| {np.mean([each.log_loss for each in fits]):.3f} | {np.mean([each.truth for each in fits]):.3f} |"
        )
        print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fit(informative: int, n_columns: int, n_rows: int, seed: int) -> Fitted:
    rng = np.random.default_rng(seed)
    signs = np.array(SIGNS[:informative])

    def draw(n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
        X = rng.normal(size=(n, n_columns))
        odds = X[:, :informative] @ signs
        return X, odds + rng.logistic(size=n) / 2 > 0, 1 / (1 + np.exp(-2 * odds))

    X, y, _ = draw(n_rows)
    fresh, classes, truth = draw(N_TEST)
    clf = AdditiveClassifier().fit(X, y)
    kept = [k for k in range(n_columns) if f"x{k}" not in clf.trace_.zero_attributes]
    return Fitted(kept, log_loss(classes, clf.predict_proba(fresh)[:, 1]), log_loss(classes, truth))


if __name__ == "__main__":
    main()
