"""Choice of a prior's strengths on held-out folds, along a path from strong to weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.descent import minimize
from tanager.parameters.conditional.objectives import POWERS, indicators, losses_and_slopes
from tanager.parameters.conditional.penalized import Penalized
from tanager.parameters.protocol import ParameterTask
from tanager.runtime.resources import map_threads
from tanager.table.folds import split_rows
from tanager.table.rows import EncodedBatch

Strengths = tuple[float, ...]

# Once the loss rises so clearly, a walk along a path ends at once.
CLEAR_ERRORS = 1.5
FOLD_MAX_ITER = 100


@dataclass(frozen=True)
class StrengthPath:
    """The strengths of one level from strong to weak, each fit starting at its neighbour's.

    errors_allowed   how many standard errors a stronger prior may be worse than the best and still be taken
    errors_to_begin  how many the level must gain to leave infinite strength; of noise, one in forty gains two
    """

    strengths: Strengths
    errors_allowed: float
    errors_to_begin: float = 2.0


@dataclass(frozen=True)
class Walk:
    """How strengths are chosen.

    paths      of each level; a level begins absent, at infinite strength; the last path serves all higher levels
    tolerance  of the fits
    rises      in a row of the loss after which a path is left
    """

    paths: tuple[StrengthPath, ...]
    tolerance: float
    rises: int = 1


ERRORS_ALLOWED = 1.5
# Steps of 3 or 4 cost twice as much and gain nothing.
TABLES = Walk(
    (
        StrengthPath((100.0, 10.0, 1.0, 0.1), ERRORS_ALLOWED),
        StrengthPath((64.0, 8.0, 1.0, 0.125, 0.015625), ERRORS_ALLOWED),
    ),
    tolerance=1e-2,
    rises=2,
)
# Strengths say how far effects spread, which more rows do not change, while they leave less to the prior.
MAX_ROWS_FOR_FOLDS = 5_000


@dataclass
class Chosen:
    """Strengths by level, the mean held-out loss with them and at every point of the path, and passes over folds."""

    strengths: Strengths
    loss: float = np.nan
    losses: dict[Strengths, float] = field(default_factory=dict)
    n_passes: int = 0


def choose_strengths(folds: Sequence[Fold], walk: Walk) -> Chosen:
    """Level by level, higher ones still absent: the strongest prior that is not clearly worse than the best.

    The folds are left at the effects of that prior.
    """
    n_levels = max(fold.problem.n_levels for fold in folds)
    absent = (np.inf,) * n_levels
    weights = np.concatenate([fold.held_out.weights for fold in folds])
    if not len(weights):
        return Chosen(absent)
    losses: dict[Strengths, float] = {}
    n_before = _passes(folds)

    def visit(strengths: Strengths) -> _Visit:
        own = _fit_folds(folds, strengths, walk)
        losses[strengths] = mean_loss(own, weights)
        return _Visit(strengths, own, [fold.u for fold in folds])

    best = visit(absent)
    for level in range(n_levels):
        visited = [best]
        path = walk.paths[min(level, len(walk.paths) - 1)]
        for strength in path.strengths:
            latest = visit((*best.strengths[:level], strength, *best.strengths[level + 1 :]))
            if all(fold.problem.is_zero(fold.u, level) for fold in folds):
                continue  # it is as good as absent
            visited.append(latest)
            if _rises([each.losses for each in visited], weights, walk.rises):
                break
        losses_of = [each.losses for each in visited]
        strongest = strongest_good(losses_of, weights, path.errors_allowed)
        if strongest and not clearly_worse(losses_of[0], losses_of[strongest], weights, path.errors_to_begin):
            strongest = 0
        best = visited[strongest]
        for fold, u in zip(folds, best.effects, strict=True):
            fold.u = u
    return Chosen(best.strengths, losses[best.strengths], losses, _passes(folds) - n_before)


def _passes(folds: Sequence[Fold]) -> int:
    return sum(fold.problem.n_passes for fold in folds)


@dataclass(frozen=True)
class _Visit:
    """A point of the path: the losses of the rows held out, and the effects of each fold."""

    strengths: Strengths
    losses: Array
    effects: list[Array]


def _fit_folds(folds: Sequence[Fold], strengths: Strengths, walk: Walk) -> Array:
    """Losses of the rows held out, of one fold after the other; folds are fitted side by side."""
    return np.concatenate(map_threads(lambda fold: _fit_fold(fold, strengths, walk.tolerance), folds))


def _fit_fold(fold: Fold, strengths: Strengths, tolerance: float) -> Array:
    """Losses of the rows held out; the fit starts where the fold was on the path."""
    fold.problem.set_strengths(strengths)
    fold.u = fold.problem.descend(fold.u, FOLD_MAX_ITER, tolerance).u
    return fold.held_out.losses(fold.problem.beta(fold.u))


def _rises(losses: list[Array], weights: Array, often: int) -> bool:
    """Whether the walk has gone past the best point."""
    means = [mean_loss(own, weights) for own in losses]
    latest = means[-often - 1 :]
    if len(latest) > often and all(late > early for early, late in pairwise(latest)):
        return True
    return clearly_worse(losses[-1], losses[int(np.argmin(means))], weights, CLEAR_ERRORS)


def strongest_good(losses: list[Array], weights: Array, errors_allowed: float = ERRORS_ALLOWED) -> int:
    """The first whose mean exceeds the lowest by at most so many standard errors of their difference.

    On a hundred rows the lowest mean is often a weak prior by luck; the error of the paired difference knows.
    """
    means = [mean_loss(own, weights) for own in losses]
    best = losses[int(np.argmin(means))]
    good = (not clearly_worse(own, best, weights, errors_allowed) for own in losses)
    return next(position for position, is_good in enumerate(good) if is_good)


def clearly_worse(losses: Array, best: Array, weights: Array, errors_allowed: float) -> bool:
    """Whether the mean exceeds the best's by more than so many standard errors of their paired difference."""
    return excess_errors(losses, best, weights) > errors_allowed


