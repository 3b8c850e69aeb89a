"""Weighted naive Bayes against its formula, finite differences, and the conditions of an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import batch_of, random_batch
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.errors import OptionError
from tanager.network.log_joint import LogJoint
from tanager.parameters import Frequency, ParameterTask, Weighted
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.objectives import Objective
from tanager.parameters.naive_bayes import WeightedLoss
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 3)
NAIVE = Dag.augmented_naive_bayes([()] * 3)


def task_of(batch, dag=None):
    counts = CountStore(batch, choose_engine("numpy"), tuple(f"x{node}" for node in range(len(batch.n_states))))
    return ParameterTask(Dag.augmented_naive_bayes([()] * batch.n_attributes) if dag is None else dag, counts)


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


def make_loss(task):
    cells = ClassCells.of(task.dag, task.counts.n_states)
    logs = np.log(cells.pack(Frequency().tables(task)))
    return WeightedLoss(cells, logs, Objective(cells, task.counts.rows))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 2))
def test_the_loss_is_that_of_the_rows_and_the_gradient_its_differences(seed):
    batch = random_batch(seed, 25, N_STATES, gaps=0.2, weighted=True)
    task = task_of(batch)
    loss, weights = make_loss(task), np.random.default_rng(seed).random(3)
    value, gradient = loss(weights)
    assert value == pytest.approx(loss_by_rows(batch, Frequency().tables(task), weights), rel=1e-10)
    for attribute in range(3):
        step = np.eye(3)[attribute] * 1e-5
        rise = loss(weights + step)[0] - loss(weights - step)[0]
        assert rise == pytest.approx(2e-5 * gradient[attribute], rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_no_weights_between_zero_and_one_do_better(seed):
    """The loss is convex in the weights, so at the optimum every slope is zero or points out of the bounds."""
    task = task_of(informative(seed))
    trace = Weighted().learn(task).trace
    weights = np.array([trace.weights[f"x{i}"] for i in range(3)])
    value, gradient = make_loss(task)(weights)
    assert value == pytest.approx(trace.loss)
    assert trace.loss < trace.loss_start
    inside = (weights > 0) & (weights < 1)
    assert inside.any()
    np.testing.assert_allclose(gradient[inside], 0.0, atol=0.05)  # of slopes of tens at weights of one
    assert (gradient[weights == 0] >= 0).all()
    assert (gradient[weights == 1] <= 0).all()


def test_the_network_classifies_as_the_weighted_product_does():
    batch = informative(7)
    task = task_of(batch)
    learnt = Weighted().learn(task)
    weights = [learnt.trace.weights[f"x{i}"] for i in range(3)]
    expected = probabilities(batch, Frequency().tables(task), weights)
    found = np.exp(LogJoint.of(NAIVE, learnt.network.tables, N_STATES)(batch.codes, normalized=True))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_copy_of_an_attribute_changes_no_probability_when_their_weights_can_share():
    one = informative(8)
    task = task_of(one)
    alone = Weighted().learn(task)
    copied = batch_of(np.column_stack([one.codes, one.codes[:, 0]]), one.class_codes, (*N_STATES[:3], 3, 3))
    both = Weighted().learn(task_of(copied))
    shared = both.trace.weights["x0"] + both.trace.weights["x3"]
    if alone.trace.weights["x0"] < 1:
        assert shared == pytest.approx(alone.trace.weights["x0"], abs=0.02)
    assert both.trace.loss <= alone.trace.loss + 1e-3


def test_other_structures_are_refused():
    with pytest.raises(OptionError, match="naive Bayes, which this structure is not"):
        Weighted().learn(task_of(informative(0), Dag.augmented_naive_bayes([(), (0,), ()])))
