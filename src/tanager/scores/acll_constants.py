"""The constants of aCLL: the straight line nearest to -log sum_c U_c as a function of sum_c log U_c, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, exp1, factorial, polygamma

from tanager.arrays import Array

# Steps of log t for the trapezoid rule. The integrand dies out exponentially on both sides and is analytic within pi/2
# of the real line, so the error is of order exp(-pi^2 / step): the rule is exact to rounding.
LOG_T = np.arange(-60.0, 60.0, 0.05)


@dataclass(frozen=True)
class Line:
    """log(U_own / sum_c U_c) is about alpha log U_own + beta sum of log U_c of the other classes + gamma.

    mean      of log(U_own / sum_c U_c)
    variance  the mean square of what the line leaves, which is least; its mean is zero (aCLL 2013, eqs. 20 and 21)
    """

    alpha: float
    beta: float
    gamma: float
    mean: float
    variance: float

    @property
    def standard_error(self) -> float:
        """Root of the variance, in nats."""
        return float(np.sqrt(self.variance))

    @property
    def relative_error(self) -> float:
        """The standard error as a part of the mean's size."""
        return self.standard_error / abs(self.mean)


@cache
def uniform_beta(n_classes: int) -> float:
    """beta when (U_1, ..., U_s) is uniform on [0, p]^s, for any p.

    -integral_0^inf m(t)^(s-1) [Ein(t)/t - m(t)] / t dt, m(t) = (1 - e^-t) / t, Ein(t) = Euler + log t + E1(t).
    """
    t = np.exp(LOG_T)
    m = -np.expm1(-t) / t
    bracket = np.where(t < 1, _bracket_below_1(np.minimum(t, 1)), (np.euler_gamma + LOG_T + exp1(t)) / t - m)
    return -float(np.sum(m ** (n_classes - 1) * bracket) * (LOG_T[1] - LOG_T[0]))


def dirichlet_slopes(n_classes: int, own: float, others: float, b: ArrayLike) -> tuple[Array, Array]:
    """Slopes of -log sum_c U_c by log U of one class, and of each other one, when U ~ Dirichlet(own, others, ..., b).

    sum_c U_c ~ Beta(A, b), A = sum_c a_c, is independent of the direction (U_c / sum U)_c, so the covariance of log U
    is diag(trigamma(a_c)) + k, k = v - trigamma(A), and that of log sum U with each is v = Var log sum U:
    slope_c = -v / trigamma(a_c) / (1 + k sum_c' 1 / trigamma(a_c')).
    """
    whole = own + (n_classes - 1) * others
    variance = polygamma(1, whole) - polygamma(1, whole + np.asarray(b, dtype=float))
    weights = 1.0 / polygamma(1, own), 1.0 / polygamma(1, others)
    common = 1.0 + (variance - polygamma(1, whole)) * (weights[0] + (n_classes - 1) * weights[1])
    return np.asarray(-variance * weights[0] / common), np.asarray(-variance * weights[1] / common)


def uniform_line(n_classes: int, p: float = 1.0) -> Line:
    """The constants when (U_1, ..., U_s) is uniform on [0, p]^s (fCLL 2011, theorems 1 to 3, for any s).

    log x = int (e^-t - e^-xt) / t dt gives E log sum U; the same integral with log t below it is -(log x)^2 / 2 -
    Euler log x, which gives its variance. log U has mean log p - 1 and variance 1.
    """
    t = np.exp(LOG_T)
    difference = np.exp(-t) - (-np.expm1(-t) / t) ** n_classes
    step = LOG_T[1] - LOG_T[0]
    mean = float(difference.sum() * step)
    square = -2.0 * float((LOG_T * difference).sum() * step + np.euler_gamma * mean)
    beta = uniform_beta(n_classes)
    gamma = -mean + beta * n_classes - np.log(p) * (1.0 + n_classes * beta)
    return Line(1.0 + beta, beta, float(gamma), -1.0 - mean, float(square - mean**2 - n_classes * beta**2))


def dirichlet_line(n_classes: int, own: float, others: float, b: float) -> Line:
    """The constants when the probabilities are Dirichlet(own, others, ..., others, b); own = others is theorem 3.2."""
    slope_own, slope_other = (float(slope) for slope in dirichlet_slopes(n_classes, own, others, b))
    n_others, whole = n_classes - 1, own + (n_classes - 1) * others
    variance = polygamma(1, whole) - polygamma(1, whole + b)
    log_own, log_other = digamma(own) - digamma(whole + b), digamma(others) - digamma(whole + b)
    gamma = digamma(whole + b) - digamma(whole) - slope_own * log_own - n_others * slope_other * log_other
    left = variance * (1.0 + slope_own + n_others * slope_other)
    return Line(1.0 + slope_own, slope_other, float(gamma), float(digamma(own) - digamma(whole)), float(left))


def _bracket_below_1(t: Array) -> Array:
    """Ein(t)/t - m(t) = sum_{k>=2} (-1)^k (k-1)/(k k!) t^(k-1); the difference itself loses its digits near zero."""
    k = np.arange(2, 20)
    return np.asarray(((-1.0) ** k * (k - 1) / (k * factorial(k)) * t[:, None] ** (k - 1)).sum(axis=1))
