"""Rivals on mixed tables: what each preparation gives to a classifier."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import CategoricalNB

from experiments.studies.on_table import OnTable
from tanager import NaiveBayesClassifier
from tanager.evaluate.specs import on_table
from tanager.parameters import Frequency

TRAIN = pa.table({"c": ["u", None, "v", "u"], "n": [1.0, 3.0, None, 5.0], "whole": [0, 1, 0, 1]})
TEST = pa.table({"c": ["v", "new", None], "n": [None, 3.0, 7.0], "whole": [1, 0, 0]})
Y = np.array(["a", "b", "a", "b"])


class Watcher(ClassifierMixin, BaseEstimator):
    """Keeps what it is given."""

    def fit(self, X, y, **options):
        self.classes_, self.seen_, self.options_ = np.unique(y), X, options
        return self

    def predict(self, X):
        self.seen_ = X
        return self.classes_[np.zeros(len(X), dtype=int)]


@pytest.mark.parametrize("make", [OnTable, on_table])
def test_one_hot_has_a_column_per_category_the_gap_included_and_scales_numbers(make):
    fitted = make(Watcher()).fit(TRAIN, Y)
    watcher = getattr(fitted, "estimator_", fitted)[-1]
    train = watcher.seen_
    assert set(fitted.predict(TEST)) <= set(Y)
    test = watcher.seen_
    categories = [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]  # u, v, missing
    np.testing.assert_array_equal(train[:, :3], categories)
    np.testing.assert_array_equal(test[:, :3], [[0, 1, 0], [0, 0, 0], [0, 0, 1]])
    filled = np.array([1.0, 3.0, 3.0, 5.0])  # the median is 3
    np.testing.assert_allclose(train[:, 3], (filled - 3) / filled.std())
    np.testing.assert_allclose(test[:, 3], (np.array([3.0, 3.0, 7.0]) - 3) / filled.std())
    indicator = test[:, 5]
    assert indicator[0] > indicator[1] == indicator[2]


def test_categorical_nb_on_bins_is_our_naive_bayes():
    random = np.random.default_rng(0)
    rows = random.integers(0, 4, 200)
    X, y = (
        TRAIN.take(rows),
        np.where(random.random(200) < 0.7, Y[rows], np.array(["a", "b"])[random.integers(0, 2, 200)]),
    )
    # CategoricalNB has one more state, for unseen categories: with hardly any smoothing it makes no difference.
    ours = NaiveBayesClassifier(parameters=Frequency(alpha=1e-9), missing="category").fit(X, y)
    theirs = OnTable(CategoricalNB(alpha=1e-9), "bins").fit(X, y)
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-6)
