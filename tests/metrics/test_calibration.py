"""calibration against scikit-learn's own curve, Brier score and log-loss."""

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from tanager import BayesianNetworkClassifier, calibration
from tanager.errors import DataError, OptionError


@pytest.fixture(scope="module")
def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2]


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = BayesianNetworkClassifier(structure="naive-bayes").fit(X[::2], labels[::2])
    return clf, X[1::2], labels[1::2]


class Given:
    """A classifier whose probabilities are the rows of X."""

    def __init__(self, *classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.asarray(X)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [3, 10])
def test_curves_are_those_of_scikit_learn(two_classes, three_classes, n_bins, strategy):
    for clf, X, y in (two_classes, three_classes):
        found = calibration(clf, X, y, n_bins=n_bins, strategy=strategy)
        probabilities = clf.predict_proba(X)
        for c, curve in enumerate(found.by_class):
            observed, mean = calibration_curve(
                y == clf.classes_[c], probabilities[:, c], n_bins=n_bins, strategy=strategy
            )
            np.testing.assert_allclose(curve.observed, observed, rtol=1e-12)
            np.testing.assert_allclose(curve.mean_predicted, mean, rtol=1e-12)
            assert sum(curve.count) == len(y) == found.n_rows
        right = clf.predict(X) == y
        observed, mean = calibration_curve(right, probabilities.max(axis=1), n_bins=n_bins, strategy=strategy)
        np.testing.assert_allclose(found.top.observed, observed, rtol=1e-12)
        np.testing.assert_allclose(found.top.mean_predicted, mean, rtol=1e-12)


def test_errors_are_those_of_a_hand_made_table():
    """Four rows at 0.9 of which three are right, two at 0.6 of which both are: gaps 0.15 and 0.4."""
    X = [[0.9, 0.1]] * 4 + [[0.4, 0.6]] * 2
    found = calibration(Given("a", "b"), X, ["a", "a", "a", "b", "b", "b"])
    assert found.top.count == (2, 4)
    assert found.expected_error == pytest.approx((4 * 0.15 + 2 * 0.4) / 6)
    assert found.maximum_error == pytest.approx(0.4)
    assert found.by_class[0].maximum_error == pytest.approx(0.4)  # 0.4 for "a", which never happened
    assert found.brier == pytest.approx(2 * (3 * 0.1**2 + 0.9**2 + 2 * 0.4**2) / 6)
    assert found.log_loss == pytest.approx(-(3 * math.log(0.9) + math.log(0.1) + 2 * math.log(0.6)) / 6)


def test_a_classifier_that_gives_the_frequencies_has_no_error():
    y = np.repeat(["a", "b"], [30, 70])
    found = calibration(Given("a", "b"), np.tile([0.3, 0.7], (100, 1)), y)
    assert found.expected_error == pytest.approx(0.0, abs=1e-12)
    assert all(curve.maximum_error == pytest.approx(0.0, abs=1e-12) for curve in found.by_class)


def test_bad_input_is_refused_by_name(two_classes):
    clf, X, y = two_classes
    with pytest.raises(OptionError, match="'uniform', 'quantile'"):
        calibration(clf, X, y, strategy="unifrm")
    with pytest.raises(OptionError, match="n_bins=0"):
        calibration(clf, X, y, n_bins=0)
    with pytest.raises(DataError, match="rows"):
        calibration(clf, X, y[:-1])
    with pytest.raises(DataError, match="class 7"):
        calibration(clf, X, np.where(np.arange(len(y)) == 3, 7, y))
    with pytest.raises(OptionError, match="Perceptron has no predict_proba"):
        calibration(Perceptron().fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        calibration(GaussianNB(), X, y)


def test_classes_may_be_in_any_order_of_another_library():
    shares, labels = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]), np.array(["a", "b", "b", "a"])
    plain = calibration(Given("a", "b"), shares, labels, n_bins=3)
    turned = calibration(Given("b", "a"), shares[:, ::-1], labels, n_bins=3)
    assert turned.expected_error == pytest.approx(plain.expected_error)
    assert turned.brier == pytest.approx(plain.brier)
    assert turned.log_loss == pytest.approx(plain.log_loss)
