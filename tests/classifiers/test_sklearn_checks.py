"""Every public estimator passes every scikit-learn check: none skipped, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

import tanager
from tanager.errors import DataWarning

ESTIMATORS = [
    tanager.NaiveBayesClassifier(),
    tanager.AdditiveClassifier(),
    tanager.TANClassifier(),
    tanager.TANClassifier(criterion="ll", parameters="frequency", forest=True),
    tanager.AdditiveClassifier(trees=False, missing="average"),
    tanager.BayesianNetworkClassifier(missing="category"),
    tanager.BCKGClassifier(),
    tanager.KDBClassifier(),
    tanager.HillClimbClassifier(),
    tanager.SelectiveNaiveBayesClassifier(),
    tanager.BayesianNetworkClassifier("naive-bayes", categorical_features="all"),
    tanager.FixedDecisionClassifier(tanager.NaiveBayesClassifier()),
    tanager.ConformalClassifier(tanager.NaiveBayesClassifier(parameters="frequency"), folds=2),
    tanager.MDLPDiscretizer(),
]


# The checks feed continuous 'categories', and one predicts an array after fitting a frame.
@pytest.mark.filterwarnings(f"ignore::{DataWarning.__module__}.DataWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_scikit_learn_check_passes(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 30
    assert [(r["check_name"], r["status"], r["exception"]) for r in results if r["status"] != "passed"] == []
