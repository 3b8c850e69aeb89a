"""One run of `Conditional` on a structure of pairs: choose among models, descend, take the mean.

Where strengths are chosen on several folds of few rows, the model is a mean of the fit on all rows and of the folds'
mean, which is there already: less depends on single rows. Effects add up to log odds, so a mean of models is a model of
the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.fit import FitOptions
from tanager.parameters.conditional.optimize import (
    Descent,
    Penalized,
    describe_descent,
    minimize,
    warn_if_unfinished,
)
from tanager.parameters.conditional.trace import ConditionalTrace
from tanager.parameters.effects.bases import MANY_ROWS, shares_of
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.layout import EffectLayout, Effects, center_effects, mean_effects, without_zeros
from tanager.parameters.effects.models import Choice, choose_models
from tanager.parameters.effects.naive_bayes_prior_mean import naive_bayes_odds
from tanager.parameters.effects.norm_models import adapt
from tanager.parameters.effects.prior import start_from_folds
from tanager.parameters.effects.problems import EffectProblems
from tanager.parameters.protocol import LearntNetwork, ParameterTask
from tanager.structure.protocol import Pairs

Array = NDArray[np.float64]
Centered = tuple[Effects, Pairs]

# The folds' mean fades out towards so many rows: they leave less to chance, and what a fold has not seen is missed.
ROWS_WITHOUT_MEAN = 750.0
# Of the tolerance: attributes repeat each other in pairs, so more is left to gain than the gradient says (`minimize`).
# The scale of many rows is near that of the Hessian, and there it says enough.
FINER = 0.1


@dataclass(frozen=True)
class EffectsTrace(ConditionalTrace):
    """Of the model with the larger share where the network is a mean of two.

    pairs              how many there are in the network, not zero
    zero_attributes    names of those that are exactly zero, alone and in all pairs: they say nothing
    naive_bayes_share  of the model whose main effects shrink to those of naive Bayes
    norm_share         of the model whose penalty is the norm of each block of effects
    share_of_folds     of the folds' fits in the network
    """

    pairs: int = 0
    zero_attributes: tuple[str, ...] = ()
    naive_bayes_share: float = 0.0
    norm_share: float = 0.0
    share_of_folds: float = 0.0


@dataclass(frozen=True)
class _Fitted:
    """A model on all rows and on the folds."""

    choice: Choice
    descent: Descent
    n_rows: float
    n_passes: int
    whole: Centered
    folds: tuple[Centered, ...]


class EffectsFit:
    """The models of one training table."""

    def __init__(self, task: ParameterTask, options: FitOptions) -> None:
        if options.prior != "hierarchical" or options.objective == "mixed" or options.stopping != "tolerance":
            raise OptionError(
                f"objective={options.objective!r}, prior={options.prior!r}, stopping={options.stopping!r} of "
                "Conditional cannot fit the sums of effects of structure='pairwise'.",
                hint="use prior='hierarchical', stopping='tolerance' and an objective other than 'mixed'.",
            )
        self._problems = EffectProblems(task, options.objective)
        self._task = task
        self._options = options

    def learn(self) -> LearntNetwork:
        choices = choose_models(self._problems, self._options.penalty, self._options.strengths)
        models = [self._fit(choice) for choice in choices if choice.share > 0.0]
        # The mean has the pairs of the first; a model of fewer pairs has the best of them.
        models.sort(key=lambda model: -model.choice.n_pairs)
        folded = self._share_of_folds(models[0])
        leader = max(models, key=lambda model: model.choice.share)
        chosen, descent = leader.choice.chosen, leader.descent
        effects, pairs = without_zeros(_mean(models, folded), models[0].whole[1])
        trace = EffectsTrace(
            strength=chosen.strengths,
            held_out=tuple(chosen.losses.items()),
            objective=tuple(descent.values),
            gradient_norm=tuple(descent.gradient_norms),
            passes=sum(model.n_passes for model in models),
            passes_on_folds=sum(choice.chosen.n_passes for choice in choices),
            end=descent.end,
            optimum="global" if self._options.objective == "cll" else "maybe local",
            pairs=len(pairs),
            zero_attributes=_zero_attributes(self._task, effects, pairs),
            naive_bayes_share=sum(choice.share for choice in choices if choice.kind == "naive Bayes"),
            norm_share=sum(choice.share for choice in choices if choice.kind == "norm"),
            share_of_folds=folded,
        )
        network = AdditiveNetwork(
            self._task.columns,
            effects.intercept,
            effects.mains,
            pairs,
            effects.tables,
            effects.densities,
            _spreads(models),
        )
        return LearntNetwork(network, trace)

    def _share_of_folds(self, model: _Fitted) -> float:
        if self._options.strengths is not None or len(model.folds) < 2:
            return 0.0
        return 0.5 * max(0.0, 1.0 - model.n_rows / ROWS_WITHOUT_MEAN)

    def _fit(self, choice: Choice) -> _Fitted:
        options, problems = self._options, self._problems
        if self._task.report is not None:
            self._task.report(_describe(choice))
        layout = problems.layout(problems.ranked.pairs, choice.n_pairs)
        in_blocks = choice.kind == "norm" or problems.in_blocks(problems.rows.n_rows)
        problem, rows, descent = (self._fit_blocks if in_blocks else self._fit_passes)(choice, layout)
        warn_if_unfinished(descent, options.max_iter)
        if self._task.report is not None:
            self._task.report(describe_descent(descent, problem.n_passes))
        densities = tuple(shares_of(own[:-1].sum(axis=1)) for own in layout.split(rows)[0])
        whole = _center(layout, problem.beta(descent.u), densities)
        folds = tuple(_center(*found, densities) for found in choice.found)
        return _Fitted(choice, descent, problem.n_rows, problem.n_passes, whole, folds)

    def _fit_blocks(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized | BlockProblem, Array, Descent]:
        problem = self._problems.block_problem(layout, self._problems.rows)
        max_iter, tolerance = self._options.max_iter, FINER * self._options.tol
        if choice.kind == "naive Bayes":
            problem.set_prior_mean(naive_bayes_odds(layout, problem.counted))
        problem.set_penalty(choice.kind == "norm")
        problem.set_strengths(choice.chosen.strengths)
        descent = problem.descend(problem.zero, max_iter, tolerance)
        if choice.adaptive is not None:
            adapt(problem, descent.u)
            problem.set_strengths((choice.adaptive,))
            descent = problem.descend(descent.u, max_iter, tolerance)
        return problem, problem.counted, descent

    def _fit_passes(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized | BlockProblem, Array, Descent]:
        problem, rows = self._problems.problem(layout, self._problems.rows, self._task.counts.engine)
        if choice.kind == "naive Bayes":
            problem.set_prior_mean(naive_bayes_odds(layout, rows))
        problem.set_strengths(choice.chosen.strengths)
        start = start_from_folds(layout, problem.start, rows, choice.found) if choice.found else problem.zero
        tolerance = self._options.tol * (FINER if problem.n_rows <= MANY_ROWS else 1.0)
        return problem, rows, minimize(problem, start, self._options.max_iter, tolerance)


def _describe(choice: Choice) -> str:
    towards = "zero by their norm" if choice.kind == "norm" else choice.kind
    strengths, n_passes = choice.chosen.strengths, choice.chosen.n_passes
    return (
        f"{choice.share:.0%} of the model: {choice.n_pairs} pairs, main effects towards {towards}, "
        f"strengths {strengths} after {n_passes} passes over folds"
    )


def _center(layout: EffectLayout, beta: Array, densities: tuple[Array, ...]) -> Centered:
    mains, tables, intercept = layout.split(beta)
    # A missing cell counts as the mean of the states: in a fold too by the densities of all rows.
    pairs = zip(mains, densities, strict=True)
    mains = tuple(np.vstack([main[:-1], density @ main[:-1]]) for main, density in pairs)
    return center_effects(Effects(intercept, mains, tables, densities), layout.columns, layout.pairs), layout.pairs


def _mean(models: Sequence[_Fitted], folded: float) -> Effects:
    """Of the models by their shares; `folded` is the share of their folds."""
    fits, shares = [], []
    for model in models:
        fits.append(model.whole)
        shares.append((1.0 - folded) * model.choice.share)
    for model in models if folded > 0.0 else ():
        fits += model.folds
        shares += [folded * model.choice.share / len(model.folds)] * len(model.folds)
    return mean_effects(fits, shares) if len(fits) > 1 else fits[0][0]


def _zero_attributes(task: ParameterTask, effects: Effects, pairs: Pairs) -> tuple[str, ...]:
    paired = {attribute for pair in pairs for attribute in pair}
    zero = (attribute for attribute, main in enumerate(effects.mains) if attribute not in paired and not main.any())
    return tuple(task.columns[attribute].name for attribute in zero)


def _spreads(models: Sequence[_Fitted]) -> tuple[Array, ...]:
    """The standard deviation between folds of each main effect, (states, classes); none for a single fold."""
    n_folds = len(models[0].folds)
    if n_folds < 2:
        return ()
    shares = [model.choice.share for model in models]
    folds = [mean_effects([model.folds[fold] for model in models], shares) for fold in range(n_folds)]
    by_attribute = zip(*(effects.mains for effects in folds), strict=True)
    return tuple(np.std([main[:-1] for main in mains], axis=0, ddof=1) for mains in by_attribute)
