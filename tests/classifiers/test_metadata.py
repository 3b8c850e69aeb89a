"""scikit-learn's conventions around a fit: requests of metadata, and methods that are not there."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tanager import (
    BayesianNetworkClassifier,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    classifiers,
)
from tanager.errors import MissingMethodError

MODELS = [
    NaiveBayesClassifier(),
    TANClassifier(parameters="frequency"),
    FixedDecisionClassifier(NaiveBayesClassifier(), costs=[[0, 1], [5, 0]]),
]


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 3))
    y = (X[:, 0] + rng.integers(0, 2, 120) > 1).astype(int)
    return X, y, rng.integers(0, 4, 120).astype(float)


@pytest.mark.parametrize("clf", MODELS)
def test_weights_asked_for_reach_every_fit_of_cross_validation(clf, table):
    X, y, weights = table
    asking = clone(clf).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    found = cross_validate(
        asking, X, y, cv=3, params={"sample_weight": weights}, return_estimator=True, return_indices=True
    )
    folds = zip(
        found["estimator"], found["indices"]["train"], found["indices"]["test"], found["test_score"], strict=True
    )
    for fitted, train, test, score in folds:
        by_hand = clone(clf).fit(X[train], y[train], weights[train])
        np.testing.assert_array_equal(fitted.predict_proba(X), by_hand.predict_proba(X))
        assert score == pytest.approx(by_hand.score(X[test], y[test], weights[test]))


def test_weights_nobody_has_asked_for_are_an_error(table):
    X, y, weights = table
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        cross_validate(NaiveBayesClassifier(), X, y, cv=3, params={"sample_weight": weights})


def test_weights_go_through_a_search_and_a_pipeline(table):
    X, y, weights = table
    asking = NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(FunctionTransformer(), asking)
    search = GridSearchCV(pipeline, {"naivebayesclassifier__discretizer": ["mdlp", "quantile"]}, cv=3)
    search.fit(X, y, sample_weight=weights)
    best = search.best_params_["naivebayesclassifier__discretizer"]
    expected = NaiveBayesClassifier(discretizer=best).fit(X, y, weights)
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("name", sorted(set(classifiers.__all__) - {"NaiveBayesClassifier"}))
def test_partial_fit_is_refused_with_the_way_that_exists(name, table):
    X, y, _ = table
    clf = getattr(classifiers, name)()
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(MissingMethodError, match=r"has no partial_fit(?s:.*)fit takes rows batch by batch"):
        clf.partial_fit(X, y)


def test_the_way_that_exists_is_one(table):
    import pyarrow as pa

    X, y, _ = table
    batches = [pa.table({"a": X[rows, 0], "b": X[rows, 1], "y": y[rows]}) for rows in (slice(0, 50), slice(50, 120))]
    clf = BayesianNetworkClassifier("tan", parameters="frequency").fit(iter(batches), "y")
    assert clf.class_count_.sum() == 120
