"""One probability: for any known cells, prediction, query, explanation and file say the same, and what rows say."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier, explain
from tanager.classifiers.base import encode_table
from tanager.parameters import Conditional

DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[3] / "shared" / "data"))
LOADERS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
FIFTHS = "breast cancer, every column in fifths"
NAMES = [*LOADERS, FIFTHS, "vehicle", "german", "tic-tac-toe", "balance-scale"]


def read(name):
    if name in LOADERS:
        return LOADERS[name](return_X_y=True, as_frame=True)
    if name == FIFTHS:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return X.apply(lambda column: pd.qcut(column, 5, labels=list("abcde"), duplicates="drop").astype(str)), y
    found = {data_set.name: data_set for data_set in find_data_sets(DATA)} if DATA.is_dir() else {}
    if name not in found:
        pytest.skip("the benchmark sets are not here")
    X, y = found[name].read()
    return X.to_pandas(), pd.Series(y)


@pytest.fixture(scope="module", params=NAMES)
def fitted(request):
    X, y = read(request.param)
    return AdditiveClassifier().fit(X, y), X, y


def evidence_of(X, row, chosen):
    return {name: X[name].iloc[row] for name in np.array(X.columns)[list(chosen)] if not pd.isna(X[name].iloc[row])}


def row_of(X, evidence):
    kinds = {name: X[name].dtype if name in evidence else object for name in X.columns}
    return pd.DataFrame({name: pd.Series([evidence.get(name)], dtype=kind) for name, kind in kinds.items()})


def test_without_evidence_the_default_gives_the_class_frequencies(fitted):
    clf, _, y = fitted
    frequencies = y.value_counts(normalize=True)[clf.classes_.tolist()].to_numpy()
    assert list(clf.query().values()) == pytest.approx(frequencies, abs=0.005)


@pytest.mark.parametrize("fitted", [FIFTHS, "vehicle", "german", "tic-tac-toe", "balance-scale"], indirect=True)
def test_with_one_cell_known_the_default_comes_near_the_class_frequencies_of_its_rows(fitted):
    clf, X, y = fitted
    _, codes = encode_table(clf, X)
    classes = y.to_numpy()[:, np.newaxis] == clf.classes_
    distances = []
    for attribute, n_states in enumerate(clf.model_.n_states[:-1]):
        for state in range(n_states):
            rows = codes[:, attribute] == state
            if rows.sum() >= 30:
                evidence = np.array([clf.model_.n_states[:-1]], dtype=codes.dtype)
                evidence[0, attribute] = state
                distances.append(np.exp(clf.missing_rule_.log_posterior(evidence)[0]) - classes[rows].mean(axis=0))
    assert distances
    assert np.abs(distances).mean() <= 0.02


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_prediction_query_and_explanation_give_one_probability(fitted, data):
    clf, X, _ = fitted
    chosen = data.draw(st.sets(st.integers(0, X.shape[1] - 1)))
    evidence = evidence_of(X, data.draw(st.integers(0, len(X) - 1)), chosen)
    row = row_of(X, evidence)
    predicted = clf.predict_proba(row)[0]
    np.testing.assert_allclose(list(clf.query(evidence).values()), predicted, rtol=0, atol=1e-9)
    found = explain(clf, row)
    favoured, against = found.favoured[0], found.against[0]
    parts = found.base_rate[0] + found.baseline[0] + found.contributions[0].sum() + found.remainder[0]
    assert parts == pytest.approx(np.log(predicted[favoured] / predicted[against]), abs=1e-9)


@pytest.mark.parametrize("structure", ["naive-bayes", "tan"])
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_with_unknown_cells_are_near_those_of_the_tight_fit(structure, seed):
    """Answers are a continuous function of the fit: no draw depends on its last digits."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 300)
    cells = np.where(rng.random((300, 12)) < 0.4, y[:, np.newaxis], rng.integers(0, 4, (300, 12))).astype(str)
    X = pd.DataFrame(cells, columns=list("abcdefghijkl"))
    X = X.mask(rng.random(X.shape) < 0.3)
    fits = (BayesianNetworkClassifier(structure, parameters=Conditional(tol=tol)) for tol in (1e-3, 1e-7))
    loose, tight = (clf.fit(X, y) for clf in fits)
    gappy = X.mask(rng.random(X.shape) < 0.4)
    for rows in (X, gappy):
        assert np.abs(loose.predict_proba(rows) - tight.predict_proba(rows)).max() < 1e-3


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(24, 40))
def test_without_evidence_many_classes_of_few_rows_have_their_frequencies(seed, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, 100, p=rng.dirichlet(np.full(n_classes, 0.7)))
    X = np.where(rng.random((100, 8)) < 0.6, y[:, np.newaxis] * rng.integers(1, 7, 8) % 5, rng.integers(0, 5, (100, 8)))
    clf = AdditiveClassifier().fit(X.astype(str), y)
    found = clf.predict_proba(np.full((1, 8), None, dtype=object))[0]
    np.testing.assert_allclose(found, np.unique(y, return_counts=True)[1] / 100, rtol=0, atol=1e-9)


def test_reversing_the_columns_changes_nothing():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    gappy = X[:60].mask(np.random.default_rng(0).random((60, X.shape[1])) < 0.4)
    forth, back = (AdditiveClassifier().fit(X[names], y) for names in (X.columns, X.columns[::-1]))
    np.testing.assert_allclose(back.predict_proba(gappy[X.columns[::-1]]), forth.predict_proba(gappy), atol=1e-9)
