"""MonotoneProblem: a model of two classes whose constrained effects never turn back, by the method of multipliers.

What is not smooth, the cone K of steps that obey (`MonotoneSteps`) and the norms of blocks, enters by its Moreau
envelope about multipliers, so that passes over the rows and L-BFGS find the effects as they do without it:

    f(u) + rho / 2 dist(A u + y / rho, K)^2 + sum_b rho_b / 2 min_z (|u_b + y_b / rho_b - z|^2 + 2 norm_b |z| / rho_b)

The multipliers are then rho times what was left (Rockafellar 1976), until nothing is. All is convex, so there is one
optimum. What rounding leaves of a step that turns back is put right in the tables (`MonotoneSteps.mend`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import Descent, minimize, minimize_closely
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.effects.blocks import make_blocks
from tanager.parameters.effects.layout import EffectLayout, dense_bases
from tanager.parameters.effects.monotone import MonotoneSteps
from tanager.parameters.effects.prior import effect_prior

Array = NDArray[np.float64]

# Of sqrt(rows): what a step that turns back is pulled by at first. It grows where the steps do not obey soon.
PULL, GROWTH, SLOW = 30.0, 4.0, 0.7
MOST_GROWTH = 4.0
ROUGH, NEAR = 3e-2, 3.0
MAX_ROUNDS = 100
# By how much the log odds may turn back before the tables are mended: of `tol`, and in rough fits on folds.
LEFT_OF_TOL, LEFT_ON_FOLDS = 1.0, 3e-2
# What an attribute whose norm is just enough for zero would add to the log odds sets how sharply it is zero.
SMALL_EFFECT = 0.1


class MonotoneObjective:
    """An objective plus the envelope of the cone."""

    convex = True

    def __init__(self, objective: Objective, steps: MonotoneSteps, n_rows: float) -> None:
        self._objective = objective
        self.steps = steps
        self.multipliers = np.zeros(steps.n_steps)
        self._first_pull = self.pull = PULL * np.sqrt(max(1.0, n_rows))

    @property
    def n_passes(self) -> int:
        return self._objective.n_passes

    def __call__(self, beta: Array) -> tuple[float, Array]:
        value, slopes = self._objective(beta)
        left, of_multipliers = self._left(beta), float(self.multipliers @ self.multipliers) / self.pull
        value += 0.5 * (self.pull * float(left @ left) - of_multipliers)
        return value, slopes + self.steps.to_cells(self.pull * left)

    def begin(self) -> None:
        """The multipliers stay: those of another strength are a good start."""
        self.pull = self._first_pull
        self._latest, self._age = self.multipliers, 1.0

    def grow(self) -> bool:
        """Pull more, unless the steps of the descent would be too many."""
        if self.pull >= MOST_GROWTH * self._first_pull:
            return False
        self.pull *= GROWTH
        self._age = 1.0
        return True

    def update(self, beta: Array) -> float:
        """Set the multipliers; what they say that is left to gain (`MonotoneProblem.descend_closely`)."""
        latest = self.pull * self._left(beta)
        age = 0.5 + np.sqrt(0.25 + self._age**2)
        # Multipliers along a chain of steps spread slowly: with momentum in far fewer rounds (Nesterov 1983).
        self.multipliers = latest + (self._age - 1.0) / age * (latest - self._latest)
        self._latest, self._age = latest, age
        return abs(float(latest @ self.steps.of(beta)))

    def _left(self, beta: Array) -> Array:
        """From the nearest steps that obey to where the steps and the multipliers are."""
        steps = self.steps.of(beta) + self.multipliers / self.pull
        return steps - self.steps.project(steps)


class MonotoneProblem(Penalized):
    """As `Penalized` for effects, the penalty squared or the norm of each block as in `BlockProblem`."""

    def __init__(self, layout: EffectLayout, objective: Objective, counted: Array, directions: Sequence[int]) -> None:
        """`counted` (n_cells, 2) are the training rows in each cell, gaps being states."""
        self.layout = layout
        gaps = np.array([main[-1].any() for main in layout.split(counted)[0]], dtype=bool)
        self._blocks = make_blocks(layout, dense_bases(layout, counted), counted.sum(axis=1), gaps)
        self._sizes = np.diff(self._blocks.shapes[:, 7])
        self._constrained = MonotoneObjective(objective, MonotoneSteps(layout, directions), float(counted[-1].sum()))
        self._norm = self._sharpness = self._by_norm = np.zeros(self._blocks.n_blocks)
        self._is_norm, self._factors = False, np.ones(self._blocks.n_blocks)
        prior = effect_prior(layout, counted)
        super().__init__(layout.cells, self._constrained, prior, counted.sum(axis=1), mirrored=True)

    @property
    def bounded(self) -> bool:
        return not self._is_norm and super().bounded

    def set_penalty(self, norm: bool, factors: Array | None = None) -> None:
        """The kind of penalty; `factors` (n_blocks,) multiply the strengths of its blocks."""
        self._is_norm, self._factors = norm, np.ones(self._blocks.n_blocks) if factors is None else factors

    def set_strengths(self, strengths: Sequence[float], damping: float = 1.0) -> None:
        super().set_strengths(strengths, damping)
        self._norm = np.zeros(self._blocks.n_blocks)
        if not self._is_norm:
            return
        each = np.full(self._blocks.n_blocks, strengths[-1] if strengths else np.inf)
        each[: len(self.layout.columns)] = strengths[0] if strengths else np.inf
        each *= self._factors
        each[-1] = 0.0
        weights, finite = self._blocks.weights, np.isfinite(each)
        # The second class mirrors the first: the norm over both is sqrt(2) times that of one.
        self._norm = np.where(finite, each, 0.0) * np.sqrt(2.0 * self.n_rows) * weights
        self._sharpness = np.maximum(self._norm * weights / SMALL_EFFECT, np.finfo(np.float64).tiny)
        by_effect = np.repeat(finite, self._sizes)[:, np.newaxis]
        scale = 1.0 / np.sqrt(np.repeat(self._sharpness, self._sizes)[:, np.newaxis] + 2.0 * damping * self._least)
        self._used &= by_effect
        self._precision, self._scale = np.zeros(int(self._used.sum())), scale[self._used]
        self._by_norm = np.zeros((self._blocks.n_effects, 1))

    def __call__(self, vector: Array) -> tuple[float, Array]:
        value, gradient = super().__call__(vector)
        if not self._norm.any():
            return value, gradient
        u = self._own_effects(vector)
        slopes, zeros = self._left_of_norms(u)
        # The envelope of a norm: sharpness / 2 |x|^2 where the block is zero, else norm |x| - norm^2 / (2 sharpness).
        x = self._lengths(u + self._by_norm / np.repeat(self._sharpness, self._sizes)[:, np.newaxis])
        quadratic, linear = 0.5 * self._sharpness * x**2, self._norm * (x - 0.5 * self._norm / self._sharpness)
        value += float(np.where(zeros, quadratic, linear)[self._norm > 0.0].sum())
        value -= 0.5 * float((self._lengths(self._by_norm) ** 2 / self._sharpness)[self._norm > 0.0].sum())
        return value, gradient + slopes[self._used] * self._scale

    def _lengths(self, u: Array) -> Array:
        return np.sqrt(np.add.reduceat((u**2).sum(axis=1), self._blocks.shapes[:-1, 7]))

    def _left_of_norms(self, u: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Slopes (n_effects, 1) of the envelopes of norms at u, and which blocks they hold at zero."""
        sharpness = np.repeat(self._sharpness, self._sizes)[:, np.newaxis]
        x = u * sharpness + self._by_norm
        lengths = self._lengths(x)
        zeros = lengths <= self._norm
        ratio = np.divide(self._norm, lengths, out=np.ones(len(lengths)), where=~zeros)
        ratio[self._norm == 0.0] = 0.0
        return x * np.repeat(ratio, self._sizes)[:, np.newaxis], zeros & (self._norm > 0.0)

    def descend(self, u: Array, max_iter: int, tolerance: float) -> Descent:
        """Roughly, for folds."""

        def run(start: Array, left: float, accuracy: float) -> Descent:
            return minimize(self, start, max_iter, accuracy * tolerance)

        return self._multiply(u, run, LEFT_ON_FOLDS)

    def descend_closely(self, u: Array, max_iter: int, tol: float, every_row: bool) -> Descent:
        """As `minimize_closely`.

        With multipliers y, the penalty's curvature M and the slopes g of f + y A u, the value of f at the optimum is no
        lower than f(u) + y A u - 1/2 g M^-1 g: effects that obey have y A u <= 0 there.
        """

        def run(start: Array, left: float, accuracy: float) -> Descent:
            # While steps turn back by far more than they may there is no need to be near the end.
            rough = accuracy * min(ROUGH, max(tol, left / NEAR)) * np.sqrt(0.1 * self.n_rows)
            return minimize_closely(self, start, max_iter, rough, every_row=every_row)

        return self._multiply(u, run, LEFT_OF_TOL * tol)

    def _multiply(self, u: Array, run: Callable[[Array, float, float], Descent], enough: float) -> Descent:
        constrained, before, accuracy, of_multipliers = self._constrained, np.inf, 1.0, 0.0
        constrained.begin()
        for _ in range(MAX_ROUNDS):
            descent = run(u, before, accuracy)
            beta = super().beta(descent.u)
            deficit, u = constrained.steps.deficit(beta), descent.u
            moved = self._update_norms(u)
            of_multipliers = constrained.update(beta)
            left = max(deficit, moved)
            if left <= enough and of_multipliers <= 2.0 * self.n_rows * enough**2:
                break
            if left > SLOW * before:
                accuracy *= 1.0 if self.bounded else 0.5  # where nothing is proved, a descent may end too early
                if constrained.grow():
                    self._sharpness = self._sharpness * GROWTH
                    self._visited.clear()  # they tell of other envelopes
            before = left
        else:
            descent.end = "max_iter"
        if descent.bound is not None:
            descent.bound += of_multipliers
        if self._norm.any():
            zeros = self._left_of_norms(u[:, :1])[1]
            descent.u = np.where(np.repeat(zeros, self._sizes)[:, np.newaxis], 0.0, u)
        return descent

    def _update_norms(self, u: Array) -> float:
        """Set the multipliers of norms; by how much the log odds differ from those of exact norms, about."""
        if not self._norm.any():
            return 0.0
        slopes, _ = self._left_of_norms(u[:, :1])
        moved = (slopes - self._by_norm) / np.repeat(self._sharpness, self._sizes)[:, np.newaxis]
        self._by_norm = slopes
        return float((2.0 * self._lengths(moved) * self._blocks.weights)[self._norm > 0.0].max(initial=0.0))

    def beta(self, u: Array) -> Array:
        """The tables, mended."""
        return self._constrained.steps.mend(super().beta(u))

    def adaptive_factors(self, u: Array) -> Array:
        """As in `BlockProblem`."""
        sizes = np.sqrt(2.0) * self._lengths(u[:, :1]) * self._blocks.weights
        largest = sizes[:-1].max(initial=0.0)
        return np.divide(largest, sizes, out=np.full(len(sizes), np.inf), where=sizes > 0.0)
