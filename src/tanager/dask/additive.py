"""Networks of effects from rows on workers: `AdditiveLearner` and `AdditiveFit`, but for where the rows are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from threadpoolctl import threadpool_limits

from tanager.classifiers.additive import (
    AdditiveLearner,
    LearntAdditive,
    in_table_order,
    network_of_effects,
    take_columns,
)
from tanager.classifiers.gap_average import learn_filler
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.dask.batch import ClusterBatch
from tanager.dask.conditional import ClusterPass
from tanager.parameters import Conditional
from tanager.parameters.additive_fit import MOST_ROWS, AdditiveFit, AdditiveTask
from tanager.parameters.conditional_fit import FOLD_SEED
from tanager.parameters.effect_layout import EffectLayout, coarse_batch
from tanager.parameters.objectives import POWERS, Objective
from tanager.table.batch import EncodedBatch
from tanager.table.schema import TableSchema


class ClusterAdditiveLearner(AdditiveLearner):
    """`AdditiveLearner` for rows on workers."""

    def learn(self, batch: EncodedBatch, schema: TableSchema, engine: CountEngine) -> LearntAdditive:
        if not isinstance(self.parameters, Conditional) or self.missing == "marginalize":
            return super().learn(batch, schema, engine)  # says why not
        assert isinstance(batch, ClusterBatch)
        order = np.argsort(np.array([column.name for column in schema.attributes]), kind="stable")
        columns = tuple(schema.attributes[attribute] for attribute in order.tolist())
        coarse = [column.coarse for column in (*columns, schema.target)]
        n_states = (*(column.n_states for column in columns), batch.n_classes)
        rows = batch.map("order", take_columns, n_states, order=order)
        at_coarse = rows.map("coarsen", coarse_batch, tuple(column.n_states for column in coarse), columns=columns)
        counts = CountStore(at_coarse, engine, [column.name for column in coarse])
        structure = self.structure.learn(self.task(counts))
        assert structure.pairs is not None
        numbers = self.structure.numbers(len(columns))
        task = AdditiveTask(
            structure.dag, counts, rows, columns, structure.pairs, numbers, self.structure.rank, report=self.report
        )
        with threadpool_limits(1, "blas"):
            learnt = ClusterAdditiveFit(task, self.parameters.fit_options()).learn()
        filler = in_table_order(learn_filler(counts, coarse), order) if self.missing != "skip" else None
        return LearntAdditive(network_of_effects(learnt, schema, order), filler, structure, learnt)


class ClusterAdditiveFit(AdditiveFit):
    """`AdditiveFit` of rows on workers; folds are few enough to come here."""

    def _split_rows(self) -> Iterable[tuple[EncodedBatch, EncodedBatch]]:
        assert isinstance(self._task.batch, ClusterBatch)
        return self._task.batch.split_rows(MOST_ROWS, FOLD_SEED)

    def _expand(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[EncodedBatch, CountEngine, Objective]:
        if not isinstance(batch, ClusterBatch):
            return super()._expand(layout, batch)
        expanded = batch.map("expand", _expand, layout.cells.n_states, layout=layout)
        row_pass = ClusterPass(layout.cells, expanded, POWERS[self._options.objective], self._compiled)
        objective = Objective(layout.cells, expanded, self._options.objective, on_device=row_pass)
        return expanded, self._task.counts.engine, objective


def _expand(part: EncodedBatch, layout: EffectLayout) -> EncodedBatch:
    return layout.expand(part)
