"""Log likelihood, and its two penalised forms: AIC and BIC (which is also MDL)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import FamilyScore

# sum N_jck log(N_jck / N_jc)
LOG_LIKELIHOOD = (Term(1, "jck", xlogx), Term(-1, "jc", xlogx))


class LL(MarginSums, FamilyScore):
    """sum N_jck log(N_jck / N_jc): the log likelihood at its maximum."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return LOG_LIKELIHOOD


class AIC(MarginSums, FamilyScore):
    """ll - K, with K free parameters (Akaike 1974)."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return *LOG_LIKELIHOOD, Term(-n_parameters(family, n_states), "", np.ones_like)


class BIC(MarginSums, FamilyScore):
    """ll - (K/2) log N, with K free parameters and N rows (Schwarz 1978); the negative of MDL."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return *LOG_LIKELIHOOD, Term(-n_parameters(family, n_states) / 2, "", log_rows)


def n_parameters(family: Family, n_states: Sequence[int]) -> int:
    """K of one family: its configurations times one less than its states."""
    n_configurations, states = family.shape(n_states)
    return n_configurations * (states - 1)


def log_rows(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """log N; zero where no row was counted, for there is nothing to describe."""
    return np.log(np.where(totals > 0, totals, 1))
