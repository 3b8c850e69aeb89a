"""CLL: the conditional log likelihood itself, for searches that can afford a score that does not decompose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from sklearn.base import BaseEstimator

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.registry import check_option
from tanager.scores.likelihood import log_rows, n_parameters
from tanager.table.needs import Needs

PENALTIES = ("aic", "bic", "mdl")


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
