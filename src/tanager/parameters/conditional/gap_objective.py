"""GapObjective: an objective of a discriminative fit with missing attributes summed out by inference (CLGD)."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.network_objectives import NetworkObjective
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch
from tanager.table.rows import Rows, gather

# A pass over so many rows of 30 attributes takes 0.2 s, and a fit some thirty of them.
MAX_ROWS_TO_INFER = 20_000


class GapObjective(Objective):
    """The normalised `Objective` of a row's cells present, whatever is missing: p_t = P(c_t | cells present in row t).

    Where the gaps of a row lie in attributes that are no parent and have none but the class, leaving out their
    families sums them out, and the pass of `Objective` will do; the other rows go through the junction tree. Families
    without the class keep the frequencies of the training rows.
    """

    def __init__(self, cells: ClassCells, task: ParameterTask, name: str = "cll", alpha: float = 0.0) -> None:
        """The rows to infer, few enough, come into memory; the others stay where they are."""
        rows, names, engine = task.counts.rows, task.counts.names, task.counts.engine
        easy = rows.map(partial(_take_rows, dag=task.dag, hard=False), "easy").kept()
        counts = None
        if alpha > 0.0:
            counts = cells.pack(CountStore(easy, engine, names).tables(task.dag.families))
        super().__init__(cells, easy, name, True, alpha, counts)
        hard = gather(rows.map(partial(_take_rows, dag=task.dag, hard=True), "hard"))
        codes, target = np.column_stack([hard.codes, hard.class_codes]), rows.n_attributes
        self._inferred = NetworkObjective(task.dag, rows.n_states, codes, [target], hard.weights, name, alpha, names)
        self._others = Frequency().tables(task)

    def __call__(self, beta: Array) -> tuple[float, Array]:
        value, gradient = super().__call__(beta)
        inferred, slopes = self._inferred(self._cells.unpack(np.exp(self._cells.log_normalize(beta)), self._others))
        return value + inferred, gradient + self._cells.pack(slopes)


def count_rows_to_infer(dag: Dag, rows: Rows) -> int:
    """How many rows have a gap that leaving out families does not sum out."""
    if not _linked(dag).intersection(np.flatnonzero(rows.incomplete).tolist()):
        return 0
    return rows.sum(partial(_count_hard, dag=dag), "gaps")


def rows_to_infer(dag: Dag, batch: EncodedBatch) -> NDArray[np.bool_]:
    """Rows with a gap in an attribute that is a parent, or has an attribute as parent."""
    found = np.zeros(batch.n_rows, dtype=bool)
    for node in _linked(dag).intersection(np.flatnonzero(batch.incomplete).tolist()):
        found |= batch.column(node) == batch.n_states[node]
    return found


def _linked(dag: Dag) -> set[int]:
    target = dag.n_nodes - 1
    return {node for edge in dag.edges if edge[0] != target for node in edge} - {target}


def _take_rows(batch: EncodedBatch, dag: Dag, hard: bool) -> EncodedBatch:
    return batch.take(rows_to_infer(dag, batch) == hard)


def _count_hard(batch: EncodedBatch, dag: Dag) -> int:
    return int(rows_to_infer(dag, batch).sum())
