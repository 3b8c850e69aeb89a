"""fCLL: the factorised conditional log likelihood, an approximation that frequencies maximise."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

import numpy as np

from tanager.counts.family import Family
from tanager.registry import check_option
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import FamilyScore

ALPHA = (pi**2 + 6) / 24
BETA = (pi**2 - 18) / 24
LAMBDA = pi**2 / 6
RHO = pi**2 / 6


class FCLL(MarginSums, FamilyScore):
    """(alpha + beta) ll - beta lambda sum N_jck [log(N_jck / N_j*k) - log(N_jc / N_j*)] (fCLL 2011, eq. 24).

    The sum is N I(C; X | attribute parents), and zero where the class is not a parent. The class node's own term is
    (alpha + beta - beta lambda) ll - beta rho N. Score equivalent among augmented naive Bayes structures (theorem 7).

    part  "both", or "information", which leaves (alpha + beta) ll out (footnote 2). The first alone would be `LL`
    """

    score_equivalent = True

    def __init__(self, part: str = "both") -> None:
        self.part = part

    def check_options(self) -> None:
        check_option("part", self.part, ["both", "information"])

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        likelihood, information = (ALPHA + BETA if self.part == "both" else 0.0), -BETA * LAMBDA
        both = likelihood + information
        if family.child == len(n_states) - 1:
            return Term(both, "jck", xlogx), Term(-both, "jc", xlogx), Term(-BETA * RHO, "", np.positive)
        return (
            Term(both, "jck", xlogx),
            Term(-both, "jc", xlogx),
            Term(-information, "jk", xlogx),
            Term(information, "j", xlogx),
        )
