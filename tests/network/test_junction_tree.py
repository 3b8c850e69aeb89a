"""The junction tree against the joint written out in full and closed forms, in NumPy and compiled."""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import joint, random_network
from tanager.errors import DataError, MemoryLimitError, OptionError
from tanager.network.inference import evidence_rows
from tanager.network.inference.evidence_rows import distinct_rows
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.network import Network
from tanager.runtime.resources import thread_limit
from tanager.structure.dag import Dag

WAYS = {"numpy": 2**62, "compiled": 0}


@contextmanager
def way(name):
    """Compute in NumPy or compiled, whatever the number of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence_rows, "WORK_WORTH_COMPILING", WAYS[name])
        yield


def with_zeros(network, seed):
    """The same network with a third of the entries of every table set to zero, one entry of a row at least kept."""
    rng = np.random.default_rng(seed)
    tables = []
    for table in network.tables:
        kept = rng.random(table.shape) > 1 / 3
        kept[np.arange(len(table)), rng.integers(0, table.shape[1], len(table))] = True
        tables.append(np.where(kept, table, 0) / np.where(kept, table, 0).sum(axis=1, keepdims=True))
    return Network(network.columns, network.dag, tuple(tables), network.target)


@st.composite
def sparse_networks(draw, max_nodes=6):
    seed = draw(st.integers(0, 2**32 - 1))
    n_states = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_nodes))
    network = random_network(seed, n_states, draw(st.sampled_from([0.0, 0.3, 0.7, 1.0])))
    return with_zeros(network, seed) if draw(st.booleans()) else network


def evidence_table(network):
    """P(cells present) with an axis of n_states + 1 for each node: at the end the sum over its states, so `missing`."""
    cells = np.zeros(network.n_states)
    for state, p in joint(network).items():
        cells[state] = p
    for axis in range(cells.ndim):
        cells = np.concatenate([cells, cells.sum(axis=axis, keepdims=True)], axis=axis)
    return cells


def every_pattern(network, seed=0, at_most=300):
    """Rows (codes) for every state or gap of every node, in random order, some left out when there are too many."""
    patterns = np.array([*product(*(range(r + 1) for r in network.n_states))])
    return np.random.default_rng(seed).permutation(patterns)[:at_most]


def with_state(codes, nodes, states, n_states):
    """The rows that also hold these states, and which of the rows do not contradict them."""
    changed = codes.copy()
    changed[:, nodes] = states
    missing = codes[:, nodes] == np.array(n_states)[list(nodes)]
    return tuple(changed.T), (missing | (codes[:, nodes] == states)).all(axis=1)


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=40, deadline=None)
@given(sparse_networks(), st.data())
def test_the_joint_with_queries_is_a_sum_of_the_joint_for_every_evidence(name, network, data):
    query = data.draw(st.lists(st.sampled_from(range(len(network.nodes))), max_size=3, unique=True))
    codes, cells = every_pattern(network), evidence_table(network)
    with way(name):
        found = JunctionTree.of(network.dag, network.n_states, query).log_joint(network.tables, codes)
        evidence = JunctionTree.of(network.dag, network.n_states).log_evidence(network.tables, codes)
    np.testing.assert_allclose(np.exp(evidence), cells[tuple(codes.T)], rtol=1e-11)
    assert found.shape == (len(codes), *(network.n_states[node] for node in query))
    for states in product(*(range(network.n_states[node]) for node in query)):
        at, agrees = with_state(codes, query, states, network.n_states)
        np.testing.assert_allclose(np.exp(found[:, *states]), np.where(agrees, cells[at], 0.0), rtol=1e-11)


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=30, deadline=None)
@given(sparse_networks(), st.data())
def test_expected_counts_and_posteriors_are_ratios_of_sums_of_the_joint(name, network, data):
    codes, cells = every_pattern(network), evidence_table(network)
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=len(codes))
    evidence = cells[tuple(codes.T)]
    tree = JunctionTree.of(network.dag, network.n_states)
    with way(name):
        counts = tree.expected_counts(network.tables, codes, weights)
        posteriors = tree.posteriors(network.tables, codes, range(len(network.nodes)))
    np.testing.assert_allclose(np.exp(counts.log_evidence), evidence, rtol=1e-11)
    possible = evidence > 0
    for family in network.dag.families:
        expected = np.zeros([network.n_states[node] for node in family.nodes])
        for states in product(*map(range, expected.shape)):
            at, agrees = with_state(codes, family.nodes, states, network.n_states)
            shares = np.where(agrees, cells[at], 0.0)[possible] / evidence[possible]
            expected[states] = weights[possible] @ shares
        np.testing.assert_allclose(
            counts.tables[family.child], expected.reshape(family.shape(network.n_states)), atol=1e-11
        )
    for node, posterior in enumerate(posteriors):
        assert np.isnan(posterior[~possible]).all()
        for k in range(network.n_states[node]):
            at, agrees = with_state(codes, [node], [k], network.n_states)
            expected = np.where(agrees, cells[at], 0.0)[possible] / evidence[possible]
            np.testing.assert_allclose(posterior[possible, k], expected, atol=1e-12)


@pytest.mark.parametrize("name", WAYS)
def test_ten_nodes_of_which_some_are_always_known_and_some_never(name):
    network = random_network(8, [2, 3, 2, 2, 3, 2, 2, 3, 2, 2], density=0.35)
    codes, cells = gappy_codes(network, 300), evidence_table(network)
    codes[:, [1, 5]] %= np.array(network.n_states)[[1, 5]]
    codes[:, [0, 8]] = np.array(network.n_states)[[0, 8]]
    trees = [
        JunctionTree.of(network.dag, network.n_states, [3]),
        JunctionTree.of(network.dag, network.n_states, [3], known=[1, 5], unknown=[0, 8]),
    ]
    for tree in trees:
        with way(name):
            found = tree.log_joint(network.tables, codes)
        for k in range(2):
            at, agrees = with_state(codes, [3], [k], network.n_states)
            np.testing.assert_allclose(np.exp(found[:, k]), np.where(agrees, cells[at], 0.0), rtol=1e-11)


@settings(max_examples=40, deadline=None)
@given(sparse_networks())
def test_the_most_probable_state_has_the_largest_joint_of_those_that_fit(network):
    codes = every_pattern(network, at_most=40)
    states, logs = JunctionTree.of(network.dag, network.n_states).most_probable(network.tables, codes)
    cells = joint(network)
    for row, state, log_probability in zip(codes, states, logs, strict=True):
        fitting = [s for s in cells if all(c in (k, r) for k, c, r in zip(s, row, network.n_states, strict=True))]
        largest = max(cells[s] for s in fitting)
        assert math.exp(log_probability) == pytest.approx(largest, rel=1e-11)
        if largest > 0:
            assert tuple(state.tolist()) in fitting
            assert cells[tuple(state.tolist())] == pytest.approx(largest, rel=1e-11)


def test_map_state_gives_labels_and_keeps_the_evidence():
    network = random_network(3, [2, 3, 2], density=0.7)
    best = max((s for s in joint(network) if s[1] == 2), key=joint(network).__getitem__)
    assert network.map_state({"n1": "s2"}) == {f"n{node}": f"s{code}" for node, code in enumerate(best)}
    with pytest.raises(DataError, match=r"probability zero.*: n0='s0' cannot occur\.$"):
        random_network(2, [2, 2], density=1.0, zeros=True).map_state({"n0": "s0", "n1": "s1"})


def symmetric_chain(n, stay):
    """x_0 -> x_1 -> ... of two states each, which change with probability 1 - stay."""
    dag = Dag(((), *((node - 1,) for node in range(1, n))))
    return dag, (2,) * n, [np.full((1, 2), 0.5), *[np.array([[stay, 1 - stay], [1 - stay, stay]])] * (n - 1)]


@pytest.mark.parametrize("name", WAYS)
def test_a_chain_of_a_thousand_nodes_does_not_underflow(name):
    n, stay = 1_000, 0.999
    dag, n_states, tables = symmetric_chain(n, stay)
    codes = np.full((3, n), 2)
    codes[0, 0] = 0
    codes[1] = np.arange(n) % 2
    codes[2, ::2] = 0  # every second one is missing
    with way(name):
        last = JunctionTree.of(dag, n_states, [n - 1]).posterior(tables, codes)
        counts = JunctionTree.of(dag, n_states).expected_counts(tables, codes)
    spread = (2 * stay - 1) ** (n - 1)
    assert last[0] == pytest.approx([(1 + spread) / 2, (1 - spread) / 2], rel=1e-9)
    twice = stay**2 + (1 - stay) ** 2
    assert counts.log_evidence == pytest.approx(
        [math.log(0.5), math.log(0.5) + (n - 1) * math.log(1 - stay), math.log(0.5) + (n / 2 - 1) * math.log(twice)],
        rel=1e-10,
    )
    assert sum(table.sum() for table in counts.tables) == pytest.approx(3 * n)


def gappy_codes(network, n_rows, seed=0):
    return np.random.default_rng(seed).integers(0, np.array(network.n_states) + 1, (n_rows, len(network.nodes)))


@pytest.mark.parametrize("name", WAYS)
def test_order_of_rows_size_of_blocks_and_number_of_threads_change_nothing(name, monkeypatch):
    network = random_network(5, [3, 2, 4, 2, 3, 3], density=0.5)
    codes = gappy_codes(network, 700)
    weights = np.random.default_rng(1).uniform(size=700)
    order = np.random.default_rng(2).permutation(700)
    tree, query = JunctionTree.of(network.dag, network.n_states), JunctionTree.of(network.dag, network.n_states, [2])
    results = []
    with way(name):
        for n_jobs, compiled_rows, numpy_cells, to_sample in (
            (1, 2_048, 1 << 18, 10**9),
            (3, 7, 500, 10),
            (2, 1, 1, 10),
        ):
            monkeypatch.setattr(evidence_rows, "ROWS_WORTH_A_SAMPLE", to_sample)  # rows in which no two are alike
            monkeypatch.setattr(evidence_rows, "COMPILED_BLOCK_ROWS", compiled_rows)
            monkeypatch.setattr(evidence_rows, "NUMPY_BLOCK_CELLS", numpy_cells)
            with thread_limit(n_jobs):
                counts = tree.expected_counts(network.tables, codes[order], weights[order])
                posteriors = tree.posteriors(network.tables, codes[order], [0, 4])
                asked = query.posterior(network.tables, codes[order])
            back = np.argsort(order)
            results.append([*counts.tables, counts.log_evidence[back], *(p[back] for p in (*posteriors, asked))])
            order = np.arange(700)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            np.testing.assert_allclose(second, first, rtol=1e-11)


def test_the_number_of_threads_does_not_change_a_bit_of_the_counts():
    network = random_network(5, [3, 2, 4, 2, 3, 3], density=0.5)
    codes = gappy_codes(network, 5_000)
    tree = JunctionTree.of(network.dag, network.n_states)
    found = []
    with way("compiled"):
        for n_jobs in (1, 2, 3):
            with thread_limit(n_jobs):
                found.append(tree.expected_counts(network.tables, codes).tables)
    for tables in found[1:]:
        assert all((a == b).all() for a, b in zip(found[0], tables, strict=True))


@pytest.mark.parametrize("name", WAYS)
def test_no_rows_give_no_answers_and_zero_counts(name):
    network = random_network(5, [3, 2, 4], density=0.5)
    none = np.empty((0, 3), dtype=np.uint8)
    tree = JunctionTree.of(network.dag, network.n_states)
    with way(name):
        assert JunctionTree.of(network.dag, network.n_states, [2]).posterior(network.tables, none).shape == (0, 4)
        assert tree.posteriors(network.tables, none, [0])[0].shape == (0, 3)
        assert not any(table.any() for table in tree.expected_counts(network.tables, none).tables)
        assert tree.most_probable(network.tables, none)[0].shape == (0, 3)


def clique_of(n):
    """Nodes of three states, each a child of all before it."""
    dag = Dag(tuple(tuple(range(node)) for node in range(n)))
    rng = np.random.default_rng(0)
    return dag, (3,) * n, [rng.dirichlet(np.ones(3), size=3**node) for node in range(n)]


@pytest.mark.parametrize("name", WAYS)
def test_a_clique_that_would_not_fit_is_refused_by_name_unless_the_evidence_makes_it_small(name):
    dag, n_states, tables = clique_of(9)
    names = [f"part {node}" for node in range(9)]
    tree = JunctionTree.of(dag, n_states, names=names, memory_limit=100_000)
    codes = np.full((2, 9), 3)
    codes[1, 0] = 0
    with way(name), pytest.raises(MemoryLimitError, match=r"'part 0' \(3 states\).*'part 8'.*GiB") as refused:
        tree.expected_counts(tables, codes)
    assert "part 3" in str(refused.value)
    codes[:, :4] = 0
    with way(name):
        np.testing.assert_allclose(
            tree.log_evidence(tables, codes)[0], sum(math.log(tables[node][0, 0]) for node in range(4))
        )


@pytest.mark.parametrize("name", WAYS)
def test_cliques_that_outgrow_the_first_scratch_memory_are_computed(name):
    dag, n_states, tables = clique_of(9)
    codes = np.full((3, 9), 3)
    codes[1, 8] = 0  # the last child is seen, so nothing is barren
    with way(name):
        counts = JunctionTree.of(dag, n_states).expected_counts(tables, codes)
    cells = tables[0][0]
    for table in tables[1:]:
        cells = (cells.reshape(-1, 1) * table).reshape(-1)
    given = cells.reshape(-1, 3)[:, 0] / cells.reshape(-1, 3)[:, 0].sum()
    expected = 2 * cells.reshape(-1, 3)
    expected[:, 0] += given
    np.testing.assert_allclose(counts.tables[8], expected, atol=1e-12)


def test_a_node_promised_known_must_be():
    dag, n_states, tables = symmetric_chain(4, 0.9)
    with pytest.raises(DataError, match="node 1 is missing"):
        JunctionTree.of(dag, n_states, known=[1]).log_evidence(tables, np.full((1, 4), 2))


@settings(max_examples=20, deadline=None)
@given(sparse_networks(max_nodes=4), st.data())
def test_posteriors_of_a_frame_agree_with_queries_row_by_row(network, data):
    codes = every_pattern(network, at_most=6)
    cells = [[f"s{c}" if c < r else None for c, r in zip(row, network.n_states, strict=True)] for row in codes]
    frame = pd.DataFrame(cells, columns=list(network.nodes), dtype=object)
    asked = data.draw(st.lists(st.sampled_from(network.nodes), min_size=1, max_size=2, unique=True))
    found = network.posterior(frame, asked, impossible="nan")
    assert list(found) == asked
    for row in range(len(codes)):
        evidence = {name: cell for name, cell in zip(network.nodes, cells[row], strict=True) if cell is not None}
        for name in asked:
            if np.isnan(found[name][row]).any():
                with pytest.raises(DataError, match="probability zero"):
                    network.query(name, evidence)
            else:
                answer = [*network.query(name, evidence).values()]
                np.testing.assert_allclose(found[name][row], answer, atol=1e-12)


def test_an_impossible_row_is_named_with_the_cells_that_contradict_and_no_others():
    dag, _, _ = symmetric_chain(6, 1.0)
    columns = random_network(0, [2] * 6).columns
    tables = [np.full((1, 2), 0.5), *[np.eye(2)] * 4, np.full((2, 2), 0.5)]
    network = Network(columns, dag, tuple(tables))
    frame = pd.DataFrame({"n0": ["s0", "s0"], "n1": ["s0", None], "n3": ["s0", "s1"], "n5": ["s1", "s1"]})
    with pytest.raises(DataError, match=r"row 1 .*probability zero.*: n0='s0', n3='s1' cannot occur together\."):
        network.posterior(frame, "n2")
    assert np.isnan(network.posterior(frame, "n2", impossible="nan")["n2"]).tolist() == [[False] * 2, [True] * 2]
    assert network.log_likelihood(frame)[1] == -np.inf
    with pytest.raises(OptionError, match="impossible='zero'"):
        network.posterior(frame, "n2", impossible="zero")
    with pytest.raises(OptionError, match="asked for twice"):
        network.query(["n0", "n0"])


def test_rows_that_share_a_hash_are_told_apart():
    constant = 0x9E3779B97F4A7C15  # the first column 1 hashes to constant ^ (constant >> 32), and 0 to 0
    codes = np.array([[0, constant ^ (constant >> 32)], [1, 0], [1, 0]], dtype=np.uint64)
    first, kind = distinct_rows(codes, [0, 1])
    assert len(first) == 2
    assert (codes[first][kind] == codes).all()
