"""Networks of effects from rows on workers: `AdditiveLearner` and `AdditiveProblems`, but for where the rows are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tanager.classifiers.additive import AdditiveLearner, take_columns
from tanager.counts.count_store import CountStore
from tanager.dask.batch import ClusterBatch
from tanager.dask.row_pass import ClusterPass
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.objectives import POWERS, Objective
from tanager.parameters.effects.layout import EffectLayout, coarse_batch
from tanager.parameters.effects.problems import MOST_ROWS, AdditiveProblems
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema


class ClusterAdditiveLearner(AdditiveLearner):
    """`AdditiveLearner` for rows on workers."""

    def _take_columns(self, batch: EncodedBatch, order: NDArray[np.intp]) -> EncodedBatch:
        assert isinstance(batch, ClusterBatch)
        n_states = (*(batch.n_states[attribute] for attribute in order.tolist()), batch.n_classes)
        return batch.map("order", take_columns, n_states, order=order)

    def _coarse_batch(self, rows: EncodedBatch, columns: tuple[ColumnSchema, ...]) -> EncodedBatch:
        assert isinstance(rows, ClusterBatch)
        n_states = (*(column.coarse.n_states for column in columns), rows.n_classes)
        return rows.map("coarsen", coarse_batch, n_states, columns=columns)


class ClusterProblems(AdditiveProblems):
    """`AdditiveProblems` of rows on workers; folds are few enough to come here."""

    def _split_rows(self) -> Iterable[tuple[EncodedBatch, EncodedBatch]]:
        assert isinstance(self.task.batch, ClusterBatch)
        return self.task.batch.split_rows(MOST_ROWS, FOLD_SEED)

    def _expand(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[CountStore, Objective]:
        if not isinstance(batch, ClusterBatch):
            return super()._expand(layout, batch)
        expanded = batch.map("expand", _expand, layout.cells.n_states, layout=layout)
        row_pass = ClusterPass(layout.cells, expanded, POWERS[self._objective], self._compiled)
        objective = Objective(layout.cells, expanded, self._objective, on_device=row_pass)
        return layout.counts(expanded, self.task.counts.engine), objective


def _expand(part: EncodedBatch, layout: EffectLayout) -> EncodedBatch:
    return layout.expand(part)
