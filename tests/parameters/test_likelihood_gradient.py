"""LGD: a plain EM through `Network.log_likelihood`'s tree, frequencies and brute force are the oracles."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracle import batch_of, random_batch, take_rows
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.errors import OptionError
from tanager.network.inference.junction_tree import JunctionTree
from tanager.parameters import Frequency, ParameterTask
from tanager.parameters.em import EM, Likelihood, LikelihoodGradient
from tanager.structure.dag import Dag


def task_of(dag: Dag, batch) -> ParameterTask:
    return ParameterTask(dag, CountStore(batch, choose_engine("numpy"), [f"n{k}" for k in range(dag.n_nodes)]))


def codes_of(batch):
    return np.column_stack([batch.codes, batch.class_codes]).astype(int)


def posterior(dag, batch, tables, smoothing) -> float:
    """log likelihood plus the logarithm of the smoothing prior."""
    tree = JunctionTree.of(dag, batch.n_states)
    rows = tree.log_evidence(tables, codes_of(batch))
    total = float(rows.sum() if batch.weights is None else rows @ batch.weights)
    return total + sum(float((a * np.log(table)).sum()) for a, table in zip(smoothing, tables, strict=True))


def em(dag, batch, tables, smoothing, steps: int):
    """Expected counts plus pseudo-rows, divided by their sums, so many times."""
    tree = JunctionTree.of(dag, batch.n_states)
    for _ in range(steps):
        counts = tree.expected_counts(tables, codes_of(batch), batch.weights).tables
        cells = [own + a for own, a in zip(counts, smoothing, strict=True)]
        tables = [own / own.sum(axis=1, keepdims=True) for own in cells]
    return tables


def laplace(dag, n_states):
    """One pseudo-row in every cell, none for a class without parents."""
    last = dag.n_nodes - 1
    return [
        np.full(family.shape(n_states), 0.0 if family.child == last and not family.parents else 1.0)
        for family in dag.families
    ]


TAN = Dag.augmented_naive_bayes([(), (0,), (1,), (0,)])


@pytest.mark.parametrize("weighted", [False, True])
def test_with_no_gap_the_tables_are_the_smoothed_frequencies(weighted):
    batch = random_batch(1, 60, (2, 3, 2, 2, 3), weighted=weighted)
    task = task_of(TAN, batch)
    for smoothing in ("laplace", "friedman"):
        found = LikelihoodGradient(smoothing, tol=1e-14).learn(task)
        for own, expected in zip(found.network.tables, Frequency(smoothing).learn(task).network.tables, strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-6)
        assert found.trace.passes <= 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_reaches_the_likelihood_that_em_reaches(seed):
    batch = random_batch(seed, 80, (2, 3, 2, 2, 2), gaps=0.5, weighted=seed == 2)
    task, smoothing = task_of(TAN, batch), laplace(TAN, batch.n_states)
    found = LikelihoodGradient(tol=1e-10).learn(task)
    climbed = em(TAN, batch, Frequency().learn(task).network.tables, smoothing, 300)
    reached = posterior(TAN, batch, climbed, smoothing)
    assert posterior(TAN, batch, found.network.tables, smoothing) == pytest.approx(reached, abs=1e-5)
    assert reached > posterior(TAN, batch, Frequency().learn(task).network.tables, smoothing) + 1e-3
    for own, expected in zip(found.network.tables, climbed, strict=True):
        np.testing.assert_allclose(own, expected, atol=2e-3)


def test_no_em_step_from_where_it_ends_gains_anything_with_a_hidden_node():
    """A mixture: the class sees four attributes through a hidden node; the start is not the saddle of equal shares."""
    generator = np.random.default_rng(5)
    hidden = generator.integers(0, 2, 400)
    seen = np.column_stack([np.where(generator.random(400) < 0.9, hidden, 1 - hidden) for _ in range(4)])
    dag = Dag(((1,), (), (1,), (1,), (1,)))
    codes = np.column_stack([seen[:, 0], np.full(400, 2), seen[:, 1:3]])
    batch = batch_of(codes, seen[:, 3], (2, 2, 2, 2, 2))
    task, smoothing = task_of(dag, batch), laplace(dag, batch.n_states)
    found = LikelihoodGradient(tol=1e-10).learn(task)
    reached = posterior(dag, batch, found.network.tables, smoothing)
    further = posterior(dag, batch, em(dag, batch, found.network.tables, smoothing, 20), smoothing)
    assert reached <= further + 1e-9
    assert reached == pytest.approx(further, abs=1e-5)
    for node in (0, 2, 3, 4):  # the hidden cause is found: nine in ten of each attribute agree with it
        np.testing.assert_allclose(np.sort(found.network.tables[node].max(axis=1)), [0.9, 0.9], atol=0.06)


def test_the_penalised_likelihood_never_falls():
    batch = random_batch(3, 100, (2, 3, 2, 3, 2), gaps=0.6)
    values = LikelihoodGradient().learn(task_of(TAN, batch)).trace.objective
    assert all(late <= early for early, late in pairwise(values))


def test_the_table_of_a_hidden_leaf_stays_at_equal_shares_since_no_cell_speaks_of_it():
    dag = Dag(((2,), (0,), ()))
    codes = np.column_stack([np.arange(20) % 2, np.full(20, 2)])
    task = task_of(dag, batch_of(codes, (np.arange(20) // 2) % 2, (2, 2, 2)))
    found = LikelihoodGradient(tol=1e-14).learn(task)
    assert (found.network.tables[1] == 0.5).all()
    np.testing.assert_allclose(found.network.tables[0], Frequency().learn(task).network.tables[0], atol=1e-6)


def test_rows_without_a_class_are_learnt_from():
    """With the class hidden in some rows it is EM's optimum that is reached, not that of the others alone."""
    batch = random_batch(7, 60, (2, 3, 2, 2, 2), gaps=0.3)
    codes = codes_of(batch)
    unlabelled = batch_of(codes[40:, :-1], np.full(20, 2), batch.n_states)
    some = task_of(TAN, take_rows(batch, range(40)))
    task = replace(some, unlabelled=unlabelled)
    found = LikelihoodGradient(tol=1e-10).learn(task).network.tables
    for own, expected in zip(found, EM(tol=1e-12, max_iter=5000).learn(task).network.tables, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-3)
    assert np.abs(found[0] - LikelihoodGradient(tol=1e-10).learn(some).network.tables[0]).max() > 1e-2


def test_bad_options_and_too_few_iterations_are_told():
    batch = random_batch(3, 50, (2, 3, 2, 3, 2), gaps=0.6)
    with pytest.raises(OptionError, match=r"max_iter=0 and tol=1e-06 of LikelihoodGradient must be numbers above"):
        LikelihoodGradient(max_iter=0).learn(task_of(TAN, batch))
    with pytest.warns(ConvergenceWarning, match="LikelihoodGradient stopped after 1 iterations"):
        LikelihoodGradient(max_iter=1, tol=1e-12).learn(task_of(TAN, batch))


def test_every_evaluation_of_the_likelihood_is_a_pass(monkeypatch):
    calls = []
    evaluate = Likelihood.__call__
    monkeypatch.setattr(Likelihood, "__call__", lambda own, tables: calls.append(own) or evaluate(own, tables))
    batch = random_batch(2, 60, (2, 3, 2), gaps=0.3)
    learnt = LikelihoodGradient().learn(task_of(Dag.augmented_naive_bayes([(), (0,)]), batch))
    assert learnt.trace.passes == len(calls) > 1
