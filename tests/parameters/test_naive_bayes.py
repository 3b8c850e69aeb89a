"""Weighted and model-averaged naive Bayes: formulas, finite differences, conditions of an optimum, all subsets."""

from __future__ import annotations

from itertools import product
from math import exp, log, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from oracle import batch_of, random_batch
from parameters.tasks import naive_bayes, task_of
from tanager.errors import OptionError
from tanager.network.log_joint import LogJoint
from tanager.parameters import MANB, Frequency, Weighted
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


def predictive(batch, attribute, rows, value, alpha):
    """P(value | the rows before), with alpha pseudo-rows for each state."""
    seen = sum(batch.codes[t, attribute] == value for t in rows)
    return (seen + alpha) / (len(rows) + alpha * batch.n_states[attribute])


def evidence(batch, attribute, edge, alpha):
    """P(column | classes) as a product of predictions of each row from those before it: no gamma function."""
    result = 1.0
    for t in range(batch.n_rows):
        before = [u for u in range(t) if not edge or batch.class_codes[u] == batch.class_codes[t]]
        result *= predictive(batch, attribute, before, batch.codes[t, attribute], alpha)
    return result


def by_enumeration(batch, row, alpha, prior):
    """P(class, row): the sum over 2^n subsets of their posterior probability times their prediction."""
    attributes = range(batch.n_attributes)
    known = {(i, edge): evidence(batch, i, edge, alpha) for i in attributes for edge in (False, True)}
    total, joint = 0.0, np.zeros(batch.n_classes)
    for subset in product((False, True), repeat=batch.n_attributes):
        weight = prod(known[i, edge] * (prior if edge else 1 - prior) for i, edge in enumerate(subset))
        total += weight
        for c in range(batch.n_classes):
            own = [t for t in range(batch.n_rows) if batch.class_codes[t] == c]
            p = len(own) / batch.n_rows
            for i, edge in enumerate(subset):
                p *= predictive(batch, i, own if edge else range(batch.n_rows), row[i], alpha)
            joint[c] += weight * p
    return joint / total


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32 - 2), st.sampled_from([(1.0, 0.5), (0.5, 0.2), (3.0, 0.9)]))
def test_it_is_the_mean_over_all_subsets_of_attributes(seed, options):
    batch = random_batch(seed, 15, N_STATES)
    network = MANB(*options).learn(task_of(NAIVE, batch)).network
    log_joint = LogJoint.of(network.dag, network.tables, N_STATES)(batch.codes[:3])
    expected = [by_enumeration(batch, row, *options) for row in batch.codes[:3]]
    np.testing.assert_allclose(np.exp(log_joint), expected, rtol=1e-9)


def test_the_probability_of_an_edge_is_the_posterior_of_the_subsets_that_have_it():
    batch = random_batch(4, 20, N_STATES)
    found = MANB(2.0, 0.3).learn(task_of(NAIVE, batch)).trace.probability
    for attribute in range(3):
        odds = log(0.3 / 0.7) + log(evidence(batch, attribute, True, 2.0) / evidence(batch, attribute, False, 2.0))
        assert found[f"x{attribute}"] == pytest.approx(1 / (1 + exp(-odds)), rel=1e-9)


@pytest.mark.parametrize(("prior", "tables"), [(1e-300, "marginal"), (1 - 1e-16, "conditional")])
def test_a_certain_prior_leaves_one_network(prior, tables):
    batch = random_batch(5, 40, N_STATES)
    learnt = MANB(prior=prior).learn(task_of(NAIVE, batch)).network.tables[0]
    for c in range(3):
        rows = range(40) if tables == "marginal" else np.flatnonzero(batch.class_codes == c)
        expected = [predictive(batch, 0, rows, value, 1.0) for value in range(3)]
        np.testing.assert_allclose(learnt[c], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("learner", "dag", "message"),
    [
        (MANB(alpha=0), NAIVE, "alpha=0 of MANB"),
        (MANB(prior=1), NAIVE, "prior=1 of MANB"),
        (MANB(), TREE, "naive Bayes, which this structure is not"),
        (Weighted(), TREE, "naive Bayes, which this structure is not"),
    ],
)
def test_what_a_learner_is_not_defined_for_is_refused(learner, dag, message):
    with pytest.raises(OptionError, match=message):
        learner.learn(task_of(dag, random_batch(0, 10, N_STATES)))
