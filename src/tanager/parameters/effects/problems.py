"""The descents of `Conditional` on a structure of pairs: on all rows, and on the folds that choose among models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.held_out import Fold, HeldOut, split_rows
from tanager.parameters.conditional.objectives import POWERS, Objective
from tanager.parameters.conditional.optimize import Penalized
from tanager.parameters.effects.layout import EffectLayout, coarse_batch
from tanager.parameters.effects.naive_bayes_prior_mean import naive_bayes_odds
from tanager.parameters.effects.prior import MANY_ROWS, effect_prior
from tanager.parameters.protocol import ParameterTask
from tanager.structure.pairwise import Pairs
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

MOST_ROWS = 20_000
# Of a pass: there are hundreds of them.
LOOK_UPS_WORTH_COMPILING = 400_000


@dataclass(frozen=True)
class AdditiveTask(ParameterTask):
    """A structure of pairs, and the counts of the table at its coarse granularity.

    batch    the rows at their fine granularity
    columns  the attributes
    pairs    (parent, child) attributes, the most telling first
    numbers  how many of them may be taken, ascending
    rank     the pairs by the counts of other rows
    """

    batch: EncodedBatch
    columns: tuple[ColumnSchema, ...]
    pairs: Pairs
    numbers: tuple[int, ...]
    rank: Callable[[CountStore], Pairs]


@dataclass(frozen=True)
class Part:
    """A fold: the rows kept, the rest, and the pairs by the rows kept, so that the rest has no say in them."""

    kept: EncodedBatch
    rest: EncodedBatch
    pairs: Pairs


@dataclass
class EffectFold(Fold):
    """A fold, the layout of its effects, and the training rows in each cell of it, (n_cells, n_classes)."""

    layout: EffectLayout
    rows: Array

    def begin(self, centred: bool, u: Array) -> None:
        """At the effects of fewer pairs; main effects shrink to what naive Bayes says if `centred`, else to zero."""
        self.problem.set_centre(naive_bayes_odds(self.layout, self.rows) if centred else 0.0)
        self.u = self.problem.zero
        self.u[: len(u) - 1], self.u[-1] = u[:-1], u[-1]  # the intercept is last, the further pairs before it


class AdditiveProblems:
    """The problems of one training table, and of parts of it, for an objective of `Conditional`."""

    def __init__(self, task: AdditiveTask, objective: str) -> None:
        self.task = task
        self._objective = objective
        n_look_ups = task.batch.n_rows * len(task.pairs) * (task.batch.n_classes - 1)
        self._compiled = n_look_ups >= LOOK_UPS_WORTH_COMPILING

    def layout(self, pairs: Pairs, number: int) -> EffectLayout:
        return EffectLayout(self.task.columns, self.task.batch.n_classes, pairs[:number])

    def problem(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[Penalized, Array]:
        """Also the training rows in each cell, (n_cells, n_classes)."""
        cells = layout.cells
        counts, objective = self._expand(layout, batch)
        rows = cells.pack_families(counts.tables(cells.families, keep=False))
        prior = effect_prior(layout, rows)
        if self._objective != "cll":
            prior = prior.with_intercept()
        damped = rows[-1].sum() <= MANY_ROWS  # a third of the passes on covtype
        problem = Penalized(cells, objective, prior, rows.sum(axis=1), mirrored=layout.n_classes == 2, damped=damped)
        return problem, rows

    def parts(self) -> list[Part]:
        batch, columns, counts = self.task.batch, self.task.columns, self.task.counts
        parts = []
        for kept, rest in self._split_rows():
            coarse = coarse_batch(kept, columns)
            if batch.n_rows <= 2 * MOST_ROWS:  # kept and rest are all rows
                own = counts.without(coarse, coarse_batch(rest, columns))
            else:
                own = CountStore(coarse, choose_engine("auto"), counts.names)
            parts.append(Part(kept, rest, self.task.rank(own)))
        return parts

    def fold(self, part: Part, number: int) -> EffectFold:
        """A fold with so many pairs, at zero."""
        layout = self.layout(part.pairs, number)
        problem, rows = self.problem(layout, part.kept)
        return EffectFold(problem, problem.zero, HeldOut(layout.cells, layout.expand(part.rest), False), layout, rows)

    def _split_rows(self) -> Iterable[tuple[EncodedBatch, EncodedBatch]]:
        return split_rows(self.task.batch, MOST_ROWS, FOLD_SEED)

    def _expand(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[CountStore, Objective]:
        """Counts of the rows as the layout's table has them, and the objective over them."""
        own, objective = self.task.counts, self._objective
        on_device = own.on_device and batch is self.task.batch  # folds are small
        counts = layout.counts(layout.expand(batch), own.engine if on_device else choose_engine("auto"))
        row_pass = None
        if on_device:
            from tanager.torch.row_pass import pass_on_device

            row_pass = pass_on_device(layout.cells, counts, POWERS[objective])
        return counts, Objective(layout.cells, counts.batch, objective, compiled=self._compiled, on_device=row_pass)
