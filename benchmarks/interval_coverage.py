"""How often intervals of P(class | row) contain the true probability, on simulated tables; writes docs/coverage.md.

    python -m benchmarks.interval_coverage [number of tables] [output]

"dirichlet" is measured on truths drawn from the prior, with the structure given. The default interval
is measured on smooth truths, on trees and on truths of three to twenty classes; the classifier chooses everything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from experiments.commit import commit
from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier

LEVEL = 0.9
N_TEST = 500
MANY_CLASSES_TABLES = 20

Table = tuple[pd.DataFrame, np.ndarray, np.ndarray]


class Tally:
    """Whether each truth was within its interval, beside P and the width."""

    def __init__(self) -> None:
        self.within: list[np.ndarray] = []
        self.p: list[np.ndarray] = []
        self.width: list[float] = []
        self.seconds = 0.0

    def add(
        self,
        clf: BayesianNetworkClassifier,
        X: pd.DataFrame,
        y: np.ndarray,
        rows: pd.DataFrame,
        truth: np.ndarray,
        method: str,
    ) -> None:
        begin = time.process_time()
        found = clf.prepare_intervals(X, y, method=method).predict_interval(rows, LEVEL)
        self.seconds += time.process_time() - begin
        p = clf.predict_proba(rows)
        # The second of two classes, and of more the one predicted.
        asked = (np.arange(len(rows)), np.ones(len(rows), dtype=int) if p.shape[1] == 2 else p.argmax(axis=1))
        lower, upper, own = found.lower[asked], found.upper[asked], truth if truth.ndim == 1 else truth[asked]
        self.within.append((lower <= own) & (own <= upper))
        self.p.append(p[asked])
        self.width.append(float(np.mean(upper - lower)))

    def line(self, truths: str, method: str) -> str:
        by_table = np.array([within.mean() for within in self.within])
        within, p = np.concatenate(self.within), np.concatenate(self.p)
        deciles = np.array_split(within[np.argsort(p, kind="stable")], 10)
        return (
            f"| {truths} | {method} | {len(by_table)} | {by_table.mean():.1%} | {min(d.mean() for d in deciles):.1%} | "
            f"{np.quantile(by_table, 0.1):.1%} | {np.mean(self.width):.3f} | {self.seconds / len(by_table):.2f} |"
        )


def words(codes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({f"x{k}": [f"s{code}" for code in column] for k, column in enumerate(codes.T)})


def from_dirichlet_prior(rng: np.random.Generator, tally: Tally) -> None:
    """Naive Bayes with uniform tables of 4 attributes with 3 states, 100 rows."""
    share, tables = rng.beta(20, 20), rng.dirichlet(np.ones(3), size=(4, 2))
    y = (rng.random(100) < share).astype(int)
    y[:2] = 0, 1
    codes = np.array([[rng.choice(3, p=tables[a, c]) for a in range(4)] for c in y])
    rows = rng.integers(3, size=(N_TEST, 4))
    if any(len(np.unique(column)) < 3 for column in codes.T):
        return
    joint = [np.log([1 - share, share][c]) + np.log(tables[np.arange(4), c, rows]).sum(axis=1) for c in (0, 1)]
    clf = NaiveBayesClassifier().fit(words(codes), y)
    tally.add(clf, words(codes), y, words(rows), expit(joint[1] - joint[0]), "dirichlet")


def smooth(rng: np.random.Generator, n_attributes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Two to four of the attributes add a line, a wave or a step; half of the truths have a product of two."""
    used = rng.permutation(n_attributes)[: int(rng.integers(2, 5))]
    parts = [(a, rng.integers(3), 1.2 * rng.normal(), rng.uniform(0, 6)) for a in used]
    product = 0.8 * rng.normal() if rng.random() < 0.5 else 0.0

    def log_odds(X: np.ndarray) -> np.ndarray:
        total = product * X[:, used[0]] * X[:, used[1]]
        for a, kind, size, shift in parts:
            x = X[:, a]
            total = total + size * (x, np.sin(1.5 * x + shift), np.tanh(2 * x + shift - 3))[kind]
        return total

    return log_odds


