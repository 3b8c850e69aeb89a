"""Where the learners of the likelihood of rows with gaps start: the rows, pseudo-rows, and the first tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.table.batch import EncodedBatch
from tanager.table.rows import Rows

HIDDEN_SEED = 0
# How far, in logs, the tables of a hidden node start from equal shares, where every step is zero.
HIDDEN_SPREAD = 0.5


def all_rows(task: ParameterTask) -> list[Rows]:
    """The rows with a class and, where the task has them, those without."""
    return [task.counts.rows] if task.unlabelled is None else [task.counts.rows, task.unlabelled]


def pseudo_rows(task: ParameterTask, smoothing: Frequency) -> list[Array]:
    """(states,) of each node."""
    # A state may be seen only in rows without a class, and must not be impossible then.
    more = [0.0] * task.dag.n_nodes if task.unlabelled is None else task.unlabelled.sum(_rows_by_state, "states")
    return [smoothing.pseudo_rows(task.counts, family, more=more[family.child]) for family in task.dag.families]


def start_tables(task: ParameterTask, pseudo: Sequence[Array], nodes: Collection[int]) -> tuple[Array, ...]:
    """Frequencies of the rows in which a family is present; random shares where one of `nodes` has a hidden node."""
    families, n_states = task.dag.families, task.counts.n_states
    hidden, generator = hidden_nodes(task.counts.rows), np.random.default_rng(HIDDEN_SEED)
    tables = []
    for family, counted, prior in zip(families, task.counts.tables(families), pseudo, strict=True):
        cells = counted.reshape(family.shape(n_states)) + prior
        if family.child in nodes and not hidden.isdisjoint(family.nodes):
            cells = cells * np.exp(HIDDEN_SPREAD * generator.normal(size=cells.shape))
        tables.append(cells / cells.sum(axis=1, keepdims=True))
    return tuple(tables)


def hidden_nodes(rows: Rows) -> set[int]:
    """Attributes of more than one state that no row has a cell of."""
    if not rows.incomplete.any():
        return set()
    n_present = rows.sum(_cells_present, "hidden")
    return {node for node in np.flatnonzero(n_present == 0).tolist() if rows.n_states[node] > 1}


def _cells_present(batch: EncodedBatch) -> NDArray[np.int64]:
    """(n_attributes,) how many rows have each of them."""
    present = np.full(batch.n_attributes, batch.n_rows, dtype=np.int64)
    for node in np.flatnonzero(batch.incomplete).tolist():
        present[node] = np.count_nonzero(batch.column(node) < batch.n_states[node])
    return present


def _rows_by_state(batch: EncodedBatch) -> list[Array]:
    """By node, (states,) the sum of the weights of the rows that have it in each state."""
    return [
        np.bincount(batch.column(node), batch.weights, minlength=n_states + 1)[:n_states].astype(np.float64)
        for node, n_states in enumerate(batch.n_states)
    ]
