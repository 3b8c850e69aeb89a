"""A classifier fitted to the training rows of a fold and measured on its test rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from tanager.evaluate.data_sets import Labels
from tanager.evaluate.protocol import Rows
from tanager.metrics import Measures, Probabilities, log_true, measure


@dataclass(frozen=True)
class FoldMeasures:
    """One fold; NaN where the classifier gives no probabilities.

    accuracy, log_loss, brier, auc  as `tanager.metrics` has them
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


@dataclass(frozen=True)
class JudgedFold:
    """A classifier fitted to the training rows of a fold, and P(class | row) of its test rows.

    `answer` is what it predicts of them, in place of probabilities, where it gives none.
    """

    fitted: Any
    probabilities: Probabilities
    answer: Labels | None
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class MeasuredFold:
    """A fold's measures, the classifier fitted for them, and P(class | row) of its test rows, None if it gives none."""

    measures: FoldMeasures
    fitted: Any
    probabilities: Probabilities | None


def judge_fold(clf: Any, X: Any, y: Labels, train: Rows, test: Rows, classes: Labels) -> JudgedFold:
    """Fit a clone to the rows `train` and let it judge the rows `test`; `classes` are those of the whole table."""
    rows = take_rows(X, train)
    started = time.process_time()
    fitted = clone(clf).fit(rows, y[train])
    fit_seconds = time.process_time() - started
    tested = take_rows(X, test)
    soft = hasattr(fitted, "predict_proba")
    started = time.process_time()
    answer = fitted.predict_proba(tested) if soft else fitted.predict(tested)
    predict_seconds = time.process_time() - started
    if not soft:
        return JudgedFold(fitted, np.full((len(test), len(classes)), np.nan), answer, fit_seconds, predict_seconds)
    probabilities = add_unseen_classes(answer, fitted.classes_, classes, len(train))
    return JudgedFold(fitted, probabilities, None, fit_seconds, predict_seconds)


def measure_fold(clf: Any, X: pa.Table, y: Labels, train: Rows, test: Rows, classes: Labels) -> MeasuredFold:
    """`judge_fold`, and what its answers are worth."""
    fold = judge_fold(clf, X, y, train, test, classes)
    seconds = fold.fit_seconds, fold.predict_seconds
    if fold.answer is not None:
        quality = Measures(float(np.mean(fold.answer == y[test])), np.nan, np.nan, np.nan)
        return MeasuredFold(FoldMeasures(*quality, np.nan, *seconds), fold.fitted, None)
    class_codes, fitted = np.searchsorted(classes, y), fold.fitted
    in_training = add_unseen_classes(fitted.predict_proba(X.take(train)), fitted.classes_, classes, len(train))
    train_cll = float(log_true(in_training, class_codes[train]).sum())
    quality = measure(fold.probabilities, class_codes[test])
    return MeasuredFold(FoldMeasures(*quality, train_cll, *seconds), fitted, fold.probabilities)


def take_rows(X: Any, rows: Rows) -> Any:
    """The table of these rows, of the kind that it is."""
    return X.take(rows) if isinstance(X, pa.Table) else _safe_indexing(X, rows)


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
