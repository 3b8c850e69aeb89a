"""Models of effects on folds of the rows, and the choice among them.

A model is given by where its main effects shrink to, how strongly, and how many pairs it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import AutoEngine, CountEngine
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.held_out import Fold, HeldOut, split_rows
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.conditional.optimize import Penalized
from tanager.parameters.conditional.strengths import (
    Chosen,
    StrengthPath,
    Strengths,
    Walk,
    choose_strengths,
    excess_errors,
    visit_strengths,
)
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.naive_bayes_prior_mean import naive_bayes_odds
from tanager.parameters.effects.prior import MANY_ROWS, Found, effect_prior
from tanager.parameters.protocol import ParameterTask
from tanager.structure.protocol import Pairs
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import fine_places
from tanager.table.rows import Rows

Array = NDArray[np.float64]

MAX_ROWS_FOR_FOLDS = 20_000
# Of a pass: there are hundreds of them.
LOOK_UPS_WORTH_COMPILING = 400_000
# Settled on the benchmark sets. Shrunk to zero, main effects may be weaker than pairs: a mean of models steadies them.
# A prior centred on naive Bayes is not the safer for being strong, not even at infinity.
MAIN = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
PAIR = StrengthPath((64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), errors_allowed=1.0)
TO_ZERO = Walk((StrengthPath(MAIN, errors_allowed=0.5), PAIR), tolerance=3e-3)
TO_NAIVE_BAYES = Walk((StrengthPath(MAIN, errors_allowed=0.0, errors_to_begin=0.0), PAIR), tolerance=3e-3)
LEAST_SHARE = 0.05


@dataclass(frozen=True)
class RowSplit:
    """A fold: the rows kept, the rest, and the pairs by the rows kept, so that the rest has no say in them."""

    kept: EncodedBatch
    rest: EncodedBatch
    pairs: Pairs


@dataclass
class EffectFold(Fold):
    """A fold, the layout of its effects, and the training rows in each cell of it, (n_cells, n_classes)."""

    layout: EffectLayout
    rows: Array

    def begin(self, to_naive_bayes: bool, u: Array) -> None:
        """At the effects of fewer pairs; main effects shrink to what naive Bayes says, or else to zero."""
        self.problem.set_prior_mean(naive_bayes_odds(self.layout, self.rows) if to_naive_bayes else 0.0)
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
        cells, with_gaps = layout.cells, rows.map(EncodedBatch.with_gaps_as_states)
        counts = CountStore(with_gaps, engine, [str(node) for node in range(len(cells.n_states))])
        counted = cells.pack_families(counts.tables(cells.families, keep=False))
        prior = effect_prior(layout, counted)
        if self._objective != "cll":
            prior = prior.with_intercept()
        objective = Objective(cells, with_gaps, self._objective, compiled=self._compiled, engine=engine)
        damped = counted[-1].sum() <= MANY_ROWS  # a third of the passes on covtype
        mirrored = layout.n_classes == 2
        return Penalized(cells, objective, prior, counted.sum(axis=1), mirrored=mirrored, damped=damped), counted

    def splits(self) -> list[RowSplit]:
        rows, counts, n_attributes = self.rows, self.task.counts, len(self.columns)
        splits = []
        for kept, rest in split_rows(rows, MAX_ROWS_FOR_FOLDS, FOLD_SEED, fine_places(self.columns)):
            own = CountStore(kept.first_attributes(n_attributes), AutoEngine(), counts.names)
            splits.append(RowSplit(kept, rest, self.ranked.rank(own)))
        return splits

    def fold(self, split: RowSplit, number: int) -> EffectFold:
        """A fold with so many pairs, at zero."""
        layout = self.layout(split.pairs, number)
        problem, counted = self.problem(layout, split.kept, AutoEngine())
        held_out = HeldOut(layout.cells, split.rest.with_gaps_as_states(), False, self._objective)
        return EffectFold(problem, problem.zero, held_out, layout, counted)


@dataclass(frozen=True)
class Choice:
    """A model to be fitted on all rows.

    to_naive_bayes  whether its main effects shrink to what naive Bayes says in place of zero
    number          of its pairs, unless they are zero
    chosen          its strengths, and what was tried
    found           the folds' layouts and tables
    share           of it in the mean of models
    """

    to_naive_bayes: bool
    number: int
    chosen: Chosen
    found: tuple[Found, ...]
    share: float = 1.0

    @property
    def n_pairs(self) -> int:
        return self.number if np.isfinite(self.chosen.strengths[-1]) else 0


def choose_models(problems: EffectProblems, given: Strengths | None) -> list[Choice]:
    """With strengths given one model; else two where there are several folds, one of which may have no share.

    Where attributes are nearly independent given the class, naive Bayes is a far better guess than zero of what few
    rows leave open, and otherwise a worse one. A single fold means thousands of rows, to which it makes no difference.
    """
    numbers = problems.ranked.numbers
    if given is not None and len(numbers) == 1:
        return [Choice(False, numbers[0], Chosen(given), ())]
    splits = problems.splits()
    folds = [problems.fold(split, numbers[0]) for split in splits]
    weights = np.concatenate([fold.held_out.weights for fold in folds])
    found = [_choose(problems, splits, folds, False, given)]
    unordered = any(not column.has_order and column.n_states > 1 for column in problems.columns)
    if given is None and len(splits) > 1 and unordered and len(weights):
        found.append(_choose(problems, splits, folds, True, given))
    shares = shares_by_loss([losses for _, losses in found], weights)
    return [replace(choice, share=share) for (choice, _), share in zip(found, shares, strict=True)]


def shares_by_loss(losses: Sequence[Array], weights: Array) -> list[float]:
    """exp(-z), z the standard errors by which a mean loss is above the lowest; none below LEAST_SHARE; summing to one.

    Choosing the lowest is nearly as good; this gains where the rows held out cannot tell.
    """
    if len(losses) == 1:
        return [1.0]
    best = losses[int(np.argmin([np.average(own, weights=weights) for own in losses]))]
    shares = np.exp([-excess_errors(own, best, weights) for own in losses])
    shares[shares < LEAST_SHARE * shares.sum()] = 0.0
    return (shares / shares.sum()).tolist()


def _choose(
    problems: EffectProblems,
    splits: list[RowSplit],
    folds: list[EffectFold],
    to_naive_bayes: bool,
    given: Strengths | None,
) -> tuple[Choice, Array]:
    """Also the losses of the rows held out.

    The strengths are those of the fewest pairs, which `folds` have; then as many are taken as lower the loss.
    """
    numbers, walk = problems.ranked.numbers, TO_NAIVE_BAYES if to_naive_bayes else TO_ZERO
    number = numbers[0]
    for fold in folds:
        fold.begin(to_naive_bayes, fold.problem.zero)
    chosen = choose_strengths(folds, walk) if given is None else visit_strengths(folds, given, walk)
    for more in numbers[1:]:
        if np.isinf(chosen.strengths[-1]) or more == number:
            break
        wider = [problems.fold(split, more) for split in splits]
        for fold, fewer in zip(wider, folds, strict=True):
            fold.begin(to_naive_bayes, fewer.u)
        found = visit_strengths(wider, chosen.strengths, walk)
        chosen.n_passes += found.n_passes
        if found.loss >= chosen.loss:
            break
        number, folds, chosen.loss = more, wider, found.loss
    tables = [fold.problem.beta(fold.u) for fold in folds]
    layouts = [fold.layout for fold in folds]
    losses = [fold.held_out.losses(beta) for fold, beta in zip(folds, tables, strict=True)]
    return Choice(to_naive_bayes, number, chosen, tuple(zip(layouts, tables, strict=True))), np.concatenate(losses)
