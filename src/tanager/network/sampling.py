"""Draw rows from a network, parents before children."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.structure.dag import Dag


def sample_codes(
    dag: Dag, tables: Sequence[NDArray[np.float64]], n: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Codes (n, n_nodes): one uniform number per cell, looked up in the cumulative table of its configuration."""
    codes = np.empty((n, dag.n_nodes), dtype=np.int64)
    for node in dag.order:
        configuration = np.zeros(n, dtype=np.int64)
        for parent in dag.parents[node]:
            configuration = configuration * tables[parent].shape[1] + codes[:, parent]
        cumulative = np.cumsum(tables[node], axis=1)[:, :-1]
        codes[:, node] = (generator.random(n)[:, np.newaxis] >= cumulative[configuration]).sum(axis=1)
    return codes
