"""Stratified k-fold measures of a classifier on one table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.experiments.measured_fold import Measures, measure_fold
from tanager.experiments.protocol import stratified_folds
from tanager.progress import Update
from tanager.table.training_table import read_training


def cross_validate(
    clf: BayesianNetworkClassifier,
    X: pa.Table,
    y: NDArray[np.generic],
    n_folds: int,
    seed: int,
    update: Update | None = None,
) -> list[Measures]:
    """Measure a classifier on each fold after fitting it to the others."""
    # What is wrong with the table is said of the whole of it, before a fold is cut out.
    classes = read_training(X, y, None).classes
    result = []
    for number, (train, test) in enumerate(stratified_folds(y, n_folds, seed), start=1):
        if update is not None:
            update(f"Fold {number} of {n_folds}", number - 1, n_folds)
        result.append(measure_fold(clf, X, y, train, test, classes).measures)
    return result