def tree(rng: np.random.Generator, n_attributes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Eight leaves under three splits on any attributes."""
    attributes, cuts, leaves = rng.integers(n_attributes, size=7), 0.7 * rng.normal(size=7), 1.3 * rng.normal(size=8)

    def log_odds(X: np.ndarray) -> np.ndarray:
        node = np.zeros(len(X), dtype=int)
        for _ in range(3):
            node = 2 * node + 1 + (X[np.arange(len(X)), attributes[node]] >= cuts[node])
        return leaves[node - 7]

    return log_odds


def with_everything_chosen(
    rng: np.random.Generator,
    make: Callable[[np.random.Generator, int], Callable[[np.ndarray], np.ndarray]],
    tally: Tally,
) -> None:
    """150 to 1,200 rows of three to eight normal attributes."""
    n_attributes, n_rows = int(rng.integers(3, 9)), int(np.exp(rng.uniform(np.log(150), np.log(1200))))
    log_odds = make(rng, n_attributes)
    names = [f"x{k}" for k in range(n_attributes)]
    X, rows = (pd.DataFrame(rng.normal(size=(n, n_attributes)), columns=names) for n in (n_rows, N_TEST))
    y = (rng.random(n_rows) < expit(log_odds(X.to_numpy()))).astype(int)
    clf, truth = AdditiveClassifier().fit(X, y), expit(log_odds(rows.to_numpy()))
    tally.add(clf, X, y, rows, truth, "reference")


def prototypes(rng: np.random.Generator, n_rows: int, n_classes: int, n_attributes: int) -> Table:
    """Each class has its own shares of three states, Dirichlet(1/2), attribute by attribute: it is nearly told."""
    shares, tables = rng.dirichlet(np.full(n_classes, 2.0)), rng.dirichlet(np.full(3, 0.5), (n_attributes, n_classes))
    y = rng.choice(n_classes, p=shares, size=n_rows + N_TEST)
    above = rng.random((n_attributes, len(y), 1)) > np.cumsum(tables, axis=2)[:, y]
    codes = np.minimum(above.sum(axis=2), 2)
    logs = np.log(shares) + sum(np.log(tables[a][:, codes[a]].T + 1e-300) for a in range(n_attributes))
    return words(codes.T), y, softmax(logs, axis=1)


def smooth_scores(rng: np.random.Generator, n_rows: int, n_classes: int, n_attributes: int) -> Table:
    """Each class has a smooth score of its own."""
    X = rng.normal(size=(n_rows + N_TEST, n_attributes))
    p = softmax(np.column_stack([smooth(rng, n_attributes)(X) for _ in range(n_classes)]), axis=1)
    y = (rng.random((len(X), 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, n_classes - 1)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(n_attributes)]), y, p


def with_many_classes(rng: np.random.Generator, make: Callable[..., Table], tally: Tally) -> None:
    """200 to 1,200 rows of four to fifteen attributes, three to twenty classes."""
    n_classes, n_attributes = int(rng.integers(3, 21)), int(rng.integers(4, 16))
    n_rows = int(np.exp(rng.uniform(np.log(200), np.log(1200))))
    X, y, truth = make(rng, n_rows, n_classes, n_attributes)
    train, rows = X[:n_rows], X[n_rows:].reset_index(drop=True)
    clf = AdditiveClassifier().fit(train, y[:n_rows])
    tally.add(clf, train, y[:n_rows], rows, truth[n_rows:, clf.classes_], "reference")


def main() -> None:
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent / "docs" / "coverage.md"
    lines = []
    tally = Tally()
    for seed in range(n_tables):
        from_dirichlet_prior(np.random.default_rng([7, seed]), tally)
    lines.append(tally.line("from the prior, Dirichlet", "dirichlet"))
    print(lines[-1], flush=True)
    for truths, shape in (("smooth", smooth), ("trees", tree)):
        tally = Tally()
        for seed in range(n_tables // 2):
            with_everything_chosen(np.random.default_rng([11, seed]), shape, tally)
        lines.append(tally.line(truths, "reference"))
        print(lines[-1], flush=True)
    for truths, many in (("many classes, smooth", smooth_scores), ("many classes, prototypes", prototypes)):
        tally = Tally()
        for seed in range(max(1, n_tables * MANY_CLASSES_TABLES // 100)):
            with_many_classes(np.random.default_rng([13, seed]), many, tally)
        lines.append(tally.line(truths, "reference"))
        print(lines[-1], flush=True)
    output.write_text(PAGE.replace("COMMIT", commit()) + "\n".join(lines) + "\n")


PAGE = f"""# Coverage of intervals

Written by `python -m benchmarks.interval_coverage` at COMMIT. How often {LEVEL:.0%} intervals of P(class | row) contain
the true probability, on simulated tables with {N_TEST} new rows each.

- *From the prior*: naive Bayes of 100 rows, the structure is given.
- *Smooth* and *trees*: 150 to 1,200 rows of three to eight attributes; the default classifier chooses everything.
- *Many classes*: three to twenty classes, 200 to 1,200 rows of four to fifteen attributes; the interval of
  the predicted class. With prototypes nearly every row is classified correctly.

"reference" is the default method. The lowest decile is the lowest coverage among tenths of the rows by predicted P.

| truths | method | tables | coverage | lowest decile | worst tenth of tables | mean width | seconds of processor |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


if __name__ == "__main__":
    main()
