"""Cross-validation: a model of each fold's other rows judges the rows of the fold."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.classifiers.training_rows import table_digest
from tanager.errors import DataError
from tanager.evaluate.held_out import HeldOut, read_groups, read_times
from tanager.evaluate.measured_fold import judge_fold, take_rows
from tanager.metrics import Predictions, Quality
from tanager.runtime.progress import Update
from tanager.table.stream.source import is_stream
from tanager.table.training_table import missing_labels, read_labels, read_rows, read_training, warn_left_out

Labels = NDArray[np.generic]


def cross_validate_model(
    clf: TableClassifier,
    X: object,
    y: ArrayLike,
    *,
    folds: int | None = None,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    times: ArrayLike | None = None,
    seed: int = 0,
    update: Update | None = None,
) -> Quality:
    """How good a fitted classifier is on rows new to it: clones of it are fitted to parts of its training table.

    `clf` stays as it is. Rows whose class is missing are neither judged nor learnt from; the others count the same.
    The quality knows the table by a digest, so that `report` can tell whether it is asked about rows that the model has
    learnt from.

    Parameters
    ----------
    clf : TableClassifier
        Fitted to X and y.
    X : table
        What it was fitted to.
    y : array of shape (n_rows,)
        The classes that it was fitted to.
    folds : int, optional
        Parts of the rows, each judged by a model of the others. By default 5; where rows x attributes x classes are
        more than two million, a single part is held out, a fifth of the rows and at most 10,000.
    repeats : int
        How often the rows are dealt to folds anew: for few rows.
    groups : array, optional
        The group of each row. Rows of one group are held out together, and drawn together for the intervals.
    times : array, optional
        When each row was. Each period is judged by a model of the rows before it.
    seed : int
        For the folds.
    update : callable, optional
        Told how far the work is (`tanager.runtime.progress`).

    Returns
    -------
    Quality
        Measures with intervals, and the probabilities of the rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, cross_validate_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier(criterion="bic", parameters="frequency").fit(X, y)
    >>> quality = cross_validate_model(clf, X, y)
    >>> quality.split, quality.n_rows, 0.9 < quality.measures.accuracy < 1.0
    ('5 folds', 150, True)
    """
    check_is_fitted(clf)
    if is_stream(X):
        raise DataError("cross-validation needs the table in memory, and X comes batch by batch.")
    group = None if groups is None else read_groups(groups)
    time = None if times is None else read_times(times)
    check_consistent_length(group, time, read_labels(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit has said what there is to say of the table
        labels, labelled = labelled_rows(X, y, clf.classes_)
        rows = take_rows(X, labelled)
        marks = [None if each is None else each[labelled] for each in (group, time)]
        found = validate(clf, rows, labels, HeldOut(folds, repeats, marks[0], marks[1], seed), update)
    return replace(found, digest=table_digest(clf, rows, labels))


def labelled_rows(X: object, y: ArrayLike, classes: Labels | None = None) -> tuple[Labels, NDArray[np.intp]]:
    """The classes of the rows that have one, and the numbers of these rows; with the warning of `fit` about the others.

    Classes other than `classes`, where they are given, are an error.
    """
    rows = read_rows(X, y, None, classes, unlabelled=True)
    warn_left_out(rows)
    return rows.classes[rows.class_codes], np.flatnonzero(~missing_labels(read_labels(y)))


def validate(clf: Any, X: Any, y: Labels, held_out: HeldOut, update: Update | None = None) -> Quality:
    """The quality of clones of a classifier, each fitted without the rows that it judges; every row has a class."""
    # What is wrong with the table is said of the whole of it, before a fold is cut out.
    training = read_training(X, y, None)
    classes, class_codes = training.classes, training.class_codes
    folds, words = held_out.split(class_codes, len(training.table.names))
    for number, (train, _) in enumerate(folds, start=1):
        if np.ptp(class_codes[train].astype(np.intp)) == 0:
            only = classes[class_codes[train[0]]]
            raise DataError(
                f"the model of fold {number} would be fitted to {len(train):,} rows of one class, {str(only)!r}.",
                hint="use fewer folds.",
            )
    probabilities = []
    for number, (train, test) in enumerate(folds):
        if update is not None:
            update(f"Fold {number + 1} of {len(folds)}", number, len(folds))
        probabilities.append(judge_fold(clf, X, y, train, test, classes).probabilities)
    rows = np.concatenate([test for _, test in folds])
    numbers = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    predictions = Predictions(np.concatenate(probabilities)[order], class_codes[rows].astype(np.intp), numbers[order])
    base_rate = np.bincount(class_codes, minlength=len(classes)) / len(class_codes)
    units = rows if held_out.groups is None else held_out.groups[rows]
    return Quality.of(predictions, classes, base_rate, words, units)
