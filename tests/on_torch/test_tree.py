"""Trees on a device: gains and trees of the host, for more attributes than its pair tables can hold."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: E402

from oracle import random_batch  # noqa: E402
from tanager.counts.count_store import CountStore  # noqa: E402
from tanager.counts.engine import choose_engine  # noqa: E402
from tanager.scores import BIC, FCLL, LL  # noqa: E402
from tanager.structure import Dag, StructureTask, Tree  # noqa: E402
from tanager.structure.family_terms import FamilyTerms  # noqa: E402
from tanager.structure.tree import NO_PARENT  # noqa: E402
from tanager.torch import rows as torch_rows  # noqa: E402
from tanager.torch import tree as torch_tree  # noqa: E402
from tanager.torch.tree import edge_gains, maximum_spanning_tree  # noqa: E402

# The same laws hold on a GPU where there is one.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N_STATES = (3, 2, 3, 4, 3, 2, 4, 3)
NAMES = (*"abcdefg", "class")


def stores(n_rows=300, gaps=0.0, weighted=False, n_states=N_STATES):
    batch = random_batch(1, n_rows, n_states, gaps, weighted=weighted)
    names = NAMES[-len(n_states) :]
    return [CountStore(batch, choose_engine(*engine), names) for engine in (["numpy"], ["torch", DEVICE])]


@pytest.mark.parametrize("score", [FCLL(), LL()])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_bytes", [1, 1 << 20])
def test_gains_are_those_of_the_host(score, weighted, n_bytes):
    host, device = stores(weighted=weighted)
    terms = FamilyTerms(host, score)
    gains, alone = edge_gains(device.engine, device, *torch_tree._formula(device, score), n_bytes)
    np.testing.assert_allclose(gains.cpu().numpy(), terms.edge_gains(), atol=1e-9)
    naive = Dag.augmented_naive_bayes([()] * host.n_attributes).families[:-1]
    assert alone == pytest.approx(score.total(naive, host), rel=1e-12)


@pytest.mark.parametrize("score", [FCLL(), LL()])
@pytest.mark.parametrize(("root", "forest"), [(None, False), ("c", False), (None, True)])
def test_the_tree_and_its_score_are_those_of_the_host(monkeypatch, score, root, forest):
    monkeypatch.setattr(torch_tree, "CELLS_WORTH_HOST", 0)
    found = []
    for counts in stores():
        if counts.on_device:
            monkeypatch.setattr(counts, "pairs", None)  # not to be asked for
        found.append(Tree(root, forest).learn(StructureTask(counts, score, NAMES)))
    host, device = found
    assert device.dag == host.dag
    assert device.score == pytest.approx(host.score, rel=1e-12)
    assert [step.action for step in device.steps] == [step.action for step in host.steps]
    np.testing.assert_allclose([step.gain for step in device.steps], [step.gain for step in host.steps], atol=1e-9)


@pytest.mark.parametrize(
    ("score", "gaps", "n_states", "tree"),
    [
        (BIC(), 0.0, N_STATES, Tree()),
        (FCLL(), 0.3, N_STATES, Tree()),
        (FCLL(), 0.0, (40, 2, 2, 2, 2, 2, 2), Tree()),
        (FCLL(), 0.0, N_STATES, Tree(forbidden_edges=[("a", "b")])),
    ],
    ids=["another score", "gaps", "one wide attribute", "constraints"],
)
def test_what_the_device_cannot_do_is_done_on_the_host(monkeypatch, score, gaps, n_states, tree):
    monkeypatch.setattr(torch_tree, "CELLS_WORTH_HOST", 0)
    monkeypatch.setattr(torch_tree, "maximum_spanning_tree", None)
    host, device = (
        tree.learn(StructureTask(counts, score, counts.names)) for counts in stores(gaps=gaps, n_states=n_states)
    )
    assert device.dag == host.dag


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32), st.sampled_from([1, 3, 10**6]), st.booleans())
def test_the_tree_is_a_tree_and_none_is_heavier(n_nodes, seed, n_weights, forest):
    """Few different weights make many ties, which must not close a cycle."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(-n_weights, n_weights + 1, (n_nodes, n_nodes)).astype(float), 1)
    weights += weights.T
    root = int(rng.integers(n_nodes))
    parents, gains = maximum_spanning_tree(torch.from_numpy(weights).to(DEVICE), root, forest)
    assert parents[root] == NO_PARENT or forest
    children = np.flatnonzero(parents != NO_PARENT)
    np.testing.assert_array_equal(gains[children], weights[parents[children], children])
    for node in range(n_nodes):
        steps = 0
        while parents[node] != NO_PARENT:
            node, steps = int(parents[node]), steps + 1
            assert steps < n_nodes
    # scipy's takes positive weights of which the smallest are best
    shift = 2.0 * n_weights + 1.0
    lightest = minimum_spanning_tree(np.triu(shift - weights, 1)).toarray()
    edges = shift - lightest[lightest != 0]
    assert gains.sum() == pytest.approx(edges[edges > 0].sum() if forest else edges.sum())
    assert forest or len(children) == n_nodes - 1


def test_rounds_in_parts_change_nothing(monkeypatch):
    weights = np.random.default_rng(3).normal(size=(30, 30))
    weights = torch.from_numpy(weights + weights.T).to(DEVICE)
    whole, _ = maximum_spanning_tree(weights)
    monkeypatch.setattr(torch_tree, "ROUND_BYTES", 1)
    np.testing.assert_array_equal(maximum_spanning_tree(weights)[0], whole)


def test_memory_full_while_comparing_pairs_means_smaller_blocks(monkeypatch):
    monkeypatch.setattr(torch_tree, "CELLS_WORTH_HOST", 0)
    tried, own = [], edge_gains

    def compare(engine, counts, pair, alone, n_bytes):
        tried.append(n_bytes)
        if len(tried) == 1:
            raise torch.OutOfMemoryError
        return own(engine, counts, pair, alone, n_bytes)

    monkeypatch.setattr(torch_tree, "edge_gains", compare)
    host, device = (Tree().learn(StructureTask(counts, FCLL(), NAMES)) for counts in stores())
    assert device.dag == host.dag
    assert tried == [torch_rows.WORKING_BYTES[DEVICE], torch_rows.WORKING_BYTES[DEVICE] // 2]
