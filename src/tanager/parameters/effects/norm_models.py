"""Models whose penalty is the norm of each block of effects: attributes and pairs that say nothing are exactly zero.

The norm shrinks what it keeps nearly as much as what it drops. So a second fit follows, whose strength for a block is
divided by the size the block had in the first: what is large is hardly shrunk, what is small goes (the adaptive group
lasso: Zou 2006, Wang and Leng 2008). Both strengths are chosen on the folds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.strengths import (
    Chosen,
    StrengthPath,
    Walk,
    clearly_worse,
    mean_loss,
    visit_strengths,
)
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.monotone_problem import MonotoneProblem
from tanager.parameters.effects.problems import EffectFold

Array = NDArray[np.float64]

# In units of what a block's slope is by chance (`BlockProblem`), in smaller steps where noise comes in.
PATH = StrengthPath((1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.125, 0.06, 0.03), errors_allowed=0.5)
BY_NORM = Walk((PATH, PATH), tolerance=3e-3)
ADAPTIVE = (1.0, 0.5, 0.25, 0.125, 0.06, 0.03, 0.015)
RISES = 2
# The second fit is taken where it gains so many standard errors: it has one more choice by which to flatter itself.
ERRORS_TO_ADAPT = 0.5


def choose_adaptive(folds: Sequence[EffectFold], chosen: Chosen) -> float | None:
    """The strength of the second fit with the lowest loss, None where it gains too little; folds are left there."""
    if np.isinf(chosen.strengths[0]):
        return None
    weights = np.concatenate([fold.held_out.weights for fold in folds])
    first, first_losses = [fold.u for fold in folds], held_out_losses(folds)
    best, best_losses, best_u, since = None, first_losses, first, 0
    for fold in folds:
        adapt(fold.problem, fold.u)
    for strength in ADAPTIVE:
        chosen.n_passes += visit_strengths(folds, (strength, strength), BY_NORM).n_passes
        losses = held_out_losses(folds)
        since += 1
        if mean_loss(losses - best_losses, weights) < 0.0:
            best, best_losses, best_u, since = strength, losses, [fold.u for fold in folds], 0
        elif best is not None and since == RISES:
            break
    if not clearly_worse(first_losses, best_losses, weights, ERRORS_TO_ADAPT):
        best, best_losses, best_u = None, first_losses, first
    for fold, u in zip(folds, best_u, strict=True):
        fold.u = u
    chosen.loss = mean_loss(best_losses, weights)
    return best


def held_out_losses(folds: Sequence[EffectFold]) -> Array:
    """Of the rows of all folds, one after the other."""
    return np.concatenate([fold.held_out.losses(fold.problem.beta(fold.u)) for fold in folds])


def adapt(problem: object, u: Array) -> Array:
    """Let the strengths of the problem's blocks be divided by their sizes in a first fit u; the factors."""
    assert isinstance(problem, BlockProblem | MonotoneProblem)
    factors = problem.adaptive_factors(u)
    problem.set_penalty(True, factors)
    return factors
