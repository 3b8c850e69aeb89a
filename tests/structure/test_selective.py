from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structure.small_tasks import make_task, random_rows
from tanager import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.structure import Dag, Selective


def chosen(dag: Dag) -> set[int]:
    """The attributes that have the class as parent; no other edge may exist."""
    target = dag.n_nodes - 1
    assert all(parents in ((), (target,)) for parents in dag.parents)
    assert dag.parents[target] == ()
    return {child for child, parents in enumerate(dag.parents) if parents}


@given(st.lists(st.integers(-3, 3), min_size=5, max_size=5))
@settings(max_examples=30, deadline=None)
def test_where_attributes_add_up_those_that_help_are_taken_the_best_first(worth):
    seen = []
    task = make_task(
        random_rows(0), evaluate=lambda dag: 10.0 + sum(worth[node] for node in chosen(dag)), report=seen.append
    )
    learnt = Selective().learn(task)
    best_first = sorted((node for node in range(5) if worth[node] > 0), key=lambda node: -worth[node])
    assert chosen(learnt.dag) == set(best_first)
    assert [step.action for step in learnt.steps] == [f"take in {task.names[node]}" for node in best_first]
    assert [step.gain for step in learnt.steps] == [worth[node] for node in best_first]
    scores = accumulate((worth[node] for node in best_first), initial=10.0)
    assert [step.score for step in learnt.steps] == list(scores)[1:]
    assert tuple(seen) == learnt.steps


@pytest.mark.parametrize("seed", range(5))
def test_with_patience_for_every_set_the_best_of_all_sets_is_found(seed):
    value = np.random.default_rng(seed).random(32)
    task = make_task(random_rows(0), evaluate=lambda dag: value[sum(1 << node for node in chosen(dag))])
    learnt = Selective(patience=32).learn(task)
    assert sum(1 << node for node in chosen(learnt.dag)) == value.argmax()
    assert [step.score for step in learnt.steps][-1:] == ([value.max()] if value.argmax() else [])


def test_a_patient_search_goes_back_to_a_set_it_had_left():
    # b alone is the best single one and leads nowhere; a and c help together
    value = {frozenset(): 0.0, frozenset({1}): 2.0, frozenset({0}): 1.0, frozenset({0, 2}): 9.0}
    task = make_task(random_rows(0, states=(2, 2, 2)), evaluate=lambda dag: value.get(frozenset(chosen(dag)), -1.0))
    assert chosen(Selective().learn(task).dag) == {1}
    learnt = Selective(patience=2).learn(task)
    assert [(step.action, step.score) for step in learnt.steps] == [
        (f"take in {task.names[1]}", 2.0),
        (f"take in {task.names[0]}, {task.names[2]}, leave out {task.names[1]}", 9.0),
    ]


def test_without_anyone_to_judge_classifiers_it_is_refused():
    with pytest.raises(OptionError, match="use it through a classifier"):
        Selective().learn(make_task(random_rows(0)))


def test_by_accuracy_it_asks_how_many_rows_are_right_and_nothing_else():
    task = replace(
        make_task(random_rows(0), evaluate=lambda dag: -1.0 if chosen(dag) else 0.0),
        count_right=lambda dag: float(len(chosen(dag) & {1, 3})),
    )
    learnt = Selective(by="accuracy").learn(task)
    assert chosen(learnt.dag) == {1, 3}
    assert learnt.steps[-1].score == 2.0
    assert chosen(Selective().learn(task).dag) == set()


def test_a_measure_that_is_not_known_is_refused():
    with pytest.raises(OptionError, match="by='auc' is not known; expected one of 'accuracy', 'likelihood'"):
        Selective(by="auc").learn(make_task(random_rows(0), evaluate=lambda dag: 0.0))


def test_a_classifier_selects_by_accuracy_what_it_could_not_lose_a_row_by():
    """One column is the class, the others are noise: by accuracy the first is all that is needed."""
    random = np.random.default_rng(0)
    y = random.integers(2, size=80)
    X = np.column_stack([random.integers(3, size=80), y, random.integers(3, size=80)])
    clf = BayesianNetworkClassifier(Selective(by="accuracy"), parameters="frequency", categorical_features="all")
    clf.fit(X, y)
    assert clf.network_.edges == (("class", "x1"),)
    assert clf.trace_.structure[-1].score == 80.0
