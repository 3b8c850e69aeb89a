"""Conventions of scikit-learn: its own checks, options of estimators and of their parts, requests of metadata."""

from __future__ import annotations

from inspect import Parameter, signature

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import tanager
from tanager import (
    BayesianNetworkClassifier,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
    classifiers,
)
from tanager.errors import DataWarning, MissingMethodError
from tanager.scores import BDeu
from tanager.structure import HillClimb, KDependence

ESTIMATORS = [
    tanager.NaiveBayesClassifier(),
    tanager.AdditiveClassifier(),
    tanager.TANClassifier(),
    tanager.TANClassifier(criterion="ll", parameters="frequency", forest=True),
    tanager.AdditiveClassifier(trees=False, missing="average"),
    tanager.BayesianNetworkClassifier(missing="category"),
    tanager.BayesianNetworkClassifier("naive-bayes", categorical_features="all"),
    tanager.FixedDecisionClassifier(tanager.NaiveBayesClassifier()),
    tanager.classifiers.NaiveBayesClusterer(),
    tanager.table.MDLPDiscretizer(),
]


# A row is assigned to one fold, whatever its weight, and equal rows are assigned one by one: a row of weight 2 and the
# row twice differ in what is chosen on folds, as they do for scikit-learn's HistGradientBoostingClassifier.
CHOSEN_ON_FOLDS = {"check_sample_weight_equivalence_on_dense_data": "folds are made of rows, not of units of weight"}


# The checks feed continuous 'categories', and one predicts an array after fitting a frame.
@pytest.mark.filterwarnings(f"ignore::{DataWarning.__module__}.DataWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_scikit_learn_check_passes(estimator):
    on_folds = (
        isinstance(estimator, tanager.AdditiveClassifier) or estimator.get_params().get("parameters") == "conditional"
    )
    expected = CHOSEN_ON_FOLDS if on_folds else {}
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=expected)
    assert len(results) > 30
    wrong = [r for r in results if r["status"] != "passed" and r["check_name"] not in expected]
    assert [(r["check_name"], r["status"], r["exception"]) for r in wrong] == []


CLASSIFIERS = [name for name in classifiers.__all__ if name.endswith("Classifier")]
PRESETS = sorted(set(CLASSIFIERS) - {"AdditiveClassifier", "BayesianNetworkClassifier"})
SHARED = {
    name: option
    for name, option in signature(BayesianNetworkClassifier).parameters.items()
    if option.kind is Parameter.KEYWORD_ONLY
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_shows_every_shared_option_as_the_classifier_has_it(name):
    shown = signature(getattr(classifiers, name)).parameters
    assert {option: shown[option] for option in SHARED} == SHARED
    assert not any(option.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) for option in shown.values())


@pytest.mark.parametrize("name", [*PRESETS, "AdditiveClassifier"])
def test_every_option_shown_reaches_the_preset_and_its_clone(name):
    make = getattr(classifiers, name)
    defaults = {option: shown.default for option, shown in signature(make).parameters.items()}
    assert make().get_params(deep=False) == defaults
    others = {option: object() for option in defaults}
    clf = make(**others)
    assert clf.get_params(deep=False) == others
    assert make().set_params(**others).get_params(deep=False) == others
    assert set(clone(make(**dict.fromkeys(defaults, 7))).get_params().values()) == {7}


def test_a_part_given_by_name_has_its_options_and_becomes_an_object_when_one_is_set():
    clf = BayesianNetworkClassifier("hill-climb", "bdeu")
    given = clf.get_params(deep=False)
    assert (given["structure"], given["criterion"]) == ("hill-climb", "bdeu")
    assert clf.get_params()["structure__max_parents"] == HillClimb().max_parents
    assert clf.get_params()["criterion__ess"] == BDeu().ess
    clf.set_params(structure__max_parents=3)
    assert (type(clf.structure), clf.structure.max_parents, clf.criterion) == (HillClimb, 3, "bdeu")
    assert clone(clf).structure.max_parents == 3
    assert BayesianNetworkClassifier().set_params(structure__forest=True).structure.forest
    assert BayesianNetworkClassifier().set_params(structure="kdb", structure__k=3).structure.k == 3
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        clf.set_params(structure__depth=3)
    with pytest.raises(OptionError, match="structure='hil-climb' is not known"):
        BayesianNetworkClassifier("hil-climb").set_params(structure__max_parents=3)


def test_a_grid_search_goes_over_options_of_a_part_given_by_name():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(BayesianNetworkClassifier("kdb", parameters="frequency"), {"structure__k": [1, 2]}, cv=2)
    by_name = search.fit(X, y).cv_results_["mean_test_score"]
    by_hand = [
        cross_val_score(BayesianNetworkClassifier(KDependence(k), parameters="frequency"), X, y, cv=2).mean()
        for k in (1, 2)
    ]
    np.testing.assert_allclose(by_name, by_hand)


MODELS = [
    NaiveBayesClassifier(),
    TANClassifier(parameters="frequency"),
    FixedDecisionClassifier(NaiveBayesClassifier(), costs=[[0, 1], [5, 0]]),
]


@pytest.fixture
def table():
    """While requests of metadata are routed."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (120, 3))
    y = (X[:, 0] + rng.integers(0, 2, 120) > 1).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        yield X, y, rng.integers(0, 4, 120).astype(float)


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


def test_weights_go_through_a_search_and_a_pipeline(table):
    X, y, weights = table
    asking = NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    pipeline = make_pipeline(FunctionTransformer(), asking)
    search = GridSearchCV(pipeline, {"naivebayesclassifier__discretizer": ["mdlp", "quantile"]}, cv=3)
    search.fit(X, y, sample_weight=weights)
    best = search.best_params_["naivebayesclassifier__discretizer"]
    expected = NaiveBayesClassifier(discretizer=best).fit(X, y, weights)
    np.testing.assert_array_equal(search.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name != "NaiveBayesClassifier"])
def test_partial_fit_is_refused_with_the_way_that_exists(name, table):
    X, y, _ = table
    clf = getattr(classifiers, name)()
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(MissingMethodError, match=r"has no partial_fit(?s:.*)fit takes rows batch by batch"):
        clf.partial_fit(X, y)
