"""Models to report on, and random evidence for them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from tanager import AdditiveClassifier, BayesianNetworkClassifier, Network
from tanager.additive.model import AdditiveModel
from tanager.structure import Fixed

NAMES = ("a", "b", "c", "d", "e", "f", "g")


def table(seed: int = 0, n_rows: int = 300, n_columns: int = 7, n_classes: int = 3) -> tuple[pd.DataFrame, pd.Series]:
    """Columns of two to four states that depend on the class and on the column before."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    columns = {}
    last = y
    for k in range(n_columns):
        n_states = 2 + k % 3
        last = np.where(rng.random(n_rows) < 0.5, (y + last) % n_states, rng.integers(0, n_states, n_rows))
        name = NAMES[k] if n_columns <= len(NAMES) else f"attribute {k}"
        columns[name] = np.array([f"s{state}" for state in range(n_states)])[last]
    return pd.DataFrame(columns), pd.Series([f"class {label}" for label in y], name="y")


def class_with_parents(missing: str = "auto") -> BayesianNetworkClassifier:
    """a and b are parents of the class, c its grandparent; a and d have a common child beside."""
    edges = [("c", "a"), ("a", "y"), ("b", "y"), ("y", "d"), ("a", "e"), ("d", "e"), ("y", "f"), ("e", "g"), ("y", "g")]
    X, y = table(4)
    return BayesianNetworkClassifier(Fixed(edges), missing=missing).fit(X, y)


def with_hidden_node() -> BayesianNetworkClassifier:
    """The network of five columns, learnt again from a table that lacks one of them."""
    X, y = table(4, n_columns=5)
    edges = [("y", "c"), *(("c", name) for name in "abde")]
    whole = BayesianNetworkClassifier(Fixed(edges), parameters="frequency").fit(X, y)
    return BayesianNetworkClassifier(Fixed(whole.model_), parameters="em").fit(X.drop(columns="c"), y)


def mixed_table(
    seed: int = 0, n_rows: int = 400, n_classes: int = 3, gaps: float = 0.0
) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers and categories; the class depends on most, and on pairs of them. Two columns have gaps."""
    rng = np.random.default_rng(seed)
    age, pay = rng.normal(40, 12, n_rows), rng.lognormal(3, 1, n_rows)
    town, job = rng.integers(0, 5, n_rows), rng.integers(0, 3, n_rows)
    score = (age - 40) / 12 + np.log(pay) - 3 + 1.5 * ((town + job) % 2) * np.sign(age - 40) + (job == 1)
    y = np.digitize(score + rng.logistic(0, 0.5, n_rows), np.quantile(score, np.arange(1, n_classes) / n_classes))
    X = pd.DataFrame(
        {
            "age": age.round(),
            "pay": pay.round(2),
            "town": np.array(["Aa", "Bo", "Cu", "Dy", "Eu"], dtype=object)[town],
            "job": np.array(["none", "half", "full"], dtype=object)[job],
            "noise": rng.normal(size=n_rows).round(3),
        }
    )
    X = X.mask(rng.random(X.shape) < gaps * X.columns.isin(["age", "town"]))
    return X, pd.Series([f"class {label}" for label in y], name="y")


def with_trees(seed: int, n_classes: int = 3, missing: str = "auto") -> AdditiveClassifier:
    """A network of effects and trees: in half of the towns and jobs age says the opposite."""
    X, y = mixed_table(seed, n_rows=3_000, n_classes=n_classes, gaps=0.05)
    clf = AdditiveClassifier(missing=missing).fit(X, y)
    assert clf.model_.forest is not None
    return clf


def rows_of(network: Network | AdditiveModel, codes: np.ndarray) -> pd.DataFrame:
    """A table whose cells have these codes, missing where they are negative: numbers from the middle of their bin."""
    columns = {}
    for column, own in zip(network.columns[:-1], codes.T.tolist(), strict=False):
        values: list[object] = list(column.categories)
        if column.kind == "numeric":
            cuts = column.cuts
            between = [(low + high) / 2 for low, high in pairwise(cuts)]
            values = [cuts[0] - 1.0, *between, cuts[-1] + 1.0] if cuts else [0.0]
        values += [None] * column.missing_state
        missing = np.nan if column.kind == "numeric" else None
        cells = [missing if code < 0 or values[code] is None else values[code] for code in own]
        columns[column.name] = np.array(cells, dtype=float if column.kind == "numeric" else object)
    return pd.DataFrame(columns)


def random_codes(network: Network | AdditiveModel, n_patterns: int, seed: int = 0) -> np.ndarray:
    """(n_patterns, n_nodes) states of the attributes, -1 for about half of them; the class is never known."""
    rng = np.random.default_rng(seed)
    states = np.column_stack([rng.integers(0, n, n_patterns) for n in network.n_states])
    known = rng.random(states.shape) < rng.random((n_patterns, 1))
    known[:, -1] = False
    return np.where(known, states, -1)


def grown_over_gaps(n_rows: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """A class that three attributes tell together, some of them missing: the default grows trees, on gaps filled."""
    random = np.random.default_rng(4)
    codes = random.integers(0, 4, (n_rows, 5))
    y = (codes[:, :3] > 1).sum(axis=1) % 2
    return pd.DataFrame({f"a{j}": np.where(random.random(n_rows) < 0.08, np.nan, codes[:, j]) for j in range(5)}), y
