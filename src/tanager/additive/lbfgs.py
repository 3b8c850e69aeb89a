"""L-BFGS for several convex problems side by side: each has its own memory and step lengths, one pass serves all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array

Problem = Callable[[Array], tuple[Array, Array]]
"""Points (..., n_problems) -> values (n_problems,) and gradients of the points' shape."""

MEMORY = 10  # steps: more cost as much as they save
ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)


@dataclass
class Minimum:
    """Where a descent ended.

    direction  the next step, had the descent gone on
    decrease   (n_problems,) what that step is expected to gain
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
        values, gradient = problem(points.T.reshape(shape))
        return values, by_problem(gradient)

    points, bound = by_problem(start), None if lower is None else by_problem(lower)
    values, gradient = evaluate(points)
    memory = _Memory(by_problem(scale))
    for n_steps in range(max_steps + 1):
        direction = memory.direction(points, gradient, bound)
        floor = -np.inf if bound is None else bound - points
        uphill = _dot(gradient, np.maximum(direction, floor)) > 0  # by rounding or at a bound: follow the gradient
        if uphill.any():
            direction = np.where(uphill[:, np.newaxis], -memory.diagonal * gradient, direction)
        within = direction if bound is None else np.maximum(direction, floor)
        decrease = -_dot(gradient, within) / 2
        active = decrease > tolerance * np.abs(values)
        if not active.any() or n_steps == max_steps:
            break
        lengths = np.where(active, 1.0, 0.0)
        for _ in range(np.finfo(np.float64).nmant):  # less would change nothing
            trial = points + lengths[:, np.newaxis].astype(points.dtype) * direction
            if bound is not None:
                trial = np.maximum(trial, bound)
            new_values, new_gradient = evaluate(trial)
            promised = _dot(gradient, trial - points)
            high = new_values > values + ENOUGH * promised + precision * np.abs(values)
            if not high.any():
                break
            # The least of the parabola through both values and the slope at the start: a tenth to half of the step.
            bend = new_values - values - promised
            guess = -promised * lengths / (2 * np.where(high, bend, 1.0))
            lengths = np.where(high, np.clip(guess, lengths / MEMORY, lengths / 2), lengths)
        else:
            active[:] = True
            break
        memory.add(trial - points, new_gradient - gradient)
        points, values, gradient = trial, new_values, new_gradient
    whole, ahead = (each.T.reshape(shape).astype(np.float64) for each in (points, within))
    return Minimum(whole, values, ahead, decrease, n_steps, not active.any())


class _Memory:
    """The last steps and changes of the gradient, and the inverse Hessian they stand for.

        H = A + [S, A Y] [[R^-T (D + Y'A Y) R^-1, -R^-T], [-R^-1, 0]] [S, A Y]'

    with the diagonal A = size scale, the steps S, the changes Y of the gradient, and R the upper triangle of S'Y with
    the diagonal D (Byrd, Nocedal and Schnabel 1994, theorem 2.2): four products with the memory, where the two loops of
    Nocedal (1980) pass over it vector by vector.
    """

    def __init__(self, scale: Array) -> None:
        n_problems, n = scale.shape
        self.scale, self.size = scale, np.ones((n_problems, 1), scale.dtype)
        self.steps, self.changes = np.zeros((2, n_problems, MEMORY, n), scale.dtype)
        self.step_change, self.change_change = np.zeros((2, n_problems, MEMORY, MEMORY))
        self.slots: list[int] = []
        """Where the steps lie, from the first to the last."""

    @property
    def diagonal(self) -> Array:
        """The inverse Hessian without the memory."""
        return self.size * self.scale

    def add(self, step: Array, change: Array) -> None:
        """A step of no curvature, by rounding or of a problem that has ended, is left out of its problem's memory."""
        curvature, norm = _dot(step, change), _dot(self.scale * change, change)
        good = (curvature > 0) & (norm > 0)
        if not good.all():
            step, change = (np.where(good[:, np.newaxis], each, 0) for each in (step, change))
        slot = self.slots.pop(0) if len(self.slots) == MEMORY else len(self.slots)
        self.slots.append(slot)
        self.steps[:, slot], self.changes[:, slot] = step, change
        self.step_change[:, :, slot] = _times(self.steps, change)
        self.change_change[:, slot] = self.change_change[:, :, slot] = _times(self.changes, self.scale * change)
        self.step_change[:, slot, slot] = np.where(good, curvature, 1.0)
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
        chosen = np.ix_(range(len(gradient)), self.slots, self.slots)
        upper = np.triu(self.step_change[chosen])
        middle = np.eye(len(self.slots)) * upper + self.size[:, :, np.newaxis] * self.change_change[chosen]
        right = _times(self.changes, result)[:, self.slots, np.newaxis]
        solved = np.linalg.solve(upper, _times(self.steps, gradient)[:, self.slots, np.newaxis])
        outer = np.linalg.solve(upper.swapaxes(1, 2), middle @ solved - right)
        weights = np.zeros((2, len(gradient), 1, MEMORY), gradient.dtype)
        weights[0, :, 0, self.slots] = outer[..., 0].T
        weights[1, :, 0, self.slots] = solved[..., 0].T
        result += (weights[0] @ self.steps)[:, 0] - self.diagonal * (weights[1] @ self.changes)[:, 0]
        return result


def _times(memory: Array, vectors: Array) -> Array:
    """(n_problems, MEMORY) products of each problem's vectors."""
    return (memory @ vectors[:, :, np.newaxis])[:, :, 0].astype(np.float64)


def _dot(left: Array, right: Array) -> Array:
    """(n_problems,)"""
    return np.einsum("ij,ij->i", left, right).astype(np.float64)
