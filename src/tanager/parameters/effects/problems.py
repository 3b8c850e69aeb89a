"""The problems of one training table: a model of effects on all rows, and on folds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import AutoEngine, CountEngine
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.held_out import HeldOut
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.effects.block_problem import BlockProblem, BlockRows
from tanager.parameters.effects.blocks import block_cells
from tanager.parameters.effects.layout import MANY_ROWS, EffectLayout
from tanager.parameters.effects.monotone_problem import MonotoneProblem
from tanager.parameters.effects.prior import Found, effect_prior, prior_mean, start_from_folds
from tanager.parameters.protocol import ParameterTask
from tanager.structure.protocol import Pairs
from tanager.table.batch import EncodedBatch
from tanager.table.deal import ONE_FOLD_ROWS, split_rows
from tanager.table.granularity import MAX_PAIRED
from tanager.table.rows import Rows, gather

Array = NDArray[np.float64]

MAX_ROWS_FOR_FOLDS = 20_000
# Of a pass: there are hundreds of them.
LOOK_UPS_WORTH_COMPILING = 400_000
# Of a sweep of the compiled descent on a squared penalty: above, L-BFGS shares look-ups and threads.
MAX_LOOK_UPS_IN_BLOCKS = 10_000_000
# Of a pass over blocks, which takes a third of the time of one by groups of families if the rows are in memory.
MAX_LOOK_UPS_OF_A_PASS = 200_000_000


Kind = Literal["zero", "naive Bayes", "norm"]
"""What main effects shrink to: zero, what naive Bayes says, or zero by the norm of all effects of an attribute."""


@dataclass(frozen=True)
class RowSplit:
    """A fold: the rows kept, the rest, and the pairs by the rows kept, so that the rest has no say in them."""

    kept: EncodedBatch
    rest: EncodedBatch
    pairs: Pairs


@dataclass
class EffectFold:
    """A problem on part of the rows, the effects reached so far, and the rows held out.

    rows  (n_cells, n_classes) training rows in each cell of the layout
    """

    problem: Penalized | BlockProblem
    u: Array
    held_out: HeldOut | BlockRows
    layout: EffectLayout
    rows: Array

    @property
    def takes_norm(self) -> bool:
        return isinstance(self.problem, BlockProblem | MonotoneProblem)

    def again(self) -> EffectFold:
        """The same fold for another kind of model at the same time; only of a problem in blocks."""
        assert isinstance(self.problem, BlockProblem)
        return replace(self, problem=self.problem.again())

    def begin(self, kind: Kind, fewer: Array | None = None) -> None:
        """At the effects of fewer pairs, or zero; main effects shrink to what naive Bayes says, or else to zero."""
        self.problem.set_prior_mean(prior_mean(kind, self.layout, self.rows))
        if isinstance(self.problem, BlockProblem | MonotoneProblem):
            self.problem.set_penalty(kind == "norm")
        self.u = self.problem.zero
        if fewer is not None:  # the intercept is last, the further pairs before it
            self.u[: len(fewer) - 1], self.u[-1] = fewer[:-1], fewer[-1]

    @property
    def found(self) -> Found:
        """The layout and the tables beta reached so far."""
        return self.layout, self.problem.beta(self.u)

    def losses(self) -> Array:
        """Of the rows held out."""
        return self.held_out.losses(self.problem.beta(self.u))


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

    @property
    def least_weight(self) -> float | None:
        """Of a row; None where all weigh one."""
        return self.rows.outline.least_weight

    def layout(self, pairs: Pairs, number: int) -> EffectLayout:
        return EffectLayout(self.columns, self.rows.n_classes, pairs[:number])

    def problem(self, layout: EffectLayout, rows: Rows, engine: CountEngine) -> tuple[Penalized, Array]:
        """Also the training rows in each cell, (n_cells, n_classes)."""
        cells, with_gaps = layout.cells, rows.map(EncodedBatch.with_gaps_as_states)
        counted = _count(layout, with_gaps, engine)
        prior = effect_prior(layout, counted)
        if self._objective != "cll":
            prior = prior.with_intercept()
        objective = Objective(cells, with_gaps, self._objective, compiled=self._compiled, engine=engine)
        damped = counted[-1].sum() <= MANY_ROWS  # a third of the passes on covtype
        mirrored = layout.n_classes == 2
        return Penalized(cells, objective, prior, counted.sum(axis=1), mirrored=mirrored, damped=damped), counted

    def monotone_problem(self, layout: EffectLayout, rows: Rows, engine: CountEngine) -> tuple[MonotoneProblem, Array]:
        """The same with the constraints of the structure, for objective "cll"."""
        with_gaps = rows.map(EncodedBatch.with_gaps_as_states)
        counted = _count(layout, with_gaps, engine)
        objective = Objective(layout.cells, with_gaps, compiled=self._compiled, engine=engine)
        return MonotoneProblem(layout, objective, counted, self.ranked.monotone), counted

    def block_problem(self, layout: EffectLayout, rows: Rows) -> BlockProblem:
        """The same in memory, for objective "cll"."""
        return BlockProblem(layout, gather(rows).with_gaps_as_states())

    @property
    def fits_norm(self) -> bool:
        """Whether there are few enough rows to have them all in memory for the fit of a norm."""
        return self._objective == "cll" and self.rows.n_rows <= 2 * MAX_ROWS_FOR_FOLDS

    def _in_blocks(self, n_rows: int) -> bool:
        """Whether a rough fit of the squared penalty is best left to the compiled descent; of many attributes it is."""
        if len(self.columns) > MAX_PAIRED and self.fits_norm:
            return True
        return self._objective == "cll" and self._look_ups(n_rows) <= MAX_LOOK_UPS_IN_BLOCKS

    def _look_ups(self, n_rows: int) -> int:
        return n_rows * (len(self.columns) + self.ranked.numbers[-1]) * self.rows.n_classes

    @property
    def passes_in_blocks(self) -> bool:
        """Whether a close fit of all rows is best left to compiled passes over blocks: not of many rows, by threads."""
        n_rows = self.rows.n_rows
        few = self._look_ups(n_rows) <= MAX_LOOK_UPS_OF_A_PASS
        return self._objective == "cll" and n_rows <= MAX_ROWS_FOR_FOLDS and few

    @cached_property
    def without_pairs(self) -> tuple[EffectLayout, Array]:
        """The layout of main effects alone, and the rows in each of its cells, by class or of all classes together."""
        layout, rows = self.layout((), 0), self.rows.map(EncodedBatch.with_gaps_as_states)
        if rows.n_rows > 2 * MAX_ROWS_FOR_FOLDS:
            return layout, _count(layout, rows, self.task.counts.engine)
        # At once: of tens of thousands of attributes each alone would take as long as a fit.
        batch, offsets = gather(rows), layout.cells.offsets
        cells = block_cells(layout, batch) + offsets[:-1, np.newaxis]
        counted = np.bincount(cells.reshape(-1), np.tile(batch.row_weights, len(cells)), minlength=offsets[-1])
        return layout, counted[:, np.newaxis].astype(np.float64, copy=False)

    @cached_property
    def splits(self) -> list[RowSplit]:
        """The folds."""
        return self._split(ONE_FOLD_ROWS)

    def more_splits(self, one_fold_rows: int) -> list[RowSplit]:
        """The folds besides `splits` if one fold were enough from so many rows on."""
        return self._split(one_fold_rows, len(self.splits)) if self.rows.n_rows <= one_fold_rows else []

    def _split(self, one_fold_rows: int, first: int = 0) -> list[RowSplit]:
        """From fold `first` on."""
        places, splits = self.layout((), 0).places, []
        dealt = split_rows(self.rows, MAX_ROWS_FOR_FOLDS, FOLD_SEED, places, one_fold_rows)
        for kept, rest in islice(dealt, first, None):
            own = CountStore.coarse(kept, AutoEngine(), self.task.counts.names)
            splits.append(RowSplit(kept, rest, self.ranked.rank(own)))
        return splits

    def fold(self, split: RowSplit, number: int, norm: bool = False, fewer: EffectFold | None = None) -> EffectFold:
        """A fold with so many pairs, at zero; with `norm` it can have that penalty. `fewer` is one with fewer pairs."""
        layout, rest = self.layout(split.pairs, number), split.rest.with_gaps_as_states()
        if self.ranked.monotone:
            monotone, counted = self.monotone_problem(layout, split.kept, AutoEngine())
            return EffectFold(monotone, monotone.zero, HeldOut(layout.cells, rest, False), layout, counted)
        if norm or self._in_blocks(split.kept.n_rows):
            bases = fewer.problem.bases if fewer is not None and isinstance(fewer.problem, BlockProblem) else None
            blocks = BlockProblem(layout, split.kept.with_gaps_as_states(), bases, rough=True)
            return EffectFold(blocks, blocks.zero, BlockRows(layout, rest), layout, blocks.counted)
        problem, counted = self.problem(layout, split.kept, AutoEngine())
        return EffectFold(problem, problem.zero, HeldOut(layout.cells, rest, False, self._objective), layout, counted)


def begin(problem: Penalized, kind: Kind, layout: EffectLayout, rows: Array, found: Sequence[Found]) -> Array:
    """Set where main effects shrink to; where to start on all rows: at the mean of the folds, where there are some."""
    problem.set_prior_mean(prior_mean(kind, layout, rows))
    return start_from_folds(layout, problem.start, rows, found) if found else problem.zero


def begin_blocks(problem: BlockProblem, kind: Kind, layout: EffectLayout, found: Sequence[Found]) -> Array:
    """The same of a problem in blocks."""
    problem.set_prior_mean(prior_mean(kind, layout, problem.counted))
    if not found:
        return problem.zero
    return problem.to_odds(start_from_folds(layout, problem.start, problem.counted, found, problem.bases))


def _count(layout: EffectLayout, rows: Rows, engine: CountEngine) -> Array:
    """(n_cells, n_classes) the rows in each cell of the layout."""
    cells = layout.cells
    counts = CountStore(rows, engine, [str(node) for node in range(len(cells.n_states))])
    return cells.pack_families(counts.tables(cells.families, keep=False))
