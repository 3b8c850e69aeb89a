"""CPTs of free tables against enumeration: valid, the same P(class | attributes), the most likely of their kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from oracle import joint_distribution
from random_networks import free_tables, log_posterior, perfect_structures
from tanager.network.normalize import most_likely_tables
from tanager.structure.dag import Dag, is_perfect


def joint_of(dag, tables, n_states):
    """P(x, c) with an axis for each node."""
    shaped = {f.child: tables[f.child].reshape([n_states[node] for node in f.nodes]) for f in dag.families}
    return joint_distribution(dict(enumerate(dag.parents)), shaped, n_states)


def marginal(joint, nodes):
    """Of `nodes`, in that order."""
    summed = joint.sum(axis=tuple(node for node in range(joint.ndim) if node not in nodes))
    return summed.transpose(np.argsort(np.argsort(nodes))) if len(nodes) > 1 else summed


def family_marginals(dag, joint):
    return [marginal(joint, f.nodes) for f in dag.families]


def without_class(dag, joint):
    """The marginal of every family over its attributes alone."""
    target = joint.ndim - 1
    return [marginal(joint, [node for node in f.nodes if node != target]) for f in dag.families]


def given_parents(shares):
    """Along the last axis they sum to one."""
    return shares / shares.sum(axis=-1, keepdims=True)


def random_tables(dag, n_states, rng):
    return [np.exp(log_softmax(table, axis=1)) for table in free_tables(dag, n_states, rng, 1.0)]


def random_joint(dag, n_states, rng):
    """Any positive one where the structure is perfect, otherwise one of the structure."""
    if is_perfect(dag):
        return rng.dirichlet(np.full(np.prod(n_states), 0.5)).reshape(n_states) * 0.999 + 0.001 / np.prod(n_states)
    return joint_of(dag, random_tables(dag, n_states, rng), n_states)


@settings(max_examples=60, deadline=None)
@given(perfect_structures(), st.sampled_from([0.1, 1.0, 5.0]))
def test_class_probabilities_stay_and_family_marginals_become_those_of_the_counts(structure, scale):
    dag, n_states, rng = structure
    logs = free_tables(dag, n_states, rng, scale)
    counted = random_joint(dag, n_states, rng)
    found = most_likely_tables(dag, logs, n_states, [1_000 * own for own in family_marginals(dag, counted)])
    expected = log_posterior(dag, logs, n_states)
    got = log_posterior(dag, [np.log(table) for table in found.tables], n_states)
    np.testing.assert_allclose(np.exp(got), np.exp(expected), atol=1e-10)
    joint = joint_of(dag, found.tables, n_states)
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)
    for family, own, wanted in zip(dag.families, without_class(dag, joint), without_class(dag, counted), strict=True):
        if len(n_states) - 1 in family.nodes or is_perfect(dag):
            np.testing.assert_allclose(own, wanted, atol=1e-6)
        else:
            np.testing.assert_allclose(given_parents(own), given_parents(wanted), atol=1e-6)
    assert found.difference < 1e-6


@settings(max_examples=30, deadline=None)
@given(perfect_structures())
def test_no_network_that_classifies_alike_makes_the_counts_more_likely(structure):
    dag, n_states, rng = structure
    tables = random_tables(dag, n_states, rng)
    logs = [np.log(table) for table in tables]
    counted = random_joint(dag, n_states, rng)
    counts = family_marginals(dag, counted)

    def log_likelihood(tables):
        return float((counted * np.log(joint_of(dag, tables, n_states))).sum())

    best = log_likelihood(most_likely_tables(dag, logs, n_states, counts).tables)
    assert best >= log_likelihood(tables) - 1e-9
    for share in (0.01, 0.3, 1.0):
        others = family_marginals(dag, (1 - share) * counted + share * random_joint(dag, n_states, rng))
        alike = most_likely_tables(dag, logs, n_states, others).tables
        assert best >= log_likelihood(alike) - 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([[(), (), ()], [(), (0,), (0,)], [(), (0,), (0, 1), (1, 2)]]))
def test_where_counts_disagree_each_state_has_its_frequency_under_its_attribute_parents(seed, parents):
    """As families do that have counted the rows without a gap in them."""
    rng = np.random.default_rng(seed)
    dag, n_states = Dag.augmented_naive_bayes(parents), (*(2, 3, 2, 2)[: len(parents)], 3)
    counts = [rng.uniform(0.1, 9.0, family.shape(n_states)) for family in dag.families]
    found = most_likely_tables(dag, free_tables(dag, n_states, rng, 1.0), n_states, counts)
    joint = joint_of(dag, found.tables, n_states)
    for family, counted, own in zip(dag.families[:-1], counts, without_class(dag, joint), strict=False):
        cells = counted.reshape(family.class_shape(n_states)).sum(axis=1)
        np.testing.assert_allclose(given_parents(own).reshape(cells.shape), given_parents(cells), atol=1e-6)


def test_with_one_class_the_tables_are_the_frequencies():
    rng = np.random.default_rng(0)
    dag, n_states = Dag.augmented_naive_bayes([(), (0,), (0, 1)]), (3, 2, 4, 1)
    counts = family_marginals(dag, rng.dirichlet(np.ones(24)).reshape(n_states))
    found = most_likely_tables(dag, free_tables(dag, n_states, rng, 3.0), n_states, counts)
    for family, table, own in zip(dag.families, found.tables, counts, strict=True):
        np.testing.assert_allclose(table, given_parents(own).reshape(family.shape(n_states)), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 26])
@pytest.mark.parametrize("parents", [[(), (), ()], [(), (0,), (1,)]])
@pytest.mark.parametrize("extreme", ["zeros", "certain", "unseen", "overflow"])
def test_entries_near_zero_states_nearly_without_rows_and_one_state_do_no_harm(extreme, parents, n_classes):
    rng = np.random.default_rng(1)
    dag, n_states = Dag.augmented_naive_bayes(parents), (3, 1, 4, n_classes)
    logs = free_tables(dag, n_states, rng, 60.0 if extreme == "certain" else 1.0)
    counted = random_joint(dag, n_states, rng)
    if extreme == "zeros":
        logs = [np.where(rng.random(table.shape) < 0.3, np.log(1e-300), table) for table in logs]
    if extreme == "overflow":
        logs = [table + 900.0 for table in logs]
    if extreme == "unseen":
        counted[2] *= 1e-9
        counted /= counted.sum()
    found = most_likely_tables(dag, logs, n_states, family_marginals(dag, counted))
    joint = joint_of(dag, found.tables, n_states)
    for own, wanted in zip(without_class(dag, joint), without_class(dag, counted), strict=True):
        np.testing.assert_allclose(own, wanted, atol=1e-6)
    possible = joint.sum(axis=-1) > 1e-290  # a table holds no entry below 1e-300
    got = log_posterior(dag, [np.log(table) for table in found.tables], n_states)
    expected = log_posterior(dag, logs, n_states)
    np.testing.assert_allclose(np.exp(got[possible]), np.exp(expected[possible]), atol=1e-10)


def test_an_entry_that_underflows_gets_the_stated_floor():
    dag = Dag.augmented_naive_bayes([()])
    logs, counts = [np.array([[0.0, -5000.0], [0.0, 0.0]]), np.zeros((1, 2))], [np.ones((2, 2)), np.ones((1, 2))]
    assert most_likely_tables(dag, logs, (2, 2), counts).tables[0].min() == 1e-300
