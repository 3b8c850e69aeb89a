"""Conditional: tables that tell the classes apart best, by descent on a discriminative objective."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from tanager.errors import OptionError
from tanager.parameters.conditional.fit import ConditionalFit, FitOptions
from tanager.parameters.conditional.losses import MIXED, POWERS
from tanager.parameters.conditional.priors import PRIORS
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.registry import check_option
from tanager.runtime.resources import one_blas_thread

DEFAULT_ALPHA = 0.5


class Conditional(ParameterLearner):
    """Tables that minimise a discriminative objective, with a prior.

    Where the canonical form of the structure is perfect (naive Bayes, TAN, ...), the fit is over free numbers beta,
    log P(c | x) = sum of beta over the families - log sum_c' exp(...), in which `cll` has one optimum, and the tables
    are those of the most likely network that classifies so (`equal_networks`). For other structures, and for what is
    mixed, it is over normalised tables, and may end in a local optimum; `trace.optimum` says which, and how near.

    Parameters
    ----------
    objective : "cll", "error", "squared", "margin", "mixed" or "mixed-margin"
        What is made small: minus the conditional log likelihood, the expected number of errors, the squared error, a
        hinge on the log odds of the class against all others, or a mixture of the first or the hinge and minus the
        joint log likelihood (`conditional.objectives`). The hinge decides; its probabilities are not calibrated.
    prior : "hierarchical", "generative", "uniform" or None
        What a table is pulled to where the rows say little. "hierarchical": the log table is a sum of a main effect
        of the attribute and effects of it with each set of its parents, each level with its own L2 penalty towards
        zero, so that a family backs off to naive Bayes and naive Bayes to the class frequencies. "generative": L2
        towards the logs of the smoothed frequencies. "uniform": one more row in every entry (Roos et al. 2005).
        The first has the lowest held-out log-loss in `benchmarks/RESULTS.md`; its details were settled on those sets.
    strength : "auto", float or list of float
        The L2 penalty, of each level for "hierarchical" (main effects, pairs, ...; the last number serves all higher
        levels). Infinity is allowed. "auto" walks from strong to weak on three held-out folds (above 10,000 rows:
        fits 5,000 and judges by 5,000 others, by the objective) and takes the strongest that is not clearly worse than
        the best. In every fold the structure, and cut points that see the class, are learnt from its rows alone.
    alpha : float or None
        Share of the joint log likelihood in what is mixed, from 0 (`cll`, `margin`) to 1 (frequencies); None means 0.5.
    stopping : "tolerance" or "cross-tuning"
        When to stop: when little is left to gain, or after the number of iterations that was best on held-out folds.
    max_iter : int
        Most iterations of the optimiser.
    tol : float
        How far P(class | row) of a training row may be from the optimum's. Proved for "cll" on structures of perfect
        canonical form with an L2 prior, likely elsewhere, and likely in the root mean square above 20,000 rows.
        `trace.bound` tells.
    """

    needs = "passes"
    learns_hidden = True
    tunes_hidden = True
    holds_out = True
    bytes_per_cell = MappingProxyType({"tables": 1_800})  # measured: gradients, folds and strengths

    def __init__(
        self,
        objective: str = "cll",
        prior: str | None = "hierarchical",
        strength: str | float | Sequence[float] = "auto",
        alpha: float | None = None,
        stopping: str = "tolerance",
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.objective = objective
        self.prior = prior
        self.strength = strength
        self.alpha = alpha
        self.stopping = stopping
        self.max_iter = max_iter
        self.tol = tol

    def learn(self, task: ParameterTask) -> LearntNetwork:
        fit = ConditionalFit(task, self.fit_options())
        with one_blas_thread():
            return fit.learn()

    def fit_options(self) -> FitOptions:
        """The options with their defaults filled in, or an error that names the wrong one."""
        objective = check_option("objective", self.objective, POWERS)
        prior = check_option("prior", "none" if self.prior is None else self.prior, PRIORS)
        stopping = check_option("stopping", self.stopping, ["tolerance", "cross-tuning"])
        alpha = DEFAULT_ALPHA if self.alpha is None else self.alpha
        if not 0.0 <= alpha <= 1.0:
            raise OptionError(f"alpha={alpha!r} of Conditional must be a number from 0 to 1.")
        if objective in MIXED and prior == "hierarchical":
            raise OptionError(
                f"prior='hierarchical' is not defined for objective={objective!r}: it pulls to equal shares.",
                hint="use prior='generative' or prior='uniform'.",
            )
        if not self.max_iter > 0 or not self.tol > 0:
            raise OptionError(
                f"max_iter={self.max_iter!r} and tol={self.tol!r} of Conditional must be numbers above zero."
            )
        return FitOptions(objective, prior, self._strengths(prior), alpha, stopping, self.max_iter, self.tol)

    def _strengths(self, prior: str) -> tuple[float, ...] | None:
        """The strengths given, or None for those to be chosen."""
        if self.strength == "auto":
            return None if prior in ("generative", "hierarchical") else ()
        if isinstance(self.strength, str):
            check_option("strength", self.strength, ["auto"])
        if prior in ("none", "uniform"):
            raise OptionError(f"strength={self.strength!r} has no meaning for prior={self.prior!r}, which has none.")
        strengths = tuple(np.atleast_1d(np.asarray(self.strength, dtype=np.float64)).tolist())
        if not strengths or not all(strength > 0 for strength in strengths):
            raise OptionError(f"strength={self.strength!r} of Conditional must be above zero, or 'auto'.")
        return strengths
