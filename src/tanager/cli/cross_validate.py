"""Stratified k-fold measures of a classifier on one table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from tanager.classifiers import BayesianNetworkClassifier
from tanager.classifiers.training import read_training
from tanager.errors import DataError, DataWarning, OptionError


@dataclass(frozen=True)
class Measures:
    """One fold.

    accuracy         share of rows whose most probable class is the true one
    log_loss         mean of -log P(true class), in nats
    brier            mean over rows of sum_c (P(c) - [c is true])^2: 0 at best, 2 at worst (Brier 1950)
    auc              area under the ROC curve; for more than two classes the mean of each class against the rest
    fit_seconds, predict_seconds
    """

    accuracy: float
    log_loss: float
    brier: float
    auc: float
    fit_seconds: float
    predict_seconds: float


MEASURES = tuple(field.name for field in fields(Measures))


def cross_validate(
    clf: BayesianNetworkClassifier,
    X: pa.Table,
    y: NDArray[np.generic],
    n_folds: int,
    seed: int,
    report: Callable[[str], None] = lambda text: None,
) -> list[Measures]:
    """Measure a classifier on each fold after fitting it to the others."""
    # What is wrong with the table is said of the whole of it, before a fold is cut out.
    classes = read_training(X, y, None).classes
    result = []
    for number, (train, test) in enumerate(_folds(y, n_folds, seed), start=1):
        report(f"Fold {number} of {n_folds}")
        started = time.perf_counter()
        fitted = clone(clf).fit(X.take(train), y[train])
        fit_seconds = time.perf_counter() - started
        rows = X.take(test)
        started = time.perf_counter()
        probabilities = fitted.predict_proba(rows)
        predict_seconds = time.perf_counter() - started
        # A class that is in none of the training rows has probability zero.
        spread = np.zeros((len(test), len(classes)))
        spread[:, np.searchsorted(classes, fitted.classes_)] = probabilities
        result.append(Measures(*measure(spread, y[test], classes), fit_seconds, predict_seconds))
    return result


def measure(
    probabilities: NDArray[np.float64], y: NDArray[np.generic], classes: NDArray[np.generic]
) -> tuple[float, float, float, float]:
    """Accuracy, log loss, Brier score and AUC of (n_rows, n_classes) probabilities."""
    truth = y[:, np.newaxis] == classes
    accuracy = float(truth[np.arange(len(y)), probabilities.argmax(axis=1)].mean())
    brier = float(((probabilities - truth) ** 2).sum(axis=1).mean())
    one_against_rest = [
        roc_auc_score(truth[:, k], probabilities[:, k])
        for k in range(len(classes))
        if truth[:, k].any() and not truth[:, k].all()
    ]
    auc = float(np.mean(one_against_rest)) if one_against_rest else float("nan")
    return accuracy, float(log_loss(truth, probabilities)), brier, auc


def _folds(y: NDArray[np.generic], n_folds: int, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    if n_folds < 2:
        raise OptionError(f"folds={n_folds} leaves nothing to test on; expected at least 2.")
    codes, sizes = np.unique(y, return_inverse=True)[1], np.unique(y, return_counts=True)[1]
    if n_folds > sizes.max():
        raise DataError(f"every class has fewer rows than the {n_folds} folds: the largest has {sizes.max()}.")
    if n_folds > sizes.min():
        warnings.warn(
            f"a class has only {sizes.min()} rows, fewer than the {n_folds} folds: some folds are without it.",
            DataWarning,
            stacklevel=2,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's words for the same
        yield from list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes))
