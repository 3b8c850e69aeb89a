"""Penalized: objective plus prior as a function of scaled effects, ready for a descent."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from math import prod

import numpy as np
from scipy import sparse

from tanager.arrays import Array, Ints
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask

# Of a descent, for the next one on the same rows: the first steps of a path over strengths then take a fifth less.
KEPT_STEPS = 10
# Levels of effects that have no strength to choose, as positions from the end of the list of strengths.
FREE, FIXED = -1, -2

Step = tuple[Array, Array]
"""A step, and the change of the gradient along it."""


@dataclass(frozen=True)
class Prior:
    """beta = start + effects @ u; the penalty is 1/2 sum strength[level] u^2 less `log_entries` sum log theta.

    start        (n_cells, n_classes): where u = 0 is
    effects      (n_cells, n_effects)
    levels       (n_effects, n_classes): which strength is an effect's; FREE has none, FIXED stays at zero
    log_entries  weight of the logs of all entries after normalising over the child's states (Roos 2005, 5.5)
    """

    start: Array
    effects: sparse.csr_array
    levels: Ints
    log_entries: float = 0.0

    @property
    def n_levels(self) -> int:
        """How many strengths there are to choose."""
        return int(self.levels.max()) + 1

    def with_intercept(self) -> Prior:
        """The same with the class's intercept penalised as main effects are."""
        return replace(self, levels=np.where(self.levels == FREE, 0, self.levels))

    def precision(self, strengths: Sequence[float]) -> Array:
        """(n_effects, n_classes); levels without a strength of their own have the last one, infinity if none."""
        last = strengths[-1] if strengths else np.inf
        higher = [last] * (self.n_levels - len(strengths))
        return np.array([*strengths, *higher, np.inf, 0.0])[self.levels]


