"""Every score equals a count from the rows, with unobserved configurations, unequal numbers of states and weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from scores import by_rows
from scores.by_rows import Rows, random_rows
from tanager.counts.family import Family
from tanager.scores import ACLL, AIC, BD, BIC, FCLL, K2, LL, MIT, BDe, BDeu, FamilyScore
from tanager.scores.acll_constants import dirichlet_line, uniform_beta
from tanager.scores.fcll import dirichlet_constants

# The class is node 4. Attributes: no parent, the class alone, one and two attributes beside it, none of the class.
FAMILIES = [(0, ()), (1, (4,)), (0, (3, 4)), (2, (0, 1, 4)), (3, (1,)), (1, (0, 2)), (4, ()), (4, (1, 3))]
STATES = (2, 3, 1, 4)


class ProductOfMargins:
    """A prior network: every node independent, its states with probabilities 1 : 2 : 3 ..."""

    def family_probabilities(self, family: Family, n_states):
        result = 1.0
        for node in family.nodes:
            weights = np.arange(1.0, n_states[node] + 1)
            result = np.multiply.outer(result, weights / weights.sum())
        return result.reshape(family.class_shape(n_states))


def product_of_margins(ess: float) -> by_rows.Prior:
    def prior(rows: Rows, family: Family, cell) -> float:
        result = ess
        for node, value in cell.items():
            result *= 2 * (value + 1) / (rows.n_states[node] * (rows.n_states[node] + 1))
        return result

    return prior


def uniform_acll(rows: Rows, family: Family, **options) -> float:
    return by_rows.acll(rows, family, uniform_beta(rows.n_states[-1]), **options)


def asymmetric_acll(rows: Rows, family: Family) -> float:
    line = dirichlet_line(rows.n_states[-1], 2, 1, rows.total)
    return by_rows.acll(rows, family, line.beta, 0.7, alpha=line.alpha)


ORACLES = {
    "ll": (LL(), by_rows.ll),
    "aic": (AIC(), by_rows.aic),
    "bic": (BIC(), by_rows.bic),
    "k2": (K2(), lambda rows, family: by_rows.marginal_likelihood(rows, family, by_rows.one)),
    "bdeu": (BDeu(), lambda rows, family: by_rows.marginal_likelihood(rows, family, by_rows.spread_evenly(1.0))),
    "bdeu of 7": (
        BDeu(ess=7),
        lambda rows, family: by_rows.marginal_likelihood(rows, family, by_rows.spread_evenly(7.0)),
    ),
    "bde": (
        BDe(ProductOfMargins(), ess=4),
        lambda rows, family: by_rows.marginal_likelihood(rows, family, product_of_margins(4.0)),
    ),
    "bd of one half": (
        BD(0.5),
        lambda rows, family: by_rows.marginal_likelihood(rows, family, lambda rows, family, cell: 0.5),
    ),
    "bd of any parameters": (
        BD(lambda family, n_states: 0.3 + 5.0 * ProductOfMargins().family_probabilities(family, n_states)),
        lambda rows, family: by_rows.marginal_likelihood(
            rows, family, lambda rows, family, cell: 0.3 + product_of_margins(5.0)(rows, family, cell)
        ),
    ),
    "mit": (MIT(), by_rows.mit),
    "mit at 0.9": (MIT(level=0.9), lambda rows, family: by_rows.mit(rows, family, 0.9)),
    "fcll": (FCLL(), by_rows.fcll),
    "fcll, second term": (FCLL("information"), lambda rows, family: by_rows.fcll(rows, family, first_term=False)),
    "fcll, dirichlet of 2 and 5": (
        FCLL(a=2, b=5),
        lambda rows, family: by_rows.fcll(rows, family, constants=dirichlet_constants(rows.n_states[-1], 2, 5)),
    ),
    "acll": (ACLL(), uniform_acll),
    "acll, asymmetric": (ACLL("asymmetric", pseudo_count=0.7), lambda rows, family: asymmetric_acll(rows, family)),
    "acll with 0.7": (ACLL(pseudo_count=0.7), lambda rows, family: uniform_acll(rows, family, pseudo_count=0.7)),
    "acll at frequencies": (
        ACLL(at="frequency"),
        lambda rows, family: uniform_acll(rows, family, pseudo_count=0.5, at="frequency"),
    ),
    "acll, pooled": (
        ACLL(at="pooled"),
        lambda rows, family: by_rows.pooled_acll(rows, family, uniform_beta(2)),
    ),
    "acll, pooled, dirichlet": (
        ACLL("dirichlet", b=9, at="pooled", pseudo_count=2),
        lambda rows, family: by_rows.pooled_acll(rows, family, dirichlet_line(2, 1, 1, 9).beta, 2.0),
    ),
    "acll, dirichlet": (
        ACLL("dirichlet"),
        lambda rows, family: by_rows.acll(rows, family, dirichlet_line(rows.n_states[-1], 1, 1, rows.total).beta),
    ),
    "acll, dirichlet of 2 and 30": (
        ACLL("dirichlet", a=2, b=30),
        lambda rows, family: by_rows.acll(rows, family, dirichlet_line(rows.n_states[-1], 2, 2, 30).beta),
    ),
}


@pytest.mark.parametrize("weighted", [False, True, 0.01], ids=["rows", "weights", "small weights"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("name", ORACLES)
def test_every_term_equals_a_count_from_the_rows(name: str, n_classes: int, weighted: float) -> None:
    score, oracle = ORACLES[name]
    rows = random_rows(n_classes, (*STATES, n_classes), weighted=weighted)
    store = rows.store()
    for child, parents in FAMILIES:
        family = Family(child, parents)
        term = score.local(store.table(family), family, rows.n_states)
        assert term == pytest.approx(oracle(rows, family), rel=1e-10, abs=1e-10), family


@pytest.mark.parametrize(("score", "prior"), [(K2(), by_rows.one), (BDeu(2.5), by_rows.spread_evenly(2.5))])
def test_marginal_likelihood_is_the_product_of_sequential_predictions(score: FamilyScore, prior: by_rows.Prior) -> None:
    """A child of four states, with parent configurations that never occur."""
    rows = random_rows(1, (*STATES, 3), n_rows=25)
    for family in (Family(3, (0, 1, 4)), Family(1, (3, 4)), Family(4, ())):
        table = rows.store().table(family)
        assert family.child == 4 or (table.sum(axis=-1) == 0).any()
        assert score.local(table, family, rows.n_states) == pytest.approx(
            by_rows.sequential_prediction(rows, family, prior), rel=1e-12
        )


def test_an_unobserved_configuration_adds_nothing_to_a_marginal_likelihood() -> None:
    """The case other libraries get wrong for a child of three states and more."""
    observed = random_rows(0, (3, 2), n_rows=30).store().table(Family(0, (1,)))
    family, n_states = Family(0, (1, 2)), (3, 4, 2)
    table = np.zeros((4, 2, 3), dtype=int)
    table[2] = observed.reshape(2, 3)
    assert K2().local(table, family, n_states) == pytest.approx(
        K2().local(observed, Family(0, (2,)), (3, 1, 2)), rel=1e-14
    )


@pytest.mark.parametrize("name", ORACLES)
def test_a_table_without_rows_scores_its_penalty_and_nothing_else(name: str) -> None:
    score, _ = ORACLES[name]
    family, n_states = Family(0, (1, 2)), (3, 2, 2)
    # aic: (3 - 1) free parameters in 4 configurations; mit: 2 * 1 and 2 * 1 * 2 degrees of freedom
    penalties = {"aic": 8.0}
    if isinstance(score, MIT):
        penalties[name] = stats.chi2.ppf(score.level, 2) + stats.chi2.ppf(score.level, 4)
    for dtype in (int, float):
        value = score.local(np.zeros((2, 2, 3), dtype), family, n_states)
        assert value == pytest.approx(-penalties.get(name, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_an_attribute_without_states_scores_nothing(name: str) -> None:
    score, _ = ORACLES[name]
    for family, n_states in ((Family(0, (1, 2)), (0, 2, 2)), (Family(0, (1, 2)), (3, 0, 2))):
        table = np.zeros(family.class_shape(n_states), dtype=int)
        assert score.local(table, family, n_states) == 0.0
