"""Layer 3: counts -> a number; pure functions of a count table, they hold no data."""

from __future__ import annotations

from collections.abc import Callable

from tanager.scores.acll import ACLL
from tanager.scores.acll_constants import Line, dirichlet_line, uniform_line
from tanager.scores.dirichlet import BD, K2, BDe, BDeu
from tanager.scores.fcll import FCLL
from tanager.scores.information import PairInformation, pair_information
from tanager.scores.likelihood import AIC, BIC, CLL, LL, MIT
from tanager.scores.protocol import FamilyScore

# A new score is a file and a line here.
SCORES: dict[str, Callable[[], FamilyScore | CLL]] = {
    "ll": LL,
    "aic": AIC,
    "bic": BIC,
    "mdl": BIC,
    "k2": K2,
    "bdeu": BDeu,
    "bde": BDe,
    "bd": BD,
    "mit": MIT,
    "fcll": FCLL,
    "acll": ACLL,
    "cll": CLL,
}

__all__ = [
    "ACLL",
    "AIC",
    "BD",
    "BIC",
    "CLL",
    "FCLL",
    "K2",
    "LL",
    "MIT",
    "SCORES",
    "BDe",
    "BDeu",
    "FamilyScore",
    "Line",
    "PairInformation",
    "dirichlet_line",
    "pair_information",
    "uniform_line",
]
