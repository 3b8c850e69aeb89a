"""L-BFGS for several convex problems side by side: each has its own memory and step lengths, one pass serves all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array

Problem = Callable[[Array], tuple[Array, Array]]
"""Points (..., n_problems) -> values (n_problems,) and gradients of the points' shape."""

Step = tuple[Array, Array, Array]
"""A step, the change of the gradient along it, and the inverse of their product for each problem."""

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

    precision  of the values, relative
    scale  of the points' shape, or broadcast to it: a first guess of the inverse Hessian's diagonal, zero where fixed
    lower  of the points' shape: the points are kept at or above it, where it is given
    """
    points = start
    values, gradient = problem(points)
    memory: list[Step] = []
    size = np.ones_like(values)  # of the diagonal, by the last step
    for n_steps in range(max_steps + 1):
        direction = _direction(points, gradient, memory, scale * size, lower)
        floor = -np.inf if lower is None else lower - points
        uphill = _dot(gradient, np.maximum(direction, floor)) > 0  # by rounding or at a bound: follow the gradient
        if uphill.any():
            direction = np.where(uphill, -scale * size * gradient, direction)
        within = np.maximum(direction, floor)
        decrease = -_dot(gradient, within) / 2
        active = decrease > tolerance * np.abs(values)
        if not active.any() or n_steps == max_steps:
            return Minimum(points, values, within, decrease, n_steps, not active.any())
        lengths = np.where(active, 1.0, 0.0)
        for _ in range(np.finfo(np.float64).nmant):  # less would change nothing
            trial = points + lengths * direction
            if lower is not None:
                trial = np.maximum(trial, lower)
            new_values, new_gradient = problem(trial)
            promised = _dot(gradient, trial - points)
            high = new_values > values + ENOUGH * promised + precision * np.abs(values)
            if not high.any():
                break
            # The least of the parabola through both values and the slope at the start: a tenth to half of the step.
            bend = new_values - values - promised
            guess = -promised * lengths / (2 * np.where(high, bend, 1.0))
            lengths = np.where(high, np.clip(guess, lengths / MEMORY, lengths / 2), lengths)
        else:
            return Minimum(points, values, within, decrease, n_steps, False)
        step, change = trial - points, new_gradient - gradient
        curvature = _dot(step, change)
        norm = _dot(scale * change, change)
        good = (curvature > 0) & (norm > 0)
        memory.append((step, change, np.divide(1.0, curvature, out=np.zeros_like(curvature), where=good)))
        del memory[:-MEMORY]
        size = np.divide(curvature, norm, out=size, where=good)
        points, values, gradient = trial, new_values, new_gradient
    raise AssertionError("the loop returns at its last step")


def _dot(left: Array, right: Array) -> Array:
    """(n_problems,)"""
    return np.einsum("ijk,ijk->k", left, right)


def _direction(points: Array, gradient: Array, memory: list[Step], scale: Array, lower: Array | None) -> Array:
    """The inverse Hessian times the gradient, downhill; among bounds that of the variables which are free.

    What a step along the gradient would take to its bound goes there, and the others move as if it had always been
    fixed (the two-metric projection of Bertsekas 1982): the memory is cut to them.
    """
    if lower is None:
        return -_times_inverse(gradient, memory, scale)
    free = (gradient <= 0) | (points - scale * gradient > lower)
    cut = []
    for step, change, _ in memory:
        step, change = step * free, change * free
        curvature = _dot(step, change)
        cut.append((step, change, np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)))
    to_bound = np.where(free, 0.0, lower) - points
    return np.where(free, -_times_inverse(gradient * free, cut, scale), to_bound)


def _times_inverse(gradient: Array, memory: list[Step], scale: Array) -> Array:
    """The inverse Hessian times a gradient: the two loops of Nocedal (1980)."""
    result, factors = gradient, []
    for step, change, inverse in reversed(memory):
        factors.append(inverse * _dot(step, result))
        result = result - factors[-1] * change
    result = result * scale
    for (step, change, inverse), factor in zip(memory, reversed(factors), strict=True):
        result = result + step * (factor - inverse * _dot(change, result))
    return result
