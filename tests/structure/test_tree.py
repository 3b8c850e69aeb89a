from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import minimum_spanning_tree

from structure.small_tasks import (
    FAMILY_SCORES,
    STATES,
    forests,
    log_likelihood_by_rows,
    make_task,
    random_rows,
    term,
    total,
    trees,
)
from tanager.errors import OptionError
from tanager.structure import Dag, NaiveBayes, Tree
from tanager.structure.family_terms import FamilyTerms
from tanager.structure.tree import maximum_arborescence, maximum_spanning_tree

SEEDS = st.integers(0, 2**32 - 1)


def score_of(task, parents) -> float:
    """The score of a tree, given the parent of each attribute or -1."""
    target = len(parents)
    terms = (term(task, child, {target, parent} - {-1}) for child, parent in enumerate(parents))
    return sum(terms) + term(task, target, ())


def tree_parents(dag: Dag) -> tuple[int, ...]:
    return tuple(parents[0] if len(parents) == 2 else -1 for parents in dag.parents[:-1])


@pytest.mark.parametrize("name", FAMILY_SCORES)
@given(seed=SEEDS, n_classes=st.sampled_from([2, 3, 5]), weighted=st.booleans(), n_attributes=st.integers(1, 5))
@settings(max_examples=8, deadline=None)
def test_no_tree_scores_higher(name, seed, n_classes, weighted, n_attributes):
    rows = random_rows(seed, states=STATES[:n_attributes], n_classes=n_classes)
    weights = np.random.default_rng(seed).uniform(0.1, 3, len(rows)) if weighted else None
    task = make_task(rows, name, (*STATES[:n_attributes], n_classes), weights)
    learnt = Tree().learn(task)
    found = tree_parents(learnt.dag)
    assert found in set(trees(n_attributes))
    # terms are looked up, for every family occurs in many trees
    phi = {
        (child, parent): term(task, child, {n_attributes, parent} - {-1})
        for child in range(n_attributes)
        for parent in range(-1, n_attributes)
        if parent != child
    }
    best = max(sum(phi[edge] for edge in enumerate(parents)) for parents in trees(n_attributes))
    assert sum(phi[edge] for edge in enumerate(found)) == pytest.approx(best, rel=1e-9)
    assert learnt.score == pytest.approx(total(task, learnt.dag), rel=1e-9)


@pytest.mark.parametrize("name", ["bic", "k2", "acll", "fcll"])
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_no_forest_scores_higher_and_every_edge_of_it_gains(name, seed):
    task = make_task(random_rows(seed, states=STATES[:4]), name, (*STATES[:4], 3))
    learnt = Tree(forest=True).learn(task)
    assert learnt.score == pytest.approx(max(score_of(task, parents) for parents in forests(4)), rel=1e-9)
    assert all(step.gain > 0 for step in learnt.steps)


