"""L-BFGS for several convex problems side by side: each has its own memory and step lengths, one pass serves all.

Every round evaluates one point of each problem. A problem whose value does not fall enough tries a shorter step in the
next round, while the others go on. A problem that has ended takes no part in further rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from tanager.arrays import Array, Flags, Ints

MEMORY = 10  # steps: more cost as much as they save
ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)


class Problem(Protocol):
    """Several convex functions."""

    def __call__(self, points: Array, /) -> tuple[Array, Array]:
        """Values (n_problems,) and gradients (..., n_problems) at points (..., n_problems)."""

    def only(self, kept: Flags, /) -> Self:
        """Some of the problems; kept (n_problems,)."""


@dataclass
class Minimum:
    """Where a descent ended.

    direction  the next step, had the descent gone on
    decrease   (n_problems,) what that step is expected to gain
    n_steps    of the problem that took most
    """

    points: Array
    values: Array
    direction: Array
    decrease: Array
    n_steps: int
    converged: bool


def minimize(
    problem: Problem,
    start: Array,
    scale: Array,
    tolerance: float,
    max_steps: int,
    precision: float,
    lower: Array | None = None,
) -> Minimum:
    """Descend until no problem expects to gain more than `tolerance` times its value: half of -gradient' direction.

    start      of shape (..., n_problems); the descent computes in its type
    scale      broadcast to the points: a first guess of the inverse Hessian's diagonal, zero where fixed
    precision  of the values, relative
    lower      broadcast to the points: they are kept at or above it, where it is given
    """
    shape = start.shape

    def by_problem(values: Array) -> Array:
        """(n_problems, n): the numbers of a problem side by side in memory."""
        whole = np.broadcast_to(values, shape).reshape(-1, shape[-1])
        return np.ascontiguousarray(whole.T, dtype=start.dtype)

    def evaluate(points: Array) -> tuple[Array, Array]:
        values, gradient = problem(points.T.reshape(*shape[:-1], len(points)))
        return values, np.ascontiguousarray(gradient.reshape(-1, len(points)).T)

    points, memory = by_problem(start), _Memory(by_problem(scale))
    bound = None if lower is None else by_problem(lower)
    state = _State(points, *evaluate(points), np.ones(shape[-1]), np.empty_like(points), bound)
    state.aim(memory, np.ones(shape[-1], dtype=bool))
    ends, numbers = state.only(np.ones(shape[-1], dtype=bool)), np.arange(shape[-1])
    for n_steps in range(max_steps + 1):
        goes_on = state.decrease > tolerance * np.abs(state.values)
        goes_on &= (state.lengths > np.finfo(np.float64).eps) & (n_steps < max_steps)  # shorter would change nothing
        if not goes_on.all():
            ends.put(numbers, state)
            if not goes_on.any():
                break
            numbers, problem = numbers[goes_on], problem.only(goes_on)
            state, memory = state.only(goes_on), memory.only(goes_on)
        trial = state.points + state.lengths[:, np.newaxis].astype(start.dtype) * state.direction
        if state.lower is not None:
            trial = np.maximum(trial, state.lower)
        values, gradient = evaluate(trial)
        steps, changes = trial - state.points, gradient - state.gradient
        promised = _dot(state.gradient, steps)
        low = values <= state.values + ENOUGH * promised + precision * np.abs(state.values)
        if not low.all():
            # The least of the parabola through both values and the slope at the start: a tenth to half of the step.
            bend = np.where(low, 1.0, values - state.values - promised)
            shorter = np.clip(-promised * state.lengths / (2 * bend), state.lengths / MEMORY, state.lengths / 2)
            steps, changes = (np.where(low[:, np.newaxis], each, 0) for each in (steps, changes))
            trial, gradient = state.points + steps, state.gradient + changes
            values = np.where(low, values, state.values)
        memory.add(steps, changes)
        state.points, state.values, state.gradient = trial, values, gradient
        state.lengths = np.ones(len(low)) if low.all() else np.where(low, 1.0, shorter)
        state.aim(memory, low)
    converged = bool((ends.decrease <= tolerance * np.abs(ends.values)).all())
    ahead = ends.within(ends.direction)
    whole, ahead = (each.T.reshape(shape).astype(np.float64) for each in (ends.points, ahead))
    return Minimum(whole, ends.values, ahead, ends.decrease, n_steps, converged)


@dataclass
class _State:
    """Problems at a point each: points, gradient, direction, lower (n_problems, n); values, lengths (n_problems,)."""

    points: Array
    values: Array
    gradient: Array
    lengths: Array
    direction: Array
    lower: Array | None

    def within(self, direction: Array) -> Array:
        """A direction, cut at the bounds."""
        return direction if self.lower is None else np.maximum(direction, self.lower - self.points)

    @property
    def decrease(self) -> Array:
        """(n_problems,) what a whole step is expected to gain."""
        return -_dot(self.gradient, self.within(self.direction)) / 2

    def aim(self, memory: _Memory, at: Flags) -> None:
        """Set the next direction of some problems."""
        direction = memory.direction(self.points, self.gradient, self.lower)
        uphill = _dot(self.gradient, self.within(direction)) > 0
        if uphill.any():  # by rounding or at a bound: follow the gradient
            direction = np.where(uphill[:, np.newaxis], -memory.diagonal * self.gradient, direction)
        self.direction = direction if at.all() else np.where(at[:, np.newaxis], direction, self.direction)

    def only(self, kept: Flags) -> _State:
        """The state of some problems."""
        lower = None if self.lower is None else self.lower[kept]
        arrays = (self.points, self.values, self.gradient, self.lengths, self.direction)
        points, values, gradient, lengths, direction = (each[kept] for each in arrays)
        return _State(points, values, gradient, lengths, direction, lower)

    def put(self, numbers: Ints, other: _State) -> None:
        """Write the state of some problems."""
        for name in ("points", "values", "gradient", "lengths", "direction"):
            getattr(self, name)[numbers] = getattr(other, name)


class _Memory:
    """The last steps and changes of the gradient, and the inverse Hessian they stand for.

        H = A + [S, A Y] [[R^-T (D + Y'A Y) R^-1, -R^-T], [-R^-1, 0]] [S, A Y]'

    with the diagonal A = size scale, the steps S, the changes Y of the gradient, and R the upper triangle of S'Y with
    the diagonal D (Byrd, Nocedal and Schnabel 1994, theorem 2.2): four products with the memory, where the two loops of
    Nocedal (1980) pass over it vector by vector. The inverse of R grows by a column with each step.
    """

    def __init__(self, scale: Array) -> None:
        n_problems, n = scale.shape
        self.scale, self.size = scale, np.ones((n_problems, 1), scale.dtype)
        self.steps, self.changes = np.zeros((2, n_problems, MEMORY, n), scale.dtype)
        self.inverse = np.zeros((n_problems, 0, 0))
        self.curvatures = np.zeros((n_problems, 0))
        self.change_change = np.zeros((n_problems, MEMORY, MEMORY))
        self.slots: list[int] = []
        """Where the steps lie, from the first to the last, as in `inverse` and `curvatures`."""

    @property
    def diagonal(self) -> Array:
        """The inverse Hessian without the memory."""
        return self.size * self.scale

    def only(self, kept: Flags) -> _Memory:
        """The memory of some problems."""
        fewer = _Memory.__new__(_Memory)
        for name, value in vars(self).items():
            setattr(fewer, name, value if name == "slots" else value[kept])
        return fewer

    def add(self, step: Array, change: Array) -> None:
        """A step of no length or curvature, of a problem that waits or by rounding, has no influence on its problem."""
        curvature, norm = _dot(step, change), _dot(self.scale * change, change)
        good = (curvature > 0) & (norm > 0)
        if not good.all():
            step, change = (np.where(good[:, np.newaxis], each, 0) for each in (step, change))
        if len(self.slots) == MEMORY:
            slot = self.slots.pop(0)
            self.inverse, self.curvatures = self.inverse[:, 1:, 1:], self.curvatures[:, 1:]
        else:
            slot = len(self.slots)
        n, diagonal = len(self.slots), np.where(good, curvature, 1.0)
        above = _times(self.steps, change)[:, self.slots, np.newaxis]
        inverse = np.zeros((len(step), n + 1, n + 1))
        inverse[:, :n, :n] = self.inverse
        inverse[:, :n, n:] = -(self.inverse @ above) / diagonal[:, np.newaxis, np.newaxis]
        inverse[:, n, n] = 1 / diagonal
        self.inverse, self.curvatures = inverse, np.column_stack([self.curvatures, diagonal])
        self.slots.append(slot)
        self.steps[:, slot], self.changes[:, slot] = step, change
        self.change_change[:, slot] = self.change_change[:, :, slot] = _times(self.changes, self.scale * change)
        self.size[good, 0] = (curvature / np.where(good, norm, 1.0))[good]

    def direction(self, points: Array, gradient: Array, lower: Array | None) -> Array:
        """Minus the inverse Hessian times the gradient; among bounds that of the variables which are free.

        What a step along the gradient would take to its bound goes there, and the others move as if it had always been
        fixed (the two-metric projection of Bertsekas 1982): the memory is cut to them.
        """
        if lower is None:
            return -self._times_gradient(gradient)
        free = (gradient <= 0) | (points - self.diagonal * gradient > lower)
        cut = _Memory(self.scale * free)
        for slot in self.slots:
            cut.add(self.steps[:, slot] * free, self.changes[:, slot] * free)
        cut.size = self.size
        return np.where(free, -cut._times_gradient(gradient * free), np.where(free, 0.0, lower) - points)

    def _times_gradient(self, gradient: Array) -> Array:
        result = self.diagonal * gradient
        if not self.slots:
            return result
        at = np.array(self.slots)
        middle = self.size[:, :, np.newaxis] * self.change_change[:, at[:, np.newaxis], at]
        right = _times(self.changes, result)[:, at]
        solved = (self.inverse @ _times(self.steps, gradient)[:, at, np.newaxis])[:, :, 0]
        inner = self.curvatures * solved + (middle @ solved[:, :, np.newaxis])[:, :, 0] - right
        outer = (inner[:, np.newaxis] @ self.inverse)[:, 0]
        weights = np.zeros((2, len(gradient), 1, MEMORY), gradient.dtype)
        weights[0, :, 0, at], weights[1, :, 0, at] = outer.T, solved.T
        result += (weights[0] @ self.steps)[:, 0] - self.diagonal * (weights[1] @ self.changes)[:, 0]
        return result


def _times(memory: Array, vectors: Array) -> Array:
    """(n_problems, MEMORY) products of each problem's vectors."""
    return (memory @ vectors[:, :, np.newaxis])[:, :, 0].astype(np.float64)


def _dot(left: Array, right: Array) -> Array:
    """(n_problems,)"""
    return np.einsum("ij,ij->i", left, right).astype(np.float64)
