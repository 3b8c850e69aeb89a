"""The descents of `Conditional` on a structure of pairs: on all rows, and on the folds that choose among models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine, choose_engine
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.held_out import Fold, HeldOut, split_rows
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.conditional.optimize import Penalized
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.naive_bayes_prior_mean import naive_bayes_odds
from tanager.parameters.effects.prior import MANY_ROWS, effect_prior
from tanager.parameters.protocol import ParameterTask
from tanager.structure.protocol import Pairs
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import coarse_rows, fine_places, gaps_as_states
from tanager.table.rows import Rows

Array = NDArray[np.float64]

MAX_ROWS_FOR_FOLDS = 20_000
# Of a pass: there are hundreds of them.
LOOK_UPS_WORTH_COMPILING = 400_000


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


class EffectProblems:
    """The problems of one training table, and of parts of it, for an objective of `Conditional`."""

    def __init__(self, task: ParameterTask, objective: str) -> None:
        assert task.pairs is not None
        assert task.rows is not None
        self.task = task
        self.ranked = task.pairs
        self.columns = task.columns[:-1]
        self.rows = task.rows
        self._objective = objective
        n_look_ups = self.rows.n_rows * len(self.ranked.pairs) * (self.rows.n_classes - 1)
        self._compiled = n_look_ups >= LOOK_UPS_WORTH_COMPILING

    def layout(self, pairs: Pairs, number: int) -> EffectLayout:
        return EffectLayout(self.columns, self.rows.n_classes, pairs[:number])

    def problem(self, layout: EffectLayout, rows: Rows, engine: CountEngine) -> tuple[Penalized, Array]:
        """Also the training rows in each cell, (n_cells, n_classes)."""
        cells, with_gaps = layout.cells, rows.map(gaps_as_states)
        counts = CountStore(with_gaps, engine, [str(node) for node in range(len(cells.n_states))])
        counted = cells.pack_families(counts.tables(cells.families, keep=False))
        prior = effect_prior(layout, counted)
        if self._objective != "cll":
            prior = prior.with_intercept()
        objective = Objective(cells, with_gaps, self._objective, compiled=self._compiled, engine=engine)
        damped = counted[-1].sum() <= MANY_ROWS  # a third of the passes on covtype
        mirrored = layout.n_classes == 2
        return Penalized(cells, objective, prior, counted.sum(axis=1), mirrored=mirrored, damped=damped), counted

    def parts(self) -> list[Part]:
        rows, counts, n_attributes = self.rows, self.task.counts, len(self.columns)
        parts = []
        for kept, rest in split_rows(rows, MAX_ROWS_FOR_FOLDS, FOLD_SEED, fine_places(self.columns)):
            coarse = coarse_rows(kept, n_attributes)
            if rows.n_rows <= 2 * MAX_ROWS_FOR_FOLDS:  # kept and rest are all rows
                own = counts.without(coarse, coarse_rows(rest, n_attributes))
            else:
                own = CountStore(coarse, choose_engine("auto"), counts.names)
            parts.append(Part(kept, rest, self.ranked.rank(own)))
        return parts

    def fold(self, part: Part, number: int) -> EffectFold:
        """A fold with so many pairs, at zero."""
        layout = self.layout(part.pairs, number)
        problem, counted = self.problem(layout, part.kept, choose_engine("auto"))
        held_out = HeldOut(layout.cells, gaps_as_states(part.rest), False)
        return EffectFold(problem, problem.zero, held_out, layout, counted)
