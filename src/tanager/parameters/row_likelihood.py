"""RowLikelihood: the conditional log likelihood of a structure with frequency tables, for searches that ask often."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family, strides
from tanager.network.log_joint import normalize_log
from tanager.parameters.frequency import Frequency
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch

CACHE_BYTES = 256 * 2**20


class RowLikelihood:
    """sum_t w_t log P(c_t | x_t), the tables being smoothed frequencies of the same rows.

    With `leave_one_out` the tables that judge row t are those of the other rows: its own count, 1 (or its weight, if
    less), is taken from the cells of its class. What a family adds to the log joint of every row and class is kept,
    so a structure that differs in one family costs one more pass.
    """

    def __init__(
        self, batch: EncodedBatch, counts: CountStore, smoothing: Frequency, leave_one_out: bool = False
    ) -> None:
        self._batch = batch
        self._counts = counts
        self._smoothing = smoothing
        self._leave_one_out = leave_one_out
        self._known: OrderedDict[Family, NDArray[np.float64]] = OrderedDict()
        self._most = max(64, CACHE_BYTES // (8 * max(1, batch.n_rows * batch.n_classes)))

    def __call__(self, dag: Dag) -> float:
        log_joint = np.zeros((self._batch.n_rows, self._batch.n_classes))
        for family in dag.families:
            # A family without the class is the same for every class and cancels in P(c | x).
            if self._batch.n_attributes in family.nodes:
                log_joint += self._addend(family)
        own = normalize_log(log_joint)[np.arange(len(log_joint)), self._batch.class_codes]
        return float(own.sum() if self._batch.weights is None else own @ self._batch.weights)

    def _addend(self, family: Family) -> NDArray[np.float64]:
        """(n_rows, n_classes) log P(child | parents), the class in every state."""
        if family in self._known:
            self._known.move_to_end(family)
            return self._known[family]
        addend = self._compute(family)
        self._known[family] = addend
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return addend

    def _compute(self, family: Family) -> NDArray[np.float64]:
        batch = self._batch
        attributes = tuple(node for node in family.nodes if node != batch.n_attributes)
        cells = np.zeros(batch.n_rows, dtype=np.int64)
        complete = np.ones(batch.n_rows, dtype=bool)
        for node, stride in zip(attributes, strides(attributes, batch.n_states), strict=True):
            cells += batch.column(node).astype(np.int64) * stride
            complete &= batch.column(node) < batch.n_states[node]
        above, below = self._fractions(family)
        cells[~complete] = len(above)
        with np.errstate(divide="ignore"):
            # One cell more, whose log is 0: a family with a gap is left out of its row.
            result: NDArray[np.float64] = np.vstack([np.log(above / below), np.zeros(batch.n_classes)])[cells]
        if self._leave_one_out:
            present = np.flatnonzero(cells < len(above))
            weight = np.ones(len(cells)) if batch.weights is None else np.minimum(1.0, batch.weights)
            at, weight, classes = cells[present], weight[present], batch.class_codes[present]
            if family.child == batch.n_attributes:  # the classes share their denominator
                result[present] = np.log(above[at] / (below[at] - weight[:, np.newaxis]))
            result[present, classes] = np.log((above[at, classes] - weight) / (below[at, classes] - weight))
        return result

    def _fractions(self, family: Family) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numerators and denominators of the family's table, (attribute cells, classes)."""
        n_states, target = self._batch.n_states, self._batch.n_attributes
        counted = self._counts.table(family)
        prior = self._smoothing.pseudo_rows(self._counts, family)
        if self._leave_one_out and family.child == target:
            prior = prior + 1.0  # a class of one row is not impossible to the others
        above = counted + prior
        below = np.broadcast_to(above.sum(axis=-1, keepdims=True), above.shape)
        if family.child == target:
            return above[:, 0], below[:, 0]
        by_cell = [part.swapaxes(1, 2).reshape(-1, n_states[target]) for part in (above, below)]
        return by_cell[0], by_cell[1]
