"""Measures of a fold: against scikit-learn's, with classes unseen and without probabilities."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from experiments.studies.measured_fold import measure_fold
from experiments.studies.on_table import OnTable
from tanager import NaiveBayesClassifier
from tanager.evaluate.cross_validate import add_unseen_classes

X = pa.table({"x": ["u", "v", "u", "v", "u", "v"], "n": [0.0, 1.0, 0.2, 0.9, 0.1, 1.2]})
Y = np.array(["a", "b", "a", "b", "a", "c"])
CLASSES = np.unique(Y)


def test_an_unseen_class_gets_the_share_of_one_pseudo_row_and_rows_still_add_up():
    p = np.array([[0.25, 0.75], [1.0, 0.0]])
    spread_out = add_unseen_classes(p, np.array(["a", "c"]), np.array(["a", "b", "c"]), 7)
    np.testing.assert_allclose(spread_out[:, 1], 0.1)
    np.testing.assert_allclose(spread_out.sum(axis=1), 1)
    np.testing.assert_allclose(spread_out[0, 0] / spread_out[0, 2], 1 / 3)


def test_a_fold_without_a_class_is_measured():
    fold = measure_fold(NaiveBayesClassifier(), X, Y, np.arange(4), np.array([4, 5]), CLASSES)
    assert fold.probabilities is not None
    assert fold.probabilities.shape == (2, 3)
    assert fold.probabilities[:, 2] == pytest.approx(1 / 7)
    assert fold.measures.log_loss == pytest.approx(log_loss(Y[4:], fold.probabilities, labels=CLASSES))


def test_the_training_cll_is_the_log_likelihood_of_the_training_classes():
    fold = measure_fold(NaiveBayesClassifier(), X, Y, np.arange(6), np.arange(6), CLASSES)
    assert fold.measures.train_cll == pytest.approx(-6 * fold.measures.log_loss)


def test_a_classifier_without_probabilities_has_an_accuracy_only():
    fold = measure_fold(OnTable(SVC()), X, Y, np.arange(4), np.array([4, 5]), CLASSES)
    assert fold.probabilities is None
    assert fold.measures.accuracy == 0.5
    assert np.isnan([fold.measures.log_loss, fold.measures.brier, fold.measures.auc, fold.measures.train_cll]).all()
