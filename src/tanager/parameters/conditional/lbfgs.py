"""L-BFGS with a long memory: attributes repeat each other, and the directions that hardly any row moves are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.linalg import solve_triangular

from tanager.arrays import Array

Problem = Callable[[Array], tuple[float, Array]]
StepAndChange = tuple[Array, Array]
"""A step, and the change of the gradient along it."""

# Steps remembered: many where vectors are short, so that a product with the memory takes no longer than a pass.
MIN_STEPS, MAX_STEPS = 20, 120
NUMBERS_IN_MEMORY = 1 << 20
# Of the line search: the share of the gain promised that is enough, that of the slope that may be left, and trials.
SUFFICIENT, FLAT = 1e-4, 0.9
MAX_TRIALS = 30
# Where the next trial may be: so many times the last length, or so far between the two ends.
STRETCH, CUT = (1.5, 10.0), (0.1, 0.5)
# A value may rise by so much of itself: it is a sum of thousands of rounded numbers.
ROUNDING = 1e-15


def walk_down(
    problem: Problem, start: Array, max_iter: int, earlier: Iterable[StepAndChange] = ()
) -> Iterator[tuple[Array, float, Array]]:
    """Point, value and gradient at the start and after each step, as long as the next one is asked for.

    Ends when no step lowers the value any more. `earlier` are steps of an earlier walk, to be remembered.
    """
    memory = Memory(len(start))
    for step, change in earlier:
        memory.add(step, change)
    point = start
    value, gradient = problem(point)
    for _ in range(max_iter):
        yield point, value, gradient
        found = _search(problem, point, value, gradient, -memory.times_inverse(gradient))
        if found is None and not memory.n_steps:
            return
        if found is None:
            memory.clear()
            continue
        step, value, at_end = found
        memory.add(step, at_end - gradient, ROUNDING * abs(value))
        point, gradient = point + step, at_end
    yield point, value, gradient


class Memory:
    """The latest steps, the changes of the gradient along them, and the inverse Hessian they tell of."""

    def __init__(self, size: int) -> None:
        self._most = int(np.clip(NUMBERS_IN_MEMORY // max(1, size), MIN_STEPS, MAX_STEPS))
        self._steps, self._changes = np.empty((self._most, size)), np.empty((self._most, size))
        self._across = np.zeros((self._most, self._most))  # steps by changes
        self._among = np.zeros((self._most, self._most))  # changes by changes
        self.n_steps = 0

    def clear(self) -> None:
        self.n_steps = 0

    def add(self, step: Array, change: Array, rounding: float = 0.0) -> None:
        """Unless the slope falls along the step, or rises by no more than a rounding error of the value."""
        if step @ change <= rounding:
            return
        if self.n_steps == self._most:
            self._forget(self._most // 4)
        last = self.n_steps
        self.n_steps = n = last + 1
        self._steps[last], self._changes[last] = step, change
        self._across[:n, last] = self._steps[:n] @ change
        self._among[:n, last] = self._among[last, :n] = self._changes[:n] @ change

    def _forget(self, number: int) -> None:
        """The oldest steps."""
        for each in (self._steps, self._changes, self._across, self._among):
            each[:-number] = each[number:].copy()
        for each in (self._across, self._among):
            each[:, :-number] = each[:, number:].copy()
        self.n_steps -= number

    def times_inverse(self, gradient: Array) -> Array:
        """The inverse Hessian times a gradient, in compact form (Byrd, Nocedal and Schnabel 1994, theorem 2.2)."""
        n = self.n_steps
        if n == 0:
            return gradient * min(1.0, 1.0 / max(float(np.linalg.norm(gradient)), np.finfo(np.float64).tiny))
        steps, changes, among = self._steps[:n], self._changes[:n], self._among[:n, :n]
        upper = np.triu(self._across[:n, :n])
        scale = upper[-1, -1] / among[-1, -1]
        by_change = solve_triangular(upper, steps @ gradient)
        inner = np.diag(upper) * by_change + scale * (among @ by_change - changes @ gradient)
        by_step = solve_triangular(upper, inner, trans="T")
        result: Array = scale * (gradient - by_change @ changes) + by_step @ steps
        return result


def _search(
    problem: Problem, point: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """A step along a direction, and value and gradient at its end; None if no step lowers the value.

    The step gains enough and leaves a flatter slope (Wolfe's conditions), where the slope is guessed to vanish.
    """
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    low, high, length = (0.0, slope), None, 1.0  # lengths and the slopes there
    found = None
    for _ in range(MAX_TRIALS):
        at, gradient_there = problem(point + length * direction)
        tried = length, float(gradient_there @ direction)
        if not at <= value + SUFFICIENT * length * slope + ROUNDING * abs(value):
            high = tried
        else:
            found = length * direction, at, gradient_there
            if tried[1] >= FLAT * slope:
                break
            if high is None:
                length *= float(np.clip(_root(low, tried) / length, *STRETCH))
            low = tried
        if high is not None:
            length = low[0] + (high[0] - low[0]) * float(
                np.clip((_root(low, high) - low[0]) / (high[0] - low[0]), *CUT)
            )
    return found


def _root(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The length at which a slope that changes evenly is zero; infinity if it does not rise."""
    rise = (second[1] - first[1]) / (second[0] - first[0])
    return first[0] - first[1] / rise if rise > 0.0 else np.inf
