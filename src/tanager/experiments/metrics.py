"""How good a classifier is on one fold, and how long it took: the measures of every comparison."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

Labels = NDArray[np.generic]
Probabilities = NDArray[np.float64]
Rows = NDArray[np.intp]

FLOOR = 1e-15
"""The logarithm of a smaller probability is taken as that of this one: a loss of at most 34.5 nats per row."""


@dataclass(frozen=True)
class Measures:
    """One fold; NaN where the classifier gives no probabilities.

    accuracy         share of rows whose most probable class is the true one
    log_loss         mean of -log P(true class), in nats, P not below `FLOOR`
    brier            mean over rows of sum_c (P(c) - [c is true])^2: 0 at best, 2 at worst (Brier 1950)
    auc              area under the ROC curve; for more than two classes the mean of each class against the rest
    train_cll        sum over the training rows of log P(true class), in nats
    fit_seconds, predict_seconds
    """

    accuracy: float
    log_loss: float
    brier: float
    auc: float
    train_cll: float
    fit_seconds: float
    predict_seconds: float


MEASURES = tuple(field.name for field in fields(Measures))


class Quality(NamedTuple):
    """The first four of `Measures`."""

    accuracy: float
    log_loss: float
    brier: float
    auc: float


@dataclass(frozen=True)
class MeasuredFold:
    """A fold's measures, the classifier fitted for them, and P(class | row) of its test rows, None if it gives none."""

    measures: Measures
    fitted: Any
    probabilities: Probabilities | None


def measure_fold(clf: Any, X: pa.Table, y: Labels, train: Rows, test: Rows, classes: Labels) -> MeasuredFold:
    """Fit a clone to the rows `train`, measure it on the rows `test`; `classes` are those of the whole table."""
    rows, labels = X.take(train), y[train]
    started = time.perf_counter()
    fitted = clone(clf).fit(rows, labels)
    fit_seconds = time.perf_counter() - started
    tested = X.take(test)
    soft = hasattr(fitted, "predict_proba")
    started = time.perf_counter()
    answer = fitted.predict_proba(tested) if soft else fitted.predict(tested)
    predict_seconds = time.perf_counter() - started
    if not soft:
        quality = Quality(float(np.mean(answer == y[test])), np.nan, np.nan, np.nan)
        return MeasuredFold(Measures(*quality, np.nan, fit_seconds, predict_seconds), fitted, None)
    probabilities = spread(answer, fitted.classes_, classes, len(train))
    fitted_to = spread(fitted.predict_proba(rows), fitted.classes_, classes, len(train))
    train_cll = float(log_true(fitted_to, labels[:, np.newaxis] == classes).sum())
    quality = measure(probabilities, y[test], classes)
    return MeasuredFold(Measures(*quality, train_cll, fit_seconds, predict_seconds), fitted, probabilities)


def spread(probabilities: Probabilities, seen: Labels, classes: Labels, n_train: int) -> Probabilities:
    """(n_rows, all classes) from (n_rows, classes seen in training).

    Each class that no training row has gets 1 / (n_train + n_classes), the share that one pseudo-row per class would
    give it; the others make room in proportion. The same for every classifier.
    """
    result = np.full((len(probabilities), len(classes)), 1.0 / (n_train + len(classes)))
    places = np.searchsorted(classes, seen)
    unseen = len(classes) - len(seen)
    result[:, places] = probabilities * (1.0 - unseen / (n_train + len(classes)))
    return result


def measure(probabilities: Probabilities, y: Labels, classes: Labels) -> Quality:
    """The quality of (n_rows, n_classes) probabilities."""
    truth = y[:, np.newaxis] == classes
    accuracy = float(truth[np.arange(len(y)), probabilities.argmax(axis=1)].mean())
    brier = float(((probabilities - truth) ** 2).sum(axis=1).mean())
    one_against_rest = [
        roc_auc_score(truth[:, k], probabilities[:, k])
        for k in range(len(classes))
        if truth[:, k].any() and not truth[:, k].all()
    ]
    auc = float(np.mean(one_against_rest)) if one_against_rest else float("nan")
    return Quality(accuracy, -float(log_true(probabilities, truth).mean()), brier, auc)


def log_true(probabilities: Probabilities, truth: NDArray[np.bool_]) -> Probabilities:
    """(n_rows,) log of the probability of the true class; `truth` marks it in (n_rows, n_classes)."""
    return np.log(np.maximum(probabilities[truth], FLOOR))
