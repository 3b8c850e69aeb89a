"""Log-loss by rows, and what is expected of more."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from tanager import NaiveBayesClassifier, OptionError, learning_curve
from tanager.evaluate.held_out import HeldOut
from tanager.plots import plot_learning_curve
from tanager.refits.curve import LearningCurve

mpl.use("Agg")


def test_a_power_law_is_found_again_and_gone_on_with():
    n_rows = np.array([100.0, 200.0, 400.0, 800.0])
    losses = np.tile(0.3 + 2.0 / n_rows**0.6, (50, 1))
    curve = LearningCurve(n_rows, losses)
    expected = curve.at([1600, 3200])
    np.testing.assert_allclose(expected.median, 0.3 + 2.0 / np.array([1600.0, 3200.0]) ** 0.6, rtol=1e-9)
    np.testing.assert_allclose(expected.lower, expected.median)
    assert curve.gain.median[0] == pytest.approx(2.0 * (800.0**-0.6 - 1600.0**-0.6))


def test_rows_that_vary_widen_the_interval_and_more_rows_never_harm():
    rng = np.random.default_rng(0)
    n_rows = np.array([50.0, 100.0, 200.0])
    rising = LearningCurve(n_rows, np.array([0.2, 0.3, 0.4]) + rng.normal(size=(80, 3)) * 0.1)
    assert rising.gain.median[0] >= 0.0
    assert rising.at(400).median[0] <= rising.at(200).median[0]
    narrow, wide = (
        LearningCurve(n_rows, np.array([0.5, 0.4, 0.35]) + rng.normal(size=(80, 3)) * sd).at(400) for sd in (0.05, 0.5)
    )
    assert (wide.upper - wide.lower)[0] > 3 * (narrow.upper - narrow.lower)[0]


def test_all_rows_have_the_loss_of_a_cross_validation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    curve = learning_curve(NaiveBayesClassifier(), X, y, seed=3)
    folds, _ = HeldOut(5, 1, None, None, 3).split(y.to_numpy().astype(np.uint8), 4)
    p = cross_val_predict(NaiveBayesClassifier(), X, y, cv=folds, method="predict_proba")
    assert curve.log_loss[-1] == pytest.approx(log_loss(y, p))
    assert curve.n_rows.tolist() == [15.0, 30.0, 60.0, 120.0]
    assert "With 240 rows in place of 120" in curve.headline
    assert str(curve).count("\n") == 7
    assert "<table" in curve._repr_html_()
    assert curve.to_frame()["measured"].tolist() == [True] * 4 + [False] * 2
    assert plot_learning_curve(curve).get_xscale() == "log"


@pytest.mark.parametrize("shares", [(0.5, 1.0), (0.5, 0.25, 1.0), (0.0, 0.5, 1.0), (0.5, 0.7, 1.5)])
def test_shares_that_make_no_curve_are_refused(shares):
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(OptionError, match="three numbers or more, ascending"):
        learning_curve(NaiveBayesClassifier(), X, y, shares=shares)
