"""The log likelihood, its penalised forms (AIC; BIC, which is also MDL; MIT), and the conditional log likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from scipy.special import chdtri
from sklearn.base import BaseEstimator

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.registry import check_option
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.scores.protocol import check_between
from tanager.table.rows import Needs

# sum N_jck log(N_jck / N_jc)
LOG_LIKELIHOOD = (Term(1, "jck", xlogx), Term(-1, "jc", xlogx))
PENALTIES = ("aic", "bic", "mdl")


class LL(MarginSums):
    """sum N_jck log(N_jck / N_jc): the log likelihood at its maximum."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return LOG_LIKELIHOOD


class AIC(MarginSums):
    """ll - K, with K free parameters (Akaike 1974)."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return *LOG_LIKELIHOOD, Term(-n_parameters(family, n_states), "", np.ones_like)


class BIC(MarginSums):
    """ll - (K/2) log N, with K free parameters and N rows (Schwarz 1978); the negative of MDL."""

    score_equivalent = True

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return *LOG_LIKELIHOOD, Term(-n_parameters(family, n_states) / 2, "", log_rows)


class MIT(MarginSums):
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


class CLL(BaseEstimator):
    """sum_t log P(c_t | x_t) less a penalty. It depends on a whole network and its rows, so others measure it.

    tables   at which it is taken: "frequency", smoothed frequencies of the same rows; "conditional", those at which it
             is highest, a fit for every structure tried (maximum conditional likelihood; Zhou 2002, 5.5)
    penalty  None; "aic", K free parameters; "bic" and "mdl", (K/2) log N: the conditional MDL score of BNC-MDL
             (Grossman and Domingos 2004). K is of all families, as in the scores `AIC` and `BIC`
    """

    needs: ClassVar[Needs] = "passes"
    decomposable: ClassVar[bool] = False
    score_equivalent: ClassVar[bool] = False

    def __init__(self, penalty: str | None = None, tables: Literal["frequency", "conditional"] = "frequency") -> None:
        self.penalty = penalty
        self.tables = tables

    def check_options(self) -> None:
        """See `FamilyScore.check_options`."""
        if self.penalty is not None:
            check_option("penalty", self.penalty, PENALTIES)
        check_option("tables", self.tables, ["frequency", "conditional"])

    def cost(self, families: Sequence[Family], counts: CountStore) -> float:
        """What the parameters of a structure take from its conditional log likelihood."""
        if self.penalty is None:
            return 0.0
        n_free = sum(n_parameters(family, counts.n_states) for family in families)
        n_rows = counts.table(Family(counts.n_attributes, ())).sum()
        return float(n_free if self.penalty == "aic" else n_free / 2 * log_rows(n_rows))


def n_parameters(family: Family, n_states: Sequence[int]) -> int:
    """K of one family: its configurations times one less than its states."""
    n_configurations, states = family.shape(n_states)
    return n_configurations * (states - 1)


def log_rows(totals: Array) -> Array:
    """log N; zero where no row was counted, for there is nothing to describe."""
    return np.log(np.where(totals > 0, totals, 1))
