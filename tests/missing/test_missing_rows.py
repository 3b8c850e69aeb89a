"""Rows with gaps, in training and prediction, for every structure, against the joint summed over what is missing."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from random_networks import joint, networks, random_network
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.classifiers import information
from tanager.errors import DataWarning
from tanager.missing.marginalize import SummedOut
from tanager.missing.rule import Skipped
from tanager.parameters import EM, Frequency
from tanager.structure import Fixed, HillClimb
from tanager.table.columns import code_dtype

LEARNERS = [
    BayesianNetworkClassifier("naive-bayes"),
    BayesianNetworkClassifier("tan", "ll"),
    BayesianNetworkClassifier("tan", "acll", "acll"),
    BayesianNetworkClassifier("bckg", "bdeu"),
    BayesianNetworkClassifier("kdb"),
    BayesianNetworkClassifier("selective"),
    BayesianNetworkClassifier(HillClimb(class_edges="free"), "bic"),
    BayesianNetworkClassifier("tan", "fcll", "em"),
    BayesianNetworkClassifier("hill-climb", "k2", "em"),
]


def drawn(seed=0, n_rows=400, gaps=0.15):
    """A table of text columns drawn from a random network, and its class; a share of the cells is missing."""
    rows = pd.DataFrame(random_network(seed, [3, 2, 4, 2, 3], density=0.6).sample(n_rows, random_state=seed))
    X, y = rows.drop(columns="n4"), rows["n4"]
    return X.mask(np.random.default_rng(seed).random(X.shape) < gaps), y


@settings(max_examples=60, deadline=None)
@given(networks(), st.booleans())
def test_missing_attributes_are_summed_out_wherever_the_class_stands(network, normalized):
    attributes, cells = network.n_states[:-1], joint(network)
    rows, codes = some_rows(attributes)
    found = np.exp(SummedOut(network).log_posterior(codes, normalized))
    for row, values in zip(rows, found, strict=True):
        expected = np.zeros(network.n_states[-1])
        for state, p in cells.items():
            if all(cell in (k, r) for cell, k, r in zip(row, state, attributes, strict=False)):
                expected[state[-1]] += p
        assert values == pytest.approx(expected / expected.sum() if normalized else expected, rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(networks())
def test_skipping_puts_the_mean_over_all_cells_in_the_place_of_a_family_with_a_gap(network):
    attributes, cells = network.n_states[:-1], joint(network)
    rows, codes = some_rows(attributes)

    def entry(node, state):
        place = 0
        for parent in network.dag.parents[node]:
            place = place * network.n_states[parent] + state[parent]
        return network.tables[node][place, state[node]]

    def term(node, row, c):
        members = {*network.dag.parents[node], node} - {len(attributes)}
        if all(row[member] < attributes[member] for member in members):
            return np.log(entry(node, (*row, c)))
        # The class is c whatever class the cells come with: their distribution is that of the attributes alone.
        return sum(p * np.log(entry(node, (*state[:-1], c))) for state, p in cells.items())

    found = Skipped(network).log_posterior(codes, normalized=False)
    for row, values in zip(rows, found, strict=True):
        n_nodes, n_classes = len(network.nodes), network.n_states[-1]
        expected = [sum(term(node, row, c) for node in range(n_nodes)) for c in range(n_classes)]
        assert values == pytest.approx(expected, rel=1e-9, abs=1e-9)


def some_rows(attributes):
    """Rows of every pattern of gaps, 30 at most, and their codes."""
    rows = [*product(*(range(r + 1) for r in attributes))]
    rows = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))[:30]]
    return rows, np.asfortranarray(np.array(rows), dtype=code_dtype(max(attributes)))


@pytest.mark.parametrize("estimator", LEARNERS, ids=repr)
def test_every_structure_learns_from_gaps_and_answers_as_its_network_does(estimator):
    X, y = drawn(1)
    clf = clone(estimator).set_params(missing="marginalize").fit(X, y)
    assert clf.__sklearn_tags__().input_tags.allow_nan
    found = clf.predict_proba(X[:40])
    for (_, row), values in zip(X[:40].iterrows(), found, strict=True):
        expected = clf.network_.query("n4", row.dropna().to_dict())
        assert values == pytest.approx([expected[label] for label in clf.classes_], rel=1e-9)


@pytest.mark.parametrize("parameters", [Frequency("friedman"), EM(smoothing="friedman")], ids=repr)
def test_a_state_seen_only_beside_a_missing_parent_may_be_met_beside_a_present_one(parameters):
    X = pd.DataFrame({"a": ["p", "q", None, None, "p", "q"], "b": ["u", "u", "v", "v", "u", "u"]})
    clf = BayesianNetworkClassifier(Fixed({"b": ["a"]}), parameters=parameters).fit(X, [0, 1, 0, 1, 1, 0])
    assert clf.predict_proba(pd.DataFrame({"a": ["p"], "b": ["v"]}))[0] == pytest.approx([0.5, 0.5], abs=0.2)


DAYS = ["2020-01-01", "2020-01-02", None] * 20


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, None] * 20,
        ["0", "1", np.nan] * 20,
        pd.Series(pd.to_datetime(DAYS)),
        pd.Series(pd.to_datetime(DAYS)) - pd.Timestamp(DAYS[0]),
        pl.Series([0, 1, None] * 20),
        pd.Series([0, 1, None] * 20, dtype="Int64"),
        pa.chunked_array([pa.array(["0", "1", None] * 20).dictionary_encode()]),
    ],
)
def test_a_missing_class_is_found_in_every_kind_of_column(y):
    X = pd.DataFrame({"a": ["p", "q", "q"] * 20})
    with pytest.warns(DataWarning, match="missing in 20 of 60 rows"):
        clf = NaiveBayesClassifier().fit(X, y)
    assert len(clf.classes_) == 2
    assert clf.predict(X[:3]).tolist() == clf.classes_[[0, 1, 1]].tolist()


@pytest.mark.parametrize("parameters", ["em", "likelihood-gradient"])
def test_rows_without_a_class_help_those_who_learn_the_joint_and_need_no_warning(parameters):
    X, y = drawn(8)
    y = y.astype(object)
    y[::4] = None
    weights = np.arange(400) % 3
    clf = TANClassifier(parameters=parameters).fit(X, y, weights)
    kept = y.notna()
    labelled = TANClassifier(parameters=parameters).fit(X[kept], y[kept], weights[kept])
    assert clf.network_.dag == labelled.network_.dag
    with_all, with_some = (fitted.network_.log_likelihood(X.assign(n4=y)) @ weights for fitted in (clf, labelled))
    assert with_all > with_some + 1.0


def test_counting_and_studies_leave_rows_without_a_class_out():
    X, y = drawn(9, gaps=0.0)
    y = y.astype(object)
    y[:10] = None
    with pytest.warns(DataWarning, match="10 of 400"):
        found = information(X, y)
    np.testing.assert_allclose(found.target, information(X[10:], y[10:]).target)
    naive = NaiveBayesClassifier().fit(X[10:], y[10:])
    with pytest.warns(DataWarning, match="10 of 50"):
        more = clone(naive).partial_fit(X[:50], y[:50], classes=naive.classes_)
    expected = clone(naive).partial_fit(X[10:50], y[10:50], classes=naive.classes_)
    np.testing.assert_array_equal(more.predict_proba(X), expected.predict_proba(X))
