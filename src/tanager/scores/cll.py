"""CLL: the conditional log likelihood itself, for searches that can afford a score that does not decompose."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import BaseEstimator

from tanager.table.needs import Needs


class CLL(BaseEstimator):
    """sum_t log P(c_t | x_t). It depends on a whole network and its rows, so only its name lives in this layer."""

    needs: ClassVar[Needs] = "passes"
    decomposable: ClassVar[bool] = False
    score_equivalent: ClassVar[bool] = False

    def check_options(self) -> None:
        """There is none to check; see `FamilyScore.check_options`."""
