"""Choices on validation folds: a prior's strengths along a path from strong to weak, and the number of iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.descent import minimize
from tanager.parameters.conditional.objectives import indicators
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.protocol import ParameterTask
from tanager.runtime.resources import map_threads
from tanager.table.folds import split_rows
from tanager.table.rows import EncodedBatch

Strengths = tuple[float, ...]

# The strengths of each level from strong to weak, each fit starting at its neighbour's; the last path serves all higher
# levels. Steps of 3 or 4 cost twice as much and gain nothing.
PATHS: tuple[Strengths, ...] = ((100.0, 10.0, 1.0, 0.1), (64.0, 8.0, 1.0, 0.125, 0.015625))
# How many standard errors a stronger prior may be worse than the best and still be taken.
ERRORS_ALLOWED = 1.5
# How many a level must gain to leave infinite strength; of noise, one in forty gains two.
ERRORS_TO_BEGIN = 2.0
# A path is left once the loss rises so clearly, or so often in a row.
CLEAR_ERRORS, RISES = 1.5, 2
# A path that may be at a saddle goes on while the loss is within such a part of the one that its level began with.
PLATEAU = 0.01
FOLD_TOLERANCE, FOLD_MAX_ITER = 1e-2, 100
# Strengths say how far effects spread, which more rows do not change, while they leave less to the prior.
MAX_ROWS_FOR_FOLDS = 5_000
# A fold goes on this many iterations, or as many again, after its best one.
PATIENCE = 10


@dataclass
class Fold:
    """A problem on the training rows of a fold, the effects reached so far, and the validation rows.

    These are judged by the objective that the fit makes small (`conditional.objectives`).
    """

    problem: Penalized
    u: Array
    validation: EncodedBatch

    @cached_property
    def weights(self) -> Array:
        """Of the validation rows."""
        return self.validation.row_weights

    @cached_property
    def _indicators(self) -> sparse.csr_array:
        return indicators(self.problem.cells, self.validation)

    def losses(self, u: Array) -> Array:
        """Of the validation rows at effects u."""
        return self.problem.objective.losses(self.problem.beta(u), self._indicators, self.validation.class_codes)


def split_folds(task: ParameterTask, most_rows: int, seed: int) -> Iterator[tuple[ParameterTask, EncodedBatch]]:
    """(what to fit on, validation rows) of each fold of `table.folds.split_rows`.

    Cut points that have seen the class, and the structure, are learnt again from the rows to fit on.
    """
    values = task.values
    for training, validation in split_rows(task.counts.rows if values is None else values.rows, most_rows, seed):
        if values is not None:
            training, validation = values.cut(training, validation)
        counts = CountStore(training, choose_engine("auto"), task.counts.names)
        yield ParameterTask(task.dag if task.relearn is None else task.relearn(counts), counts), validation


@dataclass
class Chosen:
    """Strengths by level, the mean validation loss at every point of the paths, and passes over the folds."""

    strengths: Strengths
    losses: dict[Strengths, float] = field(default_factory=dict)
    n_passes: int = 0


@dataclass(frozen=True)
class _Point:
    """A point of a path: the losses of the validation rows, and the effects of each fold."""

    strengths: Strengths
    losses: Array
    effects: list[Array]


def choose_strengths(folds: Sequence[Fold]) -> Chosen:
    """Level by level, higher ones still absent: the strongest prior that is not clearly worse than the best.

    A level begins absent, at infinite strength. The folds are left at the effects of the prior that is chosen.
    """
    n_levels = max(fold.problem.prior.n_levels for fold in folds)
    has_saddles = any(fold.problem.has_saddles for fold in folds)
    absent = (np.inf,) * n_levels
    weights = np.concatenate([fold.weights for fold in folds])
    if not len(weights):
        return Chosen(absent)
    means: dict[Strengths, float] = {}
    n_before = _passes(folds)

    def visit(strengths: Strengths) -> _Point:
        # Folds are fitted side by side.
        losses = np.concatenate(map_threads(lambda fold: _fit_fold(fold, strengths), folds))
        means[strengths] = mean_loss(losses, weights)
        return _Point(strengths, losses, [fold.u for fold in folds])

    best = visit(absent)
    for level in range(n_levels):
        points = [best]
        for strength in PATHS[min(level, len(PATHS) - 1)]:
            points.append(visit((*best.strengths[:level], strength, *best.strengths[level + 1 :])))
            # A strong prior keeps the fit at a saddle, where hardly anything is lost, and a weaker one may leave it.
            change = abs(means[points[-1].strengths] - means[best.strengths])
            on_plateau = has_saddles and change <= PLATEAU * abs(means[best.strengths])
            if not on_plateau and _rises([point.losses for point in points], weights):
                break
        losses = [point.losses for point in points]
        chosen = strongest_good(losses, weights)
        if excess_errors(losses[0], losses[chosen], weights) > ERRORS_TO_BEGIN:
            best = points[chosen]
        for fold, u in zip(folds, best.effects, strict=True):
            fold.u = u
    return Chosen(best.strengths, means, _passes(folds) - n_before)


def _passes(folds: Sequence[Fold]) -> int:
    return sum(fold.problem.objective.n_passes for fold in folds)


def _fit_fold(fold: Fold, strengths: Strengths) -> Array:
    """Losses of the validation rows; the fit starts where the fold was on the path."""
    fold.problem.set_strengths(strengths)
    fold.u = minimize(fold.problem, fold.u, FOLD_MAX_ITER, FOLD_TOLERANCE).u
    return fold.losses(fold.u)


def _rises(losses: list[Array], weights: Array) -> bool:
    """Whether the path has gone past its best point."""
    means = [mean_loss(each, weights) for each in losses]
    latest = means[-RISES - 1 :]
    if len(latest) > RISES and all(late > early for early, late in pairwise(latest)):
        return True
    return excess_errors(losses[-1], losses[int(np.argmin(means))], weights) > CLEAR_ERRORS


def strongest_good(losses: list[Array], weights: Array) -> int:
    """The first whose mean exceeds the lowest by at most `ERRORS_ALLOWED` standard errors of their difference.

    On a hundred rows the lowest mean is often a weak prior by luck; the error of the paired difference knows.
    """
    best = losses[int(np.argmin([mean_loss(each, weights) for each in losses]))]
    good = (excess_errors(each, best, weights) <= ERRORS_ALLOWED for each in losses)
    return next(position for position, is_good in enumerate(good) if is_good)


def excess_errors(losses: Array, best: Array, weights: Array) -> float:
    """By how many standard errors of their paired difference the weighted mean is above the best's.

    The standard error is over rows, sum_t w_t^2 (d_t - mean)^2 / (sum_t w_t)^2, whatever unit weights are measured in.
    """
    excess = losses - best
    mean = mean_loss(excess, weights)
    variance = float(((weights * (excess - mean)) ** 2).sum()) / float(weights.sum()) ** 2
    if variance == 0.0:
        return 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    return float(mean / np.sqrt(variance))


def mean_loss(losses: Array, weights: Array) -> float:
    """What `np.average` gives, in a fifth of its time: there are hundreds in a fit."""
    return float(losses @ weights) / float(weights.sum())


def choose_iterations(folds: list[Fold], max_iter: int) -> tuple[int, list[float]]:
    """The iterations with the lowest mean validation loss, and that mean after 0, 1, ... iterations.

    This is the cross-tuning of ELR (Greiner and Zhou 2002).
    """
    curves = [_loss_curve(fold, max_iter) for fold in folds]
    length = max(map(len, curves))
    # A fold that has stopped keeps the loss it stopped at.
    extended = [[*curve, *curve[-1:] * (length - len(curve))] for curve in curves]
    total = sum(fold.weights.sum() for fold in folds)
    means: list[float] = (np.sum(extended, axis=0) / (total or 1.0)).tolist()
    return int(np.argmin(means)), means


def _loss_curve(fold: Fold, max_iter: int) -> list[float]:
    """Weighted losses of the validation rows, after 0, 1, ... iterations."""
    curve: list[float] = []

    def enough(u: Array) -> bool:
        curve.append(float(fold.weights @ fold.losses(u)))
        best = int(np.argmin(curve))
        return len(curve) - 1 > best + max(PATIENCE, best)

    minimize(fold.problem, fold.u, max_iter, 0.0, enough=enough)
    return curve
