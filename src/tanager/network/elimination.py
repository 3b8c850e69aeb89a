"""Exact inference for one query: multiply the tables, sum out one node after another (variable elimination)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from tanager.structure.dag import Dag


@dataclass(frozen=True)
class Factor:
    """A non-negative function of `nodes` (ascending), one axis each: `exp(log_scale) * values`.

    The scale keeps a product of many small probabilities from vanishing.
    """

    nodes: tuple[int, ...]
    values: NDArray[np.float64]
    log_scale: float = 0.0

    def times(self, other: Factor) -> Factor:
        nodes = tuple(sorted({*self.nodes, *other.nodes}))
        values = self._spread(nodes) * other._spread(nodes)
        largest = float(values.max(initial=0.0))
        scale = largest if largest > 0.0 else 1.0
        return Factor(nodes, values / scale, self.log_scale + other.log_scale + float(np.log(scale)))

    def without(self, node: int) -> Factor:
        axis = self.nodes.index(node)
        return Factor(self.nodes[:axis] + self.nodes[axis + 1 :], self.values.sum(axis=axis), self.log_scale)

    def _spread(self, nodes: tuple[int, ...]) -> NDArray[np.float64]:
        own = iter(self.values.shape)
        return self.values.reshape([next(own) if node in self.nodes else 1 for node in nodes])


def eliminate(
    dag: Dag,
    tables: Sequence[NDArray[np.float64]],
    n_states: Sequence[int],
    query: Sequence[int],
    evidence: Mapping[int, int],
) -> Factor:
    """P(query, evidence) as a factor over the query nodes that are not in the evidence."""
    # Nodes that are no ancestor of a query or evidence node sum to one.
    relevant = _ancestors(dag, {*query, *evidence})
    factors = [_table_factor(dag, tables, n_states, node, evidence) for node in sorted(relevant)]
    hidden = relevant - set(query) - set(evidence)
    while hidden:
        node = min(hidden, key=lambda candidate: (_size_without(candidate, factors, n_states), candidate))
        touching = [factor for factor in factors if node in factor.nodes]
        rest = [factor for factor in factors if node not in factor.nodes]
        factors = [*rest, reduce(Factor.times, touching).without(node)]
        hidden.remove(node)
    return reduce(Factor.times, factors, Factor((), np.array(1.0)))


def _table_factor(
    dag: Dag, tables: Sequence[NDArray[np.float64]], n_states: Sequence[int], node: int, evidence: Mapping[int, int]
) -> Factor:
    nodes = (*dag.parents[node], node)
    values = tables[node].reshape([n_states[member] for member in nodes])
    ascending = np.argsort(nodes)
    values = values.transpose(ascending)
    picked = tuple(evidence.get(nodes[k], slice(None)) for k in ascending)
    return Factor(tuple(nodes[k] for k in ascending if nodes[k] not in evidence), values[picked])


def _ancestors(dag: Dag, nodes: set[int]) -> set[int]:
    found: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(dag.parents[node])
    return found


def _size_without(node: int, factors: Sequence[Factor], n_states: Sequence[int]) -> int:
    """Cells of the factor that eliminating `node` makes."""
    joined = {member for factor in factors if node in factor.nodes for member in factor.nodes}
    return prod(n_states[member] for member in joined - {node})
