"""MIT: mutual information tests (de Campos 2006)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtri

from tanager.counts.family import Family
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import FamilyScore, check_between


class MIT(MarginSums, FamilyScore):
    """2 N I(X; Pa) - sum_j chi2(level, l_j) for a node with parents, l_j = (r - 1)(r_j - 1) prod_{k<j} r_k.

    The parents, the class among them, are ordered by decreasing number of states. Both directions of an edge score
    the same only where that order puts the class first or the two attributes have as many states.
    """

    score_equivalent = False

    def __init__(self, level: float = 0.99) -> None:
        self.level = level

    def check_options(self) -> None:
        check_between("MIT", "level", self.level, 0, 1)

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        if not family.parents:
            return ()
        return (
            Term(2, "jck", xlogx),
            Term(-2, "jc", xlogx),
            Term(-2, "k", xlogx),
            Term(2, "", xlogx),
            Term(-self._penalty(family, n_states), "", np.ones_like),
        )

    def _penalty(self, family: Family, n_states: Sequence[int]) -> float:
        penalty, before = 0.0, n_states[family.child] - 1
        for states in sorted((n_states[parent] for parent in family.parents), reverse=True):
            freedom = before * (states - 1)
            # Without a degree of freedom the statistic is always zero, and so is its quantile.
            penalty += float(chdtri(freedom, 1 - self.level)) if freedom else 0.0
            before *= states
        return penalty
