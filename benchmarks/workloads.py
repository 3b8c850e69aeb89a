"""Tables to time on: rows drawn from random TANs, the same for a fixed seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_tan(
    n_rows: int, n_attributes: int, n_states: int, n_classes: int = 2, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Integer codes (n_rows, n_attributes), row-major int64, and classes, from a TAN with softmax tables.

    Attribute i > 0 has the class and a random earlier attribute as parents; table rows are softmax of normals.
    """
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_classes, n_rows)
    X = np.empty((n_rows, n_attributes), dtype=np.int64)
    for i in range(n_attributes):
        parent = X[:, generator.integers(i)] if i else np.zeros(n_rows, dtype=np.int64)
        logits = generator.normal(size=(n_states * n_classes, n_states))
        table = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        cumulative = np.cumsum(table, axis=1)[:, :-1]
        X[:, i] = (generator.random(n_rows)[:, np.newaxis] >= cumulative[parent * n_classes + y]).sum(axis=1)
    return X, y
