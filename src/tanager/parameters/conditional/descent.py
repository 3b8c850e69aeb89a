"""Descent to the optimum of a `Penalized` problem by L-BFGS: when it ends, and how near it proves to have come.

Let f = loss + penalty, the loss convex and the penalty 1/2 u^T M u about its centre, and let u* be the optimum. From
f(u*) >= f(u) + g^T (u* - u) + 1/2 |u* - u|_M^2 the gap is at most

    f(u) - f(u*) <= 1/2 g^T M^-1 g = bound

where effects that nothing pulls back, the intercepts of the classes, have no slope: they are solved for at the end.
For the conditional likelihood the gap is also exactly

    f(u) - f(u*) = sum_t w_t KL(p*_t | p_t) + 1/2 |u - u*|_M^2

since the slope at u* is zero, so that by Pinsker's inequality no class of row t has a probability further than
sqrt(bound / (2 w_t)) from the optimum's, and the root of the mean of the squares is sqrt(bound / (2 sum_t w_t)).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning

from tanager.arrays import Array
from tanager.parameters.conditional.penalized import Penalized, Step

Problem = Callable[[Array], tuple[float, Array]]
Rule = Callable[[list[float], Array, Array], str | None]
"""Why a descent ends, None if it goes on: given the values so far, and the gradient and effects at the last of them."""

# So many steps that together gain less than a quarter of the goal are taken for the end.
SLOW_STEPS = 10
# With more rows than this `tol` is asked of the root mean square over the rows, not of every row, and not proved: the
# bound counts the prior's curvature alone, so the more rows there are, the more passes a proof takes.
MAX_ROWS_FOR_EACH = 20_000
# Where nothing is proved the end is taken to be near when half the squared norm of the scaled gradient, or what
# `SLOW_STEPS` steps gain, is so many times the goal.
SMALL_GRADIENT, SMALL_GAIN = 40.0, 50.0
# Of the goal, where every row is asked for and nothing is proved, as with missing values: with the whole of it P of a
# row was up to ten times `tol` from the optimum's (anneal); this takes a third more passes.
UNPROVED = 0.01
# What the rows count in the scale of the descent: less than in a rough one, since the last directions to be found are
# those that hardly any row moves. It saves up to half of the passes.
DAMPING = 0.1
# Of the goal, for the steps: solving for the intercepts changes the other slopes a little.
BEFORE_INTERCEPTS = 0.25
DIFFERENCE, NO_SLOPE, HARDLY_ANY, MAX_SOLVES = 1e-4, 1e-9, 1e-4, 30
# A point without slope is a saddle where the curvature in some direction is below minus this part of the largest.
NEGATIVE_CURVATURE = 1e-3
# Directions in which curvature is looked for, steps away from a saddle that are tried, and saddles left in a descent.
MAX_DIRECTIONS, SADDLE_STEPS, MAX_SADDLES = 30, (1.0, 0.3, 0.1, 0.03), 5
# The scale of the effects at which random starts are drawn: log odds of two make tables of all kinds.
START_SPREAD, START_SEED = 2.0, 0

# Steps that L-BFGS remembers. Attributes repeat each other, and the directions that hardly any row moves are many: with
# SciPy's L-BFGS-B and forty steps a fit takes up to half as many passes again. Where vectors are long they are fewer,
# so that a product with the memory takes no longer than a pass.
MIN_STEPS, MAX_STEPS = 20, 120
NUMBERS_IN_MEMORY = 1 << 20
# Of the line search: the share of the gain promised that is enough, that of the slope that may be left, and trials.
SUFFICIENT, FLAT = 1e-4, 0.9
MAX_TRIALS = 30
# Where the next trial may be: so many times the last length, or so far between the two ends.
STRETCH, CUT = (1.5, 10.0), (0.1, 0.5)
# A value may rise by so much of itself: it is a sum of thousands of rounded numbers.
ROUNDING = 1e-15


@dataclass
class Descent:
    """Where the optimiser went: `values` and `gradient_norms` (of the scaled problem) at the start and each step.

    `end` says why it stopped: "tolerance", "max_iter", "bound", "asked", or "precision" when no step lowered the
    value any more. `bound` is what is left to gain at most, None where that is not known. `is_minimum` says whether
    the end has no direction of negative curvature, None where that was not looked for.
    """

    u: Array
    values: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    end: str = "max_iter"
    bound: float | None = None
    is_minimum: bool | None = None


def minimize_closely(problem: Penalized, u: Array, max_iter: int, tol: float, bound: float = np.inf) -> Descent:
    """Descend until P(class | row) is within `tol` of the optimum's for every training row.

    This is proved where the objective is convex and the prior quadratic, and likely elsewhere. Of many rows it is
    likely in the root mean square. An effect beyond `bound` ends the descent.
    """
    many = problem.n_rows > MAX_ROWS_FOR_EACH
    goal = 2.0 * tol**2 * (problem.n_rows if many else 1.0)

    def rule(values: list[float], gradient: Array, u: Array) -> str | None:
        if problem.bounded and not many:
            near = problem.gap_bound(gradient) <= BEFORE_INTERCEPTS * goal
        else:
            left = min(0.5 * float(gradient @ gradient) / SMALL_GRADIENT, _latest_gain(values) / SMALL_GAIN)
            near = left <= (goal if many else UNPROVED * goal)
        if near:
            return "tolerance"
        return "bound" if np.abs(u).max(initial=0.0) > bound else None

    descent = descend(problem, u, max_iter, rule)
    if problem.bounded:
        _solve_intercepts(problem, descent)
    if descent.end == "max_iter":
        warnings.warn(
            f"Conditional stopped after max_iter={max_iter} iterations; the objective is {descent.values[-1]:.6g} and "
            f"its scaled gradient has norm {descent.gradient_norms[-1]:.3g}. Raise max_iter or tol, or use a prior.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return descent


def minimize(
    problem: Penalized, u: Array, max_iter: int, tol: float, enough: Callable[[Array], bool] | None = None
) -> Descent:
    """Descend from effects u until about `tol` times (the value + a hundredth for each row) is left to gain.

    `enough` sees the effects of every iteration, and may end the descent.

    Half the squared norm of the scaled gradient is what a step would gain if the scaled Hessian were the identity; it
    is not much less in the directions a prior bounds, and on 12 tables this half was what was left within a factor
    of ten. Where the Hessian is far from the identity (hundreds of pairs that repeat each other) it says too much: the
    descent also ends when `SLOW_STEPS` steps gain less than a quarter of that.
    """

    def rule(values: list[float], gradient: Array, u: Array) -> str | None:
        if enough is not None and enough(u):
            return "asked"
        left = min(0.5 * float(gradient @ gradient), 4.0 * _latest_gain(values))
        return "tolerance" if left <= tol * (values[-1] + problem.n_rows / 100.0) else None

    return descend(problem, u, max_iter, rule)


def descend(problem: Penalized, u: Array, max_iter: int, rule: Rule) -> Descent:
    """Descend from effects u until a rule ends it; saddles are left."""
    descent = Descent(u)
    _follow_slope(problem, descent, max_iter, rule)
    for _ in range(MAX_SADDLES if problem.has_saddles else 0):
        if descent.end not in ("tolerance", "precision"):
            break
        descent.is_minimum, lower = look_below(problem, problem.to_vector(descent.u))
        if lower is None:
            break
        descent.u, descent.is_minimum = problem.to_effects(lower), None  # the descent goes on, and may stop anywhere
        _follow_slope(problem, descent, max_iter, rule)
    return descent


def _follow_slope(problem: Penalized, descent: Descent, max_iter: int, rule: Rule) -> None:
    """Go on from where the descent is, until `descend` should end or there is no slope."""
    n_before, descent.end = len(descent.values), "max_iter"
    steps = lbfgs(problem, problem.to_vector(descent.u), max_iter - max(0, n_before - 1), problem.remembered_steps())
    for number, (vector, value, gradient) in enumerate(steps):
        problem.remember(vector, gradient, is_start=number == 0)
        descent.u = problem.to_effects(vector)
        descent.values.append(value)
        descent.gradient_norms.append(float(np.linalg.norm(gradient)))
        values = descent.values[n_before:]
        end = rule(values, gradient, descent.u) or ("precision" if _latest_gain(values) <= 0.0 else None)
        if end is not None:
            descent.end = end
            return
    if len(descent.values) <= max_iter:
        descent.end = "precision"


def _latest_gain(values: list[float]) -> float:
    """What the latest `SLOW_STEPS` steps have gained; infinity if there were fewer."""
    return values[-1 - SLOW_STEPS] - values[-1] if len(values) > SLOW_STEPS else np.inf


def best_start(problem: Penalized, u: Array, n_starts: int, max_iter: int, tol: float) -> Array:
    """Effects at the end of a rough descent from u, or of the lowest of those from random effects if clearly lower.

    Clearly is by more than a rough descent leaves to gain (`minimize`). There are so many starts, u included.
    """
    generator = np.random.default_rng(START_SEED)
    starts = [u, *(generator.normal(0.0, START_SPREAD, u.shape) for _ in range(n_starts - 1))]
    first, *others = (minimize(problem, start, max_iter, tol) for start in starts)
    best = min(others, key=lambda end: end.values[-1], default=first)
    left = tol * (first.values[-1] + problem.n_rows / 100.0)
    return best.u if best.values[-1] < first.values[-1] - left else first.u


def is_lower_at(problem: Penalized, descent: Descent, bound: float) -> bool:
    """Whether the objective falls where the largest effect goes on to the bound: then the optimum is out there."""
    u = descent.u.copy()
    largest = np.unravel_index(np.abs(u).argmax(), u.shape)
    u[largest] = np.copysign(bound, u[largest])
    return problem(problem.to_vector(u))[0] < descent.values[-1]


def look_below(problem: Problem, vector: Array) -> tuple[bool, Array | None]:
    """Whether a point without slope is a minimum; of a saddle a lower point along the lowest curvature, if found."""
    value, gradient = problem(vector)
    curvature, direction = lowest_curvature(problem, vector, gradient)
    if curvature >= 0.0:
        return True, None
    tried = [vector + sign * step * direction for step in SADDLE_STEPS for sign in (1.0, -1.0)]
    values = [problem(each)[0] for each in tried]
    lowest = int(np.argmin(values))
    return False, tried[lowest] if values[lowest] < value else None


def lowest_curvature(problem: Problem, vector: Array, gradient: Array) -> tuple[float, Array]:
    """The lowest curvature of all directions, zero if it is not clearly negative, and its direction, of length one.

    By Lanczos' method from a random direction, each product with the Hessian a difference of two gradients.
    """
    n_directions = min(len(vector), MAX_DIRECTIONS)
    basis, across = np.zeros((n_directions, len(vector))), np.zeros((n_directions, n_directions))
    next_direction = np.random.default_rng(START_SEED).normal(size=len(vector))
    for k in range(n_directions):
        next_direction -= basis.T @ (basis @ next_direction)
        length = np.linalg.norm(next_direction)
        if length <= NO_SLOPE:
            break
        basis[k] = next_direction / length
        product = (problem(vector + DIFFERENCE * basis[k])[1] - gradient) / DIFFERENCE
        across[: k + 1, k] = across[k, : k + 1] = basis[: k + 1] @ product
        next_direction = product - basis.T @ (basis @ product)
    curvatures, combinations = np.linalg.eigh(across)
    if not n_directions or curvatures[0] >= -NEGATIVE_CURVATURE * curvatures[-1]:
        return 0.0, np.zeros_like(vector)
    return float(curvatures[0]), combinations[:, 0] @ basis


def _solve_intercepts(problem: Penalized, descent: Descent) -> None:
    """A descent over what nothing pulls back alone, until it has hardly any slope; sets the bound of the descent."""
    vector, places = problem.to_vector(descent.u), problem.unpenalized
    evaluated: dict[bytes, tuple[float, Array]] = {}

    def of_intercepts(intercepts: Array) -> tuple[float, Array]:
        vector[places] = intercepts
        value, gradient = evaluated[intercepts.tobytes()] = problem(vector)
        return value, gradient[places]

    for intercepts, _, slopes in lbfgs(of_intercepts, vector[places], MAX_SOLVES):
        value, gradient = evaluated[intercepts.tobytes()]
        vector[places] = intercepts
        if np.abs(slopes).max(initial=0.0) <= max(NO_SLOPE, HARDLY_ANY * float(np.linalg.norm(gradient))):
            break
    descent.u = problem.to_effects(vector)
    descent.values[-1], descent.gradient_norms[-1] = value, float(np.linalg.norm(gradient))
    descent.bound = problem.gap_bound(gradient)


def lbfgs(
    problem: Problem, start: Array, max_iter: int, earlier: Iterable[Step] = ()
) -> Iterator[tuple[Array, float, Array]]:
    """Point, value and gradient at the start and after each step, as long as the next one is asked for.

    Ends when no step lowers the value any more. `earlier` are steps of an earlier descent, to be remembered.
    """
    memory = Memory(len(start))
    for step, change in earlier:
        memory.add(step, change)
    point = start
    value, gradient = problem(point)
    for _ in range(max_iter):
        yield point, value, gradient
        end = _line_search(problem, point, value, gradient, -memory.times_inverse(gradient))
        if end is None and not memory.n_steps:
            return
        if end is None:
            memory.n_steps = 0
            continue
        step, value, end_gradient = end
        memory.add(step, end_gradient - gradient, ROUNDING * abs(value))
        point, gradient = point + step, end_gradient
    yield point, value, gradient


class Memory:
    """The latest steps, the changes of the gradient along them, and the inverse Hessian they tell of."""

    def __init__(self, size: int) -> None:
        self._most = int(np.clip(NUMBERS_IN_MEMORY // max(1, size), MIN_STEPS, MAX_STEPS))
        self._steps, self._changes = np.empty((self._most, size)), np.empty((self._most, size))
        self._across = np.zeros((self._most, self._most))  # steps by changes
        self._among = np.zeros((self._most, self._most))  # changes by changes
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


def _line_search(
    problem: Problem, point: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """A step along a direction, and value and gradient at its end; None if no step lowers the value.

    The step gains enough and leaves a flatter slope (Wolfe's conditions), where the slope is guessed to vanish.
    """
    slope = float(gradient @ direction)
    if not slope < 0.0:
        return None
    low, high, length = (0.0, slope), None, 1.0  # lengths and the slopes there
    best = None
    for _ in range(MAX_TRIALS):
        at, gradient_there = problem(point + length * direction)
        tried = length, float(gradient_there @ direction)
        if not at <= value + SUFFICIENT * length * slope + ROUNDING * abs(value):
            high = tried
        else:
            best = length * direction, at, gradient_there
            if tried[1] >= FLAT * slope:
                break
            if high is None:
                length *= float(np.clip(_root(low, tried) / length, *STRETCH))
            low = tried
        if high is not None:
            length = low[0] + (high[0] - low[0]) * float(
                np.clip((_root(low, high) - low[0]) / (high[0] - low[0]), *CUT)
            )
    return best


def _root(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The length at which a slope that changes evenly is zero; infinity if it does not rise."""
    rise = (second[1] - first[1]) / (second[0] - first[0])
    return first[0] - first[1] / rise if rise > 0.0 else np.inf
