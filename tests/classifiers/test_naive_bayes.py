"""NaiveBayesClassifier: against scikit-learn, against counting by hand, and in batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

from classifiers.stream_tables import mixed_table, split
from tanager import NaiveBayesClassifier
from tanager.errors import DataError
from tanager.parameters import Frequency


def table(seed, n_rows=300, n_attributes=5, n_states=4, n_classes=3):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_classes, n_rows)
    tells = generator.random(n_attributes) < 0.5
    X = (generator.integers(0, n_states, (n_rows, n_attributes)) + y[:, np.newaxis] * tells) % n_states
    return X, y


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(("alpha", "weighted"), [(0.5, False), (1.0, True), (2.0, False)])
def test_probabilities_equal_those_of_categorical_nb(engine, alpha, weighted):
    X, y = table(0)
    weights = np.random.default_rng(2).random(len(y)) * 3 if weighted else None
    ours = NaiveBayesClassifier(Frequency(alpha=alpha), categorical_features="all", engine=engine).fit(X, y, weights)
    theirs = CategoricalNB(alpha=alpha).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-12, atol=1e-12)


def test_a_missing_cell_is_left_out_of_training_and_prediction():
    X = pd.DataFrame({"a": ["u", "u", "v", None, "v", "v"], "b": ["p", "q", None, "q", "q", "p"]})
    y = ["no", "no", "no", "yes", "yes", "yes"]
    clf = NaiveBayesClassifier().fit(X, y)
    # P(a=u | no) = (2+1)/(3+2), P(a=u | yes) = (0+1)/(2+2); P(b=q | no) = (1+1)/(2+2), P(b=q | yes) = (2+1)/(3+2)
    no, yes = 3 / 5 * 2 / 4 * 0.5, 1 / 4 * 3 / 5 * 0.5
    assert clf.predict_proba(pd.DataFrame({"a": ["u"], "b": ["q"]}))[0] == pytest.approx(
        [no / (no + yes), yes / (no + yes)]
    )
    alone = clf.predict_proba(pd.DataFrame({"a": ["u"], "b": pd.Series([None], dtype="str")}))[0]
    assert alone == pytest.approx([(3 / 5) / (3 / 5 + 1 / 4), (1 / 4) / (3 / 5 + 1 / 4)])


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 119), max_size=4),
    st.booleans(),
    st.sampled_from(["marginalize", "category"]),
)
def test_partial_fit_in_any_batches_is_one_fit(seed, cuts, weighted, missing):
    X, y = split(mixed_table(120, gaps=0.1, seed=seed))
    weights = np.random.default_rng(seed).integers(1, 4, 120).astype(float) if weighted else None
    options = {"categorical_features": ["small"], "missing": missing}
    whole = NaiveBayesClassifier(**options).fit(X, y, weights)
    parts = NaiveBayesClassifier(**options)
    edges = [0, *sorted(set(cuts)), 120]
    for low, high in pairwise(edges):
        piece = slice(low, high)
        own = None if weights is None else weights[piece]
        parts.partial_fit(X.slice(low, high - low), y[piece], np.unique(y), own)
    assert parts.encoder_.schema.attributes == whole.encoder_.schema.attributes
    assert parts.network_.dag == whole.network_.dag
    for one, other in zip(parts.network_.tables, whole.network_.tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_partial_fit_needs_the_classes_first_and_no_others_later():
    X, y = table(4)
    with pytest.raises(ValueError, match="classes must be passed"):
        NaiveBayesClassifier().partial_fit(X, y)
    clf = NaiveBayesClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="class 7"):
        clf.partial_fit(X[:1], [7])


def test_partial_fit_after_fit_keeps_the_cut_points_of_fit():
    X, y = split(mixed_table(300))
    clf = NaiveBayesClassifier().fit(X, y)
    schema = clf.encoder_.schema
    clf.partial_fit(X.slice(0, 50), y[:50])
    assert clf.encoder_.schema == schema
    assert schema.attributes[-1].cuts
    shares = np.bincount(np.searchsorted(clf.classes_, np.append(y, y[:50]))) / 350
    np.testing.assert_allclose(clf.network_.tables[-1][0], shares, rtol=1e-15)


def test_partial_fit_refuses_a_column_that_changes_its_type():
    clf = NaiveBayesClassifier().partial_fit(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1], classes=[0, 1])
    with pytest.raises(DataError, match="column 'a' holds text in one part of the table and numbers in another"):
        clf.partial_fit(pd.DataFrame({"a": ["x", "y"]}), [0, 1])


def test_a_thousand_attributes_do_not_underflow():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (40, 1_000))
    y = np.arange(40) % 2
    probabilities = NaiveBayesClassifier(categorical_features="all").fit(X, y).predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
