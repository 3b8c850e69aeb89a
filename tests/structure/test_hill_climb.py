from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structure.small_tasks import FAMILY_SCORES, STATES, log_likelihood_by_rows, make_task, random_rows, term, total
from tanager.errors import OptionError
from tanager.structure import Dag, HillClimb, NaiveBayes

SEEDS = st.integers(0, 2**32 - 1)


def neighbours(dag: Dag, max_parents: int, free: bool) -> Iterator[Dag]:
    """Every structure one added, deleted or reversed edge away, found by trying."""
    n_nodes, target = dag.n_nodes, dag.n_nodes - 1
    edges = set(dag.edges)
    for pair in [(i, j) for i in range(n_nodes) for j in range(n_nodes) if i != j]:
        if target in pair and not free:
            continue
        changes = [edges - {pair}, edges - {pair} | {pair[::-1]}] if pair in edges else [edges | {pair}]
        for changed in changes:
            parents = tuple(tuple(i for i, j in changed if j == node) for node in range(n_nodes))
            if all(len(set(own) - {target}) <= max_parents for own in parents):
                try:
                    yield Dag(parents)
                except OptionError:
                    continue


@pytest.mark.parametrize("name", FAMILY_SCORES)
@pytest.mark.parametrize("class_edges", ["kept", "free"])
@given(seed=SEEDS, most=st.integers(0, 3))
@settings(max_examples=3, deadline=None)
def test_every_step_takes_the_best_neighbour_until_none_scores_higher(name, class_edges, seed, most):
    seen = []
    task = make_task(random_rows(seed), name, (*STATES, 3), report=seen.append)
    learnt = HillClimb(most, class_edges).learn(task)
    dag = NaiveBayes().learn(task).dag
    score = total(task, dag)
    for step in learnt.steps:
        best = max(total(task, neighbour) for neighbour in neighbours(dag, most, class_edges == "free"))
        assert step.gain > 0
        assert step.score == pytest.approx(score + step.gain)
        assert step.score == pytest.approx(best, rel=1e-9)
        dag = apply(step.action, dag, task.names)
        score = step.score
    assert dag == learnt.dag
    assert tuple(seen) == learnt.steps
    assert learnt.score == pytest.approx(total(task, dag), rel=1e-9)
    highest = learnt.score + 1e-8 * max(1, abs(learnt.score))
    assert all(total(task, neighbour) <= highest for neighbour in neighbours(dag, most, class_edges == "free"))


def apply(action: str, dag: Dag, names: tuple[str, ...]) -> Dag:
    """Do what a step says, word by word."""
    verb, parent, arrow, child = action.split()
    edge = names.index(parent), names.index(child)
    edges = set(dag.edges)
    assert arrow == "->"
    assert (edge in edges) == (verb in ("delete", "reverse"))
    changed = {"add": edges | {edge}, "delete": edges - {edge}, "reverse": edges - {edge} | {edge[::-1]}}[verb]
    return Dag(tuple(tuple(i for i, j in changed if j == node) for node in range(dag.n_nodes)))


def test_a_noise_attribute_loses_its_class_edge_only_where_class_edges_are_free():
    random = np.random.default_rng(0)
    target = random.integers(2, size=300)
    told = np.where(random.random(300) < 0.9, target, 1 - target)
    rows = np.column_stack([told, np.arange(300) // 2 % 3, target])
    task = make_task(rows, "bic")
    assert HillClimb().learn(task).dag.parents == ((2,), (2,), ())
    assert HillClimb(class_edges="free").learn(task).dag.parents[1] == ()


@pytest.mark.parametrize("class_edges", ["kept", "free"])
@given(seed=SEEDS, data=st.data())
@settings(max_examples=20, deadline=None)
def test_required_edges_are_always_there_and_forbidden_ones_never(class_edges, seed, data):
    task = make_task(random_rows(seed, states=STATES[:4]), "ll", (*STATES[:4], 3), seed=seed)
    nodes = range(5 if class_edges == "free" else 4)
    order = data.draw(st.permutations(nodes))
    pairs = [(order[i], order[j]) for i in range(len(order)) for j in range(i + 1, len(order))]
    required = data.draw(st.sets(st.sampled_from(pairs), max_size=2))
    every = [(i, j) for i in nodes for j in nodes if i != j and (i, j) not in required]
    forbidden = data.draw(st.sets(st.sampled_from(every), max_size=8))
    named = [(task.names[i], task.names[j]) for i, j in required]
    learner = HillClimb(2, class_edges, required_edges=named, forbidden_edges=sorted(forbidden))
    learnt = learner.learn(task)
    assert required <= set(learnt.dag.edges)
    assert not forbidden & set(learnt.dag.edges)
    assert learnt.score == pytest.approx(total(task, learnt.dag), rel=1e-9)


@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_a_score_that_must_be_evaluated_climbs_to_where_the_same_score_by_families_does(seed):
    rows = random_rows(seed, states=(2, 3, 2))
    evaluated = HillClimb(1).learn(make_task(rows, "cll", evaluate=lambda dag: log_likelihood_by_rows(rows, dag)))
    by_family = HillClimb(1).learn(make_task(rows, "ll"))
    assert evaluated.score == pytest.approx(by_family.score, rel=1e-9)
    assert evaluated.dag.n_nodes == 4


def test_parents_with_gaps_do_not_win_by_them():
    random = np.random.default_rng(0)
    target = random.integers(2, size=400)
    a = random.integers(3, size=400)
    b = np.where(random.random(400) < 0.8, a, random.integers(3, size=400))
    gappy = np.where(random.random(400) < 0.9, -1, random.integers(3, size=400))
    task = make_task(np.column_stack([a, gappy, b, target]), "bic", (3, 3, 3, 2))
    learnt = HillClimb().learn(task)
    assert learnt.dag == Dag.augmented_naive_bayes([(), (), (0,)])
    assert learnt.steps[0].gain == pytest.approx(term(task, 2, (0, 3)) - term(task, 2, (3,)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_parents": -1}, "max_parents=-1"),
        ({"class_edges": "fixed"}, "class_edges='fixed' is not known; expected one of"),
        ({"required_edges": [("a", "b"), ("b", "c"), ("c", "a")]}, "close a cycle: a -> b -> c -> a"),
        ({"required_edges": [("a", "b")], "forbidden_edges": [("a", "b")]}, "both required and forbidden"),
        ({"required_edges": [("a", "c"), ("b", "c")], "max_parents": 1}, "'c' 2 attribute parents"),
        ({"required_edges": [("a", "class")]}, "use class_edges='free'"),
        ({"forbidden_edges": [("klass", "a")]}, "nearest are 'class'"),
        (
            {"required_edges": [("a", "class"), ("class", "b"), ("b", "a")], "class_edges": "free"},
            "close a cycle: a -> class -> b -> a",
        ),
    ],
)
def test_options_that_cannot_be_kept_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        HillClimb(**options).learn(make_task(random_rows(0)))


def test_a_score_to_be_evaluated_needs_someone_to_do_it():
    with pytest.raises(OptionError, match="use it through a classifier"):
        HillClimb().learn(make_task(random_rows(0), "cll"))
