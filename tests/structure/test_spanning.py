from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import minimum_spanning_tree

from structure.small_tasks import forests, trees
from tanager.structure.tree import maximum_arborescence, maximum_spanning_tree

# Few whole numbers make many ties; negative ones and forbidden edges are common.
TIED = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
SPREAD = st.floats(-10, 10)
FORBIDDEN = st.just(-np.inf)


@st.composite
def problems(draw: st.DrawFn, symmetric: bool = False) -> tuple[np.ndarray, int]:
    """Weights and a root; the nodes may be two islands."""
    n_nodes = draw(st.integers(1, 5))
    numbers = draw(st.sampled_from([TIED, SPREAD, TIED | FORBIDDEN, SPREAD | FORBIDDEN]))
    weights = draw(arrays(float, (n_nodes, n_nodes), elements=numbers))
    island = np.arange(n_nodes) < draw(st.integers(0, n_nodes - 1))
    weights[island[:, None] != island] = -np.inf
    return np.triu(weights, 1) + np.triu(weights, 1).T if symmetric else weights, draw(st.integers(0, n_nodes - 1))


def weight(weights: np.ndarray, parents) -> float:
    return sum(float(weights[parent, child]) for child, parent in enumerate(parents) if parent >= 0)


def few_roots_then_weight(weights: np.ndarray, parents) -> tuple[int, float]:
    """Rounded, for the order in which weights are added is not part of the law."""
    return -list(parents).count(-1), round(weight(weights, parents), 6)


def possible(weights: np.ndarray) -> list[tuple[int, ...]]:
    return [parents for parents in forests(len(weights)) if weight(weights, parents) > -np.inf]


@given(problems())
@settings(max_examples=150)
def test_an_arborescence_is_the_best_of_all_with_the_fewest_roots(problem):
    weights, _ = problem
    found = maximum_arborescence(weights)
    expected = max(few_roots_then_weight(weights, parents) for parents in possible(weights))
    assert tuple(found) in forests(len(weights))
    assert few_roots_then_weight(weights, found) == expected


@given(problems())
@settings(max_examples=100)
def test_an_arborescence_with_a_given_root_is_the_best_that_has_it(problem):
    weights, root = problem
    found = maximum_arborescence(weights, root)
    rooted = [parents for parents in possible(weights) if parents[root] == -1]
    assert found[root] == -1
    assert few_roots_then_weight(weights, found) == max(few_roots_then_weight(weights, parents) for parents in rooted)


@given(problems())
@settings(max_examples=100)
def test_a_directed_forest_is_the_best_of_all_forests(problem):
    weights, root = problem
    best = max(weight(weights, parents) for parents in possible(weights))
    rooted = max(weight(weights, parents) for parents in possible(weights) if parents[root] == -1)
    assert weight(weights, maximum_arborescence(weights, forest=True)) == pytest.approx(best)
    assert weight(weights, maximum_arborescence(weights, root, forest=True)) == pytest.approx(rooted)


@given(problems(), st.data())
@settings(max_examples=100)
def test_nodes_that_must_have_a_parent_have_one_in_the_best_way(problem, data):
    weights, _ = problem
    never = data.draw(st.sets(st.integers(0, len(weights) - 1), max_size=len(weights) - 1))
    allowed = [parents for parents in possible(weights) if all(parents[node] >= 0 for node in never)]
    if allowed:
        found = maximum_arborescence(weights, forest=True, never_roots=never)
        assert all(found[node] >= 0 for node in never)
        assert weight(weights, found) == pytest.approx(max(weight(weights, parents) for parents in allowed))


@given(problems(symmetric=True))
@settings(max_examples=100)
def test_a_spanning_tree_is_the_best_of_all_with_the_fewest_roots(problem):
    weights, root = problem
    found = maximum_spanning_tree(weights, root)
    assert tuple(found) in forests(len(weights))
    assert found[root] == -1
    assert few_roots_then_weight(weights, found) == max(few_roots_then_weight(weights, p) for p in possible(weights))


@given(problems(symmetric=True))
@settings(max_examples=100)
def test_an_undirected_forest_is_the_best_of_all_and_has_only_edges_that_pay(problem):
    weights, root = problem
    found = maximum_spanning_tree(weights, root, forest=True)
    assert weight(weights, found) == pytest.approx(max(weight(weights, parents) for parents in possible(weights)))
    assert all(weights[parent, child] > 0 for child, parent in enumerate(found) if parent >= 0)


@pytest.mark.parametrize("n_nodes", [2, 17, 80])
@pytest.mark.parametrize("tied", [False, True])
def test_on_symmetric_weights_both_algorithms_weigh_as_much_as_scipy_s_tree(n_nodes, tied):
    weights = np.random.default_rng(n_nodes).normal(size=(n_nodes, n_nodes))
    weights = np.round(weights) if tied else weights
    weights = weights + weights.T
    # scipy takes a zero for no edge, so all its weights are made positive
    lift = weights.max() + 1
    costs = minimum_spanning_tree(np.triu(lift - weights, 1))
    expected = lift * (n_nodes - 1) - costs.sum()
    assert weight(weights, maximum_spanning_tree(weights)) == pytest.approx(expected)
    assert weight(weights, maximum_arborescence(weights)) == pytest.approx(expected)


@pytest.mark.parametrize("n_nodes", [6, 40])
def test_one_run_over_all_roots_equals_the_best_of_one_run_per_root(n_nodes):
    weights = np.random.default_rng(n_nodes).normal(size=(n_nodes, n_nodes)) - 2
    each = [weight(weights, maximum_arborescence(weights, root)) for root in range(n_nodes)]
    assert weight(weights, maximum_arborescence(weights)) == pytest.approx(max(each))


def test_equal_weights_make_a_star_around_the_lowest_index():
    assert maximum_spanning_tree(np.ones((4, 4))).tolist() == [-1, 0, 0, 0]
    assert maximum_arborescence(np.ones((4, 4))).tolist() == [-1, 0, 0, 0]


def test_enumeration_knows_the_number_of_trees():
    # Cayley: n^(n-2) trees, each with n choices of a root, and (n+1)^(n-1) rooted forests
    assert [len(list(trees(n))) for n in range(1, 6)] == [n ** (n - 1) for n in range(1, 6)]
    assert [len(forests(n)) for n in range(1, 6)] == [(n + 1) ** (n - 1) for n in range(1, 6)]
