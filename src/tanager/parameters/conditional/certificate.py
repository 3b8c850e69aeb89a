"""A descent to the optimum that proves how near it came.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import Descent
from tanager.parameters.conditional.optimize import Penalized, descend, gain_of_late

Array = NDArray[np.float64]

# With more rows than this `tol` is asked of the root mean square over the rows, not of every row, and not proved: the
# bound counts the prior's curvature alone, so the more rows there are, the more passes a proof takes.
MAX_ROWS_FOR_EACH = 20_000
# Where nothing is proved the end is taken to be near when half the squared norm of the scaled gradient, or what
# `SLOW_STEPS` steps gain, is so many times the goal.
SMALL_GRADIENT, SMALL_GAIN = 40.0, 50.0
# What the rows count in the scale of the descent: less than in a rough one, since the last directions to be found are
# those that hardly any row moves. It saves up to half of the passes.
DAMPING = 0.1
# Of the goal, for the steps: solving for the intercepts changes the other slopes a little.
BEFORE_INTERCEPTS = 0.25
DIFFERENCE, NO_SLOPE, MAX_SOLVES = 1e-4, 1e-9, 6


def minimize_closely(
    problem: Penalized, u: Array, max_iter: int, tol: float, bound: float = np.inf, every_row: bool = True
) -> Descent:
    """Descend until P(class | row) is within `tol` of the optimum's for every training row.

    This is proved where the objective is convex and the prior quadratic, and likely elsewhere. Of many rows, and
    without `every_row`, it is likely in the root mean square. An effect beyond `bound` ends the descent.
    """
    many = not every_row or problem.n_rows > MAX_ROWS_FOR_EACH
    goal = 2.0 * tol**2 * (problem.n_rows if many else 1.0)

    def rule(values: list[float], gradient: Array) -> tuple[float, float]:
        if problem.bounded and not many:
            return problem.gap_bound(gradient), BEFORE_INTERCEPTS * goal
        return min(0.5 * float(gradient @ gradient) / SMALL_GRADIENT, gain_of_late(values) / SMALL_GAIN), goal

    descent = descend(problem, u, max_iter, rule, bound)
    if problem.bounded:
        _solve_intercepts(problem, descent)
    return descent


def _solve_intercepts(problem: Penalized, descent: Descent) -> None:
    """Newton's method for what nothing pulls back, with the Hessian at its start; sets the bound of the descent."""
    vector, places = problem.to_vector(descent.u), problem.unpenalized
    value, gradient = problem(vector)
    if len(places):
        columns = []
        for place in places:
            moved = vector.copy()
            moved[place] += DIFFERENCE
            columns.append((problem(moved)[1] - gradient)[places] / DIFFERENCE)
        inverse = np.linalg.pinv(np.array(columns), rcond=1e-8)  # adding the same to all classes changes nothing
        for _ in range(MAX_SOLVES):
            if np.abs(gradient[places]).max() <= NO_SLOPE:
                break
            vector = vector.copy()
            vector[places] -= inverse @ gradient[places]
            value, gradient = problem(vector)
    descent.u = problem.to_effects(vector)
    descent.values[-1], descent.gradient_norms[-1] = value, float(np.linalg.norm(gradient))
    descent.bound = problem.gap_bound(gradient)


@dataclass(frozen=True)
class Certificate:
    """How near a fit is to the optimum, in the fields of `ConditionalTrace`."""

    optimum: str
    bound: float | None
    p_bound: float | None
    p_rms_bound: float | None

    @classmethod
    def of(
        cls, convex: bool, bound: float | None, n_rows: float, least_weight: float | None, of_p: bool = True
    ) -> Certificate:
        """`n_rows` is the sum of the weights; `least_weight` None means that all are one.

        `of_p` says that the bound is one of divergences, as it is for the conditional likelihood alone.
        """
        if bound is None:
            return cls("global, how near is not known" if convex else "maybe local", None, None, None)
        if not of_p:
            return cls(f"global within {bound:.2g} of the objective", bound, None, None)
        least = 1.0 if least_weight is None else least_weight
        p_bound, p_rms_bound = (min(1.0, float(np.sqrt(bound / (2.0 * rows)))) for rows in (least, n_rows))
        return cls(f"global within {bound:.2g} nats", bound, p_bound, p_rms_bound)
