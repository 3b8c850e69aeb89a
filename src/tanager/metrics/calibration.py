"""Calibration: how often what is given probability p comes true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Array, ClassCodes
from tanager.errors import DataError, OptionError
from tanager.metrics.basic import Probabilities, brier, log_loss, one_hot
from tanager.registry import check_option
from tanager.table.training_table import encode_labels, read_labels


def calibration(clf: Any, X: object, y: ArrayLike, n_bins: int = 10, strategy: str = "uniform") -> Calibration:
    """Compare the probabilities of a fitted classifier with what happened, on rows it has not learnt from.

    Parameters
    ----------
    clf : fitted classifier with predict_proba
        Of Tanager or of any other library.
    X : table
        Rows that it has not learnt from.
    y : array of shape (n_rows,)
        Their classes.
    n_bins : int
        The number of bins of predicted probabilities.
    strategy : "uniform" or "quantile"
        Bins of equal width, or of about equally many rows.

    Returns
    -------
    Calibration
        Predicted and observed shares of every class in each bin, and the expected error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tanager import TANClassifier, calibration
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = calibration(TANClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.n_rows, found.expected_error < 0.1
    (284, True)
    """
    check_option("strategy", strategy, ["uniform", "quantile"])
    if n_bins < 1:
        raise OptionError(f"n_bins={n_bins!r} must be a whole number above zero.")
    if not callable(getattr(clf, "predict_proba", None)):
        raise OptionError(f"{type(clf).__name__} has no predict_proba, so there are no probabilities to judge.")
    probabilities = np.asarray(clf.predict_proba(X), dtype=np.float64)
    n_rows, labels = len(probabilities), read_labels(y)
    if len(labels) != n_rows or n_rows == 0:
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; expected as many, and at least one.")
    classes, class_codes = encode_labels(labels, np.asarray(clf.classes_))
    return measure_calibration(probabilities, class_codes, classes, n_bins, strategy)


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predictions of one event, in bins of their probability; bins without a row are left out.

    mean_predicted  mean probability given to the event in each bin
    observed        share of the bin's rows in which it happened
    count           rows in each bin
    edges           ends of each bin, one more than there are bins with and without rows
    """

    mean_predicted: tuple[float, ...]
    observed: tuple[float, ...]
    count: tuple[int, ...]
    edges: tuple[float, ...]

    @classmethod
    def of_sums(cls, sums: Array, edges: Array) -> Self:
        """The curve of the sums of `bin_sums`, which may be those of several tables added up."""
        rows, predicted, happened = sums[sums[:, 0] > 0].T
        parts = predicted / rows, happened / rows, rows.astype(int), edges
        return cls(*(tuple(part.tolist()) for part in parts))

    @property
    def expected_error(self) -> float:
        """Expected calibration error: over the rows, how far the observed share of their bin is from the predicted."""
        differences = np.abs(np.subtract(self.observed, self.mean_predicted))
        return float(np.average(differences, weights=self.count))

    @property
    def maximum_error(self) -> float:
        """Maximum calibration error: that of the worst bin."""
        return float(np.abs(np.subtract(self.observed, self.mean_predicted)).max())


@dataclass(frozen=True)
class Calibration:
    """Reliability of a classifier on rows whose classes are known.

    classes         the labels, in the order of the classifier
    by_class        for each class, the event that a row is of it (one against the rest)
    top             the event that the predicted class is right, by its probability
    expected_error  of `top`
    maximum_error   of `top`
    brier           mean over the rows of sum_c (P(c | x) - [c = y])^2, from 0 to 2
    log_loss        mean of -log P(y | x), natural logarithm, P at least 1e-15
    n_rows          rows it was measured on
    """

    classes: tuple[object, ...]
    by_class: tuple[ReliabilityCurve, ...]
    top: ReliabilityCurve
    expected_error: float
    maximum_error: float
    brier: float
    log_loss: float
    n_rows: int

    def __str__(self) -> str:
        head = f"{self.n_rows:,} rows: log-loss {self.log_loss:.3f}, Brier score {self.brier:.3f}, "
        head += f"calibration error {self.expected_error:.3f} (largest bin {self.maximum_error:.3f})"
        bins = zip(self.top.count, self.top.mean_predicted, self.top.observed, strict=True)
        lines = [f"{rows:10,}  {predicted:17.1%}  {right:6.1%}" for rows, predicted, right in bins]
        return "\n".join([head, "      rows  mean probability   right", *lines])

    __repr__ = __str__


def measure_calibration(
    probabilities: Probabilities,
    class_codes: ClassCodes,
    classes: NDArray[np.generic],
    n_bins: int = 10,
    strategy: str = "uniform",
) -> Calibration:
    """Compare P(class | row), (n_rows, n_classes), with the true classes, codes of `classes`."""
    happened = one_hot(class_codes, len(classes))
    top = reliability_curve(*predicted_class(probabilities, class_codes), n_bins, strategy)
    return Calibration(
        classes=tuple(classes.tolist()),
        by_class=tuple(
            reliability_curve(probabilities[:, c], happened[:, c], n_bins, strategy) for c in range(len(classes))
        ),
        top=top,
        expected_error=top.expected_error,
        maximum_error=top.maximum_error,
        brier=brier(probabilities, class_codes),
        log_loss=log_loss(probabilities, class_codes),
        n_rows=len(class_codes),
    )


def predicted_class(probabilities: Probabilities, class_codes: ClassCodes) -> tuple[Array, NDArray[np.bool_]]:
    """(n_rows,) the probability of the most probable class, and whether it is the true one."""
    return probabilities.max(axis=1), probabilities.argmax(axis=1) == class_codes


def reliability_curve(predicted: Array, happened: NDArray[np.bool_], n_bins: int, strategy: str) -> ReliabilityCurve:
    """Bins have equal widths ("uniform"), or about equally many rows ("quantile")."""
    shares = np.linspace(0.0, 1.0, n_bins + 1)
    edges = shares if strategy == "uniform" else np.quantile(predicted, shares)
    return ReliabilityCurve.of_sums(bin_sums(predicted, happened, edges), edges)


def bin_sums(predicted: Array, happened: NDArray[np.bool_], edges: Array) -> Array:
    """(n_bins, 3) of each bin: rows, sum of their probabilities, rows in which the event happened."""
    n_bins = len(edges) - 1
    # A probability on an inner edge belongs to the bin below it, as in scikit-learn.
    bins = np.searchsorted(edges[1:-1], predicted)
    return np.column_stack([np.bincount(bins, each, n_bins) for each in (np.ones(len(bins)), predicted, happened)])
