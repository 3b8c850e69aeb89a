"""PulledTables: a network objective and pseudo-rows, by a vector; oracles are sums by hand and differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from random_networks import networks
from tanager.parameters.conditional.network_objective import NetworkObjective, PulledTables


@settings(max_examples=15, deadline=None)
@given(networks(), st.integers(0, 1000))
def test_the_prior_costs_what_pseudo_rows_lose_against_the_centre_and_the_slope_is_that_of_differences(network, seed):
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, r + 1, 12) for r in network.n_states])
    objective = NetworkObjective(network.dag, network.n_states, codes, (0,))
    pseudo = [generator.uniform(0.1, 2.0, table.shape) for table in network.tables]
    rows = [generator.uniform(0.0, 9.0, table.shape) for table in network.tables]
    problem = PulledTables(objective, network.tables, pseudo, rows)

    start = np.zeros(problem.size)
    for table, centre in zip(problem.tables(start), network.tables, strict=True):
        np.testing.assert_allclose(table, centre)
    assert problem(start)[0] == pytest.approx(objective(network.tables)[0])

    vector = generator.normal(size=problem.size)
    tables = problem.tables(vector)
    cost = sum(float((pseudo[n] * np.log(network.tables[n] / tables[n])).sum()) for n in objective.nodes)
    value, slope = problem(vector)
    assert value == pytest.approx(objective(tables)[0] + cost)
    differences = approx_fprime(vector, lambda v: problem(v)[0], 1e-6)
    np.testing.assert_allclose(slope, differences, atol=1e-4 * max(1.0, np.abs(slope).max()))
    for again, table in zip(problem.tables(problem.vector(tables)), tables, strict=True):
        np.testing.assert_allclose(again, table)
