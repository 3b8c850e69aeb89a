"""Laws of the scores: direction of an edge, decomposition, identities between scores, limits."""

from __future__ import annotations

from itertools import combinations
from math import log, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

from scores.by_rows import Rows, random_rows
from tanager.counts.family import Family
from tanager.scores import ACLL, AIC, BIC, CLL, FCLL, K2, LL, MIT, SCORES, BDe, BDeu, FamilyScore, pair_information
from tanager.scores.fcll import ALPHA, BETA, LAMBDA
from tanager.structure.dag import Dag

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=15, deadline=None)

TREES = ([(), (0,), (1,)], [(1,), (), (1,)], [(1,), (2,), ()])
"""x0 - x1 - x2, from each of its attributes as the root: equivalent structures."""


def total(score: FamilyScore, rows: Rows, attribute_parents) -> float:
    return score.total(Dag.augmented_naive_bayes(attribute_parents).families, rows.store())


@few
@given(seeds, st.sampled_from([2, 3, 5]), st.booleans())
def test_the_direction_of_edges_does_not_matter_to_score_equivalent_scores(seed, n_classes, weighted) -> None:
    rows = random_rows(seed, (2, 3, 4, n_classes), 30, weighted)
    for score in (LL(), AIC(), BIC(), BDeu(), BDeu(10), FCLL()):
        assert score.score_equivalent
        first, *others = (total(score, rows, tree) for tree in TREES)
        assert others == pytest.approx([first, first], rel=1e-11)


def test_the_direction_of_an_edge_matters_to_k2_acll_and_mit() -> None:
    rows = random_rows(0, (2, 3, 2), 30)
    for score in (K2(), ACLL(), ACLL("dirichlet"), ACLL(at="frequency"), ACLL(at="pooled"), MIT()):
        assert not score.score_equivalent
        forward, backward = total(score, rows, [(), (0,)]), total(score, rows, [(1,), ()])
        assert abs(forward - backward) > 1e-3


@few
@given(seeds, st.sampled_from([(3, 3, 2), (2, 4, 5)]))
def test_the_direction_of_an_edge_does_not_matter_to_mit_between_equals_or_below_the_class(seed, n_states) -> None:
    rows = random_rows(seed, n_states, 30)
    assert total(MIT(), rows, [(), (0,)]) == pytest.approx(total(MIT(), rows, [(1,), ()]), rel=1e-11)


def test_bde_under_a_uniform_network_is_bdeu() -> None:
    class Uniform:
        def family_probabilities(self, family, n_states):
            return np.full(family.class_shape(n_states), 1 / family.size(n_states))

    rows = random_rows(3, (2, 3, 4, 3), 20, weighted=True)
    for tree in TREES:
        assert total(BDe(Uniform(), ess=3), rows, tree) == pytest.approx(total(BDeu(3), rows, tree), rel=1e-12)


def test_bde_rules_out_what_its_prior_says_cannot_happen() -> None:
    class NeverZero:
        def family_probabilities(self, family, n_states):
            return np.array([0.0, 0.5, 0.5]).reshape(1, 1, 3)

    family, n_states = Family(0, ()), (3, 2)
    score = BDe(NeverZero(), ess=2)
    assert score.local(np.array([[[1, 2, 3]]]), family, n_states) == -np.inf
    # B(2 + 1, 3 + 1) / B(1, 1) = 2! 3! / 6!
    assert score.local(np.array([[[0, 2, 3]]]), family, n_states) == pytest.approx(log(2 * 6 / 720))


@few
@given(seeds, st.sampled_from([2, 3, 5]))
def test_fcll_weighs_a_tree_edge_by_conditional_and_interaction_information(seed, n_classes) -> None:
    rows = random_rows(seed, (2, 3, 4, n_classes), 30)
    x, y, c = (np.array([row[node] for row in rows.cells]) for node in (1, 2, 3))
    marginal = mutual_info_score(x, y)
    conditional = sum(np.mean(c == value) * mutual_info_score(x[c == value], y[c == value]) for value in set(c))
    weight = 30 * ((ALPHA + BETA) * conditional - BETA * LAMBDA * (conditional - marginal))
    gain = total(FCLL(), rows, [(), (), (1,)]) - total(FCLL(), rows, [(), (), ()])
    assert gain == pytest.approx(weight, rel=1e-9, abs=1e-9)


def test_fcll_weighs_its_two_parts_as_the_paper_says() -> None:
    """fCLL 2011, eq. 28."""
    assert pytest.approx(0.322, abs=5e-4) == ALPHA + BETA
    assert pytest.approx(0.557, abs=5e-4) == -BETA * LAMBDA
    assert pytest.approx((pi**2 - 6) / 12) == ALPHA + BETA


