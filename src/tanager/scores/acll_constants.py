"""The constants of aCLL: the straight line nearest to -log sum_c U_c as a function of sum_c log U_c, exactly."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, exp1, factorial, polygamma

# Steps of log t for the trapezoid rule. The integrand dies out exponentially on both sides and is analytic within pi/2
# of the real line, so the error is of order exp(-pi^2 / step): the rule is exact to rounding.
LOG_T = np.arange(-60.0, 60.0, 0.05)


@cache
def uniform_beta(n_classes: int) -> float:
    """beta when (U_1, ..., U_s) is uniform on [0, p]^s, for any p.

    -integral_0^inf m(t)^(s-1) [Ein(t)/t - m(t)] / t dt, m(t) = (1 - e^-t) / t, Ein(t) = Euler + log t + E1(t).
    """
    t = np.exp(LOG_T)
    m = -np.expm1(-t) / t
    bracket = np.where(t < 1, _bracket_below_1(np.minimum(t, 1)), (np.euler_gamma + LOG_T + exp1(t)) / t - m)
    return -float(np.sum(m ** (n_classes - 1) * bracket) * (LOG_T[1] - LOG_T[0]))


def dirichlet_beta(n_classes: int, a: float, b: ArrayLike) -> NDArray[np.float64]:
    """beta when (U_1, ..., U_s, rest) ~ Dirichlet(a, ..., a, b).

    sum_c U_c ~ Beta(s a, b) is independent of the direction (U_c / sum U)_c, so only v = Var log sum U_c is common:
    beta = -s v / (s trigamma(a) - s^2 trigamma(s a) + s^2 v).
    """
    s = n_classes
    variance = polygamma(1, s * a) - polygamma(1, s * a + np.asarray(b, dtype=float))
    beta = -s * variance / (s * polygamma(1, a) - s**2 * polygamma(1, s * a) + s**2 * variance)
    return np.asarray(beta, dtype=float)


def dirichlet_gamma(n_classes: int, a: float, b: float) -> float:
    """gamma = E[A] - beta E[B] under the same assumption: the constant per row that `ACLL` leaves out."""
    s = n_classes
    mean_a = digamma(s * a + b) - digamma(s * a)
    mean_b = s * (digamma(a) - digamma(s * a + b))
    return float(mean_a - dirichlet_beta(s, a, b) * mean_b)


def _bracket_below_1(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ein(t)/t - m(t) = sum_{k>=2} (-1)^k (k-1)/(k k!) t^(k-1); the difference itself loses its digits near zero."""
    k = np.arange(2, 20)
    return np.asarray(((-1.0) ** k * (k - 1) / (k * factorial(k)) * t[:, None] ** (k - 1)).sum(axis=1))
