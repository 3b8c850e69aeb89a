"""All trees at once, against every one of them listed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structure.small_tasks import forests
from tanager.structure.all_trees import AllTrees

FORESTS = {n: np.array(forests(n)) + 1 for n in range(1, 7)}
"""Every forest as (n_forests, n_nodes) rows of weights: 1 + parent, 0 for none."""


def by_listing(log_weights):
    """The log of the sum over all forests, and the probability of every edge."""
    n_nodes = log_weights.shape[1]
    listed = FORESTS[n_nodes]
    logs = log_weights[listed, np.arange(n_nodes)].sum(axis=1)
    shares = np.exp(logs - logs.max())
    total = logs.max() + np.log(shares.sum())
    probability = np.zeros(log_weights.shape)
    for child in range(n_nodes):
        np.add.at(probability[:, child], listed[:, child], shares / shares.sum())
    return total, probability


def random_weights(seed, n_nodes, span):
    """Sums of a few scales that differ by `span` nats and of noise: clusters in clusters, with ties and near ties."""
    generator = np.random.default_rng(seed)
    return span * generator.integers(0, 3, (n_nodes + 1, n_nodes)) + generator.normal(size=(n_nodes + 1, n_nodes))


def test_there_are_as_many_forests_as_cayley_says():
    for n in range(1, 7):
        assert len(FORESTS[n]) == (n + 1) ** (n - 1)
        assert AllTrees(np.zeros((n + 1, n))).log_total == pytest.approx((n - 1) * np.log(n + 1), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**16),
    st.integers(1, 6),
    st.sampled_from([0.0, 5.0, 40.0, 300.0, 1000.0, 2e4]),
    st.sampled_from([0.0, 0.4]),
)
def test_sum_and_edges_are_those_of_all_forests_of_allowed_edges_listed(seed, n_nodes, span, share_forbidden):
    weights, generator = random_weights(seed, n_nodes, span), np.random.default_rng(seed)
    weights[1:][generator.random((n_nodes, n_nodes)) < share_forbidden] = -np.inf
    total, probability = by_listing(weights)
    found = AllTrees(weights)
    assert found.log_total == pytest.approx(total, rel=1e-13, abs=1e-10)
    np.testing.assert_allclose(found.probability, probability, atol=1e-10)


def test_a_node_without_weights_is_absent():
    weights = random_weights(5, 5, 1.0)
    left = [0, 1, 3, 4]
    small = weights[np.ix_([0, *(node + 1 for node in left)], left)]
    absent = weights.copy()
    absent[3], absent[:, 2] = -np.inf, -np.inf
    assert AllTrees(absent).log_total == pytest.approx(float(AllTrees(small).log_total), abs=1e-10)


def test_several_graphs_are_answered_as_each_alone():
    stack = np.stack([random_weights(seed, 4, 1.0) for seed in range(6)]).reshape(2, 3, 5, 4)
    found = AllTrees(stack)
    for place in np.ndindex(2, 3):
        assert found.log_total[place] == pytest.approx(float(AllTrees(stack[place]).log_total), abs=1e-12)
        np.testing.assert_allclose(found.probability[place], AllTrees(stack[place]).probability, atol=1e-12)


def test_numbers_and_logarithms_have_the_same_sum():
    weights = random_weights(7, 30, 1.0)
    by_numbers = float(AllTrees(weights).log_total)
    far = weights.copy()
    far[1, 1] -= 2000.0  # an edge that no forest wants, but that spans more than numbers can
    without = weights.copy()
    without[1, 1] = -np.inf
    assert float(AllTrees(far).log_total) == pytest.approx(float(AllTrees(without).log_total), abs=1e-9)
    assert float(AllTrees(without).log_total) < by_numbers


def test_hundreds_of_attributes_whose_weights_span_a_thousand_nats_have_edges_that_sum_to_one():
    n_nodes = 300
    generator = np.random.default_rng(0)
    gains = 500.0 * np.tril(generator.normal(size=(n_nodes, n_nodes)), -1)
    found = AllTrees(np.vstack([np.zeros(n_nodes), gains + gains.T]))
    assert np.ptp(gains) > 1000
    assert np.isfinite(found.probability).all()
    np.testing.assert_allclose(found.probability.sum(axis=0), 1.0, atol=1e-9)
