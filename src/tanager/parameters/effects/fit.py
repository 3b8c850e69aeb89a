"""One run of `Conditional` on a structure of pairs: choose among models, descend, take the mean.

Where strengths are chosen on several folds of few rows, the model is a mean of the fit on all rows and of the folds'
mean, which is there already: less depends on single rows. Effects add up to log odds, so a mean of models is a model of
the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.descent import (
    DAMPING,
    MAX_ROWS_FOR_EACH,
    Certificate,
    Descent,
    describe_descent,
    minimize_closely,
    warn_if_unfinished,
)
from tanager.parameters.conditional.fit import FitOptions
from tanager.parameters.conditional.losses import MIXED
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.effects.block_pass import SquaredBlocks
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.centered import (
    Centered,
    Effects,
    center_fit,
    densities_of,
    mean_effects,
    without_zeros,
    zero_attributes,
)
from tanager.parameters.effects.layout import EffectLayout
from tanager.parameters.effects.models import Choice, adapt, choose_models, constrain, fit_more, map_kinds
from tanager.parameters.effects.monotone import obeys
from tanager.parameters.effects.problems import EffectProblems, RowSplit, begin, begin_blocks
from tanager.parameters.effects.trace import EffectsTrace
from tanager.parameters.effects.tree_folds import TreeChoice
from tanager.parameters.effects.trees import ONE_FOLD_ROWS, add_trees
from tanager.parameters.effects.triples import JudgedFold, TripleChoice, add_triples, fold_with_triples
from tanager.parameters.protocol import LearntNetwork, ParameterTask
from tanager.structure.protocol import Pairs
from tanager.threads import map_threads

Array = NDArray[np.float64]

# The folds' mean fades out towards so many rows: they leave less to chance, and what a fold has not seen is missed.
ROWS_WITHOUT_MEAN = 750.0
# Of `tol`: what may be left to gain in blocks, as a share of the objective plus a hundredth of a nat for each row. P is
# then within `tol` of the optimum's on the tables tried, of every row or in the root mean square.
LEFT_OF_EVERY_ROW, LEFT_OF_MEAN = 2e-4, 1e-2
# Fewer rows cannot show that triples or trees gain, and need not wait for the compiler.
MIN_ROWS_FOR_TREES = 500
# The first fit of a norm only says how large its blocks are.
FIRST_FIT = 1e-4
# Of one block after another, before passes over all blocks: a step costs about what a pass does, and saves three.
STEPS_BEFORE_PASSES = 4


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
        if options.prior != "hierarchical" or options.objective in MIXED or options.stopping != "tolerance":
            raise OptionError(
                f"objective={options.objective!r}, prior={options.prior!r}, stopping={options.stopping!r} of "
                "Conditional cannot fit the sums of effects of structure='pairwise'.",
                hint="use prior='hierarchical', stopping='tolerance' and an objective that is not mixed.",
            )
        if task.pairs is not None and task.pairs.monotone and options.objective != "cll":
            raise OptionError(f"monotonic_cst needs objective='cll' of Conditional, not {options.objective!r}.")
        self._problems = EffectProblems(task, options.objective)
        self._task = task
        self._options = options
        self.choices: list[Choice] = []
        self._factors: Array | None = None  # of the blocks' strengths in the second fit of a norm

    def learn(self) -> LearntNetwork:
        ranked = self._problems.ranked
        if ranked.monotone:
            free = EffectsFit(replace(self._task, pairs=replace(ranked, monotone=())), self._options)
            learnt = free.learn()
            if obeys(cast(AdditiveNetwork, learnt.network), ranked.monotone):
                return learnt
            # The free fit's choices: with other strengths the constraint could end below it.
            choices = [constrain(self._problems, choice) for choice in free.choices]
            self._factors = free._factors
        else:
            choices = self.choices = choose_models(self._problems, self._options.penalty, self._options.strengths)
        models = map_kinds(self._fit, [choice for choice in choices if choice.share > 0.0])
        # The mean has the pairs of the first; a model of fewer pairs has the best of them.
        models.sort(key=lambda model: -model.choice.n_pairs)
        folded = self._share_of_folds(models[0])
        effects, pairs = without_zeros(_mean(models, folded), models[0].whole[1])
        folds = [_mean_of(fits, models) for fits in zip(*(model.folds for model in models), strict=True)]
        network, trees, triples = self._with_trees(models, folds, self._network(effects, pairs, _spreads(folds)))
        leader = max(models, key=lambda model: model.choice.share)
        chosen, descent = leader.choice.chosen, leader.descent
        bounds = [model.descent.bound for model in models]
        largest = None if None in bounds else max(bound for bound in bounds if bound is not None)
        convex, least_weight = self._options.objective == "cll", self._problems.least_weight
        certificate = Certificate.of(convex, largest, leader.n_rows, least_weight)
        trace = EffectsTrace(
            strength=chosen.strengths,
            held_out=tuple(chosen.losses.items()),
            objective=tuple(descent.values),
            gradient_norm=tuple(descent.gradient_norms),
            passes=sum(model.n_passes for model in models),
            passes_on_folds=sum(choice.chosen.n_passes for choice in choices),
            end=descent.end,
            optimum=certificate.optimum,
            bound=certificate.bound,
            p_bound=certificate.p_bound,
            p_rms_bound=certificate.p_rms_bound,
            mean_of_fits=sum(1 + (len(model.folds) if folded > 0.0 else 0) for model in models) + trees.n_forests,
            pairs=len(pairs),
            zero_attributes=zero_attributes(self._task.columns, effects.mains, pairs),
            naive_bayes_share=sum(choice.share for choice in choices if choice.kind == "naive Bayes"),
            norm_share=sum(choice.share for choice in choices if choice.kind == "norm"),
            share_of_folds=folded,
            triples=triples.number,
            tree_rounds=trees.rounds,
            tree_share=trees.share,
            tree_forests=trees.n_forests,
            monotone=tuple(self._task.columns[k].name for k in np.flatnonzero(ranked.monotone)),
        )
        return LearntNetwork(network, trace)

    def _network(self, effects: Effects, pairs: Pairs, spreads: tuple[Array, ...] = ()) -> AdditiveNetwork:
        columns, densities = self._task.columns, effects.densities
        return AdditiveNetwork(columns, effects.intercept, effects.mains, pairs, effects.tables, densities, spreads)

    def _with_trees(
        self, models: Sequence[_Fitted], means: Sequence[Centered], network: AdditiveNetwork
    ) -> tuple[AdditiveNetwork, TreeChoice, TripleChoice]:
        """What three attributes and more say together; `means` are those of the models on each fold."""
        order, rows = self._problems.ranked.order, self._problems.rows
        few = rows.n_rows < MIN_ROWS_FOR_TREES or not means
        if self._options.objective != "cll" or (order is not None and order < 3) or few:
            return network, TreeChoice(), TripleChoice()
        pairs = zip(means, self._problems.splits, strict=True)
        folds = [JudgedFold(self._network(*mean), split) for mean, split in pairs]
        network, folds, triples = add_triples(network, folds, rows)

        def more_folds() -> list[JudgedFold]:
            return [fold_with_triples(fold, triples) for fold in self._more_folds(models)]

        network, trees = add_trees(network, folds, more_folds, rows, order)
        if trees.share and self._task.report is not None:
            self._task.report(f"{trees.share:.0%} of the model: {trees.rounds} rounds of trees")
        return network, trees, triples

    def _more_folds(self, models: Sequence[_Fitted]) -> list[JudgedFold]:
        """Of a table of so many rows that strengths were chosen on one fold."""

        def fit(split: RowSplit) -> JudgedFold:
            found = (fit_more(self._problems, split, model.choice, rough=True) for model in models)
            fits = [center_fit(*own, model.whole[0].densities) for own, model in zip(found, models, strict=True)]
            return JudgedFold(self._network(*_mean_of(fits, models)), split)

        return map_threads(fit, self._problems.more_splits(ONE_FOLD_ROWS))

    @property
    def _every_row(self) -> bool:
        """Whether `tol` is for every row."""
        return self._options.strengths is not None or self._problems.rows.n_rows <= MAX_ROWS_FOR_EACH

    def _share_of_folds(self, model: _Fitted) -> float:
        if self._options.strengths is not None or len(model.folds) < 2:
            return 0.0
        return 0.5 * max(0.0, 1.0 - model.n_rows / ROWS_WITHOUT_MEAN)

    def _fit(self, choice: Choice) -> _Fitted:
        options, problems = self._options, self._problems
        if self._task.report is not None:
            self._task.report(_describe(choice))
        layout = problems.layout(problems.ranked.pairs, choice.n_pairs)
        problem, rows, descent = self._descend(choice, layout)
        warn_if_unfinished(descent, options.max_iter)
        if self._task.report is not None:
            self._task.report(describe_descent(descent, problem.n_passes))
        densities = densities_of(layout, rows)
        whole = center_fit(layout, problem.beta(descent.u), densities)
        folds = tuple(center_fit(*found, densities) for found in choice.found)
        return _Fitted(choice, descent, problem.n_rows, problem.n_passes, whole, folds)

    def _descend(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized | BlockProblem, Array, Descent]:
        if self._problems.ranked.monotone:
            return self._fit_monotone(choice, layout)
        return self._fit_norm(choice, layout) if choice.kind == "norm" else self._fit_square(choice, layout)

    def _fit_square(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized | BlockProblem, Array, Descent]:
        """From the folds' mean, by passes: they prove how near the optimum is."""
        max_iter, every_row = self._options.max_iter, self._every_row
        tol = self._options.tol / (1.0 if every_row else choice.share)
        if choice.found and self._problems.passes_in_blocks:
            blocks = self._problems.block_problem(layout, self._problems.rows)
            start = begin_blocks(blocks, choice.kind, layout, choice.found)
            blocks.set_strengths(choice.chosen.strengths)
            near = blocks.descend(start, STEPS_BEFORE_PASSES, 0.0).u
            descent = minimize_closely(SquaredBlocks(blocks), near, max_iter, tol, every_row=every_row)
            return blocks, blocks.counted, descent
        problem, rows = self._problems.problem(layout, self._problems.rows, self._task.counts.engine)
        start = begin(problem, choice.kind, layout, rows, choice.found)
        problem.set_strengths(choice.chosen.strengths, DAMPING)
        return problem, rows, minimize_closely(problem, start, max_iter, tol, every_row=every_row)

    def _fit_norm(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized | BlockProblem, Array, Descent]:
        problem = self._problems.block_problem(layout, self._problems.rows)
        max_iter = self._options.max_iter
        # An error of the log odds counts by the share of the model, and what is left to gain grows with its square.
        left = LEFT_OF_EVERY_ROW if self._every_row else LEFT_OF_MEAN / choice.share**2
        tolerance = left * self._options.tol
        start = begin_blocks(problem, choice.kind, layout, choice.found)
        problem.set_penalty(norm=True)
        problem.set_strengths(choice.chosen.strengths)
        if choice.adaptive is not None:
            self._factors = adapt(problem, problem.descend(start, max_iter, max(FIRST_FIT, tolerance)).u)
            problem.set_strengths((choice.adaptive,))
        descent = problem.descend(start, max_iter, tolerance)
        problem.certify(descent)
        return problem, problem.counted, descent

    def _fit_monotone(self, choice: Choice, layout: EffectLayout) -> tuple[Penalized, Array, Descent]:
        problem, rows = self._problems.monotone_problem(layout, self._problems.rows, self._task.counts.engine)
        max_iter, every_row, tol = self._options.max_iter, self._every_row, self._options.tol
        start = begin(problem, choice.kind, layout, rows, choice.found)
        problem.set_penalty(choice.kind == "norm", self._factors if choice.kind == "norm" else None)
        strengths = choice.chosen.strengths if choice.adaptive is None else (choice.adaptive,)
        problem.set_strengths(strengths, DAMPING)
        return problem, rows, problem.descend_closely(start, max_iter, tol, every_row)


def _describe(choice: Choice) -> str:
    towards = "zero by their norm" if choice.kind == "norm" else choice.kind
    strengths, n_passes = choice.chosen.strengths, choice.chosen.n_passes
    return (
        f"{choice.share:.0%} of the model: {choice.n_pairs} pairs, main effects towards {towards}, "
        f"strengths {strengths} after {n_passes} passes over folds"
    )


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


def _mean_of(fits: Sequence[Centered], models: Sequence[_Fitted]) -> Centered:
    """Of fits on one fold by the models' shares; the first has all pairs."""
    return mean_effects(fits, [model.choice.share for model in models]), fits[0][1]


def _spreads(folds: Sequence[Centered]) -> tuple[Array, ...]:
    """The standard deviation between folds of each main effect, (states, classes); none for a single fold."""
    if len(folds) < 2:
        return ()
    by_attribute = zip(*(effects.mains for effects, _ in folds), strict=True)
    return tuple(np.std([main[:-1] for main in mains], axis=0, ddof=1) for mains in by_attribute)
