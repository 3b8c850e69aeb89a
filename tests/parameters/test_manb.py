"""Model-averaged naive Bayes against the sum over all subsets of attributes."""

from __future__ import annotations

from itertools import product
from math import exp, log, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import random_batch
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.errors import OptionError
from tanager.network.log_joint import LogJoint
from tanager.parameters import MANB, ParameterTask
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 3)


def learn(batch, learner, parents=()):
    counts = CountStore(batch, choose_engine("numpy"), tuple(f"x{node}" for node in range(len(batch.n_states))))
    dag = Dag.augmented_naive_bayes([parents, *[()] * (batch.n_attributes - 1)])
    return learner.learn(ParameterTask(dag, counts))


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
    network = learn(batch, MANB(*options)).network
    log_joint = LogJoint.of(network.dag, network.tables, N_STATES)(batch.codes[:3])
    expected = [by_enumeration(batch, row, *options) for row in batch.codes[:3]]
    np.testing.assert_allclose(np.exp(log_joint), expected, rtol=1e-9)


def test_the_probability_of_an_edge_is_the_posterior_of_the_subsets_that_have_it():
    batch = random_batch(4, 20, N_STATES)
    found = learn(batch, MANB(2.0, 0.3)).trace.probability
    for attribute in range(3):
        odds = log(0.3 / 0.7) + log(evidence(batch, attribute, True, 2.0) / evidence(batch, attribute, False, 2.0))
        assert found[f"x{attribute}"] == pytest.approx(1 / (1 + exp(-odds)), rel=1e-9)


@pytest.mark.parametrize(("prior", "tables"), [(1e-300, "marginal"), (1 - 1e-16, "conditional")])
def test_a_certain_prior_leaves_one_network(prior, tables):
    batch = random_batch(5, 40, N_STATES)
    learnt = learn(batch, MANB(prior=prior)).network.tables[0]
    for c in range(3):
        rows = range(40) if tables == "marginal" else np.flatnonzero(batch.class_codes == c)
        expected = [predictive(batch, 0, rows, value, 1.0) for value in range(3)]
        np.testing.assert_allclose(learnt[c], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("learner", "parents", "message"),
    [
        (MANB(alpha=0), (), "alpha=0 of MANB"),
        (MANB(prior=1), (), "prior=1 of MANB"),
        (MANB(), (1,), "naive Bayes, which this structure is not"),
    ],
)
def test_what_it_is_not_defined_for_is_refused(learner, parents, message):
    with pytest.raises(OptionError, match=message):
        learn(random_batch(0, 10, N_STATES), learner, parents)
