"""Which cells of an impossible row contradict each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.network.inference.junction_tree import JunctionTree, Tables
from tanager.structure.dag import Dag


def contradicting_nodes(dag: Dag, n_states: Sequence[int], tables: Tables, row: NDArray[np.integer]) -> tuple[int, ...]:
    """Observed nodes of a row of probability zero whose cells cannot occur together, none of which can be spared.

    The last of the shortest impossible beginning of the row is one of them, since without it the rest was possible.
    Keep it, look among the cells before it for the next one, and so on until those kept are impossible by themselves.
    """
    observed = [node for node, code in enumerate(row) if code < n_states[node]]
    kept: list[int] = []

    def impossible(length: int) -> bool:
        known = [*kept, *observed[:length]]
        cells = np.array([n_states])
        cells[0, known] = row[known]
        unknown = set(range(dag.n_nodes)).difference(known)
        tree = JunctionTree.of(dag, n_states, known=known, unknown=unknown)
        return bool(tree.log_evidence(tables, cells)[0] == -np.inf)

    while not impossible(0):
        shortest = bisect_left(range(len(observed)), True, key=impossible)
        kept.append(observed[shortest - 1])
        observed = observed[: shortest - 1]
    return tuple(sorted(kept))
