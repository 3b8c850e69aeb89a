"""Cross-tuning: how many iterations to make, chosen on held-out folds (ELR: Greiner and Zhou 2002)."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.parameters.conditional.descent import minimize
from tanager.parameters.conditional.held_out import Fold

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
