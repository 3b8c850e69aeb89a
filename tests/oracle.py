"""Brute force to check the library against: batches from lists, counts row by row, a joint distribution by cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.table.columns import code_dtype
from tanager.table.rows import EncodedBatch


def batch_of(
    codes: ArrayLike, classes: ArrayLike, n_states: Sequence[int], weights: ArrayLike | None = None
) -> EncodedBatch:
    """A batch from codes (rows, attributes) and the class of each row; code n_states says missing."""
    table = np.asarray(codes).reshape(-1, len(n_states) - 1)
    return EncodedBatch(
        codes=np.asfortranarray(table, dtype=code_dtype(max(n_states[:-1], default=0))),
        class_codes=np.asarray(classes, dtype=code_dtype(n_states[-1])),
        n_states=tuple(n_states),
        incomplete=(table == np.asarray(n_states[:-1], dtype=int)).any(axis=0),
        weights=None if weights is None else np.asarray(weights, dtype=np.float64),
    )


def random_batch(
    seed: int,
    n_rows: int,
    n_states: Sequence[int],
    gaps: float = 0.0,
    empty_class: bool = False,
    weighted: bool = False,
) -> EncodedBatch:
    """Uniform codes; a share `gaps` of every other attribute is missing; the last class may have no row."""
    rng = np.random.default_rng(seed)
    *attributes, n_classes = n_states
    codes = np.column_stack([rng.integers(0, r, n_rows) for r in attributes])
    missing = rng.random(codes.shape) < gaps
    missing[:, 1::2] = False
    classes = rng.integers(0, max(1, n_classes - empty_class), n_rows)
    weights = rng.uniform(0.1, 3.0, n_rows) if weighted else None
    return batch_of(np.where(missing, attributes, codes), classes, n_states, weights)


def take_rows(batch: EncodedBatch, rows: ArrayLike) -> EncodedBatch:
    """The same table with these rows, whatever gaps they have."""
    rows = np.asarray(rows, dtype=int)
    weights = None if batch.weights is None else batch.weights[rows]
    return batch_of(batch.codes[rows], batch.class_codes[rows], batch.n_states, weights)


def count_rows(batch: EncodedBatch, nodes: Sequence[int]) -> NDArray[np.float64]:
    """Sum of the weights of the rows with each combination of states, an axis for each node, one row at a time."""
    counts = np.zeros([batch.n_states[node] for node in nodes])
    columns = [batch.column(node).tolist() for node in nodes]
    weights = [1.0] * batch.n_rows if batch.weights is None else batch.weights.tolist()
    for row, weight in enumerate(weights):
        states = tuple(column[row] for column in columns)
        if all(state < batch.n_states[node] for state, node in zip(states, nodes, strict=True)):
            counts[states] += weight
    return counts


def joint_distribution(
    parents: Mapping[int, Sequence[int]], tables: Mapping[int, ArrayLike], n_states: Sequence[int]
) -> NDArray[np.float64]:
    """p(x_0, ..., x_n) with an axis for each node: the product over the nodes of their cell of their table.

    tables[node] has an axis for each of parents[node], in that order, and one for the node itself.
    """
    joint = np.empty(tuple(n_states))
    for states in product(*map(range, n_states)):
        cells = (
            np.asarray(tables[node])[(*(states[parent] for parent in parents[node]), states[node])]
            for node in range(len(n_states))
        )
        joint[states] = prod(cells)
    return joint


def hinge_loss(p):
    """The objective "margin" of rows with these probabilities of their class: 1 - y, rounded off about y = 1."""
    y = np.log(p) - np.log1p(-np.minimum(p, 1 - 1e-15))
    return np.select([y < 0.5, y < 1.5], [1 - y, (1.5 - y) ** 2 / 2], 0.0)


def log_joints_without(
    rows: ArrayLike, parents: Sequence[Sequence[int]], n_states: Sequence[int]
) -> NDArray[np.float64]:
    """(n_rows, n_classes) log P(attributes of row t, c) of a structure, by the other rows and a pseudo-row a cell.

    `rows` are codes, the class last.
    """
    rows = np.asarray(rows, dtype=int)
    logs = np.zeros((len(rows), n_states[-1]))
    for t, c in np.ndindex(logs.shape):
        others, row = np.delete(rows, t, axis=0), np.array([*rows[t, :-1], c])
        for child, own in enumerate(map(list, parents)):
            alike = others[(others[:, own] == row[own]).all(axis=1)]
            logs[t, c] += np.log((np.sum(alike[:, child] == row[child]) + 1) / (len(alike) + n_states[child]))
    return logs