def excess_errors(losses: Array, best: Array, weights: Array) -> float:
    """By how many standard errors of their paired difference the mean is above the best's."""
    excess = losses - best
    mean = mean_loss(excess, weights)
    # A row of weight w is w rows, so its squared deviation counts w times.
    variance = mean_loss((excess - mean) ** 2, weights) / weights.sum()
    if variance == 0.0:
        return 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    return float(mean / np.sqrt(variance))


def mean_loss(losses: Array, weights: Array) -> float:
    """What `np.average` gives, in a fifth of its time: there are hundreds in a fit."""
    return float(losses @ weights) / float(weights.sum())


class HeldOut:
    """Rows that a fit has not seen, judged by the objective that it makes small (`conditional.objectives`)."""

    def __init__(
        self, cells: ClassCells, batch: EncodedBatch, normalized: bool, objective: str = "cll", alpha: float = 0.0
    ) -> None:
        self.cells = cells
        self._normalized = normalized
        self._power = POWERS[objective]
        self._alpha = alpha
        self._indicators: sparse.csr_array = indicators(cells, batch)
        self._classes = batch.class_codes.astype(np.intp)
        self.weights = batch.row_weights

    def losses(self, beta: Array) -> Array:
        """What every row adds to the objective, (n_rows,), less what is the same for every beta."""
        logs = self.cells.log_normalize(beta) if self._normalized else beta
        scores = np.ascontiguousarray((self._indicators @ logs).T)
        own = scores[self._classes, np.arange(len(self._classes))]
        log_p = own - logsumexp(scores, axis=0)
        losses: Array = (1.0 - self._alpha) * losses_and_slopes(log_p, self._power)[0] - self._alpha * own
        return losses


@dataclass
class Fold:
    """A problem on part of the rows, the effects reached so far, and the rows held out."""

    problem: Penalized
    u: Array
    held_out: HeldOut


def split_folds(task: ParameterTask, most_rows: int, seed: int) -> Iterator[tuple[ParameterTask, EncodedBatch]]:
    """(what to fit on, rows held out) of each fold of `table.deal.split_rows`.

    Cut points that have seen the class, and the structure, are learnt again from the rows to fit on.
    """
    values = task.values
    for kept, held_out in split_rows(task.counts.rows if values is None else values.rows, most_rows, seed):
        if values is not None:
            kept, held_out = values.cut(kept, held_out)
        counts = CountStore(kept, choose_engine("auto"), task.counts.names)
        yield ParameterTask(task.dag if task.relearn is None else task.relearn(counts), counts), held_out


# A fold goes on this many iterations, or as many again, after its best one.
PATIENCE = 10


def choose_iterations(folds: list[Fold], max_iter: int) -> tuple[int, list[float]]:
    """The iterations with the lowest mean held-out loss, and that mean after 0, 1, ... iterations."""
    curves = [_held_out_curve(fold, max_iter) for fold in folds]
    length = max(map(len, curves))
    # A fold that has stopped keeps the loss it stopped at.
    filled = [[*curve, *curve[-1:] * (length - len(curve))] for curve in curves]
    total = sum(fold.held_out.weights.sum() for fold in folds)
    means: list[float] = (np.sum(filled, axis=0) / max(total, 1.0)).tolist()
    return int(np.argmin(means)), means


def _held_out_curve(fold: Fold, max_iter: int) -> list[float]:
    """Weighted losses of the rows held out, after 0, 1, ... iterations."""
    curve: list[float] = []

    def enough(u: Array) -> bool:
        curve.append(float(fold.held_out.weights @ fold.held_out.losses(fold.problem.beta(u))))
        best = int(np.argmin(curve))
        return len(curve) - 1 > best + max(PATIENCE, best)

    minimize(fold.problem, fold.u, max_iter, 0.0, enough=enough)
    return curve
