"""One run of `Conditional` on a structure of pairs: choose strengths and the number of pairs, descend, take the mean.

Where strengths are chosen on several folds, the model is the mean of the fit on all rows and of the folds' mean, which
is there already: less depends on single rows, and the error falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.errors import OptionError
from tanager.parameters.centre_effects import Effects, centre_effects, mean_effects
from tanager.parameters.conditional_fit import FOLD_SEED, FitOptions, describe_descent, warn_if_unfinished
from tanager.parameters.effect_layout import EffectLayout, coarse_batch
from tanager.parameters.effect_prior import MANY_ROWS, effect_prior
from tanager.parameters.effect_start import Found, start_from_folds
from tanager.parameters.held_out import Fold, HeldOut, split_rows
from tanager.parameters.objectives import POWERS, Objective
from tanager.parameters.optimize import Penalized, minimize
from tanager.parameters.protocol import LearntTables, ParameterTask
from tanager.parameters.strengths import Chosen, StrengthPath, Walk, choose_strengths, visit_strengths
from tanager.structure.pairwise import Pairs
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

# Main effects, then pairs; settled on the benchmark sets. Main effects may be weaker: the mean of folds steadies them.
EFFECTS = Walk(
    (
        StrengthPath((100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01), errors_allowed=0.5),
        StrengthPath((64.0, 16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625), errors_allowed=1.0),
    ),
    tolerance=3e-3,
)
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
class LearntEffects(LearntTables):
    """Effects in place of tables, the pairs taken, and how far main effects differ between folds."""

    effects: Effects = field(kw_only=True)
    pairs: Pairs = field(kw_only=True)
    spreads: tuple[Array, ...] = field(kw_only=True)


@dataclass(frozen=True)
class Part:
    """A fold: the rows kept, the rest, and the pairs by the rows kept, so that the rest has no say in them."""

    kept: EncodedBatch
    rest: EncodedBatch
    pairs: Pairs


class AdditiveFit:
    """The problem of one training table, and of parts of it."""

    def __init__(self, task: AdditiveTask, options: FitOptions) -> None:
        if options.prior != "hierarchical" or options.objective == "mixed" or options.stopping != "tolerance":
            raise OptionError(
                f"objective={options.objective!r}, prior={options.prior!r}, stopping={options.stopping!r} of "
                "Conditional cannot fit the sums of effects of structure='pairwise'.",
                hint="use prior='hierarchical', stopping='tolerance' and an objective other than 'mixed'.",
            )
        self._task = task
        self._options = options
        n_look_ups = task.batch.n_rows * len(task.pairs) * (task.batch.n_classes - 1)
        self._compiled = n_look_ups >= LOOK_UPS_WORTH_COMPILING

    def learn(self) -> LearntEffects:
        options = self._options
        number, chosen, found = self._choose()
        if np.isinf(chosen.strengths[-1]):
            number = 0  # pairs are zero
        layout = self._layout(self._task.pairs, number)
        problem, rows = self._problem(layout, self._task.batch)
        problem.set_strengths(chosen.strengths)
        self._task.report(f"{number} pairs, strengths {chosen.strengths} after {chosen.n_passes} passes over folds")
        start = start_from_folds(layout, problem.prior, rows, found) if found else problem.zero
        descent = minimize(problem, start, options.max_iter, options.tol)
        warn_if_unfinished(descent, options.max_iter)
        self._task.report(describe_descent(descent, problem.n_passes))
        densities = tuple(_density(own[:-1].sum(axis=1)) for own in layout.split(rows)[0])
        fits = [_centre(*fit, densities) for fit in [(layout, problem.beta(descent.u)), *found]]
        several = options.strengths is None and len(found) > 1
        effects = mean_effects(fits, shares=[len(found), *(1.0 for _ in found)]) if several else fits[0][0]
        trace: dict[str, object] = {
            "strength": chosen.strengths,
            "held_out": list(chosen.losses.items()),
            "pairs": len(layout.pairs),
            "mean_of_folds": several,
            "objective": descent.values,
            "gradient_norm": descent.gradient_norms,
            "passes": problem.n_passes,
            "passes_on_folds": chosen.n_passes,
            "end": descent.end,
            "optimum": "global" if options.objective == "cll" else "maybe local",
        }
        return LearntEffects((), trace, effects=effects, pairs=layout.pairs, spreads=_spreads(fits[1:]))

    def _choose(self) -> tuple[int, Chosen, list[Found]]:
        """How many pairs, the strengths, and the tables of the folds.

        The strengths are those of the fewest pairs; then as many are taken as lower the held-out loss.
        """
        given, numbers = self._options.strengths, self._task.numbers
        number = numbers[0]
        if given is not None and len(numbers) == 1:
            return number, Chosen(given), []
        parts = self._parts()
        folds = [self._fold(part, number) for part in parts]
        chosen = choose_strengths(folds, EFFECTS) if given is None else visit_strengths(folds, given, EFFECTS)
        for more in numbers[1:]:
            if np.isinf(chosen.strengths[-1]) or more == number:
                break
            wider = [self._fold(part, more, fold.u) for part, fold in zip(parts, folds, strict=True)]
            found = visit_strengths(wider, chosen.strengths, EFFECTS)
            chosen.n_passes += found.n_passes
            if found.loss >= chosen.loss:
                break
            number, folds, chosen.loss = more, wider, found.loss
        tables = [
            (self._layout(part.pairs, number), fold.problem.beta(fold.u))
            for part, fold in zip(parts, folds, strict=True)
        ]
        return number, chosen, tables

    def _parts(self) -> list[Part]:
        batch, columns, counts = self._task.batch, self._task.columns, self._task.counts
        parts = []
        for kept, rest in self._split_rows():
            coarse = coarse_batch(kept, columns)
            if batch.n_rows <= 2 * MOST_ROWS:  # kept and rest are all rows
                own = counts.without(coarse, coarse_batch(rest, columns))
            else:
                own = CountStore(coarse, choose_engine("auto"), counts.names)
            parts.append(Part(kept, rest, self._task.rank(own)))
        return parts

    def _split_rows(self) -> Iterable[tuple[EncodedBatch, EncodedBatch]]:
        return split_rows(self._task.batch, MOST_ROWS, FOLD_SEED)

    def _fold(self, part: Part, number: int, u: Array | None = None) -> Fold:
        """The problem of a fold with so many pairs, from the effects of fewer pairs."""
        layout = self._layout(part.pairs, number)
        problem, _ = self._problem(layout, part.kept)
        start = problem.zero
        if u is not None:
            start[: len(u) - 1], start[-1] = u[:-1], u[-1]  # the intercept is last, the further pairs before it
        return Fold(problem, start, HeldOut(layout.cells, layout.expand(part.rest), False))

    def _layout(self, pairs: Pairs, number: int) -> EffectLayout:
        return EffectLayout(self._task.columns, self._task.batch.n_classes, pairs[:number])

    def _problem(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[Penalized, Array]:
        """Also the training rows in each cell, (n_cells, n_classes)."""
        cells = layout.cells
        counts, objective = self._expand(layout, batch)
        rows = cells.pack_families(counts.tables(cells.families, keep=False))
        prior = effect_prior(layout, rows)
        if self._options.objective != "cll":
            prior = prior.with_intercept()
        damped = rows[-1].sum() <= MANY_ROWS  # a third of the passes on covtype
        problem = Penalized(cells, objective, prior, rows.sum(axis=1), mirrored=layout.n_classes == 2, damped=damped)
        return problem, rows

    def _expand(self, layout: EffectLayout, batch: EncodedBatch) -> tuple[CountStore, Objective]:
        """Counts of the rows as the layout's table has them, and the objective over them."""
        own, objective = self._task.counts, self._options.objective
        on_device = own.on_device and batch is self._task.batch  # folds are small
        counts = layout.counts(layout.expand(batch), own.engine if on_device else choose_engine("auto"))
        row_pass = None
        if on_device:
            from tanager.parameters.torch_pass import pass_on_device

            row_pass = pass_on_device(layout.cells, counts, POWERS[objective])
        return counts, Objective(layout.cells, counts.batch, objective, compiled=self._compiled, on_device=row_pass)


def _density(rows: Array) -> Array:
    """Shares of the rows; equal where there are none."""
    return rows / rows.sum() if rows.sum() > 0 else np.full(len(rows), 1.0 / len(rows))


def _centre(layout: EffectLayout, beta: Array, densities: tuple[Array, ...]) -> tuple[Effects, Pairs]:
    mains, tables, intercept = layout.split(beta)
    # A missing cell counts as the mean of the states: in a fold too by the densities of all rows.
    pairs = zip(mains, densities, strict=True)
    mains = tuple(np.vstack([main[:-1], density @ main[:-1]]) for main, density in pairs)
    return centre_effects(Effects(intercept, mains, tables, densities), layout.columns, layout.pairs), layout.pairs


def _spreads(folds: list[tuple[Effects, Pairs]]) -> tuple[Array, ...]:
    """The standard deviation between folds of each main effect, (states, classes); none for a single fold."""
    if len(folds) < 2:
        return ()
    by_attribute = zip(*(effects.mains for effects, _ in folds), strict=True)
    return tuple(np.std([main[:-1] for main in mains], axis=0, ddof=1) for mains in by_attribute)
