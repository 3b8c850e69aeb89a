"""The mean of all trees as a classifier, against the list of all of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tanager import (
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    Network,
    OptionError,
    explain,
    load_model,
    save_model,
    structure_score,
)
from tanager.classifiers.base import encode_table
from tanager.errors import FileError
from tanager.structure import Dag, Fixed, TreeAverage
from tests.classifiers.test_aode import make_table
from tests.structure.test_all_trees import FORESTS

FREQUENT = {"parameters": "frequency", "categorical_features": "all"}
NAMES = ("a", "b", "c", "d")


def fitted(X, y, criterion=None):
    return BayesianNetworkClassifier(TreeAverage(), criterion, **FREQUENT).fit(X, y)


def edges_of(forest):
    """(parent, child) pairs of a row of `FORESTS`."""
    return [(int(parent) - 1, child) for child, parent in enumerate(forest) if parent]


def by_listing(X, y, rows, criterion, attributes=range(4)):
    """(n_rows, n_classes) joint and (n + 1, n) edge probabilities: every forest fitted and scored by itself."""
    attributes = list(attributes)
    joints, scores, forests = [], [], FORESTS[len(attributes)]
    names = [NAMES[attribute] for attribute in attributes]
    for each in forests:
        edges = edges_of(each)
        parents = {name: [names[p] for p, c in edges if c == child] for child, name in enumerate(names)}
        table = pd.DataFrame(X[:, attributes].astype(str), columns=names)
        scores.append(structure_score(table, y, parents, criterion))
        clf = BayesianNetworkClassifier(Fixed(edges), **FREQUENT).fit(X[:, attributes], y)
        joints.append(np.exp(clf.network_.log_joint(encode_table(clf, rows[:, attributes])[1])))
    shares = np.exp(np.array(scores) - max(scores))
    shares /= shares.sum()
    probability = np.zeros((len(attributes) + 1, len(attributes)))
    for each, share in zip(forests, shares, strict=True):
        probability[each, np.arange(len(attributes))] += share
    return np.tensordot(shares, joints, axes=1), probability, np.array(scores)


def forests_of(mean):
    """The network of every forest over four attributes, and its probability by the weights of the mean."""
    forests = FORESTS[4]
    logs = mean.log_weights[forests, np.arange(4)].sum(axis=1)
    networks = []
    for forest in forests:
        members = [mean.members[parent - 1 if parent else child] for child, parent in enumerate(forest)]
        tables = [member.tables[child] for child, member in enumerate(members)]
        dag = Dag.augmented_naive_bayes([[parent - 1] if parent else [] for parent in forest.tolist()])
        networks.append(Network(mean.columns, dag, (*tables, mean.members[0].tables[-1]), mean.target))
    return networks, np.exp(logs - np.logaddexp.reduce(logs))


@pytest.mark.parametrize(("criterion", "n_attributes"), [("k2", 4), ("bdeu", 3), ("acll", 3), ("fcll", 3)])
def test_predictions_and_edges_are_those_of_all_forests_listed(criterion, n_attributes):
    X, y = make_table(1, 60)
    X = X[:, :n_attributes]
    clf = fitted(X, y, criterion)
    joint, probability, scores = by_listing(X, y, X[:12], criterion, range(n_attributes))
    np.testing.assert_allclose(clf.network_.parent_probability, probability, atol=1e-10)
    np.testing.assert_allclose(np.exp(clf.network_.log_joint(encode_table(clf, X[:12])[1])), joint, rtol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(X[:12]), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    assert clf.structure_score_ == pytest.approx(np.logaddexp.reduce(scores) - np.log(len(scores)), rel=1e-12)


def test_a_gap_leaves_the_trees_of_the_other_attributes():
    X, y = make_table(2, 60)
    clf = fitted(X, y)
    rows = X[:8].astype(float)
    rows[:, 2] = np.nan
    joint, _, _ = by_listing(X, y, X[:8], "k2", attributes=[0, 1, 3])
    np.testing.assert_allclose(clf.predict_proba(rows), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(np.exp(clf.network_.log_joint(encode_table(clf, rows)[1])), joint, rtol=1e-9)
    nothing = clf.predict_proba(np.full((1, 4), np.nan))
    np.testing.assert_allclose(nothing[0], np.bincount(y) / len(y), rtol=1e-12)
    one = np.array([[np.nan, 1, np.nan, np.nan]])
    naive = NaiveBayesClassifier(**FREQUENT).fit(X, y).predict_proba(one)
    np.testing.assert_allclose(clf.predict_proba(one), naive, rtol=1e-10)


def test_an_edge_is_certain_where_a_column_is_a_copy():
    X, y = make_table(3, 200)
    X[:, 3] = X[:, 0]
    clf = fitted(X, y)
    (first, probability), *others = clf.network_.edge_probability.items()
    assert first == ("x0", "x3")
    assert probability == pytest.approx(1.0, abs=1e-12)
    assert [p for _, p in others] == sorted((p for _, p in others), reverse=True)


@pytest.mark.parametrize("structure", ["tree-average", "aode"])
def test_a_mean_of_networks_has_no_parts_to_explain_a_row_by(structure):
    X, y = make_table(5)
    clf = BayesianNetworkClassifier(structure, parameters="frequency").fit(X, y)
    with pytest.raises(OptionError, match=r"mean of networks.*no sum of parts"):
        explain(clf, X[:2])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda trees: trees["edges"].pop(),
        lambda trees: trees["edges"][0].__setitem__(1, "much"),
        lambda trees: trees["members"].reverse(),
        lambda trees: trees.pop("edges"),
    ],
)
def test_a_model_file_whose_trees_do_not_fit_together_is_refused(tmp_path, spoil):
    X, y = make_table(6, 30)
    save_model(fitted(X, y), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    spoil(document["trees"])
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileError):
        load_model(tmp_path / "model.json")


def test_queries_are_what_the_classifier_says():
    X, y = make_table(7)
    clf = fitted(X, y)
    names = clf.network_.nodes
    asked = clf.network_.query(names[-1], {names[0]: 1, names[2]: 0})
    np.testing.assert_allclose(list(asked.values()), clf.predict_proba([[1, np.nan, 0, np.nan]])[0], rtol=1e-12)
    both = clf.network_.query([names[-1], names[1]], {names[0]: 1})
    alone = clf.network_.query(names[1], {names[0]: 1})
    for state, p in alone.items():
        assert sum(both[label, state] for label in (0, 1, 2)) == pytest.approx(p, rel=1e-12)
    assert clf.network_.query(names[1], {names[1]: 1}) == {0: 0.0, 1: 1.0}
    assert clf.network_.query(names[-1], {names[-1]: 2})[2] == 1.0
    table = pd.DataFrame(X, columns=list(names[:-1]))
    logs = clf.network_.log_joint(encode_table(clf, X)[1])
    np.testing.assert_allclose(clf.network_.log_likelihood(table), np.logaddexp.reduce(logs, axis=1), rtol=1e-12)
    known = clf.network_.log_likelihood(table.assign(**{names[-1]: y}))
    np.testing.assert_allclose(known, logs[np.arange(len(y)), y], rtol=1e-12)


def test_strength_of_an_attribute_is_the_mean_over_all_forests():
    X, y = make_table(8, 60)
    clf = fitted(X, y)
    forests, probability = forests_of(clf.network_)
    strengths = np.array([explain(forest).strength for forest in forests])
    # A parent's marginal in a forest differs from its table as far as the pseudo-rows of both do.
    np.testing.assert_allclose(explain(clf).strength, probability @ strengths, rtol=0.02)
