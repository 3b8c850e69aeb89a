"""Choice of a prior's strengths on held-out folds, along a path from strong to weak."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.held_out import Fold
from tanager.parameters.optimize import minimize

Array = NDArray[np.float64]
Strengths = tuple[float, ...]

# From strong to weak, each fit starting at its neighbour's. Steps of 3 or 4 cost twice as much and gain nothing.
FIRST_PATH = (np.inf, 100.0, 10.0, 1.0, 0.1)
HIGHER_PATH = (np.inf, 64.0, 8.0, 1.0, 0.125, 0.015625)
# Strengths say how far effects spread, which more rows do not change, while they leave less to the prior.
MOST_ROWS = 5_000
FOLD_MAX_ITER = 100
FOLD_TOLERANCE = 1e-2
# The walk along a path ends when the loss has risen this often in a row.
RISES = 2
# How many standard errors a stronger prior may be worse than the best and still be taken.
ERRORS_ALLOWED = 1.5


@dataclass
class Chosen:
    """Strengths by level, the mean held-out loss at every point of the path, and a start for the fit on all rows."""

    strengths: Strengths
    losses: dict[Strengths, float] = field(default_factory=dict)
    start: Array | None = None
    n_passes: int = 0


def choose_strengths(folds: list[Fold]) -> Chosen:
    """Level by level, higher ones still absent: the strongest prior that is not clearly worse than the best."""
    n_levels = folds[0].problem.n_levels
    chosen = Chosen((np.inf,) * n_levels)
    weights = np.concatenate([fold.held_out.weights for fold in folds])
    for level in range(n_levels if len(weights) else 0):
        visited: list[tuple[Strengths, Array, list[Array]]] = []
        for strength in HIGHER_PATH if level else FIRST_PATH:
            strengths = (*chosen.strengths[:level], strength, *chosen.strengths[level + 1 :])
            losses = np.concatenate([_visit(fold, strengths) for fold in folds])
            visited.append((strengths, losses, [fold.u for fold in folds]))
            chosen.losses[strengths] = float(np.average(losses, weights=weights))
            if _keeps_rising([chosen.losses[strengths] for strengths, _, _ in visited]):
                break
        best = strongest_good([losses for _, losses, _ in visited], weights)
        chosen.strengths = visited[best][0]
        for fold, u in zip(folds, visited[best][2], strict=True):
            fold.u = u
    chosen.start = np.mean([fold.u for fold in folds], axis=0)
    chosen.n_passes = sum(fold.problem.n_passes for fold in folds)
    return chosen


def _visit(fold: Fold, strengths: Strengths) -> Array:
    """Losses of the rows held out; the fit starts where the fold was on the path."""
    fold.problem.set_strengths(strengths)
    fold.u = minimize(fold.problem, fold.u, FOLD_MAX_ITER, FOLD_TOLERANCE).u
    return fold.held_out.losses(fold.problem.beta(fold.u))


def _keeps_rising(means: list[float]) -> bool:
    latest = means[-RISES - 1 :]
    return len(latest) > RISES and all(late > early for early, late in pairwise(latest))


def strongest_good(losses: list[Array], weights: Array) -> int:
    """The first whose mean exceeds the lowest by at most ERRORS_ALLOWED standard errors of their difference.

    On a hundred rows the lowest mean is often a weak prior by luck; the error of the paired difference knows.
    """
    shares = weights / weights.sum()
    best = losses[int(np.argmin([shares @ own for own in losses]))]
    for position, own in enumerate(losses):
        excess = own - best
        mean = shares @ excess
        # A row of weight w is w rows, so its squared deviation counts w times.
        if mean <= ERRORS_ALLOWED * np.sqrt(shares @ (excess - mean) ** 2 / weights.sum()):
            return position
    raise AssertionError("the best does not exceed itself")
