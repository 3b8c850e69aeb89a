"""GapObjective: an objective of a discriminative fit with missing attributes summed out by inference (CLGD)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.network_objectives import NetworkObjective
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch

Array = NDArray[np.float64]

# Rows to infer in every pass. One over so many rows of 30 attributes takes 0.2 s, and a fit some thirty of them.
MOST_ROWS = 20_000


class GapObjective(Objective):
    """The normalised `Objective` of a row's cells present, whatever is missing: p_t = P(c_t | cells present in row t).

    Where the gaps of a row lie in attributes that are no parent and have none but the class, leaving out their
    families sums them out, and the pass of `Objective` will do; the other rows go through the junction tree. Families
    without the class keep the frequencies of the training rows.
    """

    def __init__(self, cells: ClassCells, task: ParameterTask, name: str = "cll", alpha: float = 0.0) -> None:
        batch, names = task.counts.batch, task.counts.names
        hard = rows_to_infer(task.dag, batch)
        easy = _take(batch, ~hard)
        counts = None
        if alpha > 0.0:
            counts = cells.pack(CountStore(easy, choose_engine("auto"), names).tables(task.dag.families))
        super().__init__(cells, easy, name, normalized=True, alpha=alpha, counts=counts)
        rest = _take(batch, hard)
        codes, target = np.column_stack([rest.codes, rest.class_codes]), batch.n_attributes
        self._inferred = NetworkObjective(task.dag, batch.n_states, codes, [target], rest.weights, name, alpha, names)
        self._others = Frequency().learn(task).tables

    def __call__(self, beta: Array) -> tuple[float, Array]:
        value, gradient = super().__call__(beta)
        inferred, slopes = self._inferred(self._cells.unpack(np.exp(self._cells.log_normalize(beta)), self._others))
        return value + inferred, gradient + self._cells.pack(slopes)


def rows_to_infer(dag: Dag, batch: EncodedBatch) -> NDArray[np.bool_]:
    """Rows with a gap in an attribute that is a parent, or has an attribute as parent."""
    target = dag.n_nodes - 1
    linked = {node for edge in dag.edges if edge[0] != target for node in edge} - {target}
    found = np.zeros(batch.n_rows, dtype=bool)
    for node in linked.intersection(np.flatnonzero(batch.incomplete).tolist()):
        found |= batch.column(node) == batch.n_states[node]
    return found


def _take(batch: EncodedBatch, rows: NDArray[np.bool_]) -> EncodedBatch:
    codes = np.asfortranarray(batch.codes[rows])
    incomplete = (codes == np.array(batch.n_states[:-1])).any(axis=0)
    weights = None if batch.weights is None else batch.weights[rows]
    return EncodedBatch(codes, batch.class_codes[rows], batch.n_states, incomplete, weights)
