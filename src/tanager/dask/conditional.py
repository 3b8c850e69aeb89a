"""ClusterConditional: the discriminative fit with the optimiser here and the passes over the rows on the workers."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.dask.additive import ClusterProblems
from tanager.dask.batch import ClusterBatch, take_rows
from tanager.dask.row_pass import ClusterPass
from tanager.parameters import Conditional, ParameterTask
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.fit import FOLD_SEED, ConditionalFit, FitOptions
from tanager.parameters.conditional.gap_objective import MOST_ROWS as MOST_INFERRED
from tanager.parameters.conditional.gap_objective import GapObjective, rows_to_infer
from tanager.parameters.conditional.held_out import Fold, HeldOut
from tanager.parameters.conditional.objectives import POWERS, RowPass
from tanager.parameters.conditional.optimize import Penalized
from tanager.parameters.effects.fit import AdditiveFit
from tanager.parameters.effects.problems import AdditiveTask
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch

Array = NDArray[np.float64]


class ClusterConditional(Conditional):
    """`Conditional` for rows on workers."""

    def _fit(self, task: ParameterTask, options: FitOptions) -> AdditiveFit | ConditionalFit:
        if isinstance(task, AdditiveTask):
            return AdditiveFit(ClusterProblems(task, options.objective), options)
        return ClusterFit(task, options)


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
