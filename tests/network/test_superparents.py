"""Networks of superparents in one array: the networks they were, and the same mixture, against its joint by cells."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import p_of_state, random_network
from tanager.missing.choose import choose_rule
from tanager.network.mixture import MixtureNetwork, SuperparentNetworks
from tanager.network.network import Network
from tanager.structure.averaged import superparent_dag, superparents_of
from tanager.structure.dag import Dag

N_STATES = [2, 3, 2, 3, 3]
few = settings(max_examples=10, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def random_members(seed: int, n: int, zeros: bool = False) -> tuple[Network, ...]:
    """A few networks with n superparents in any order, and any tables."""
    generator = np.random.default_rng(seed)
    columns = random_network(0, N_STATES).columns
    chains = list(permutations(range(4), n))
    members = []
    for chain in [chains[place] for place in generator.integers(0, len(chains), 4)]:
        parents = [chain[: chain.index(node)] if node in chain else chain for node in range(4)]
        dag = Dag.augmented_naive_bayes(parents)
        tables = [generator.dirichlet(np.ones(N_STATES[f.child]), f.shape(N_STATES)[0]) for f in dag.families]
        if zeros:
            tables = [np.eye(table.shape[1])[generator.integers(0, table.shape[1], len(table))] for table in tables]
        members.append(Network(columns, dag, tuple(tables), columns[-1].name))
    return tuple(members)


def mixed(members: tuple[Network, ...], weights: np.ndarray, row: np.ndarray) -> np.ndarray:
    """P(class, cells present), by a sum over all that the missing cells may hold."""
    held = [[code] if code < states else range(states) for code, states in zip(row, N_STATES, strict=False)]
    result = np.zeros(N_STATES[-1])
    for *cell, c in product(*held, range(N_STATES[-1])):
        result[c] += sum(w * p_of_state(m, (*cell, c)) for w, m in zip(weights, members, strict=True))
    return result


def all_rows() -> np.ndarray:
    """Every row of four attributes, the code of a missing cell included."""
    return np.array(list(product(*(range(states + 1) for states in N_STATES[:-1]))), dtype=np.uint8)


@few
@given(seeds, st.sampled_from([0, 1, 2, 3]), st.booleans())
def test_the_joint_is_the_weighted_mean_with_missing_cells_summed_out(seed, n, zeros):
    members = random_members(seed, n, zeros)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(members)))
    rows = np.random.default_rng(seed).permutation(all_rows())[:40]
    packed = SuperparentNetworks.of(members)
    assert packed is not None
    found = np.exp(packed.log_mixture(rows, weights))
    np.testing.assert_allclose(found, [mixed(members, weights, row) for row in rows], rtol=1e-12)


@few
@given(seeds, st.sampled_from([0, 1, 2, 3]))
def test_a_member_is_the_network_that_it_was(seed, n):
    members = random_members(seed, n)
    packed = SuperparentNetworks.of(members)
    assert len(packed) == len(members)
    for found, member in zip(packed, members, strict=True):
        assert found.dag == member.dag
        for table, own in zip(found.tables, member.tables, strict=True):
            np.testing.assert_array_equal(table, own)
    assert [each.dag for each in packed[1:3]] == [each.dag for each in members[1:3]]


@few
@given(seeds, st.permutations(range(4)))
def test_the_order_of_nodes_changes_nothing(seed, order):
    members, order = random_members(seed, 2), [*order, 4]
    turned = SuperparentNetworks.of(members).reordered(order)
    for found, member in zip(turned, members, strict=True):
        expected = member.reordered(order)
        assert found.dag == expected.dag
        for table, own in zip(found.tables, expected.tables, strict=True):
            np.testing.assert_array_equal(table, own)


def test_a_network_that_leaves_out_a_row_has_no_say_in_it():
    members, weights, rows = random_members(7, 2), np.array([0.1, 0.2, 0.3, 0.4]), all_rows()
    left_out = np.random.default_rng(0).random((4, len(rows))) < 0.4
    left_out[:, left_out.all(axis=0)] = False
    found = np.exp(SuperparentNetworks.of(members).log_mixture(rows, weights, left_out))
    expected = [mixed(members, weights * ~out, row) for row, out in zip(rows, left_out.T, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("least", [1e-3, 1e-30, 1e-200])
def test_products_far_below_the_smallest_number_keep_their_digits(least):
    """600 attributes, each with the same small probability: the logarithm of a sum of powers."""
    n, columns = 600, random_network(0, [2] * 601, density=0.0).columns
    table = np.array([[1.0 - least, least], [1.0 - 2 * least, 2 * least]])
    members = []
    for parent in (0, 1):
        dag = superparent_dag(n, (parent,))
        tables = [np.vstack([table] * (f.shape([2] * (n + 1))[0] // 2)) for f in dag.families[:-1]]
        members.append(Network(columns, dag, (*tables, np.array([[0.5, 0.5]])), columns[-1].name))
    found = SuperparentNetworks.of(members).log_mixture(np.ones((1, n), np.uint8), np.array([0.25, 0.75]))
    expected = np.log(0.5) + n * np.log([least, 2 * least])
    np.testing.assert_allclose(found[0], expected, rtol=1e-13)


def test_members_of_very_unlike_size_add_up():
    """A network that a row is impossible under, or nearly, takes nothing from the others."""
    columns, n = random_network(0, [2] * 11).columns, 10
    dag, members = superparent_dag(n, (0,)), []
    for p in (0.0, 1e-150, 1e-60, 0.5):
        tables = [np.tile([1.0 - p, p], (f.shape([2] * (n + 1))[0], 1)) for f in dag.families[:-1]]
        members.append(Network(columns, dag, (*tables, np.array([[0.5, 0.5]])), columns[-1].name))
    for order in permutations(range(4)):
        packed = SuperparentNetworks.of([members[place] for place in order])
        found = packed.log_mixture(np.ones((1, n), np.uint8), np.full(4, 0.25))
        np.testing.assert_allclose(found[0], np.log(0.25 * 0.5) + n * np.log(0.5), rtol=1e-14)
    rare = SuperparentNetworks.of(members[:3]).log_mixture(np.ones((1, n), np.uint8), np.full(3, 1 / 3))
    np.testing.assert_allclose(rare[0], np.log(0.5 / 3) + n * np.log(1e-60), rtol=1e-14)


def test_a_mixture_answers_the_same_network_by_network(monkeypatch):
    members, rows = random_members(3, 2), all_rows()
    mixture = MixtureNetwork(members, np.array([0.1, 0.2, 0.3, 0.4]))
    answers = []
    for work in (0, np.inf):
        monkeypatch.setattr("tanager.network.mixture.WORK_WORTH_COMPILING", work)
        answers.append(choose_rule(mixture).log_posterior(rows))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_the_superparents_of_a_structure_are_found_again(n):
    for chain in permutations(range(5), n):
        parents = [chain[: chain.index(node)] if node in chain else chain for node in range(5)]
        assert superparents_of(Dag.augmented_naive_bayes(parents)) == chain
    assert superparents_of(Dag.augmented_naive_bayes([(), (0,), (1,)])) is None
    assert superparents_of(Dag(((), ()))) is None


def test_networks_of_other_kinds_stay_apart():
    tree = random_members(0, 0)[0]
    tree = Network(tree.columns, Dag.augmented_naive_bayes([(), (0,), (1,), (2,)]), chain_tables(), tree.target)
    assert SuperparentNetworks.of((tree, tree)) is None
    assert SuperparentNetworks.of((*random_members(0, 1), *random_members(0, 2))) is None


def chain_tables() -> tuple[np.ndarray, ...]:
    dag = Dag.augmented_naive_bayes([(), (0,), (1,), (2,)])
    return tuple(np.full(f.shape(N_STATES), 1 / N_STATES[f.child]) for f in dag.families)
