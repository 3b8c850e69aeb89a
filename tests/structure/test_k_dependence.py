"""Selective k-dependence Bayes against a refit without each row, for every number of attributes and parents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import mutual_info_score

from oracle import log_joints_without
from structure.small_tasks import STATES, make_task, random_rows
from tanager import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.scores.information import class_information
from tanager.structure import KDependence, SelectiveKDependence
from tanager.structure.k_dependence import cut_dag, rank_parents

SEEDS = st.integers(0, 2**32 - 1)


def conditional_information(rows: np.ndarray, i: int, j: int) -> float:
    """I(X_i; X_j | C) class by class."""
    parts = [rows[rows[:, -1] == c] for c in np.unique(rows[:, -1])]
    return sum(len(part) / len(rows) * mutual_info_score(part[:, i], part[:, j]) for part in parts)


@given(seed=SEEDS, k=st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_each_attribute_takes_its_k_closest_predecessors_in_the_order_of_class_information(seed, k):
    rows = random_rows(seed, states=(2, 3, 4, 3, 2), n_rows=80)
    learnt = KDependence(k).learn(make_task(rows, "ll"))
    order = sorted(range(5), key=lambda i: -mutual_info_score(rows[:, i], rows[:, -1]))
    for place, child in enumerate(order):
        *parents, target = learnt.dag.parents[child]
        assert target == 5
        assert set(parents) <= set(order[:place])
        # Of equally close ones any will do.
        closeness = {other: conditional_information(rows, child, other) for other in order[:place]}
        closest = sorted(closeness.values(), reverse=True)[:k]
        assert sorted((closeness[parent] for parent in parents), reverse=True) == pytest.approx(closest)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_class_information_is_over_the_rows_that_have_the_attribute(seed):
    rows = random_rows(seed, states=(2, 3), n_rows=50)
    rows[np.random.default_rng(seed).random(50) < 0.3, 1] = -1
    present = rows[rows[:, 1] >= 0]
    expected = [mutual_info_score(rows[:, 0], rows[:, 2]), mutual_info_score(present[:, 1], present[:, 2])]
    counts = make_task(rows, states=(2, 3, 3)).counts
    assert class_information(counts) == pytest.approx(expected, abs=1e-12)


def test_a_step_adds_the_parents_of_an_attribute_the_most_informative_attribute_first():
    rows = random_rows(0)
    seen = []
    task = make_task(rows, states=(*STATES, 3), report=seen.append)
    learnt = KDependence(2).learn(task)
    order = np.argsort(-class_information(task.counts), kind="stable")[1:]
    parents = {child: ", ".join(task.names[parent] for parent in learnt.dag.parents[child][:-1]) for child in order}
    assert [str(step) for step in learnt.steps] == [f"add {parents[child]} -> {task.names[child]}" for child in order]
    assert tuple(seen) == learnt.steps


def test_by_default_two_attributes_are_parents():
    parents = KDependence().learn(make_task(random_rows(0))).dag.parents
    assert sorted(map(len, parents[:-1])) == [1, 2, 3, 3, 3]


def test_a_k_that_is_no_number_is_refused():
    with pytest.raises(OptionError, match="k=-2"):
        KDependence(-2).learn(make_task(random_rows(0)))


FEW_STATES = (3, 2, 3, 2)


def leave_one_out(rows, dag):
    """The measure by counts of the other rows, with a pseudo-row per cell, the class's too."""
    p = softmax(log_joints_without(rows, dag.parents, (*FEW_STATES, 3)), axis=1)[np.arange(len(rows)), rows[:, -1]]
    return np.log(p).sum()


@pytest.mark.parametrize(("seed", "k"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_no_first_attributes_with_first_parents_predict_a_row_left_out_better(seed, k):
    rows = random_rows(seed, 45, FEW_STATES)
    clf = BayesianNetworkClassifier(SelectiveKDependence(k), None, "frequency", categorical_features="all")
    dag = clf.fit(rows[:, :-1], rows[:, -1]).network_.dag
    order, ranked = rank_parents(make_task(rows, None, (*FEW_STATES, 3)).counts, k)
    tried = {
        (taken, most): leave_one_out(rows, cut_dag(order[:taken], ranked, most))
        for most in range(k + 1)
        for taken in range(len(FEW_STATES) + 1)
    }
    assert leave_one_out(rows, dag) == pytest.approx(max(tried.values()), rel=1e-9)
    chosen = next(numbers for numbers in sorted(tried) if tried[numbers] > max(tried.values()) - 1e-9)
    assert dag == cut_dag(order[: chosen[0]], ranked, chosen[1])


def test_all_attributes_and_parents_are_those_of_kdb():
    rows = random_rows(1, 60, FEW_STATES)
    learnt = SelectiveKDependence(2).learn(
        make_task(rows, None, (*FEW_STATES, 3), evaluate=lambda dag: float(len(dag.edges)))
    )
    assert learnt.dag == KDependence(2).learn(make_task(rows, None, (*FEW_STATES, 3))).dag
    assert learnt.steps[0].action == "take 4 of 4 attributes, with at most 2 parents"


def test_of_equally_good_structures_the_smallest_is_taken():
    rows = random_rows(1, 60, FEW_STATES)
    learnt = SelectiveKDependence(2).learn(make_task(rows, None, (*FEW_STATES, 3), evaluate=lambda dag: 1.0))
    assert learnt.dag.edges == ()


def test_without_rows_to_judge_by_it_says_so():
    with pytest.raises(OptionError, match="use it through a classifier"):
        SelectiveKDependence().learn(make_task(random_rows(0), None))
