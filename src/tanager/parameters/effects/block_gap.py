"""How near a descent in blocks came: the gap between its objective and a dual point made from its probabilities.

For any q_t on the classes the objective's minimum is at least

    sum_t w_t H(q_t) + w_t (q_t - e_t) . start_t - sum_b penalty_b*(-g_b(q))

with e_t the class of row t, g(q) the slopes with q for the probabilities, and penalty* the conjugate. With
q = (1 - s) e + s p the slopes are s times those at p, so that s = min(1, min_b strength_b / |g_b|) makes every norm
hold, and the intercepts have no slope if they are solved for. What is left between objective and bound is

    sum_t w_t KL(q_t | p_t) + sum_b penalty_b(u_b) + s g_b . u_b + penalty_b*(-s g_b)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, xlogy

Array = NDArray[np.float64]
Classes = NDArray[np.int64]

MAX_SOLVES = 50
# Where all rows are certain the loss is hardly bent, and Newton's step would lead to where it is not bent at all.
LONGEST_STEP = 2.0
NO_SLOPE = 1e-9


def solve_intercepts(scores: Array, classes: Classes, weights: Array, free: Array) -> tuple[Array, Array]:
    """Newton's method for what is added to the scores (n_odds, n_rows): (n_odds,), and p (n_odds, n_rows) there."""
    shift = np.zeros(len(scores))
    own = classes == np.arange(len(scores))[:, np.newaxis]
    for _ in range(MAX_SOLVES):
        p = _shares(scores + shift[:, np.newaxis])
        slope = free * ((p - own) @ weights)
        if np.abs(slope).max() <= NO_SLOPE * weights.sum():
            break
        hessian = np.diag(p @ weights) - (p * weights) @ p.T
        step = free * (np.linalg.pinv(hessian * np.outer(free, free), rcond=1e-8) @ slope)
        shift = shift - np.clip(step, -LONGEST_STEP, LONGEST_STEP)
    return shift, p


def duality_gap(
    p: Array, classes: Classes, weights: Array, u: list[Array], slopes: list[Array], squared: Array, norm: Array
) -> float:
    """From p (n_odds, n_rows), and of every block that takes part its effects, their slopes and its strengths."""
    sizes, steepness = (np.array([np.linalg.norm(each) for each in values]) for values in (u, slopes))
    shares = np.divide(norm, steepness, out=np.ones(len(norm)), where=(squared == 0.0) & (steepness > 0.0))
    share = min(1.0, float(shares.min(initial=1.0)))
    p_own = np.where(classes == 0, p[0], 1.0 - p[0]) if len(p) == 1 else p[classes, np.arange(len(classes))]
    q_own = 1.0 - share + share * p_own
    divergence = xlogy(share * (1.0 - p_own), share) + rel_entr(q_own, p_own)
    gap = float(weights @ divergence)
    for own, slope, size, l2, l1 in zip(u, slopes, sizes, squared, norm, strict=True):
        along = share * float(np.vdot(own, slope))
        excess = max(0.0, share * float(np.linalg.norm(slope)) - l1)  # zero where the norm alone holds
        gap += 0.5 * l2 * size**2 + l1 * size + along + (0.5 * excess**2 / l2 if l2 > 0.0 else 0.0)
    return max(0.0, gap)


def _shares(scores: Array) -> Array:
    if len(scores) == 1:
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * scores))
    exponentials = np.exp(scores - scores.max(axis=0))
    return np.asarray(exponentials / exponentials.sum(axis=0))