@few
@given(seeds)
def test_pair_information_equals_scikit_learns(seed) -> None:
    rows = random_rows(seed, (2, 3, 4, 3), 25)
    information = pair_information(rows.store().pairs())
    columns = np.array(rows.cells).T
    for i, j in combinations(range(3), 2):
        marginal = mutual_info_score(columns[i], columns[j])
        conditional = 0.0
        for value in set(columns[3]):
            chosen = columns[3] == value
            conditional += chosen.mean() * mutual_info_score(columns[i][chosen], columns[j][chosen])
        for a, b in ((i, j), (j, i)):
            assert information.marginal[a, b] == pytest.approx(marginal, abs=1e-12)
            assert information.conditional[a, b] == pytest.approx(conditional, abs=1e-12)
            assert information.interaction[a, b] == pytest.approx(conditional - marginal, abs=1e-12)
    assert np.diag(information.conditional).tolist() == np.diag(information.marginal).tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", [name for name in SCORES if name not in ("bde", "cll")])
def test_families_alike_in_shape_are_not_taken_for_each_other(name) -> None:
    """The class and an attribute of as many states; three nodes of as many states, with the class and without."""
    rows = random_rows(1, (3, 2, 3, 3), 20)
    score, store = SCORES[name](), rows.store()
    families = [Family(0, ()), Family(3, ()), Family(0, (1, 2)), Family(0, (1, 3)), Family(2, (1, 3))]
    terms = score.terms(store.tables(families), families, rows.n_states)
    alone = [score.local(store.table(family), family, rows.n_states) for family in families]
    assert terms.tolist() == pytest.approx(alone, rel=1e-13)


@few
@given(seeds, st.sampled_from([name for name in SCORES if name not in ("bde", "cll")]))
def test_scores_see_only_the_sum_of_counts(seed, name) -> None:
    """Tables of two halves added up score as the whole; a weight of three as a row repeated three times."""
    rows = random_rows(seed, (2, 3, 3), 20)
    first, second = (Rows(rows.cells[part], rows.weights[part], rows.n_states) for part in (slice(7), slice(7, None)))
    repeated = Rows(rows.cells + second.cells * 2, (1.0,) * (20 + 26), rows.n_states)
    weighted = Rows(rows.cells, (1.0,) * 7 + (3.0,) * 13, rows.n_states)
    score, family = SCORES[name](), Family(1, (0, 2))
    tables = [part.store().table(family) for part in (first, second, rows)]
    assert score.local(tables[0] + tables[1], family, rows.n_states) == score.local(tables[2], family, rows.n_states)
    assert total(score, repeated, [(), (0,)]) == pytest.approx(total(score, weighted, [(), (0,)]), rel=1e-12)


@few
@given(seeds)
def test_no_parameters_do_better_for_acll_than_its_optimum(seed) -> None:
    """Theorem 3.8: among parameters with theta >= N' / sum p."""
    random = np.random.default_rng(seed)
    rows = random_rows(seed, (3, 4, 3), 40)
    family, score = Family(1, (0, 2)), ACLL(pseudo_count=1)
    table = rows.store().table(family)
    weights = score.weights(table, family, rows.n_states)
    best = (weights * np.log(score.probabilities(table, weights))).sum()
    least = 1 / np.maximum(weights, 1).sum(axis=-1, keepdims=True)
    other = least + (1 - 4 * least) * random.dirichlet(np.ones(4), size=table.shape[:2])
    assert (weights * np.log(other)).sum() <= best + 1e-12
    assert best == score.local(table, family, rows.n_states)


def test_the_larger_the_equivalent_sample_the_less_bdeu_believes_the_rows() -> None:
    """As ess grows the predictive distribution tends to the uniform one."""
    rows = random_rows(2, (3, 2), 20)
    assert total(BDeu(1e9), rows, [()]) == pytest.approx(-20 * log(3 * 2), rel=1e-6)


def test_scores_are_parameter_objects() -> None:
    assert clone(ACLL("dirichlet", b=7)).get_params() == {
        "assumption": "dirichlet", "a": 1.0, "b": 7, "pseudo_count": None, "at": "optimum",
    }  # fmt: skip
    assert clone(MIT(level=0.9)).level == 0.9
    assert all(SCORES[name]().decomposable is (name != "cll") for name in SCORES)
    assert isinstance(SCORES["mdl"](), BIC)
    assert not isinstance(CLL(), FamilyScore)
