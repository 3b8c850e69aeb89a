"""A classifier fitted to the training rows of a fold and measured on its test rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from tanager.experiments.data_sets import Labels
from tanager.experiments.protocol import Rows
from tanager.measures import Probabilities, Quality, log_true, measure_quality


@dataclass(frozen=True)
class Measures:
    """One fold; NaN where the classifier gives no probabilities.

    accuracy, log_loss, brier, auc  as `tanager.measures` has them
    train_cll                       sum over the training rows of log P(true class), in nats
    fit_seconds, predict_seconds    of processor time, which other programs on the machine do not lengthen
    """

    accuracy: float
    log_loss: float
    brier: float
    auc: float
    train_cll: float
    fit_seconds: float
    predict_seconds: float


MEASURES = tuple(field.name for field in fields(Measures))


@dataclass(frozen=True)
class MeasuredFold:
    """A fold's measures, the classifier fitted for them, and P(class | row) of its test rows, None if it gives none."""

    measures: Measures
    fitted: Any
    probabilities: Probabilities | None


def measure_fold(clf: Any, X: pa.Table, y: Labels, train: Rows, test: Rows, classes: Labels) -> MeasuredFold:
    """Fit a clone to the rows `train`, measure it on the rows `test`; `classes` are those of the whole table."""
    rows, class_codes = X.take(train), np.searchsorted(classes, y)
    started = time.process_time()
    fitted = clone(clf).fit(rows, y[train])
    fit_seconds = time.process_time() - started
    tested = X.take(test)
    soft = hasattr(fitted, "predict_proba")
    started = time.process_time()
    answer = fitted.predict_proba(tested) if soft else fitted.predict(tested)
    predict_seconds = time.process_time() - started
    if not soft:
        quality = Quality(float(np.mean(answer == y[test])), np.nan, np.nan, np.nan)
        return MeasuredFold(Measures(*quality, np.nan, fit_seconds, predict_seconds), fitted, None)
    probabilities = add_unseen_classes(answer, fitted.classes_, classes, len(train))
    in_training = add_unseen_classes(fitted.predict_proba(rows), fitted.classes_, classes, len(train))
    train_cll = float(log_true(in_training, class_codes[train]).sum())
    quality = measure_quality(probabilities, class_codes[test])
    return MeasuredFold(Measures(*quality, train_cll, fit_seconds, predict_seconds), fitted, probabilities)


def add_unseen_classes(probabilities: Probabilities, seen: Labels, classes: Labels, n_train: int) -> Probabilities:
    """(n_rows, all classes) from (n_rows, classes seen in training).

    Each class that no training row has gets 1 / (n_train + n_classes), the share that one pseudo-row per class would
    give it; the others make room in proportion. The same for every classifier.
    """
    result = np.full((len(probabilities), len(classes)), 1.0 / (n_train + len(classes)))
    places = np.searchsorted(classes, seen)
    unseen = len(classes) - len(seen)
    result[:, places] = probabilities * (1.0 - unseen / (n_train + len(classes)))
    return result
