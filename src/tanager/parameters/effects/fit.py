"""One run of `Conditional` on a structure of pairs: choose among models, descend, take the mean.

Where strengths are chosen on several folds of few rows, the model is a mean of the fit on all rows and of the folds'
mean, which is there already: less depends on single rows. Effects add up to log odds, so a mean of models is a model of
the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AdditiveModel
from tanager.errors import OptionError
from tanager.parameters.conditional.descent import (
    DAMPING,
    MAX_ROWS_FOR_EACH,
    Certificate,
    Descent,
    ScaledProblem,
    describe_descent,
    minimize_closely,
    warn_if_unfinished,
)
from tanager.parameters.conditional.fit import FitOptions
from tanager.parameters.conditional.losses import MIXED
from tanager.parameters.effects.beyond import Beyond, choose_beyond
from tanager.parameters.effects.block_pass import SquaredBlocks
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.centered import (
    Effects,
    Model,
    densities_of,
    mean_of,
    mean_of_models,
    means_of_folds,
    spreads,
    with_say,
    without_zeros,
    zero_attributes,
)
from tanager.parameters.effects.models import (
    Choice,
    adapt,
    choose_models,
    constrain,
    fit_more,
    map_kinds,
)
from tanager.parameters.effects.monotone import obeys
from tanager.parameters.effects.problems import EffectProblems, RowSplit, begin, begin_blocks
from tanager.parameters.effects.trace import EffectsTrace
from tanager.parameters.effects.tree_folds import TreeChoice
from tanager.parameters.effects.trees import ONE_FOLD_ROWS
from tanager.parameters.effects.triples import JudgedFold
from tanager.parameters.protocol import LearntNetwork, ParameterTask
from tanager.structure.protocol import Pairs

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
            if obeys(cast(AdditiveModel, learnt.network), ranked.monotone):
                return learnt
            # The free fit's choices: with other strengths the constraint could end below it.
            choices = [constrain(self._problems, choice) for choice in free.choices]
            self._factors = free._factors
        else:
            choices = self.choices = choose_models(self._problems, self._options.penalty, self._options.strengths)
        models = [self._model(choice) for choice in choices if choice.share > 0.0]
        # The mean has the pairs of the first; a model of fewer pairs has the best of them.
        models.sort(key=lambda model: -model.choice.n_pairs)
        beyond = self._choose_beyond(models)
        models = self._fit_all(models, beyond)
        folded = self._share_of_folds(models[0])
        effects, pairs = without_zeros(mean_of_models(models, folded), models[0].whole[1])
        network = self._network(effects, pairs, spreads(means_of_folds(models)))
        if beyond is not None:
            network = beyond.added_to(network, self._problems.rows)
        leader = max(models, key=lambda model: model.choice.share)
        chosen, descent = leader.choice.chosen, leader.descent
        trees = TreeChoice() if beyond is None else beyond.trees.choice
        bounds = [model.descent.bound for model in models]
        largest = None if None in bounds else max(bound for bound in bounds if bound is not None)
        convex, least_weight = self._options.objective == "cll", self._problems.least_weight
        certificate = Certificate.of(convex, largest, leader.problem.n_rows, least_weight, of_p=not trees.share)
        trace = EffectsTrace(
            strength=chosen.strengths,
            held_out=tuple(chosen.losses.items()),
            objective=tuple(descent.values),
            gradient_norm=tuple(descent.gradient_norms),
            passes=sum(model.problem.n_passes for model in models),
            passes_on_folds=sum(choice.chosen.n_passes for choice in choices),
            end=descent.end,
            optimum=certificate.optimum,
            bound=certificate.bound,
            p_bound=certificate.p_bound,
            p_rms_bound=certificate.p_rms_bound,
            mean_of_fits=sum(1 + (len(model.folds) if folded > 0.0 else 0) for model in models) + trees.n_forests,
            pairs=len(pairs),
            zero_attributes=zero_attributes(self._task.columns, effects.mains, pairs),
            naive_bayes_share=sum(model.choice.share for model in models if model.choice.kind == "naive Bayes"),
            norm_share=sum(model.choice.share for model in models if model.choice.kind == "norm"),
            share_of_folds=folded,
            triples=0 if beyond is None else len(beyond.triples.triples),
            tree_rounds=trees.rounds,
            tree_share=trees.share,
            tree_forests=trees.n_forests,
            monotone=tuple(self._task.columns[k].name for k in np.flatnonzero(ranked.monotone)),
        )
        return LearntNetwork(network, trace)  # type: ignore[arg-type]

    def _network(self, effects: Effects, pairs: Pairs, spreads: tuple[Array, ...] = ()) -> AdditiveModel:
        columns, densities = self._task.columns, effects.densities
        return AdditiveModel(columns, effects.intercept, effects.mains, pairs, effects.tables, densities, spreads)

    def _choose_beyond(self, models: Sequence[Model]) -> Beyond | None:
        """What three attributes and more say together, None where they are not asked."""
        order, rows = self._problems.ranked.order, self._problems.rows
        few = rows.n_rows < MIN_ROWS_FOR_TREES or not models[0].folds
        if self._options.objective != "cll" or (order is not None and order < 3) or few:
            return None
        networks = [partial(self._network, *mean) for mean in means_of_folds(models)]
        folds = [JudgedFold(*own) for own in zip(self._problems.splits, networks, strict=True)]
        beyond = choose_beyond(folds, partial(self._more_folds, models), rows, order)
        trees = beyond.trees.choice
        if trees.share and self._task.report is not None:
            self._task.report(f"{trees.share:.0%} of the model: {trees.rounds} rounds of trees")
        return beyond

    def _more_folds(self, models: Sequence[Model], share: float) -> list[JudgedFold]:
        """Of a table whose strengths were chosen on one fold; `share` is what the effects have of the model."""
        heard = with_say(models, share)

        def fit(split: RowSplit) -> AdditiveModel:
            fits = [model.center(fit_more(self._problems, split, model.choice, rough=True)) for model in heard]
            return self._network(*mean_of(fits, heard))

        return [JudgedFold(split, partial(fit, split)) for split in self._problems.more_splits(ONE_FOLD_ROWS)]

    @property
    def _every_row(self) -> bool:
        """Whether `tol` is for every row."""
        return self._options.strengths is not None or self._problems.rows.n_rows <= MAX_ROWS_FOR_EACH

    def _share_of_folds(self, model: Model) -> float:
        if self._options.strengths is not None or len(model.folds) < 2:
            return 0.0
        return 0.5 * max(0.0, 1.0 - model.problem.n_rows / ROWS_WITHOUT_MEAN)

    def _model(self, choice: Choice) -> Model:
        layout = self._problems.layout(self._problems.ranked.pairs, choice.n_pairs)
        return Model(choice, layout, densities_of(*self._problems.without_pairs))

    def _fit_all(self, models: Sequence[Model], beyond: Beyond | None) -> list[Model]:
        """Those that have a say beside trees, which grow meanwhile."""
        share = 1.0 if beyond is None else beyond.share_of_effects
        heard = with_say(models, share)
        last_first = sorted(heard, key=lambda model: model.choice.kind == "norm")  # which takes longest
        if beyond is None:
            map_kinds(self._fit, last_first)
        else:
            fits = [partial(self._fit, model, share) for model in last_first[::-1]]
            beyond.trees.grow(fits, has_threads=not all(self._in_blocks(model.choice) for model in heard))
        return heard

    def _in_blocks(self, choice: Choice) -> bool:
        """Whether the fit on all rows is one in blocks: on one thread."""
        few = bool(choice.found) and self._problems.passes_in_blocks
        return not self._problems.ranked.monotone and (choice.kind == "norm" or few)

    def _fit(self, model: Model, share: float = 1.0) -> None:
        """`share` is that of the effects in the model with trees: errors of their log odds count by it."""
        report = self._task.report
        if report is not None:
            report(_describe(model.choice))
        if self._in_blocks(model.choice):
            model.problem = blocks = self._problems.block_problem(model.layout, self._problems.rows)
            norm = model.choice.kind == "norm"
            model.descent = self._fit_norm(model, blocks) if norm else self._fit_blocks(model, blocks, share)
        else:
            monotone = self._problems.ranked.monotone
            model.descent = self._fit_monotone(model) if monotone else self._fit_rows(model, share)
        warn_if_unfinished(model.descent, self._options.max_iter)
        if report is not None:
            report(describe_descent(model.descent, model.problem.n_passes))
        model.whole = model.center((model.layout, model.problem.beta(model.descent.u)))

    def _fit_rows(self, model: Model, share: float) -> Descent:
        """Of rows anywhere, by passes that have threads."""
        problem, rows = self._problems.problem(model.layout, self._problems.rows, self._task.counts.engine)
        start = begin(problem, model.choice.kind, model.layout, rows, model.choice.found)
        problem.set_strengths(model.choice.chosen.strengths, DAMPING)
        model.problem = problem
        return self._minimize(problem, start, model, share)

    def _minimize(self, problem: ScaledProblem, start: Array, model: Model, share: float) -> Descent:
        """Beside trees nothing is proved: what is true of the effects' P need not be of the model's."""
        max_iter, every_row = self._options.max_iter, self._every_row
        tol = self._options.tol / share / (1.0 if every_row else model.choice.share)
        return minimize_closely(problem, start, max_iter, tol, every_row=every_row, proved=share == 1.0)

    def _fit_blocks(self, model: Model, blocks: BlockProblem, share: float) -> Descent:
        """From the folds' mean, by passes: they prove how near the optimum is."""
        start = begin_blocks(blocks, model.choice.kind, model.layout, model.choice.found)
        blocks.set_strengths(model.choice.chosen.strengths)
        near = blocks.descend(start, STEPS_BEFORE_PASSES, 0.0).u
        return self._minimize(SquaredBlocks(blocks), near, model, share)

    def _fit_norm(self, model: Model, problem: BlockProblem) -> Descent:
        """As closely beside trees as alone: what is zero depends on it, and triples on what is not."""
        max_iter, choice = self._options.max_iter, model.choice
        # An error of the log odds counts by the share of the model, and what is left to gain grows with its square.
        left = LEFT_OF_EVERY_ROW if self._every_row else LEFT_OF_MEAN / choice.share**2
        tolerance = left * self._options.tol
        start = begin_blocks(problem, choice.kind, model.layout, choice.found)
        problem.set_penalty(norm=True)
        problem.set_strengths(choice.chosen.strengths)
        if choice.adaptive is not None:
            self._factors = adapt(problem, problem.descend(start, max_iter, max(FIRST_FIT, tolerance)).u)
            problem.set_strengths((choice.adaptive,))
        descent = problem.descend(start, max_iter, tolerance)
        problem.certify(descent)
        return descent

    def _fit_monotone(self, model: Model) -> Descent:
        choice, tol, engine = model.choice, self._options.tol, self._task.counts.engine
        problem, rows = self._problems.monotone_problem(model.layout, self._problems.rows, engine)
        model.problem = problem
        start = begin(problem, choice.kind, model.layout, rows, choice.found)
        problem.set_penalty(choice.kind == "norm", self._factors if choice.kind == "norm" else None)
        strengths = choice.chosen.strengths if choice.adaptive is None else (choice.adaptive,)
        problem.set_strengths(strengths, DAMPING)
        return problem.descend_closely(start, self._options.max_iter, tol, self._every_row)


def _describe(choice: Choice) -> str:
    towards = "zero by their norm" if choice.kind == "norm" else choice.kind
    strengths, n_passes = choice.chosen.strengths, choice.chosen.n_passes
    return (
        f"{choice.share:.0%} of the model: {choice.n_pairs} pairs, main effects towards {towards}, "
        f"strengths {strengths} after {n_passes} passes over folds"
    )
