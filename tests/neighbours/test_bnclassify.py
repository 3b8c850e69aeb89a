"""Figures that the tests of bnclassify 0.4 expect of two UCI tables, car and voting, as facts.

bnclassify had the posteriors of MANB's edges from the authors' Java program, that of AODE from Weka, and the scores
from bnlearn. It smooths the class frequencies too, (N_c + 1) / (N + 4); `smooth_class` puts that in.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tanager import BayesianNetworkClassifier, TANClassifier, structure_score
from tanager.classifiers import information

DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no benchmark tables in {DATA}; set TANAGER_DATA")


def read(name):
    table = pd.read_csv(DATA / f"{name}.csv.gz", dtype=str)
    return table.drop(columns="class"), table["class"]


@pytest.fixture(scope="module")
def car():
    return read("car")


@pytest.fixture(scope="module")
def voting():
    return read("vote")


def complete(X, y, names=None):
    present = X[names or X.columns].notna().all(axis=1)
    return X[names or X.columns][present], y[present]


SCORES = [("ll", -13503.6883427047687, -3724.18038821656273), ("aic", -13566.6883427047687, -3739.18038821654636)]
SCORES += [("bic", -13738.5120211097346, -3780.09078783677614)]


@pytest.mark.parametrize(("criterion", "of_all", "of_one"), SCORES)
def test_scores_of_naive_bayes(car, criterion, of_all, of_one):
    X, y = car
    assert structure_score(X, y, {}, criterion) == pytest.approx(of_all, rel=1e-12)
    assert structure_score(X[["buying"]], y, {}, criterion) == pytest.approx(of_one, rel=1e-12)


def test_conditional_mutual_information(car, voting):
    X, y = car
    found = information(X, y)
    buying, maint = found.names.index("buying"), found.names.index("maint")
    assert found.conditional[buying, maint] == pytest.approx(0.07199921, rel=1e-7)
    X, y = complete(*voting, ["water-project-cost-sharing", "crime"])
    assert information(X, y).conditional[0, 1] == pytest.approx(0.003924715, rel=1e-6)


def test_what_an_edge_adds_to_bic(voting):
    X, y = complete(*voting)
    X = X[["handicapped-infants", "water-project-cost-sharing"]]
    with_edge = structure_score(X, y, {X.columns[0]: [X.columns[1]]}, "bic")
    assert with_edge - structure_score(X, y, {}, "bic") == pytest.approx(-4.280159, rel=1e-6)


@pytest.mark.parametrize(("criterion", "edges"), [("ll", 11), ("aic", 9), ("bic", 6)])
def test_edges_of_the_forest_of_car(car, criterion, edges):
    clf = TANClassifier(criterion=criterion, forest=True, parameters="frequency").fit(*car)
    assert len(clf.network_.edges) == edges


def test_edges_of_the_forest_of_voting_with_missing_cells(voting):
    clf = TANClassifier(criterion="bic", forest=True, parameters="frequency", missing="skip").fit(*voting)
    assert len(clf.network_.edges) == 30
    assert clf.network_.parents["immigration"] == ("class",)


def smooth_class(shares, y):
    """The same probabilities with class frequencies of one more row each."""
    rows = y.value_counts().sort_index().to_numpy()
    shares = shares * (rows + 1) / rows
    return shares / shares.sum(axis=1, keepdims=True)


def test_aode(car):
    X, y = car
    clf = BayesianNetworkClassifier("aode", parameters="frequency").fit(X, y)
    shares = smooth_class(clf.predict_proba(X), y)
    np.testing.assert_allclose(shares[11, clf.classes_.tolist().index("unacc")], 0.793, atol=1e-3)


def test_the_log_loss_that_weights_of_naive_bayes_begin_at(voting):
    clf = BayesianNetworkClassifier("naive-bayes", parameters="weighted").fit(*complete(*voting))
    assert clf.trace_.parameters.loss_start == pytest.approx(149.1442, rel=1e-3)
