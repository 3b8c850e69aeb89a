"""A mixture of networks and what its gaps mean, against the joint distribution cell by cell."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import joint, random_network
from tanager import explain
from tanager.errors import DataError
from tanager.missing.average import choose_rule
from tanager.network.mixture import MixtureNetwork
from tanager.network.network import Network
from tanager.structure.averaged import superparent_dag
from tanager.structure.dag import Dag

N_STATES = [2, 3, 2, 3]
few = settings(max_examples=10, deadline=None)
seeds = st.integers(0, 2**32 - 10)


def random_mixture(seed: int, n_members: int = 3) -> MixtureNetwork:
    members = tuple(random_network(seed + k, N_STATES) for k in range(n_members))
    return MixtureNetwork(members, np.random.default_rng(seed).dirichlet(np.ones(n_members)))


def mixture_of_superparents(seed: int, n: int, zeros: bool) -> MixtureNetwork:
    """A few networks with n superparents in any order, and any tables."""
    generator = np.random.default_rng(seed)
    columns = random_network(0, N_STATES).columns
    chains = list(permutations(range(3), n))
    members = []
    for chain in [chains[place] for place in generator.integers(0, len(chains), 4)]:
        parents = [chain[: chain.index(node)] if node in chain else chain for node in range(3)]
        dag = Dag.augmented_naive_bayes(parents)
        tables = [generator.dirichlet(np.ones(N_STATES[f.child]), f.shape(N_STATES)[0]) for f in dag.families]
        if zeros:
            tables = [np.eye(table.shape[1])[generator.integers(0, table.shape[1], len(table))] for table in tables]
        members.append(Network(columns, dag, tuple(tables), columns[-1].name))
    return MixtureNetwork(tuple(members), generator.dirichlet(np.ones(len(members))))


def mixed_joint(mixture: MixtureNetwork) -> dict[tuple[int, ...], float]:
    joints = [joint(member) for member in mixture.members]
    return {
        cell: sum(weight * found[cell] for weight, found in zip(mixture.weights, joints, strict=True))
        for cell in joints[0]
    }


def incomplete_rows() -> np.ndarray:
    """Every row of three attributes, the code of a missing cell included."""
    return np.array(list(product(*(range(states + 1) for states in N_STATES[:-1]))), dtype=np.uint8)


def class_joints(mixture: MixtureNetwork, rows: np.ndarray) -> np.ndarray:
    """(n_rows, n_classes) P(class, cells present), by sums over all cells of the joint."""
    result = np.zeros((len(rows), N_STATES[-1]))
    for cell, p in mixed_joint(mixture).items():
        agrees = ((rows == cell[:-1]) | (rows == N_STATES[:-1])).all(axis=1)
        result[agrees, cell[-1]] += p
    return result


@few
@given(seeds, st.sampled_from([None, 0, 1, 2, 3]), st.booleans())
def test_the_joint_is_the_weighted_mean_with_missing_cells_summed_out(seed, n, zeros):
    mixture = random_mixture(seed) if n is None else mixture_of_superparents(seed, n, zeros)
    rows = incomplete_rows()
    expected = class_joints(mixture, rows)
    found = choose_rule(mixture).log_posterior(rows, normalized=False)
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9)
    complete = (rows < N_STATES[:-1]).all(axis=1) & (expected.sum(axis=1) > 0)
    rows, expected = rows[complete], expected[complete]
    np.testing.assert_allclose(np.exp(mixture.log_joint(rows)), expected, rtol=1e-12)
    shares = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(mixture.log_joint(rows, normalized=True)), shares, rtol=1e-12)


@few
@given(seeds)
def test_queries_and_likelihoods_are_those_of_the_mean_of_the_joints(seed):
    mixture = random_mixture(seed)
    cells = mixed_joint(mixture)
    p = [sum(cells[cell] for cell in cells if cell[1] == 2 and cell[0] == k) for k in range(2)]
    found = mixture.query("n0", {"n1": "s2"})
    assert list(found) == ["s0", "s1"]
    assert list(found.values()) == pytest.approx([each / sum(p) for each in p], rel=1e-9)
    assert mixture.log_likelihood(pa.table({"n1": ["s2"]}))[0] == pytest.approx(np.log(sum(p)), rel=1e-9)


def test_the_order_of_nodes_changes_nothing():
    mixture, order = random_mixture(5), [2, 0, 1, 3]
    turned, rows = mixture.reordered(order), incomplete_rows()
    expected = choose_rule(mixture).log_posterior(rows)
    np.testing.assert_allclose(choose_rule(turned).log_posterior(rows[:, order[:-1]]), expected, rtol=1e-12)


def test_the_structure_of_a_mixture_has_the_edges_that_all_members_have():
    mixture = random_mixture(1)
    shared = set.intersection(*(set(member.edges) for member in mixture.members))
    assert set(mixture.edges) == shared
    assert len(shared) < min(len(member.edges) for member in mixture.members)


def test_the_strength_of_a_mixture_is_the_mean_of_the_strengths_of_its_members():
    one = random_network(2, N_STATES, density=1.0)
    other = random_network(2, N_STATES, density=1.0)
    other = type(one)(one.columns, one.dag, tuple(table[::-1] for table in one.tables), one.target)
    weights = np.array([0.25, 0.75])
    expected = weights @ [explain(one).edge_strength, explain(other).edge_strength]
    np.testing.assert_allclose(explain(MixtureNetwork((one, other), weights)).edge_strength, expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5]])
def test_weights_that_are_no_mean_are_refused(weights):
    member = random_network(0, N_STATES)
    with pytest.raises(DataError, match="weights"):
        MixtureNetwork((member, member), np.array(weights))


def test_members_of_other_columns_are_refused():
    members = random_network(0, N_STATES), random_network(0, [2, 2, 2, 3])
    with pytest.raises(DataError, match="same columns"):
        MixtureNetwork(members, np.array([0.5, 0.5]))


def test_evidence_that_is_impossible_in_one_member_is_answered_by_the_others():
    one, other = random_network(4, N_STATES, zeros=True), random_network(4, N_STATES)
    assert one.tables[0][:, 0].max() == 0.0
    mixture = MixtureNetwork((one, other), np.array([0.9, 0.1]))
    expected = other.query("n3", {"n0": "s0"})
    assert mixture.query("n3", {"n0": "s0"}) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(DataError, match="probability zero"):
        MixtureNetwork((one, one), np.array([0.5, 0.5])).query("n3", {"n0": "s0"})


def test_members_of_very_unlike_size_add_up():
    """A network that a row is impossible under, or nearly, takes nothing from the others."""
    columns, n = random_network(0, [2] * 11).columns, 10
    dag, members = superparent_dag(n, (0,)), []
    for p in (0.0, 1e-150, 1e-60, 0.5):
        tables = [np.tile([1.0 - p, p], (f.shape([2] * (n + 1))[0], 1)) for f in dag.families[:-1]]
        members.append(Network(columns, dag, (*tables, np.array([[0.5, 0.5]])), columns[-1].name))
    for order in permutations(range(4)):
        mixture = MixtureNetwork([members[place] for place in order], np.full(4, 0.25))
        found = mixture.log_joint(np.ones((1, n), np.uint8))
        np.testing.assert_allclose(found[0], np.log(0.25 * 0.5) + n * np.log(0.5), rtol=1e-14)
    rare = MixtureNetwork(members[:3], np.full(3, 1 / 3)).log_joint(np.ones((1, n), np.uint8))
    np.testing.assert_allclose(rare[0], np.log(0.5 / 3) + n * np.log(1e-60), rtol=1e-14)
