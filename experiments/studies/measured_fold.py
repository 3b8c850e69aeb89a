"""A classifier fitted to the training rows of a fold and measured on its test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.studies.data_sets import Labels
from tanager.arrays import RowNumbers
from tanager.evaluate.cross_validate import add_unseen_classes, judge_fold
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
class MeasuredFold:
    """A fold's measures, the classifier fitted for them, and P(class | row) of its test rows, None if it gives none."""

    measures: FoldMeasures
    fitted: Any
    probabilities: Probabilities | None


def measure_fold(
    clf: Any, X: pa.Table, y: Labels, train: RowNumbers, test: RowNumbers, classes: Labels
) -> MeasuredFold:
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
