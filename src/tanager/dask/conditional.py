"""ClusterConditional: the discriminative fit with the optimiser here and the passes over the rows on the workers."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.dask.batch import ClusterBatch, take_rows
from tanager.dask.cluster import FAN_IN
from tanager.parameters import Conditional, LearntTables, ParameterTask
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.compiled_pass import CompiledPass
from tanager.parameters.conditional_fit import FOLD_SEED, ConditionalFit
from tanager.parameters.gap_objective import MOST_ROWS as MOST_INFERRED
from tanager.parameters.gap_objective import GapObjective, rows_to_infer
from tanager.parameters.held_out import Fold, HeldOut
from tanager.parameters.objectives import POWERS, IndicatorPass, RowPass
from tanager.parameters.optimize import Penalized
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch
from tanager.threads import thread_limit

Array = NDArray[np.float64]


class ClusterConditional(Conditional):
    """`Conditional` for rows on workers."""

    def learn(self, task: ParameterTask) -> LearntTables:
        with threadpool_limits(1, "blas"):  # as in memory
            return ClusterFit(task, self.fit_options()).learn()


class ClusterPass:
    """`RowPass` over rows on workers: log odds go out, losses and gradients are added up.

    What a pass needs of a part is made once, on the worker that has the part, and kept there.
    """

    def __init__(self, cells: ClassCells, batch: ClusterBatch, power: int, compiled: bool) -> None:
        self._cluster = batch.cluster
        self._passes = batch.cluster.map(
            "prepare", _make_pass, batch.parts, cells=cells, power=power, compiled=compiled
        )

    def __call__(self, odds: Array) -> tuple[float, Array]:
        if not self._passes:
            return 0.0, np.zeros_like(odds)
        found = self._cluster.map("gradient", _run_pass, self._passes, odds=odds)
        return self._cluster.sum(_add_passes, found, most=FAN_IN)


def _make_pass(part: EncodedBatch, cells: ClassCells, power: int, compiled: bool) -> RowPass:
    return CompiledPass(cells, part, power) if compiled else IndicatorPass(cells, part, power)


def _run_pass(own: RowPass, odds: Array) -> tuple[float, Array]:
    with thread_limit(1):  # a worker has threads of its own
        return own(odds)


def _add_passes(found: list[tuple[float, Array]]) -> tuple[float, Array]:
    return sum(value for value, _ in found), np.sum([gradient for _, gradient in found], axis=0)


class ClusterFit(ConditionalFit):
    """`ConditionalFit` of rows on workers; folds, and rows to be inferred, are few enough to come here."""

    @cached_property
    def _batch(self) -> ClusterBatch:
        batch = self._task.counts.batch
        assert isinstance(batch, ClusterBatch)
        return batch

    def _infers_gaps(self) -> bool:
        if self._task.skip_gaps or not self._batch.incomplete.any():
            return False
        counted = self._batch.cluster.map("gaps", _count_hard, self._batch.parts, dag=self._task.dag)
        return 0 < sum(self._batch.cluster.gather(counted)) <= MOST_INFERRED

    def _problem(self, task: ParameterTask, infer_gaps: bool = False) -> Penalized:
        problem = super()._problem(task)
        if not infer_gaps:
            return problem
        options, counts = self._options, self._cells.pack(task.counts.tables(task.dag.families))
        alpha = options.alpha if options.objective == "mixed" else 0.0
        objective = ClusterGapObjective(self._cells, task, options.objective, alpha, counts, self._compiled)
        return Penalized(self._cells, objective, problem.prior, counts.sum(axis=1))

    def _pass_on_device(self, counts: CountStore) -> RowPass | None:
        if not isinstance(counts.batch, ClusterBatch):
            return None
        return ClusterPass(self._cells, counts.batch, POWERS[self._options.objective], self._compiled)

    def _folds(self, most_rows: int) -> list[Fold]:
        folds, names = [], self._task.counts.names
        for kept, rest in self._batch.split_rows(most_rows, FOLD_SEED):
            problem = self._problem(ParameterTask(self._task.dag, CountStore(kept, choose_engine("auto"), names)))
            folds.append(Fold(problem, problem.zero, HeldOut(self._cells, rest, self._normalized)))
        return folds


class ClusterGapObjective(GapObjective):
    """`GapObjective` with the rows to be inferred here, and the others on their workers."""

    def __init__(
        self, cells: ClassCells, task: ParameterTask, name: str, alpha: float, counts: Array, compiled: bool
    ) -> None:
        batch, families, names = task.counts.batch, task.dag.families, task.counts.names
        assert isinstance(batch, ClusterBatch)
        hard = batch.join(batch.cluster.gather(batch.cluster.map("gaps", _hard_rows, batch.parts, dag=task.dag)))
        # The frequencies are those of all rows.
        sets = [tuple(sorted(family.nodes)) for family in families]
        known = {nodes: task.counts.flat(nodes) for nodes in sets}
        here = CountStore(hard, choose_engine("auto"), names, known=known)
        super().__init__(cells, ParameterTask(task.dag, here), name, alpha)
        easy = batch.map("easy", _easy_rows, batch.n_states, dag=task.dag)
        self._rows = ClusterPass(cells, easy, POWERS[name], compiled)
        if alpha > 0.0:
            self._counts = counts - cells.pack(CountStore(hard, choose_engine("auto"), names).tables(families))


def _hard_rows(part: EncodedBatch, dag: Dag) -> EncodedBatch:
    return take_rows(part, np.flatnonzero(rows_to_infer(dag, part)))


def _easy_rows(part: EncodedBatch, dag: Dag) -> EncodedBatch:
    return take_rows(part, np.flatnonzero(~rows_to_infer(dag, part)))


def _count_hard(part: EncodedBatch, dag: Dag) -> int:
    return int(rows_to_infer(dag, part).sum())
