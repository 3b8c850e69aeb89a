"""Unnormalised log tables -> CPTs that sum to one and give the same P(class | attributes)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import CountTable, Family
from tanager.errors import OptionError
from tanager.structure.canonical import is_perfect_for
from tanager.structure.dag import Dag

Logs = NDArray[np.float64]

SMALLEST = 1e-300  # what an entry that would underflow is set to: no table holds a zero
MAX_FITTING = 30
FITTED = 1e-3


def normalize_tables(
    dag: Dag, log_tables: Sequence[Logs], n_states: Sequence[int], counts: Sequence[CountTable] | None = None
) -> tuple[NDArray[np.float64], ...]:
    r"""CPTs with log P(c | x) = sum_i beta_i[cell] - log sum_c' exp(...), for a class-last `dag` of perfect form.

    log_tables  one (configurations of all parents, states) array of free, finite numbers beta per node
    counts      the families' counts as `CountStore.tables(dag.families)` gives them, or None

    From the last node to the first: normalise over the states k, and add log Z(parents) to the family of the last of
    the parents. That one holds all the others because the canonical form is perfect (Roos et al. 2005, theorem 3), and
    it is the class or one of its children. What is left over at the class cancels in P(c | x). So the tables of the
    class and its children are, given the parents of the class, the distribution proportional to exp(sum of beta).
    Everything is done in logs; an entry below 1e-300 becomes 1e-300. A family without the class has no say in
    P(c | x): it is normalised over k and pushes nothing.

    Adding any f(child, attribute parents) to a family of the class leaves P(c | x) as it is, but changes the joint,
    and so P(c | x) when cells are missing. With `counts`, f is chosen so that sum_c P(c|j) P(k|j,c) is the frequency
    of state k under attribute parents j (frequencies smoothed by one row per j, spread evenly). This also keeps the
    pushed constants small: without it a class prior of a thousand of them may underflow.
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
        if counts is not None:
            cells += _log_factor(cells, counts[child])
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


def _log_factor(cells: Logs, counted: CountTable) -> Logs:
    """(configurations, 1, states) f with sum_c P(c|j) softmax_k(beta_jck + f_jk) = P(k|j), by iterative scaling."""
    n_classes, n_child = cells.shape[1:]
    smoothed = counted + 1.0 / (n_classes * n_child)
    shares = smoothed / smoothed.sum(axis=(1, 2), keepdims=True)
    log_classes = np.log(shares.sum(axis=2, keepdims=True))
    log_states = np.log(shares.sum(axis=1, keepdims=True))
    factor = np.zeros_like(log_states)
    for _ in range(MAX_FITTING):
        tilted = cells + factor
        step = log_states - _log_sum(tilted - _log_sum(tilted, axis=2) + log_classes, axis=1)
        factor += step
        if np.abs(step).max() < FITTED:
            break
    return factor


def _log_sum(values: Logs, axis: int) -> Logs:
    """log sum exp, keeping the axis."""
    highest = values.max(axis=axis, keepdims=True)
    return highest + np.log(np.exp(values - highest).sum(axis=axis, keepdims=True))
