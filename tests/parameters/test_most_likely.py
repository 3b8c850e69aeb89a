"""The network of a discriminative learner is the most likely of those that classify alike: laws, through classifiers.

Oracles: enumeration of all joint states, counts row by row, and gaps filled in every way.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from oracle import count_rows, joint_distribution, random_batch
from parameters.tasks import task_of
from random_networks import joint, log_posterior
from tanager import BayesianNetworkClassifier
from tanager.network.normalize import most_likely_tables
from tanager.parameters import Conditional, Frequency, class_cells
from tanager.parameters.class_cells import smoothed_counts
from tanager.structure import Fixed
from tanager.structure.dag import Dag

N_STATES = (3, 2, 4, 2, 3)
PERFECT = {
    "naive Bayes": "naive-bayes",
    "tree": "tan",
    "two parents": Fixed(Dag.augmented_naive_bayes([(), (0,), (0, 1), (1, 2)])),
    "class with parents": Fixed(Dag(((), (0,), (1, 4), (4,), (0, 1)))),
}
LEARNERS = ["conditional", Conditional("error", prior="generative", strength=1.0), "dfe"]
PAIRS = [*product(PERFECT, LEARNERS), ("naive Bayes", "pruned")]


def table_of(n_rows=400, gaps=0.0, seed=0):
    """Attributes that depend on the class and on each other, with states of different frequency; and the class."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])
    columns = {}
    before = classes
    for k, r in enumerate(N_STATES[:-1]):
        rare = np.minimum(rng.geometric(0.6, n_rows) - 1, r - 1)
        before = np.where(rng.random(n_rows) < 0.4, (before + classes) % r, rare)
        columns[f"x{k}"] = pd.Categorical(np.where(rng.random(n_rows) < gaps, np.nan, before), categories=range(r))
    return pd.DataFrame(columns), classes


def joint_of(network):
    """P(x, c) with an axis for each node."""
    shaped = {
        family.child: network.tables[family.child].reshape([network.n_states[node] for node in family.nodes])
        for family in network.dag.families
    }
    return joint_distribution(dict(enumerate(network.dag.parents)), shaped, network.n_states)


@pytest.fixture
def given(monkeypatch):
    """The log tables and counts that most_likely_tables is given, by name."""
    seen = {}

    def remember(dag, log_tables, n_states, counts):
        seen.update(logs=log_tables, counts=counts)
        return most_likely_tables(dag, log_tables, n_states, counts)

    monkeypatch.setattr(class_cells, "most_likely_tables", remember)
    return seen


def class_free_marginals(network, counts):
    """Of each family: its attributes' marginal in the network, and in the counts, by enumeration."""
    states, target = joint_of(network), len(network.nodes) - 1
    for family, counted in zip(network.dag.families, counts, strict=True):
        attributes = [node for node in sorted(family.nodes) if node != target]
        left_out = tuple(node for node in range(target + 1) if node not in attributes)
        by_node = counted.reshape([network.n_states[node] for node in family.nodes])
        by_node = by_node.transpose(np.argsort(family.nodes))
        wanted = by_node.sum(axis=-1) if target in family.nodes else by_node
        yield states.sum(axis=left_out), wanted / wanted.sum()


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize(("structure", "parameters"), PAIRS, ids=str)
def test_class_probabilities_stay_and_class_free_marginals_are_those_of_the_counts(structure, parameters, gaps, given):
    clf = BayesianNetworkClassifier(PERFECT[structure], parameters=parameters).fit(*table_of(gaps=gaps))
    states = joint_of(clf.network_)
    expected = np.exp(log_posterior(clf.network_.dag, given["logs"], N_STATES))
    np.testing.assert_allclose(states / states.sum(axis=-1, keepdims=True), expected, rtol=0, atol=1e-10)
    for marginal, wanted in class_free_marginals(clf.network_, given["counts"]):
        np.testing.assert_allclose(marginal, wanted, rtol=0, atol=1e-6)
    assert clf.trace_.parameters.marginal_difference < 1e-6


