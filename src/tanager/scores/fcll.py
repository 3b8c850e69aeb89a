"""fCLL: the factorised conditional log likelihood, an approximation that frequencies maximise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import pi

import numpy as np
from scipy.special import digamma, polygamma

from tanager.counts.family import Family
from tanager.registry import check_option
from tanager.scores.acll_constants import dirichlet_line
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import check_between

ALPHA = (pi**2 + 6) / 24
BETA = (pi**2 - 18) / 24
LAMBDA = pi**2 / 6
RHO = pi**2 / 6


class FCLL(MarginSums):
    """(alpha + beta) ll - beta lambda sum N_jck [log(N_jck / N_j*k) - log(N_jc / N_j*)] (fCLL 2011, eq. 24).

    The sum is N I(C; X | attribute parents), and zero where the class is not a parent. The class node's own term is
    (alpha + beta - beta lambda) ll - beta rho N. Score equivalent among augmented naive Bayes structures (theorem 7).

    part  "both", or "information", which leaves (alpha + beta) ll out (footnote 2). The first alone would be `LL`
    a, b  with a, the constants for the table's number of classes and U ~ Dirichlet(a, ..., a, b), the probabilities of
          the classes of a row (footnote 3); without, those of the paper, for two classes and a uniform distribution
    """

    score_equivalent = True

    def __init__(self, part: str = "both", *, a: float | None = None, b: float = 1.0) -> None:
        self.part = part
        self.a = a
        self.b = b

    def check_options(self) -> None:
        check_option("part", self.part, ["both", "information"])
        check_between("FCLL", "a", 1.0 if self.a is None else self.a, 0)
        check_between("FCLL", "b", self.b, 0)

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        alpha, beta, slope, shift = (
            (ALPHA, BETA, LAMBDA, RHO) if self.a is None else dirichlet_constants(n_states[-1], self.a, self.b)
        )
        likelihood, information = (alpha + beta if self.part == "both" else 0.0), -beta * slope
        both = likelihood + information
        if family.child == len(n_states) - 1:
            return Term(both, "jck", xlogx), Term(-both, "jc", xlogx), Term(-beta * shift, "", np.positive)
        return (
            Term(both, "jck", xlogx),
            Term(-both, "jc", xlogx),
            Term(-information, "jk", xlogx),
            Term(information, "j", xlogx),
        )


@cache
def dirichlet_constants(n_classes: int, a: float, b: float) -> tuple[float, float, float, float]:
    """alpha, beta, lambda and rho where the other classes are pooled: (U, V) ~ Dirichlet(a, (n_classes - 1) a, b).

    log(U / (U + V)) is about alpha log U + beta log V + gamma, and log(W / (1 - W)) about lambda log W + rho, where
    W = U / (U + V) ~ Beta(a, (n_classes - 1) a); both lines are those of least squares (fCLL 2011, theorems 1 and 5).
    """
    others = max(1, n_classes - 1) * a
    line = dirichlet_line(2, a, others, b)
    slope = polygamma(1, a) / (polygamma(1, a) - polygamma(1, a + others))
    shift = digamma(a) - digamma(others) - slope * (digamma(a) - digamma(a + others))
    return line.alpha, line.beta, float(slope), float(shift)
