"""Objectives on any network: the joint distribution cell by cell and finite differences are the oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from parameters.tasks import loss_by_rows
from random_networks import networks, random_network
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.parameters.conditional.network_objective import NETWORK_OBJECTIVES, NetworkObjective, PulledTables
from tanager.parameters.conditional.objectives import MARGIN, losses_and_slopes
from tanager.structure.dag import Dag, requisite_nodes

SETTINGS = settings(max_examples=25, deadline=None)


def random_rows(network: Network, n: int, seed: int, gaps: float, hidden: tuple[int, ...] = ()):
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, r, n) for r in network.n_states])
    missing = generator.random(codes.shape) < gaps
    missing[:, list(hidden)] = True
    return np.where(missing, network.n_states, codes), generator.uniform(0.2, 2.0, n)


@SETTINGS
@given(
    networks(),
    st.integers(0, 1000),
    st.sampled_from(NETWORK_OBJECTIVES),
    st.sampled_from([0.0, 0.4, 0.9]),
    st.integers(1, 2),
)
def test_the_loss_is_that_of_the_joint_distribution_whatever_is_missing(network, seed, name, gaps, n_query):
    query = tuple(np.random.default_rng(seed).permutation(len(network.nodes))[:n_query].tolist())
    codes, weights = random_rows(network, 6, seed, gaps)
    objective = NetworkObjective(network.dag, network.n_states, codes, query, weights, name, alpha=0.3)
    expected = loss_by_rows(network, codes, query, weights, name, alpha=0.3)
    assert objective(network.tables)[0] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    by_row = objective.losses(network.tables)
    assert weights[objective.rows] @ by_row == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("power", [1, 2, MARGIN])
def test_a_row_whose_probability_is_above_one_by_rounding_has_no_loss(power):
    losses, slopes = losses_and_slopes(np.array([2e-16, 0.0]), power)
    np.testing.assert_array_equal(losses, 0.0)
    assert np.isfinite(slopes).all()


def test_rows_that_say_nothing_have_no_loss_and_no_slope():
    network = random_network(1, [2, 2, 3])
    for name in ("ll", "cll"):
        value, gradient = NetworkObjective(
            network.dag, network.n_states, np.array([network.n_states]), (0,), np.ones(1), name
        )(network.tables)
        assert value == pytest.approx(0.0, abs=1e-12)
        assert all(np.abs(own).max() < 1e-12 for own in gradient)


@SETTINGS
@given(
    networks(),
    st.integers(0, 1000),
    st.sampled_from(NETWORK_OBJECTIVES),
)
def test_the_gradient_is_that_of_finite_differences_with_gaps_and_hidden_nodes(network, seed, name):
    query, hidden = (0,), (1,) if len(network.nodes) > 2 else ()
    codes, weights = random_rows(network, 8, seed, 0.3, hidden)
    codes[0, 0] = 0
    objective = NetworkObjective(network.dag, network.n_states, codes, query, weights, name, alpha=0.3)
    gradient = objective(network.tables)[1]
    step = 1e-6
    for node, table in enumerate(network.tables):
        for cell in np.ndindex(table.shape):
            values = []
            for sign in (1, -1):
                beta = np.log(table)
                beta[cell] += sign * step
                moved = list(network.tables)
                moved[node] = np.exp(beta) / np.exp(beta).sum(axis=1, keepdims=True)
                values.append(objective(moved)[0])
            slope = (values[0] - values[1]) / (2 * step)
            assert gradient[node][cell] == pytest.approx(slope, abs=1e-7 * len(codes))


@SETTINGS
@given(networks(), st.integers(0, 1000))
def test_a_table_moves_the_answer_only_if_the_query_needs_it(network, seed):
    """Change one table at a time: the posterior of the query stays where the table is not requisite."""
    generator = np.random.default_rng(seed)
    query = int(generator.integers(len(network.nodes)))
    codes, _ = random_rows(network, 1, seed, 0.3)
    codes[0, query] = network.n_states[query]
    observed = np.flatnonzero(codes[0] < network.n_states).tolist()
    needed = requisite_nodes(network.dag, [query], observed)
    evidence = {network.nodes[node]: network.columns[node].states[codes[0, node]] for node in observed}
    before = network.query(network.nodes[query], evidence)
    for node, table in enumerate(network.tables):
        moved = list(network.tables)
        moved[node] = generator.dirichlet(np.ones(table.shape[1]), size=len(table))
        after = Network(network.columns, network.dag, tuple(moved)).query(network.nodes[query], evidence)
        assert node in needed or after == pytest.approx(before, rel=1e-9)


def test_a_table_the_query_needs_is_among_the_nodes_and_no_other():
    """0 -> 1 -> 2 -> 3, query 1: with 2 observed, 3 says nothing; hidden, it does; 0 is always needed unless seen."""
    dag, n_states = Dag(((), (0,), (1,), (2,))), (2, 2, 2, 2)
    complete = np.array([[0, 1, 0, 1]])
    assert NetworkObjective(dag, n_states, complete, (1,)).nodes == (1, 2)
    without_2 = np.array([[0, 1, 2, 1]])
    assert NetworkObjective(dag, n_states, without_2, (1,)).nodes == (1, 2, 3)
    without_both = np.array([[2, 1, 2, 2]])
    assert NetworkObjective(dag, n_states, without_both, (1,)).nodes == (0, 1)
    assert NetworkObjective(dag, n_states, np.vstack([complete, without_2]), (1,)).nodes == (1, 2, 3)


def test_an_unknown_objective_is_refused_by_name():
    with pytest.raises(OptionError, match="objective='cl' is not known; expected one of 'cll'"):
        NetworkObjective(Dag(((),)), (2,), np.array([[0]]), (0,), name="cl")


@settings(max_examples=15, deadline=None)
@given(networks(), st.integers(0, 1000))
def test_the_prior_costs_what_pseudo_rows_lose_against_the_centre_and_the_slope_is_that_of_differences(network, seed):
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, r + 1, 12) for r in network.n_states])
    objective = NetworkObjective(network.dag, network.n_states, codes, (0,))
    pseudo = [generator.uniform(0.1, 2.0, table.shape) for table in network.tables]
    rows = [generator.uniform(0.0, 9.0, table.shape) for table in network.tables]
    problem = PulledTables(objective, network.tables, pseudo, rows)

    start = problem.vector(network.tables)
    for table, centre in zip(problem.tables(start), network.tables, strict=True):
        np.testing.assert_allclose(table, centre)
    assert problem(start)[0] == pytest.approx(objective(network.tables)[0])

    vector = generator.normal(size=len(start))
    tables = problem.tables(vector)
    cost = sum(float((pseudo[n] * np.log(network.tables[n] / tables[n])).sum()) for n in objective.nodes)
    value, slope = problem(vector)
    assert value == pytest.approx(objective(tables)[0] + cost)
    differences = approx_fprime(vector, lambda v: problem(v)[0], 1e-6)
    np.testing.assert_allclose(slope, differences, atol=1e-4 * max(1.0, np.abs(slope).max()))
    for again, table in zip(problem.tables(problem.vector(tables)), tables, strict=True):
        np.testing.assert_allclose(again, table)
