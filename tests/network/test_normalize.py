"""normalize_tables against enumeration: the CPTs are valid and P(class | attributes) is that of the free tables."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, xlogy

from network.perfect_structures import free_tables, log_posterior, perfect_structures
from oracle import joint_distribution
from tanager.errors import OptionError
from tanager.network.normalize import normalize_tables
from tanager.structure.dag import Dag, is_perfect_for


@settings(max_examples=80, deadline=None)
@given(perfect_structures(), st.sampled_from([0.1, 1.0, 5.0]))
def test_tables_sum_to_one_and_give_the_same_class_probabilities(structure, scale):
    dag, n_states, rng = structure
    logs = free_tables(dag, n_states, rng, scale)
    assert is_perfect_for(dag, len(n_states) - 1)
    tables = normalize_tables(dag, logs, n_states)
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-12)
    expected = log_posterior(dag, logs, n_states)
    np.testing.assert_allclose(log_posterior(dag, [np.log(t) for t in tables], n_states), expected, atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(perfect_structures())
def test_valid_tables_stay_as_they_are(structure):
    dag, n_states, rng = structure
    valid = [log_softmax(table, axis=1) for table in free_tables(dag, n_states, rng, 1.0)]
    for table, given_ in zip(normalize_tables(dag, valid, n_states), valid, strict=True):
        np.testing.assert_allclose(table, np.exp(given_), rtol=1e-12)


@pytest.mark.parametrize("parents", [[(), (), ()], [(), (0,), (1,)], [(), (0,), (0, 1)]])
def test_the_joint_is_proportional_to_the_product_of_the_free_tables(parents):
    dag, n_states = Dag.augmented_naive_bayes(parents), (3, 2, 3, 2)
    logs = free_tables(dag, n_states, np.random.default_rng(5), 1.0)
    product, joint = (
        joint_distribution(
            dict(enumerate(dag.parents)),
            {
                f.child: table.reshape([n_states[node] for node in f.nodes])
                for f, table in zip(dag.families, tables, strict=True)
            },
            n_states,
        )
        for tables in ([np.exp(table) for table in logs], normalize_tables(dag, logs, n_states))
    )
    np.testing.assert_allclose(joint, product / product.sum(), rtol=1e-10)


@pytest.mark.parametrize("parents", [[(), (), ()], [(), (0,), (1,)]])
def test_logs_of_several_hundred_neither_overflow_nor_lose_digits(parents):
    dag, n_states = Dag.augmented_naive_bayes(parents), (3, 2, 3, 2)
    rng = np.random.default_rng(0)
    logs = [rng.uniform(-60, 60, family.shape(n_states)) + 900.0 for family in dag.families]
    tables = normalize_tables(dag, logs, n_states)
    expected = np.exp(log_posterior(dag, logs, n_states))
    got = np.exp(log_posterior(dag, [np.log(table) for table in tables], n_states))
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_an_entry_that_underflows_gets_the_stated_floor():
    dag = Dag.augmented_naive_bayes([()])
    tables = normalize_tables(dag, [np.array([[0.0, -5000.0], [0.0, 0.0]]), np.zeros((1, 2))], (2, 2))
    assert tables[0][0, 1] == 1e-300


def test_a_family_without_the_class_is_only_normalised_over_its_states():
    dag, n_states = Dag(((), (0,), (3,), ())), (2, 3, 2, 2)
    logs = free_tables(dag, n_states, np.random.default_rng(1), 2.0)
    tables = normalize_tables(dag, logs, n_states)
    for node in (0, 1):
        np.testing.assert_allclose(np.log(tables[node]), log_softmax(logs[node], axis=1), atol=1e-12)


# Theorem 4: X0 -> X2 <- X1 with the class X0; here attributes 0 = X1 and 1 = X2, the class is node 2.
COLLIDER = Dag(((), (0, 2), ()))
FOUR_ROWS = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]  # (x1, x2, class), eq. 26


def collider_tables(free, normalised):
    """Nine free numbers as the log tables of X1 (fixed), X2 and the class."""
    logs = [np.log(np.full((1, 2), 0.5)), free[:8].reshape(4, 2), np.array([[0.0, free[8]]])]
    return [log_softmax(table, axis=1) for table in logs] if normalised else logs


def log_likelihood(free, weights, normalised):
    """sum of weight times log P(class | x1, x2) over the cells (x1, x2, class) of `weights`."""
    posterior = log_posterior(COLLIDER, collider_tables(free, normalised), (2, 2, 2))
    return float((weights * posterior).sum())


def climbs(weights, normalised, n_starts=12):
    rng = np.random.default_rng(0)
    found = [
        minimize(lambda free: -log_likelihood(free, weights, normalised), rng.normal(scale=2.0, size=9)).fun
        for _ in range(n_starts)
    ]
    return -np.array(found)


def test_theorem_4_four_rows_have_no_bayesian_network_at_the_logistic_optimum():
    weights = np.zeros((2, 2, 2))
    weights[tuple(np.transpose(FOUR_ROWS))] = 1.0
    perfect = np.zeros(9)
    perfect[:8] = [20.0, 20.0, -20.0, -20.0, -20.0, -20.0, 20.0, 20.0]  # rows (x1, class), columns x2
    assert log_likelihood(perfect, weights, normalised=False) == pytest.approx(0.0, abs=1e-12)
    best = climbs(weights, normalised=True)
    assert best.max() == pytest.approx(-2 * math.log(2), abs=1e-3)  # the supremum of every Bayesian network
    assert best.max() < -2 * math.log(2)
    with pytest.raises(OptionError, match="not perfect"):
        normalize_tables(COLLIDER, collider_tables(perfect, normalised=False), (2, 2, 2))


def test_theorem_4_the_normalised_likelihood_has_local_maxima_and_the_logistic_has_none():
    """alpha = 0.3 of N = 400 rows, and the four barrier rows of part II (b)."""
    weights = np.ones((2, 2, 2))
    for x1, x2, c in FOUR_ROWS:
        weights[x1, x2, c] = 400 * (0.3 if x2 == 0 else 0.7) / 2
    local = climbs(weights, normalised=True)
    assert local.max() - local.min() > 1.0
    logistic = climbs(weights, normalised=False)
    assert logistic.max() - logistic.min() < 1e-3
    shares = weights / weights.sum(axis=2, keepdims=True)
    assert logistic.max() == pytest.approx(xlogy(weights, shares).sum(), abs=1e-3)  # every cell at its frequency
    assert logistic.max() > local.max() + 1.0
