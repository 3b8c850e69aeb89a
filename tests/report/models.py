"""Models to report on, and random evidence for them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tanager import BayesianNetworkClassifier, Network
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


def class_with_parents() -> BayesianNetworkClassifier:
    """a and b are parents of the class, c its grandparent; a and d have a common child beside."""
    edges = [("c", "a"), ("a", "y"), ("b", "y"), ("y", "d"), ("a", "e"), ("d", "e"), ("y", "f"), ("e", "g"), ("y", "g")]
    X, y = table(4)
    return BayesianNetworkClassifier(Fixed(edges)).fit(X, y)


def random_codes(network: Network, n_patterns: int, seed: int = 0) -> np.ndarray:
    """(n_patterns, n_nodes) states of the attributes, -1 for about half of them; the class is never known."""
    rng = np.random.default_rng(seed)
    states = np.column_stack([rng.integers(0, n, n_patterns) for n in network.n_states])
    known = rng.random(states.shape) < rng.random((n_patterns, 1))
    known[:, -1] = False
    return np.where(known, states, -1)


def evidence(network: Network, codes: np.ndarray) -> dict[str, object]:
    return {
        name: network.states[name][code] for name, code in zip(network.nodes, codes.tolist(), strict=True) if code >= 0
    }
