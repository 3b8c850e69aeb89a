"""Weighted naive Bayes: its formula row by row, and another optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from oracle import batch_of, random_batch
from parameters.tasks import naive_bayes, task_of
from tanager.errors import OptionError
from tanager.network.log_joint import LogJoint
from tanager.parameters import Frequency, Pruned, Weighted
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 3)
NAIVE, TREE = naive_bayes(3), Dag.augmented_naive_bayes([(), (0,), ()])


def informative(seed, n_rows=200):
    """The classes follow attribute 0, and attribute 1 repeats part of it."""
    batch = random_batch(seed, n_rows, N_STATES)
    codes = batch.codes.copy()
    codes[:, 1] = codes[:, 0] > 0
    generator = np.random.default_rng(seed + 1)
    classes = np.where(generator.random(n_rows) < 0.7, codes[:, 0], batch.class_codes)
    return batch_of(codes, classes, N_STATES)


def probabilities(batch, tables, weights):
    """P(class | row) by the formula, a row at a time."""
    result = []
    for row in batch.codes.tolist():
        joint = tables[-1][0].copy()
        for i, state in enumerate(row):
            if state < batch.n_states[i]:
                joint *= tables[i][:, state] ** weights[i]
        result.append(joint / joint.sum())
    return np.array(result)


def loss_by_rows(batch, tables, weights):
    p = probabilities(batch, tables, weights)[np.arange(batch.n_rows), batch.class_codes]
    return -(batch.row_weights * np.log(p)).sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_weights_between_zero_and_one_do_better(seed):
    """The loss is convex in the weights; by another optimiser, of the formula row by row."""
    batch = informative(seed) if seed else random_batch(7, 60, N_STATES, gaps=0.2, weighted=True)
    task = task_of(NAIVE, batch)
    trace, tables = Weighted().learn(task).trace, Frequency().tables(task)
    best = minimize(lambda w: loss_by_rows(batch, tables, w), np.full(3, 0.5), method="SLSQP", bounds=[(0, 1)] * 3)
    assert trace.loss_start == pytest.approx(loss_by_rows(batch, tables, np.ones(3)))
    assert trace.loss == pytest.approx(loss_by_rows(batch, tables, list(trace.weights.values())))
    assert trace.loss == pytest.approx(best.fun, rel=1e-6)


def test_the_network_classifies_as_the_weighted_product_does():
    batch = informative(7)
    task = task_of(NAIVE, batch)
    learnt = Weighted().learn(task)
    weights = [learnt.trace.weights[f"x{i}"] for i in range(3)]
    expected = probabilities(batch, Frequency().tables(task), weights)
    found = np.exp(LogJoint.of(NAIVE, learnt.network.tables, N_STATES)(batch.codes, normalized=True))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_copy_of_an_attribute_changes_no_probability_when_their_weights_can_share():
    one = informative(8)
    task = task_of(NAIVE, one)
    alone = Weighted().learn(task)
    copied = batch_of(np.column_stack([one.codes, one.codes[:, 0]]), one.class_codes, (*N_STATES[:3], 3, 3))
    both = Weighted().learn(task_of(naive_bayes(4), copied))
    shared = both.trace.weights["x0"] + both.trace.weights["x3"]
    if alone.trace.weights["x0"] < 1:
        assert shared == pytest.approx(alone.trace.weights["x0"], abs=0.02)
    assert both.trace.loss <= alone.trace.loss + 1e-3


@pytest.mark.parametrize("learner", [Weighted(), Pruned()])
def test_a_structure_that_is_not_naive_bayes_is_refused(learner):
    with pytest.raises(OptionError, match="naive Bayes, which this structure is not"):
        learner.learn(task_of(TREE, random_batch(0, 10, N_STATES)))