@pytest.mark.parametrize(("structure", "parameters"), [("tree", "conditional"), ("naive Bayes", "pruned")])
def test_samples_have_the_frequencies_of_the_rows(structure, parameters):
    X, y = table_of(2_000)
    network = BayesianNetworkClassifier(PERFECT[structure], parameters=parameters).fit(X, y).network_
    drawn = pd.DataFrame(network.sample(40_000, random_state=0))
    for parent, child in [*(edge for edge in network.edges if edge[0] in X), *((name, name) for name in X)]:
        sampled = pd.crosstab(drawn[parent], drawn[child], normalize="all")
        seen = pd.crosstab(X[parent], X[child], normalize="all")
        # Five standard deviations of a share, and the pseudo-row.
        np.testing.assert_allclose(sampled, seen, rtol=0, atol=5 * 0.5 / np.sqrt(40_000) + 1 / 2_000)


TREE = Dag.augmented_naive_bayes([(), (0,), (1,)])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_pseudo_row_is_spread_over_the_cells_of_every_family(weighted):
    batch = random_batch(0, 50, (3, 2, 2, 3), weighted=weighted)
    for family, counted in zip(TREE.families, smoothed_counts(task_of(TREE, batch)), strict=True):
        expected = count_rows(batch, family.nodes) + 1.0 / family.size(batch.n_states)
        np.testing.assert_allclose(counted, expected.reshape(family.shape(batch.n_states)), rtol=1e-12)


def test_a_gap_is_shared_out_by_the_frequencies_of_the_structure_given_the_cells_present():
    batch = random_batch(1, 40, (3, 2, 2, 3), gaps=0.4, weighted=True)
    task = task_of(TREE, batch)
    states = joint(task.network(Frequency("friedman").tables(task)))
    completed = np.zeros(batch.n_states)
    for row, c, weight in zip(batch.codes.tolist(), batch.class_codes.tolist(), batch.weights, strict=True):
        alike = [
            state
            for state in states
            if state[-1] == c and all(cell in (k, r) for cell, k, r in zip(row, state, batch.n_states, strict=False))
        ]
        total = sum(states[state] for state in alike)
        for state in alike:
            completed[state] += weight * states[state] / total
    assert batch.incomplete.any()
    for family, counted in zip(TREE.families, smoothed_counts(task), strict=True):
        expected = completed.sum(axis=tuple(node for node in range(4) if node not in family.nodes))
        expected = expected.transpose(np.argsort(np.argsort(family.nodes))) + 1.0 / family.size(batch.n_states)
        np.testing.assert_allclose(counted, expected.reshape(family.shape(batch.n_states)), rtol=1e-9)


def test_where_too_many_rows_have_gaps_a_family_counts_those_it_has_every_cell_of(monkeypatch):
    monkeypatch.setattr(class_cells, "MAX_ROWS_TO_INFER", 3)
    batch = random_batch(1, 40, (3, 2, 2, 3), gaps=0.4)
    for family, counted in zip(TREE.families, smoothed_counts(task_of(TREE, batch)), strict=True):
        expected = count_rows(batch, family.nodes) + 1.0 / family.size(batch.n_states)
        np.testing.assert_allclose(counted, expected.reshape(family.shape(batch.n_states)), rtol=1e-12)


@pytest.mark.parametrize("parameters", ["conditional", "pruned", "dfe"])
def test_gaps_that_depend_on_the_class_do_not_bend_the_frequencies(parameters):
    X, y = table_of(4_000)
    frequencies = X["x0"].value_counts(normalize=True)
    removed = X.assign(x0=X["x0"].where((y > 0) | (np.arange(len(y)) % 5 == 0)))
    network = BayesianNetworkClassifier("naive-bayes", parameters=parameters).fit(removed, y).network_
    assert network.query("x0") == pytest.approx(frequencies.to_dict(), abs=0.02)
    present = removed["x0"].value_counts(normalize=True)
    assert (present - frequencies).abs().max() > 0.1  # what the cells present alone would say


@pytest.mark.parametrize("parameters", ["conditional", "dfe"])
def test_a_structure_that_is_not_perfect_keeps_the_tables_of_the_fit(parameters, given):
    structure = Fixed(Dag.augmented_naive_bayes([(), (), (0, 1), ()]))
    clf = BayesianNetworkClassifier(structure, parameters=parameters).fit(*table_of())
    assert not given
    assert clf.trace_.parameters.marginal_difference is None


def test_mixed_fits_the_attributes_itself_and_keeps_its_tables(given):
    mixed = Conditional("mixed", prior="generative", strength=1.0)
    clf = BayesianNetworkClassifier("tan", parameters=mixed).fit(*table_of())
    assert not given
    assert clf.trace_.parameters.marginal_difference is None
