"""calibration: how often what a classifier gives probability p comes true."""

from __future__ import annotations

from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import DataError, OptionError
from tanager.metrics import Calibration, measure_calibration
from tanager.registry import check_option
from tanager.table.training_table import encode_labels, read_labels


class ProbabilisticClassifier(Protocol):
    """Any fitted classifier with probabilities, ours or scikit-learn's."""

    @property
    def classes_(self) -> ArrayLike: ...

    def predict_proba(self, X: object) -> ArrayLike: ...


def calibration(
    clf: ProbabilisticClassifier, X: object, y: ArrayLike, n_bins: int = 10, strategy: str = "uniform"
) -> Calibration:
    """Compare the probabilities of a fitted classifier with what happened, on rows it has not learnt from.

    Parameters
    ----------
    clf : fitted classifier with predict_proba
        Any, not only ours.
    X : table
        Rows that it has not learnt from.
    y : array of shape (n_rows,)
        Their classes.
    n_bins : int
        Of predicted probabilities.
    strategy : "uniform" or "quantile"
        Bins of equal width, or of about equally many rows.

    Returns
    -------
    Calibration
        Predicted and observed shares of every class in each bin, and the expected error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tanager import TANClassifier
    >>> from tanager.classifiers.calibration import calibration
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = calibration(TANClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.n_rows, found.expected_error < 0.1
    (284, True)
    """
    check_option("strategy", strategy, ["uniform", "quantile"])
    _check_bins(n_bins)
    if not callable(getattr(clf, "predict_proba", None)):
        raise OptionError(f"{type(clf).__name__} has no predict_proba, so there are no probabilities to judge.")
    probabilities = np.asarray(clf.predict_proba(X), dtype=np.float64)
    n_rows, labels = len(probabilities), read_labels(y)
    if len(labels) != n_rows or n_rows == 0:
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; expected as many, and at least one.")
    classes, class_codes = encode_labels(labels, np.asarray(clf.classes_))
    return measure_calibration(probabilities, class_codes, classes, n_bins, strategy)


def _check_bins(n_bins: object) -> None:
    if not isinstance(n_bins, Integral) or int(n_bins) < 1:
        raise OptionError(f"n_bins={n_bins!r} must be a whole number above zero.")
