"""CPTs of free tables against enumeration: valid, the same P(class | attributes), the most likely of their kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from oracle import joint_distribution
from random_networks import free_tables, log_posterior, perfect_structures
from tanager.errors import OptionError
from tanager.network.normalize import most_likely_tables, normalize_tables
from tanager.structure.dag import Dag, is_perfect, is_perfect_for


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


def plus_class_free(dag, logs, n_states, rng, scale=2.0):
    """The same P(class | attributes): a number without the class is added to each cell of each family."""
    result = []
    for family, table in zip(dag.families, logs, strict=True):
        attributes, classes, states = family.class_shape(n_states)
        addend = scale * rng.normal(size=(attributes, 1, 1 if family.child == len(n_states) - 1 else states))
        result.append((table.reshape(attributes, classes, states) + addend).reshape(table.shape))
    return result


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
    for scale in (0.01, 0.3, 2.0):
        alike = normalize_tables(dag, plus_class_free(dag, logs, n_states, rng, scale), n_states)
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
@pytest.mark.parametrize("extreme", ["zeros", "certain", "unseen"])
def test_entries_near_zero_states_nearly_without_rows_and_one_state_do_no_harm(extreme, parents, n_classes):
    rng = np.random.default_rng(1)
    dag, n_states = Dag.augmented_naive_bayes(parents), (3, 1, 4, n_classes)
    logs = free_tables(dag, n_states, rng, 60.0 if extreme == "certain" else 1.0)
    counted = random_joint(dag, n_states, rng)
    if extreme == "zeros":
        logs = [np.where(rng.random(table.shape) < 0.3, np.log(1e-300), table) for table in logs]
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


def test_a_structure_that_is_not_perfect_for_the_class_is_refused():
    dag, n_states = Dag(((), (0, 2), ())), (2, 2, 2)  # the collider of theorem 4
    with pytest.raises(OptionError, match="not perfect"):
        normalize_tables(dag, [np.zeros(family.shape(n_states)) for family in dag.families], n_states)
