"""L-BFGS for several convex problems side by side: each has its own memory and step lengths, one pass serves all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Problem = Callable[[Array], tuple[Array, Array]]
"""Points (..., n_problems) -> values (n_problems,) and gradients of the points' shape."""

MEMORY = 10  # steps: more cost as much as they save
ENOUGH = 1e-4  # of the decrease that the slope promises (Armijo)
MAX_HALVINGS = 30


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
    memory: list[tuple[Array, Array, Array]] = []
    size = np.ones_like(values)  # of the diagonal, by the last step
    for n_steps in range(max_steps + 1):
        free = gradient if lower is None else np.where((points <= lower) & (gradient > 0), 0.0, gradient)
        direction = -_times_inverse(free, memory, scale * size)
        if lower is not None:
            direction = np.where((points <= lower) & (direction < 0), 0.0, direction)
        slopes = _dot(gradient, direction)
        uphill = slopes > 0  # by rounding or at a bound: forget, and follow the gradient
        if uphill.any():
            direction = np.where(uphill, -scale * free, direction)
            slopes = _dot(gradient, direction)
        decrease = -slopes / 2
        active = decrease > tolerance * values
        if not active.any() or n_steps == max_steps:
            return Minimum(points, values, direction, decrease, n_steps, not active.any())
        lengths = np.where(active, 1.0, 0.0)
        for _ in range(MAX_HALVINGS):
            trial = points + lengths * direction
            if lower is not None:
                trial = np.maximum(trial, lower)
            new_values, new_gradient = problem(trial)
            rounding = precision * np.abs(values)
            high = new_values > values + ENOUGH * lengths * slopes + rounding
            if not high.any():
                break
            # The least of the parabola through both values and the slope at the start.
            bend = new_values - values - lengths * slopes
            guess = -slopes * lengths**2 / (2 * np.where(high, bend, 1.0))
            lengths = np.where(high, np.clip(guess, lengths / 8, lengths / 2), lengths)
        else:
            return Minimum(points, values, direction, decrease, n_steps, False)
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


def _times_inverse(gradient: Array, memory: list[tuple[Array, Array, Array]], scale: Array) -> Array:
    """The inverse Hessian times a gradient: the two loops of Nocedal (1980)."""
    result, factors = gradient, []
    for step, change, inverse in reversed(memory):
        factors.append(inverse * _dot(step, result))
        result = result - factors[-1] * change
    result = result * scale
    for (step, change, inverse), factor in zip(memory, reversed(factors), strict=True):
        result = result + step * (factor - inverse * _dot(change, result))
    return result
