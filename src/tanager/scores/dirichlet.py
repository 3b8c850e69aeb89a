"""Log marginal likelihoods under Dirichlet priors: K2, BDeu, BDe and, with any parameters, BD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from tanager.arrays import Array
from tanager.counts.family import CountTable, Family
from tanager.errors import OptionError
from tanager.scores.margins import MarginSums, Term
from tanager.scores.protocol import FamilyScore, check_between


class K2(MarginSums):
    """Every Dirichlet parameter is 1 (Cooper and Herskovits 1992)."""

    score_equivalent = False

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return symmetric_dirichlet(1.0, n_states[family.child])


class BDeu(MarginSums):
    """Every Dirichlet parameter of a family is ess / (cells of its table) (Buntine 1991, Heckerman et al. 1995)."""

    score_equivalent = True

    def __init__(self, ess: float = 1.0) -> None:
        self.ess = ess

    def check_options(self) -> None:
        check_between("BDeu", "ess", self.ess, 0)

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        return symmetric_dirichlet(self.ess / family.size(n_states), n_states[family.child])


class BDe(FamilyScore):
    """Dirichlet parameters are `ess` times the family's probability under a prior network (Heckerman et al. 1995).

    The network's nodes are the table's columns, by name; those of a bare array, by number. Its last node is the class.
    A cell of prior probability zero that occurs nevertheless makes the score minus infinity.

    prior  a `Network`, or what has its `nodes`, `reordered` and `family_probabilities`
    ess    the equivalent sample size, in rows
    """

    score_equivalent = True

    def __init__(self, prior: Any = None, ess: float = 1.0) -> None:
        self.prior = prior
        self.ess = ess

    def check_options(self) -> None:
        check_between("BDe", "ess", self.ess, 0)
        if self.prior is None:
            raise OptionError(
                "BDe has no prior network.",
                hint="pass one, BDe(prior=network, ess=10), or use 'bdeu', whose prior is uniform.",
            )
        if not callable(getattr(self.prior, "family_probabilities", None)):
            raise OptionError(f"BDe: prior={self.prior!r} has no method 'family_probabilities'; expected a network.")

    def for_nodes(self, names: Sequence[str]) -> BDe:
        *known, _ = self.prior.nodes
        strangers = sorted(set(names[:-1]) ^ set(known))
        if strangers:
            place = "column of the table" if strangers[0] in known else "node of the prior network"
            raise OptionError(
                f"BDe: {strangers[0]!r} is no {place}.", hint="the prior network must have the table's columns by name."
            )
        return BDe(self.prior.reordered([*map(known.index, names[:-1]), len(known)]), self.ess)

    def local(self, table: CountTable, family: Family, n_states: Sequence[int]) -> float:
        self.check_options()
        prior = self.ess * np.asarray(self.prior.family_probabilities(family, n_states))
        if prior.shape != table.shape:
            raise OptionError(
                f"BDe: the prior network gives probabilities of shape {prior.shape} for node {family.child} with "
                f"parents {family.parents}; expected {table.shape}.",
                hint="the prior network must have the table's columns and as many states in each.",
            )
        return log_marginal(table, prior)


class BD(FamilyScore):
    """The Dirichlet parameters are any (Heckerman et al. 1995): `alpha` for every cell, or a function of the family.

    alpha  a number above zero (1 is K2, 0.5 is Jeffreys' prior); or a function of a `Family` and the numbers of states
           of all nodes, whose value has the shape `Family.class_shape` or can be repeated to it
    """

    score_equivalent = False

    def __init__(self, alpha: float | Callable[[Family, Sequence[int]], ArrayLike] = 1.0) -> None:
        self.alpha = alpha

    def check_options(self) -> None:
        if not callable(self.alpha):
            check_between("BD", "alpha", self.alpha, 0)

    def local(self, table: CountTable, family: Family, n_states: Sequence[int]) -> float:
        self.check_options()
        prior = np.asarray(self.alpha(family, n_states) if callable(self.alpha) else self.alpha, dtype=np.float64)
        try:
            return log_marginal(table, np.broadcast_to(prior, table.shape))
        except ValueError:
            raise OptionError(
                f"BD: alpha gives parameters of shape {prior.shape} for node {family.child} with parents "
                f"{family.parents}; expected {table.shape}."
            ) from None


def log_marginal(table: CountTable, prior: Array) -> float:
    """sum_jck log [a_jck]^N_jck - sum_jc log [a_jc]^N_jc; minus infinity if a cell of parameter zero occurs."""
    if np.any(table[prior <= 0] > 0):
        return -np.inf
    cells = log_rising(table[prior > 0], prior[prior > 0]).sum()
    by_configuration = prior.sum(axis=-1)
    possible = by_configuration > 0
    return float(cells - log_rising(table.sum(axis=-1)[possible], by_configuration[possible]).sum())


def symmetric_dirichlet(parameter: float, states: int) -> tuple[Term, Term]:
    """sum_jck log [a]^N_jck - sum_jc log [a r]^N_jc, where [a]^n = a (a+1) ... (a+n-1); a is every cell's parameter."""
    return (
        Term(1, "jck", partial(log_rising, start=parameter)),
        Term(-1, "jc", partial(log_rising, start=parameter * states)),
    )


def log_rising(counts: CountTable, start: float | Array) -> Array:
    """log of the rising factorial start (start + 1) ... (start + n - 1) = Gamma(start + n) / Gamma(start)."""
    return np.asarray(gammaln(counts + start) - gammaln(start))