@pytest.mark.parametrize("name", ["ll", "k2"])
@given(seed=SEEDS, data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_constrained_tree_is_the_best_of_those_that_keep_to_the_constraints(name, seed, data):
    task = make_task(random_rows(seed, states=STATES[:4]), name, (*STATES[:4], 3))
    secret = data.draw(st.sampled_from(list(trees(4))))
    edges = {(parent, child) for child, parent in enumerate(secret) if parent >= 0}
    others = {(i, j) for i in range(4) for j in range(4) if i != j} - edges
    required = data.draw(st.sets(st.sampled_from(sorted(edges)), max_size=2))
    forbidden = data.draw(st.sets(st.sampled_from(sorted(others)), max_size=6))
    root = data.draw(st.sampled_from([None, secret.index(-1)]))
    names = [(task.names[parent], task.names[child]) for parent, child in required]
    learnt = Tree(root, required_edges=names, forbidden_edges=sorted(forbidden)).learn(task)

    def keeps(parents) -> bool:
        own = {(parent, child) for child, parent in enumerate(parents)}
        return required <= own and not forbidden & own and (root is None or parents[root] == -1)

    assert keeps(tree_parents(learnt.dag))
    best = max(score_of(task, parents) for parents in trees(4) if keeps(parents))
    assert learnt.score == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("name", ["ll", "acll"])
def test_the_root_is_the_one_asked_for_by_name_or_by_number(name):
    task = make_task(random_rows(0), name, (*STATES, 3))
    for number, root in enumerate(task.names[:-1]):
        learnt = Tree(root=root).learn(task)
        assert tree_parents(learnt.dag)[number] == -1
        assert Tree(root=number).learn(task) == learnt


@pytest.mark.parametrize("name", FAMILY_SCORES)
def test_steps_lead_from_naive_bayes_to_the_score_and_are_reported(name):
    seen = []
    task = make_task(random_rows(2), name, (*STATES, 3), report=seen.append)
    learnt = Tree().learn(task)
    before = total(task, NaiveBayes().learn(task).dag)
    assert tuple(seen) == learnt.steps
    assert len(seen) == len(STATES) - 1
    for step in learnt.steps:
        assert step.score == pytest.approx(before + step.gain)
        before = step.score
    assert before == learnt.score
    edges = {f"add {task.names[i]} -> {task.names[j]}" for j, i in enumerate(tree_parents(learnt.dag)) if i >= 0}
    assert {step.action for step in learnt.steps} == edges


@given(seed=SEEDS, missing=st.floats(0.0, 0.9))
@settings(max_examples=20, deadline=None)
def test_an_edge_gains_the_information_of_the_rows_that_have_both_ends(seed, missing):
    rows = random_rows(seed, states=(2, 3, 4), n_rows=60)
    gaps = np.random.default_rng(seed).random((60, 3)) < missing * np.array([0.0, 0.5, 1.0])
    rows[:, :3][gaps] = -1
    task = make_task(rows, "ll", (2, 3, 4, 3))
    gains = FamilyTerms(task.counts, task.criterion).edge_gains()
    for parent in range(3):
        for child in range(3):
            if parent != child:
                both = rows[(rows[:, parent] >= 0) & (rows[:, child] >= 0)]
                with_edge = Dag(tuple((parent, 3) if node == child else () for node in range(4)))
                without = Dag(tuple((3,) if node == child else () for node in range(4)))
                expected = log_likelihood_by_rows(both, with_edge) - log_likelihood_by_rows(both, without)
                assert gains[parent, child] == pytest.approx(expected, abs=1e-9)


def test_gains_are_in_proportion_to_the_weights_of_rows_with_gaps_however_small_these_are():
    rows = random_rows(0, states=(2, 3, 4), n_rows=60)
    rows[:20, 1] = -1
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    gains = []
    for scale in (1.0, 2.0**-40):
        task = make_task(rows, "ll", (2, 3, 4, 3), scale * weights)
        gains.append(FamilyTerms(task.counts, task.criterion).edge_gains() / scale)
    assert gains[1] == pytest.approx(gains[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root": "bb"}, "'bb', which is not a column of the table; nearest are 'b'"),
        ({"root": "class"}, "not a column"),
        ({"root": 5}, "column 5; expected 0 to 4"),
        ({"root": 1.5}, "expected the name of a column or its number"),
        ({"required_edges": [("a", "z")]}, "'z', which is not a column"),
        ({"required_edges": [("a", "b"), ("b", "a")]}, "close a cycle: a -> b -> a"),
        ({"required_edges": [("a", "b")], "forbidden_edges": [(0, 1)]}, "both required and forbidden"),
        ({"required_edges": [("a", "c"), ("b", "c")]}, "'a' and 'b'; a tree allows one"),
        ({"required_edges": [("b", "a")], "root": "a"}, "the root 'a' the parent 'b'"),
        ({"required_edges": [("class", "a")]}, "the class is always a parent"),
        ({"forbidden_edges": [("a", "class")]}, "the class is always a parent"),
        ({"forbidden_edges": ["ab"]}, r"expected \(parent, child\) pairs"),
        ({"forbidden_edges": [("a", "a")]}, "joins 'a' to itself"),
        ({"forbidden_edges": [(i, j) for i in range(5) for j in range(5) if i != j]}, "no tree over all attributes"),
    ],
)
def test_constraints_that_cannot_be_kept_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Tree(**options).learn(make_task(random_rows(0), "bic", (*STATES, 3)))


def test_a_forest_without_any_edge_allowed_is_naive_bayes():
    task = make_task(random_rows(0), "ll", (*STATES, 3))
    every = [(i, j) for i in range(5) for j in range(5) if i != j]
    assert Tree(forest=True, forbidden_edges=every).learn(task).dag == NaiveBayes().learn(task).dag


def test_a_score_that_is_no_sum_over_families_is_refused_and_the_structure_that_takes_it_is_named():
    with pytest.raises(OptionError, match="'hill-climb'"):
        Tree().learn(make_task(random_rows(0), "cll", evaluate=lambda dag: 0.0))


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


@given(problems(), st.booleans())
@settings(max_examples=150)
def test_an_arborescence_is_the_best_of_all_or_of_those_with_a_given_root(problem, is_given):
    weights, root = problem
    allowed = [parents for parents in possible(weights) if not is_given or parents[root] == -1]
    found = maximum_arborescence(weights, root if is_given else None)
    assert tuple(found) in allowed
    assert few_roots_then_weight(weights, found) == max(few_roots_then_weight(weights, p) for p in allowed)
    forest = maximum_arborescence(weights, root if is_given else None, forest=True)
    assert weight(weights, forest) == pytest.approx(max(weight(weights, parents) for parents in allowed))


@given(problems(symmetric=True))
@settings(max_examples=100)
def test_a_spanning_tree_is_the_best_of_all_and_a_forest_has_only_edges_that_pay(problem):
    weights, root = problem
    found, forest = maximum_spanning_tree(weights, root), maximum_spanning_tree(weights, root, forest=True)
    assert tuple(found) in forests(len(weights))
    assert found[root] == -1
    assert few_roots_then_weight(weights, found) == max(few_roots_then_weight(weights, p) for p in possible(weights))
    assert weight(weights, forest) == pytest.approx(max(weight(weights, parents) for parents in possible(weights)))
    assert all(weights[parent, child] > 0 for child, parent in enumerate(forest) if parent >= 0)


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


def test_equal_weights_make_a_star_around_the_lowest_index():
    assert maximum_spanning_tree(np.ones((4, 4))).tolist() == [-1, 0, 0, 0]
    assert maximum_arborescence(np.ones((4, 4))).tolist() == [-1, 0, 0, 0]