class Penalized:
    """Objective plus prior as a function of a vector v of scaled effects, u = v / sqrt(precision + sqrt(rows) / 4).

    Effects of infinite precision are no variables. The diagonal of the Hessian, about the rows behind an effect, is
    no good scale: attributes repeat each other, so what slows the descent are the directions that hardly any row
    moves. Measured on 12 tables, scaling by the rows themselves takes up to three times the passes with a prior, and
    gains a little without one.
    """

    def __init__(
        self,
        cells: ClassCells,
        objective: Objective,
        prior: Prior,
        rows: Array,
        mirrored: bool = False,
        has_saddles: bool = False,
    ) -> None:
        """`rows` (n_cells,) are the training rows in every cell, or the sums of their weights.

        `has_saddles`: a point without slope may be no minimum, as in structures of imperfect canonical form.

        `mirrored` is for two classes of which the objective sees the difference only: the effects of the second are
        then minus those of the first, and half of the variables are enough.
        """
        self.cells = cells
        self.objective = objective
        self.prior = prior
        self._mirrored = mirrored
        self.has_saddles = has_saddles
        self._transposed = prior.effects.T.tocsr()
        # Rows behind an effect, by the square of how far it moves them.
        moved = np.maximum(self._transposed.power(2) @ rows, 1.0)
        self._least = 0.25 * np.sqrt(moved)[:, np.newaxis]
        self.n_rows = float(rows[cells.first_class_cell :].sum())
        self._visited: deque[tuple[Array, Array, bool]] = deque(maxlen=KEPT_STEPS + 1)
        self.set_strengths(())

    def set_strengths(self, strengths: Sequence[float], damping: float = 1.0) -> None:
        """The penalty of each level of effects (`Prior.precision`); `damping` is what the rows count in the scale."""
        precision = self.prior.precision(strengths)
        least = damping * self._least
        if self._mirrored:  # each variable stands for two effects
            precision, least = precision.sum(axis=1, keepdims=True), 2.0 * least
        self._used = np.isfinite(precision)
        self._precision = precision[self._used]
        self._scale = (1.0 / np.sqrt(precision + least))[self._used]

    @property
    def zero(self) -> Array:
        """The effects at which the prior points."""
        return np.zeros(self.prior.levels.shape)

    @property
    def free(self) -> bool:
        """Whether nothing pulls the fit back."""
        return self.prior.log_entries == 0.0 and bool((self.prior.levels == FREE).all())

    @property
    def without_effects(self) -> bool:
        """Whether all effects of the prior's levels are absent, at infinite strength."""
        return self.prior.n_levels > 0 and not (self._used & (self.prior.levels >= 0)[:, : self._used.shape[1]]).any()

    @property
    def bounded(self) -> bool:
        """Whether the prior bounds the curvature from below, but for the intercepts of the classes."""
        return self.objective.convex and self.prior.log_entries == 0.0 and not self.free

    @property
    def unpenalized(self) -> Ints:
        """The variables that nothing pulls back."""
        return np.flatnonzero(self._precision == 0.0)

    def gap_bound(self, gradient: Array) -> float:
        """Half the squared norm of the gradient by u in the inverse of the prior's curvature (`descent`).

        It is a bound where the unpenalised have no slope; one that is left counts as if it were pulled like the least.
        """
        held = self._precision > 0.0
        least = self._precision[held].min() if held.any() else 1.0
        return 0.5 * float((gradient / self._scale) ** 2 @ (1.0 / np.where(held, self._precision, least)))

    def remember(self, vector: Array, gradient: Array, is_start: bool) -> None:
        """Keep a point of a descent and the slopes of the loss there.

        They are informative about the Hessian of the loss, whatever the strengths are.
        """
        slopes = np.zeros(self._used.shape)
        slopes[self._used] = gradient / self._scale - self._precision * (vector * self._scale)
        self._visited.append((self._variables(vector), slopes, is_start))

    def remembered_steps(self) -> list[Step]:
        """The steps of earlier descents, as they are with the present strengths.

        From the end of a descent to the start of the next there is no step: the two are one point, but for rounding.
        """
        steps = []
        for (u, slopes, _), (next_u, next_slopes, is_start) in pairwise(self._visited):
            if is_start:
                continue
            step = (next_u - u)[self._used]
            change = (next_slopes - slopes)[self._used] + self._precision * step
            steps.append((step / self._scale, change * self._scale))
        return steps

    def to_vector(self, u: Array) -> Array:
        return u[:, : self._used.shape[1]][self._used] / self._scale

    def to_effects(self, vector: Array) -> Array:
        """u (n_effects, n_classes)."""
        return self._both_classes(self._variables(vector))

    def beta(self, u: Array) -> Array:
        """The merged log tables, (n_cells, n_classes)."""
        beta: Array = self.prior.start + self.prior.effects @ u
        return beta

    def _variables(self, vector: Array) -> Array:
        """(n_effects, n_classes), or (n_effects, 1) of the first class where the second mirrors it."""
        u = np.zeros(self._used.shape)
        u[self._used] = vector * self._scale
        return u

    def _both_classes(self, values: Array) -> Array:
        return np.concatenate([values, -values], axis=1) if self._mirrored else values

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Value and gradient by v."""
        beta = self.prior.start + self._both_classes(self.prior.effects @ self._variables(vector))
        value, slopes = self.objective(beta)
        if self.prior.log_entries > 0.0:
            logs = self.cells.log_normalize(beta)
            value -= self.prior.log_entries * float(logs.sum())
            n_entries = self.cells.sum_states(np.ones_like(logs))
            slopes = slopes - self.prior.log_entries * (1.0 - np.exp(logs) * n_entries)
        if self._mirrored:
            slopes = slopes[:, :1] - slopes[:, 1:]
        used = vector * self._scale
        pull = self._precision * used
        gradient = ((self._transposed @ slopes)[self._used] + pull) * self._scale
        return value + 0.5 * float(pull @ used), gradient


def no_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """Nothing pulls; the fit starts at the smoothed frequencies."""
    start = smoothed_logs(task, cells)
    return Prior(start, sparse.eye_array(len(start), format="csr"), np.full(start.shape, FREE))


def uniform_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """The density is the product of all entries of the tables, as of one more row in each (Roos 2005, 5.5)."""
    return replace(no_prior(task, cells), log_entries=1.0)


def generative_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """L2 towards the logs of the smoothed frequency tables."""
    prior = no_prior(task, cells)
    return replace(prior, levels=np.zeros_like(prior.levels))


def hierarchical_prior(task: ParameterTask, cells: ClassCells) -> Prior:
    """L2 towards zero for each level of effects (`hierarchical_effects`), from the class frequencies."""
    effects, levels = hierarchical_effects(cells)
    by_class = np.broadcast_to(levels[:, np.newaxis], (len(levels), cells.n_classes)).copy()
    rows = np.asarray(task.counts.flat((len(cells.n_states) - 1,)), dtype=np.float64)
    # A class without rows has no finite intercept: it stays at half a row.
    by_class[np.ix_(levels == FREE, rows == 0)] = FIXED
    start = np.zeros((cells.n_cells, cells.n_classes))
    start[cells.first_class_cell :] = np.log(np.maximum(rows, 0.5) / rows.sum())
    return Prior(start, effects, by_class)


PRIORS = {
    "none": no_prior,
    "uniform": uniform_prior,
    "generative": generative_prior,
    "hierarchical": hierarchical_prior,
}


def smoothed_logs(task: ParameterTask, cells: ClassCells) -> Array:
    """Logs of the smoothed frequencies, the class included."""
    tables = list(Frequency().tables(task))
    of_class = cells.families[-1]
    counted = task.counts.table(of_class).reshape(of_class.shape(cells.n_states))
    tables[of_class.child] = (counted + 1.0) / (counted + 1.0).sum(axis=1, keepdims=True)
    return cells.pack([np.log(table) for table in tables])


def hierarchical_effects(cells: ClassCells) -> tuple[sparse.csr_array, Ints]:
    r"""A family's log table as a sum of effects: beta = effects @ u, and the level of every effect.

    beta_{jck} = sum over subsets S of the attribute parents of u_{S, j restricted to S, c, k}, with a penalty
    strength_level / 2 u^2 of its own for each level. The level of an effect is the number of its attributes less
    one: 0 for main effects (the child alone, or one attribute parent of the class), 1 for pairs, and so on; -1 for
    the intercept of the class, which is free. So a family backs off to naive Bayes, and naive Bayes to the class
    frequencies.

    Minimising over u at a given beta leaves 1/2 beta^T K^-1 beta, K = sum_S 1/strength_|S| kron_p (I if p in S else
    ones), so the fit over the effects is the fit over the merged table under that quadratic penalty; u is the better
    variable since an infinite strength is u = 0 and not a division by zero.

    effects  (n_cells, n_effects) ones, 2^parents of them in a row
    levels   (n_effects,)
    """
    rows, columns, levels = [], [], []
    n_effects = 0
    for f, family in enumerate(cells.families):
        attributes = cells.attributes[f]
        shape = [cells.n_states[node] for node in attributes]
        size = prod(shape)
        digits = np.unravel_index(np.arange(size), shape) if attributes else ()
        parents = [m for m, node in enumerate(attributes) if node != family.child]
        child = [m for m, node in enumerate(attributes) if node == family.child]
        for subset in chain.from_iterable(combinations(parents, n) for n in range(len(parents) + 1)):
            axes = [*subset, *child]
            effect_shape = [shape[m] for m in axes]
            position = np.ravel_multi_index([digits[m] for m in axes], effect_shape) if axes else np.zeros(size, int)
            rows.append(cells.offsets[f] + np.arange(size))
            columns.append(n_effects + position)
            levels.append(np.full(prod(effect_shape), len(axes) - 1))
            n_effects += prod(effect_shape)
    at = (np.concatenate(rows), np.concatenate(columns))
    effects = sparse.csr_array((np.ones(len(at[0])), at), shape=(cells.n_cells, n_effects))
    return effects, np.concatenate(levels)
