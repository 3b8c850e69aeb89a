"""aCLL: the approximate conditional log likelihood, at its own optimal parameters or at smoothed frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import CountTable, Family
from tanager.registry import check_option
from tanager.scores.acll_constants import dirichlet_slopes, uniform_beta
from tanager.scores.margins import ByShape
from tanager.scores.protocol import check_between

DEFAULT_PSEUDO_COUNT = {"optimum": 5.0, "frequency": 0.5, "pooled": 0.5}


class ACLL(ByShape):
    """sum w_jck log(p_jck / sum_k p_jck), w_jck = alpha N_jck + beta (N_j*k - N_jck) (aCLL 2013, eq. 28).

    The class node's w_c = alpha N_c + beta (N - N_c) alike.

    assumption    how the classes' probabilities of a row are thought to be distributed, which decides alpha and beta:
                  "uniform"; "dirichlet" with parameters a, ..., a, b; or "asymmetric", the same with a + 1 for the
                  row's own class (eq. 23). alpha = 1 + beta for the first two, which are symmetric
    a, b          of the Dirichlet distribution; b is by default N, the rows counted
    at            the parameters: "optimum", p = max(w, pseudo_count), which maximise the score (theorem 3.8);
                  "frequency", p = N_jck + pseudo_count; or "pooled", the aCLL of fCLL 2011 (eq. 13, section 4.4), with
                  the beta of two classes, a class c and all others pooled: alpha N_jck log theta_jck +
                  beta N_jck log theta_jck', where theta' are the frequencies of the N_j*k - N_jck other rows. For
                  two classes "pooled" is "frequency"
    pseudo_count  by default 5 at the optimum and 0.5 at frequencies, as in the two papers
    """

    score_equivalent = False

    def __init__(
        self,
        assumption: str = "uniform",
        *,
        a: float = 1.0,
        b: float | None = None,
        pseudo_count: float | None = None,
        at: str = "optimum",
    ) -> None:
        self.assumption = assumption
        self.a = a
        self.b = b
        self.pseudo_count = pseudo_count
        self.at = at

    def check_options(self) -> None:
        check_option("assumption", self.assumption, ["uniform", "dirichlet", "asymmetric"])
        check_option("at", self.at, DEFAULT_PSEUDO_COUNT)
        for name, value in (("a", self.a), ("b", self.b), ("pseudo_count", self.pseudo_count)):
            if value is not None or name == "a":
                check_between("ACLL", name, value, 0)

    def stack_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        if self.at == "pooled":
            return self._pooled_terms(tables, family, n_states)
        weights = self.weights(tables, family, n_states)
        return np.asarray((weights * np.log(self.probabilities(tables, weights))).sum(axis=(-3, -2, -1)))

    def weights(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        """w of tables (..., q, s, r), by which the logs of the parameters are multiplied.

        alpha N_jck + beta (N_j*k - N_jck) = (alpha - beta) N_jck + beta N_j*k: a row counts alpha - beta times, which
        is once for symmetric laws, for its own class, and beta times for every class. For the class node the classes
        are the child's states; where the class is not a parent, all classes share one parameter.
        """
        target = len(n_states) - 1
        if family.child == target:
            every_class = tables.sum(axis=-1, keepdims=True)
        elif target in family.parents:
            every_class = tables.sum(axis=-2, keepdims=True)
        else:
            every_class = n_states[target] * tables
        rows = tables.sum(axis=(-3, -2, -1), keepdims=True)
        alpha, beta = self.slopes(n_states[target], rows)
        return np.asarray((alpha - beta) * tables + beta * every_class)

    def probabilities(self, tables: CountTable, weights: Array) -> Array:
        """p / sum_k p, the parameters at which the score is taken; `weights` as `weights` gives them."""
        p = np.maximum(weights, self._pseudo_count()) if self.at == "optimum" else tables + self._pseudo_count()
        return np.asarray(p / p.sum(axis=-1, keepdims=True))

    def _pooled_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        """sum alpha N log theta + beta N log theta', theta' those of the pooled other classes."""
        target, pseudo_count = len(n_states) - 1, self._pseudo_count()
        smoothed = tables + pseudo_count
        logs = np.log(smoothed / smoothed.sum(axis=-1, keepdims=True))
        log_others = logs  # where the class is not a parent, all classes share one parameter
        if family.child == target:
            others = tables.sum(axis=-1, keepdims=True) - tables + pseudo_count
            log_others = np.log(others / smoothed.sum(axis=-1, keepdims=True))
        elif target in family.parents:
            others = tables.sum(axis=-2, keepdims=True) - tables + pseudo_count
            log_others = np.log(others / others.sum(axis=-1, keepdims=True))
        alpha, beta = self.slopes(2, tables.sum(axis=(-3, -2, -1), keepdims=True))
        return np.asarray((tables * (alpha * logs + beta * log_others)).sum(axis=(-3, -2, -1)))

    def slopes(self, n_classes: int, rows: CountTable) -> tuple[Array, Array]:
        """alpha and beta for tables that counted so many rows; one value where they do not depend on them."""
        if self.assumption == "uniform":
            beta = np.asarray(uniform_beta(n_classes))
            return 1.0 + beta, beta
        distinct, place = np.unique(rows, return_inverse=True)
        own = self.a + 1.0 if self.assumption == "asymmetric" else self.a
        slope_own, beta_of = dirichlet_slopes(n_classes, own, self.a, distinct if self.b is None else self.b)
        return (1.0 + slope_own, beta_of) if self.b is not None else (1.0 + slope_own[place], beta_of[place])

    def _pseudo_count(self) -> float:
        return DEFAULT_PSEUDO_COUNT[self.at] if self.pseudo_count is None else float(self.pseudo_count)
