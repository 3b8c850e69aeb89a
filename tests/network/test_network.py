"""Network: queries, likelihoods, samples and tables against the joint distribution written out in full."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import joint, networks, random_network
from tanager.counts.family import Family
from tanager.errors import DataError, OptionError
from tanager.network.log_joint import LogJoint
from tanager.network.network import Network
from tanager.runtime.resources import thread_limit
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

COIN = ColumnSchema("coin", "categorical", ("heads", "tails"))


@settings(max_examples=60, deadline=None)
@given(networks(), st.data())
def test_a_query_is_the_ratio_of_two_sums_over_the_joint(network, data):
    nodes = range(len(network.nodes))
    evidence = {
        node: data.draw(st.integers(0, network.n_states[node] - 1))
        for node in data.draw(st.sets(st.sampled_from(nodes)))
    }
    asked = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2, unique=True))
    fitting = {s: p for s, p in joint(network).items() if all(s[node] == code for node, code in evidence.items())}
    answer = network.query(
        [network.nodes[node] for node in asked], {network.nodes[node]: f"s{code}" for node, code in evidence.items()}
    )
    for states, probability in answer.items():
        agree = (
            p for s, p in fitting.items() if all(f"s{s[node]}" == k for node, k in zip(asked, states, strict=True))
        )
        assert probability == pytest.approx(sum(agree) / sum(fitting.values()), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(networks(max_nodes=4))
def test_the_log_joint_is_the_joint_with_the_class_in_every_state(network):
    expected = joint(network)
    attributes = sorted({state[:-1] for state in expected})
    codes = np.array(attributes, dtype=np.uint8, order="F")
    found = np.exp(network.log_joint(codes))
    for row, state in enumerate(attributes):
        for c in range(network.n_states[-1]):
            assert found[row, c] == pytest.approx(expected[(*state, c)], rel=1e-12)


def test_the_compiled_log_joint_equals_the_reference(monkeypatch):
    network = random_network(5, [3, 2, 4, 1, 3, 3], density=0.6)
    sampled = np.random.default_rng(0)
    codes = np.asfortranarray(
        np.stack([sampled.integers(0, r, 5_000) for r in network.n_states[:-1]], axis=1), np.uint8
    )
    reference = network.log_joint(codes)
    monkeypatch.setattr("tanager.network.log_joint.WORK_WORTH_COMPILING", 0)
    for n_jobs in (1, 2):
        with thread_limit(n_jobs):
            np.testing.assert_allclose(network.log_joint(codes), reference, rtol=1e-12)


def test_samples_follow_the_joint():
    network = random_network(3, [2, 3, 2], density=0.8)
    drawn = network.sample(40_000, random_state=1)
    rows = list(zip(*(drawn[name] for name in network.nodes), strict=True))
    for state, p in joint(network).items():
        share = rows.count(tuple(f"s{k}" for k in state)) / len(rows)
        assert share == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / len(rows)) + 1e-12)


def test_a_labelled_table_gives_the_row_of_a_configuration():
    network = random_network(11, [3, 2, 2], density=1.0)
    child = next(name for name in network.nodes if len(network.parents[name]) == 2)
    table = network.table(child)
    for configuration, row in table.rows():
        evidence = dict(zip(table.parents, configuration, strict=True))
        assert network.query(child, evidence) == pytest.approx(row)
        assert table.row(evidence) == row
    assert str(table).splitlines()[0] == f"P({child} | {', '.join(table.parents)})"


def test_evidence_on_a_numeric_node_may_be_a_number():
    size = ColumnSchema("size", "numeric", cuts=(1.5, 3.0))
    network = Network(
        (size, COIN), Dag(((1,), ())), (np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]), np.array([[0.5, 0.5]]))
    )
    assert network.query("coin", {"size": 3.0}) == network.query("coin", {"size": ">= 3"})
    assert network.query("coin", {"size": 1.5})["heads"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((np.array([[0.5, 0.6]]),), "does not sum to one"),
        ((np.array([[-0.5, 1.5]]),), "negative or not a number"),
        ((np.array([[np.nan, 1.0]]),), "negative or not a number"),
        ((np.array([[0.2, 0.3, 0.5]]),), r"has shape \(1, 3\); its parents and states need \(1, 2\)"),
    ],
)
def test_tables_that_are_no_distribution_are_refused(tables, message):
    with pytest.raises(DataError, match=message):
        Network((COIN,), Dag(((),)), tables)


def test_unknown_nodes_and_states_get_the_nearest_names():
    network = random_network(2, [2, 2])
    with pytest.raises(OptionError, match="no node 'n9'; the nearest are 'n0', 'n1'"):
        network.query("n9")
    with pytest.raises(OptionError, match="node 'n0' has no state 's7'"):
        network.query("n1", {"n0": "s7"})


def test_a_network_without_a_class_has_no_log_joint():
    network = Network((COIN,), Dag(((),)), (np.array([[0.5, 0.5]]),))
    with pytest.raises(OptionError, match="no class"):
        _ = network.log_joint


def test_missing_codes_of_lone_attributes_add_nothing():
    network = random_network(4, [3, 2], density=0.0)
    lone = LogJoint.of(Dag(((1,), ())), (np.full((2, 3), 1 / 3), network.tables[1]), network.n_states)
    missing = np.array([[3]], dtype=np.uint8)
    np.testing.assert_allclose(np.exp(lone(missing)), network.tables[1])


@settings(max_examples=20, deadline=None)
@given(networks(max_nodes=4), st.data())
def test_family_probabilities_are_sums_of_the_joint(network, data):
    nodes = data.draw(st.lists(st.sampled_from(range(len(network.nodes))), min_size=1, max_size=3, unique=True))
    family = Family.of(nodes[0], nodes[1:])
    expected = np.zeros([network.n_states[node] for node in family.nodes])
    for state, p in joint(network).items():
        expected[tuple(state[node] for node in family.nodes)] += p
    found = network.family_probabilities(family, network.n_states)
    np.testing.assert_allclose(found, expected.reshape(family.class_shape(network.n_states)), atol=1e-12)


def test_a_state_that_json_cannot_hold_is_named():
    odd = Network((ColumnSchema("odd", "categorical", (1j, 2j)),), Dag(((),)), (np.full((1, 2), 0.5),))
    with pytest.raises(DataError, match="column 'odd'"):
        odd.to_dict()
