"""Selective k-dependence Bayes against a refit without each row, for every number of attributes and parents."""

from __future__ import annotations

import numpy as np
import pytest

from structure.small_tasks import make_task, random_rows
from tanager import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.structure import KDependence, SelectiveKDependence
from tanager.structure.k_dependence import cut_dag, rank_parents

STATES = (3, 2, 3, 2)


def leave_one_out(rows, dag, by="likelihood"):
    """The measure by counts of the other rows, with a pseudo-row per cell, the class's too."""
    n_states = (*STATES, 3)
    total = 0.0
    for t, row in enumerate(rows):
        others = np.delete(rows, t, axis=0)
        logs = []
        for c in range(3):
            tried = np.array([*row[:-1], c])
            value = 0.0
            for child, parents in enumerate(dag.parents):
                alike = others[(others[:, parents] == tried[list(parents)]).all(axis=1)]
                hits = np.sum(alike[:, child] == tried[child])
                value += np.log((hits + 1) / (len(alike) + n_states[child]))
            logs.append(value)
        log_p = logs[row[-1]] - np.logaddexp.reduce(logs)
        total += log_p if by == "likelihood" else -((1 - np.exp(log_p)) ** 2)
    return total


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("by", ["likelihood", "squared"])
@pytest.mark.parametrize(("seed", "k"), [(0, 0), (1, 1), (2, 2), (3, 2)])
def test_no_first_attributes_with_first_parents_predict_a_row_left_out_better(monkeypatch, seed, k, by, compiled):
    if compiled:
        monkeypatch.setattr("tanager.parameters.row_likelihood.MIN_COMPILED", 0)
    rows = random_rows(seed, 45, STATES)
    clf = BayesianNetworkClassifier(SelectiveKDependence(k, by), None, "frequency", categorical_features="all")
    dag = clf.fit(rows[:, :-1], rows[:, -1]).network_.dag
    order, ranked = rank_parents(make_task(rows, None, (*STATES, 3)).counts, k)
    tried = {
        (taken, most): leave_one_out(rows, cut_dag(order[:taken], ranked, most), by)
        for most in range(k + 1)
        for taken in range(len(STATES) + 1)
    }
    assert leave_one_out(rows, dag, by) == pytest.approx(max(tried.values()), rel=1e-9)
    chosen = next(numbers for numbers in sorted(tried) if tried[numbers] > max(tried.values()) - 1e-9)
    assert dag == cut_dag(order[: chosen[0]], ranked, chosen[1])


def test_all_attributes_and_parents_are_those_of_kdb():
    rows = random_rows(1, 60, STATES)
    learnt = SelectiveKDependence(2).learn(
        make_task(rows, None, (*STATES, 3), evaluate=lambda dag: float(len(dag.edges)))
    )
    assert learnt.dag == KDependence(2).learn(make_task(rows, None, (*STATES, 3))).dag
    assert learnt.steps[0].action == "take 4 of 4 attributes, with at most 2 parents"


def test_of_equally_good_structures_the_smallest_is_taken():
    rows = random_rows(1, 60, STATES)
    learnt = SelectiveKDependence(2).learn(make_task(rows, None, (*STATES, 3), evaluate=lambda dag: 1.0))
    assert learnt.dag.edges == ()


def test_without_rows_to_judge_by_it_says_so():
    with pytest.raises(OptionError, match="use it through a classifier"):
        SelectiveKDependence().learn(make_task(random_rows(0), None))
