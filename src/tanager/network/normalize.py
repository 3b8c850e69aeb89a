"""Unnormalised log tables -> CPTs that sum to one and give the same P(class | attributes)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.structure.canonical import is_perfect_for
from tanager.structure.dag import Dag

Logs = NDArray[np.float64]

SMALLEST = 1e-300  # what an entry that would underflow is set to: no table holds a zero


def normalize_tables(dag: Dag, log_tables: Sequence[Logs], n_states: Sequence[int]) -> tuple[NDArray[np.float64], ...]:
    r"""CPTs with log P(c | x) = sum_i beta_i[cell] - log sum_c' exp(...), for a class-last `dag` of perfect form.

    log_tables  one (configurations of all parents, states) array of free, finite numbers beta per node

    From the last node to the first: normalise over the states k, and add log Z(parents) to the family of the last of
    the parents. That one holds all the others because the canonical form is perfect (Roos et al. 2005, theorem 3), and
    it is the class or one of its children. What is left over at the class cancels in P(c | x). So the tables of the
    class and its children are, given the parents of the class, the distribution proportional to exp(sum of beta).
    Everything is done in logs; an entry below 1e-300 becomes 1e-300. A family without the class has no say in
    P(c | x): it is normalised over k and pushes nothing.
    """
    target = dag.n_nodes - 1
    if not is_perfect_for(dag, target):
        raise OptionError(
            "the canonical form of the structure is not perfect (two parents of a common child are not joined), "
            "so its logistic form need not be a Bayesian network.",
            hint="join the parents, or learn normalised tables.",
        )
    position = {node: place for place, node in enumerate(dag.order)}
    families = dag.families
    logs = [np.array(table, dtype=np.float64) for table in log_tables]
    for child in reversed(dag.order):
        family = families[child]
        if target not in family.parents:
            logs[child] -= _log_sum(logs[child], axis=-1)
            continue
        cells = logs[child].reshape(family.class_shape(n_states))
        log_z = _log_sum(cells, axis=-1)
        cells -= log_z
        last = families[max(family.parents, key=position.__getitem__)]
        _add_to_family(logs[last.child], last, log_z, family.parents, n_states)
    return tuple(np.maximum(np.exp(table), SMALLEST) for table in logs)


def _add_to_family(table: Logs, family: Family, addend: Logs, nodes: Sequence[int], n_states: Sequence[int]) -> None:
    """Add a function of `nodes`, all in the family, to the family's table, in place."""
    axes = sorted(range(len(nodes)), key=lambda axis: family.nodes.index(nodes[axis]))
    arranged = addend.reshape([n_states[node] for node in nodes]).transpose(axes)
    shape = [n_states[node] if node in nodes else 1 for node in family.nodes]
    table.reshape([n_states[node] for node in family.nodes])[...] += arranged.reshape(shape)


def _log_sum(values: Logs, axis: int) -> Logs:
    """log sum exp, keeping the axis."""
    highest = values.max(axis=axis, keepdims=True)
    return highest + np.log(np.exp(values - highest).sum(axis=axis, keepdims=True))
