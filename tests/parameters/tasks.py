"""Tasks of parameter learners on small batches, and what several tests ask of their tables."""

from __future__ import annotations

import numpy as np

from oracle import batch_of, hinge_loss
from random_networks import joint
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.network.network import Network
from tanager.parameters import ParameterTask
from tanager.structure.dag import Dag
from tanager.table.rows import Rows


def store(rows: Rows, engine: str = "numpy") -> CountStore:
    """The nodes are called x0, x1, ..."""
    return CountStore(rows, choose_engine(engine), [f"x{node}" for node in range(len(rows.n_states))])


def task_of(dag: Dag, rows: Rows, engine: str = "numpy", **options) -> ParameterTask:
    return ParameterTask(dag, store(rows, engine), **options)


def naive_bayes(n_attributes: int) -> Dag:
    return Dag.augmented_naive_bayes([()] * n_attributes)


def noisy(seed=0, n_rows=300, n_states=(3, 2, 2, 3)):
    """Attributes that tell something of the class, none of them all."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(0, n_states[-1], n_rows)
    columns = [
        np.where(generator.random(n_rows) < 0.4, classes % r, generator.integers(0, r, n_rows)) for r in n_states[:-1]
    ]
    return batch_of(np.stack(columns, axis=1), classes, n_states)


def assert_same(tables, expected, **tolerance):
    """The tables of two networks."""
    for table, other in zip(tables, expected, strict=True):
        np.testing.assert_allclose(table, other, **tolerance)


def row_loss(name, p, evidence, alpha):
    """What a row adds to an objective, by P(class | observed cells) and P(observed cells)."""
    return {
        "cll": -np.log(p),
        "error": 1 - p,
        "squared": (1 - p) ** 2,
        "margin": hinge_loss(p),
        "mixed": -np.log(p) - alpha * np.log(evidence),
        "mixed-margin": (1 - alpha) * hinge_loss(p) - alpha * np.log(p * evidence),
    }[name]


def loss_by_rows(network: Network, codes, query, weights, name: str, alpha: float = 0.0) -> float:
    """The loss row by row, from the joint distribution; a code of its number of states says that a node is missing."""
    cells = joint(network)

    def probability(known):
        return sum(p for state, p in cells.items() if all(state[node] == code for node, code in known.items()))

    loss = 0.0
    for row, weight in zip(codes.tolist(), weights, strict=True):
        present = {node: code for node, code in enumerate(row) if code < network.n_states[node]}
        evidence = {node: code for node, code in present.items() if node not in query}
        if name == "ll":
            loss -= weight * np.log(probability(present))
        elif len(present) > len(evidence):
            p = probability(present) / probability(evidence)
            loss += weight * row_loss(name, p, probability(evidence), alpha)
    return loss
