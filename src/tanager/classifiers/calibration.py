"""calibration: how often what a classifier gives probability p comes true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.errors import DataError, OptionError
from tanager.registry import check_option

Array = NDArray[np.float64]

SMALLEST = np.finfo(np.float64).eps  # a probability of zero for what happened costs no more than this one's logarithm


class ProbabilisticClassifier(Protocol):
    """Any fitted classifier with probabilities, ours or scikit-learn's."""

    @property
    def classes_(self) -> ArrayLike: ...

    def predict_proba(self, X: object) -> ArrayLike: ...


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

    @property
    def expected_error(self) -> float:
        """Expected calibration error: mean over the rows of |observed - mean predicted| of their bin."""
        gaps = np.abs(np.subtract(self.observed, self.mean_predicted))
        return float(np.average(gaps, weights=self.count))

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
    log_loss        mean of -log P(y | x), natural logarithm, P at least 2.2e-16
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

    def to_dict(self) -> dict[str, object]:
        """Plain lists and numbers, ready for JSON when the labels are."""
        curves = [{"class": label, **_plain(curve)} for label, curve in zip(self.classes, self.by_class, strict=True)]
        return {
            "n_rows": self.n_rows,
            "expected_error": self.expected_error,
            "maximum_error": self.maximum_error,
            "brier": self.brier,
            "log_loss": self.log_loss,
            "top": _plain(self.top),
            "by_class": curves,
        }


def calibration(
    clf: ProbabilisticClassifier, X: object, y: ArrayLike, n_bins: int = 10, strategy: str = "uniform"
) -> Calibration:
    """Compare the probabilities of a fitted classifier with what happened, on rows it has not learnt from.

    strategy="uniform"   bins of equal width
    strategy="quantile"  bins of about equally many rows

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
    classes = np.asarray(clf.classes_)
    happened = _one_hot(classes, y, len(probabilities))
    predicted = probabilities.argmax(axis=1)
    rows = np.arange(len(predicted))
    top = _curve(probabilities[rows, predicted], happened[rows, predicted], n_bins, strategy)
    own = probabilities[happened]
    return Calibration(
        classes=tuple(classes.tolist()),
        by_class=tuple(_curve(probabilities[:, c], happened[:, c], n_bins, strategy) for c in range(len(classes))),
        top=top,
        expected_error=top.expected_error,
        maximum_error=top.maximum_error,
        brier=float(((probabilities - happened) ** 2).sum(axis=1).mean()),
        log_loss=float(-np.log(np.maximum(own, SMALLEST)).mean()),
        n_rows=len(rows),
    )


def _curve(predicted: Array, happened: NDArray[np.bool_], n_bins: int, strategy: str) -> ReliabilityCurve:
    shares = np.linspace(0.0, 1.0, n_bins + 1)
    edges = shares if strategy == "uniform" else np.quantile(predicted, shares)
    # A probability on an inner edge belongs to the bin below it, as in scikit-learn.
    bins = np.searchsorted(edges[1:-1], predicted)
    count = np.bincount(bins, minlength=n_bins)
    filled = count > 0
    mean = np.bincount(bins, predicted, minlength=n_bins)[filled] / count[filled]
    observed = np.bincount(bins, happened, minlength=n_bins)[filled] / count[filled]
    parts: Sequence[NDArray[np.generic]] = (mean, observed, count[filled], edges)
    return ReliabilityCurve(*(tuple(part.tolist()) for part in parts))


def _one_hot(classes: NDArray[np.generic], y: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """(n_rows, n_classes) whether the row is of the class."""
    labels = np.asarray(y).reshape(-1)
    if len(labels) != n_rows or n_rows == 0:
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; expected as many, and at least one.")
    happened: NDArray[np.bool_] = labels[:, np.newaxis] == classes
    unknown = ~happened.any(axis=1)
    if unknown.any():
        raise DataError(
            f"y holds the class {labels[unknown].tolist()[0]!r}, which the classifier does not know.",
            hint=f"the classes it was fitted on are {', '.join(map(repr, classes[:10].tolist()))}.",
        )
    return happened


def _check_bins(n_bins: object) -> None:
    if not isinstance(n_bins, Integral) or int(n_bins) < 1:
        raise OptionError(f"n_bins={n_bins!r} must be a whole number above zero.")


def _plain(curve: ReliabilityCurve) -> dict[str, object]:
    plain: dict[str, object] = {name: list(values) for name, values in asdict(curve).items()}
    return plain | {"expected_error": curve.expected_error, "maximum_error": curve.maximum_error}
