"""Cross-validation: a model of each fold's other rows predicts the rows of the fold.

Rows are held out by stratified folds, by repeats of them, by groups, by time, or as one part of a large table.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit, TimeSeriesSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from tanager.arrays import Codes, RowNumbers
from tanager.classifiers.base import TableClassifier, encode_table
from tanager.errors import DataError, DataWarning, OptionError
from tanager.metrics import Predictions, Probabilities, Quality
from tanager.runtime.progress import Update
from tanager.table.read_columns import is_stream
from tanager.table.training_table import (
    encode_labels,
    missing_labels,
    read_labels,
    read_rows,
    read_training,
    warn_left_out,
)

Labels = NDArray[np.generic]
Fold = tuple[RowNumbers, RowNumbers]
"""Row numbers to train on and to test on."""

FOLDS = 5
MAX_COST_FOR_FOLDS = 2_000_000
"""Rows x attributes x classes. Five fits of a larger table take minutes, and one part of it says nearly as much."""
MAX_ROWS_HELD_OUT = 10_000
"""Of a table that has one part held out: an accuracy of so many rows is good to half a percent."""


def cross_validate_model(
    clf: TableClassifier,
    X: object,
    y: ArrayLike,
    *,
    cv: int | None = None,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    times: ArrayLike | None = None,
    random_state: int = 0,
    update: Update | None = None,
) -> Quality:
    """The quality of a classifier on new rows: clones are fitted to parts of a table and predict the rest.

    `clf` is not changed. Rows whose class is missing are not used; all other rows count the same. For a fitted
    classifier the quality has a digest of the table, so that `report` recognises the training rows.

    Parameters
    ----------
    clf : TableClassifier
        Fitted to X and y, or not fitted.
    X : table
        The rows.
    y : array of shape (n_rows,)
        Their classes.
    cv : int, optional
        The number of folds, 5 by default. If rows x attributes x classes are more than two million, a single part is
        held out by default: a fifth of the rows, at most 10,000.
    repeats : int
        How often the rows are assigned to new folds, 1 by default; more is useful for few rows.
    groups : array, optional
        The group of each row. Rows of one group are held out together, and drawn together for the intervals.
    times : array, optional
        The time of each row. A model of the earlier rows predicts each period.
    random_state : int
        Seed of the folds.
    update : callable, optional
        Called with the progress of the work (`tanager.runtime.progress`).

    Returns
    -------
    Quality
        Measures with intervals, and the probabilities of the rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, cross_validate_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> quality = cross_validate_model(TANClassifier(criterion="bic", parameters="frequency"), X, y)
    >>> quality.split, quality.n_rows, 0.9 < quality.measures.accuracy < 1.0
    ('5 folds', 150, True)
    """
    fitted = hasattr(clf, "classes_")
    if is_stream(X):
        raise DataError("cross-validation needs the table in memory, but X is read batch by batch.")
    group = None if groups is None else read_groups(groups)
    time = None if times is None else read_times(times)
    check_consistent_length(group, time, read_labels(y))
    with warnings.catch_warnings():
        if fitted:
            warnings.simplefilter("ignore")  # fit has said what there is to say of the table
        labels, labelled = labelled_rows(X, y, clf.classes_ if fitted else None)
        rows = take_rows(X, labelled)
        marks = [None if each is None else each[labelled] for each in (group, time)]
        quality = validate(clf, rows, labels, HeldOut(cv, repeats, marks[0], marks[1], random_state), update)
    return replace(quality, digest=table_digest(clf, rows, labels)) if fitted else quality


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


class JudgedFold(NamedTuple):
    """A classifier fitted to the training rows of a fold, and P(class | row) of its test rows.

    `answer` has its predictions where it gives no probabilities. Seconds are of processor time.
    """

    fitted: Any
    probabilities: Probabilities
    answer: Labels | None
    fit_seconds: float
    predict_seconds: float


def judge_fold(clf: Any, X: Any, y: Labels, train: RowNumbers, test: RowNumbers, classes: Labels) -> JudgedFold:
    """Fit a clone to the rows `train` and let it predict the rows `test`; `classes` are those of the whole table."""
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


def take_rows(X: Any, rows: RowNumbers) -> Any:
    """These rows of a table of any kind."""
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


@dataclass(frozen=True)
class HeldOut:
    """How rows are held out; see `cross_validate_model`. Groups and times are numbers, (n_rows,) each."""

    folds: int | None = None
    repeats: int = 1
    groups: NDArray[np.generic] | None = None
    times: NDArray[np.generic] | None = None
    seed: int = 0

    def split(self, class_codes: Codes, n_attributes: int) -> tuple[list[Fold], str]:
        """(rows to fit on, rows to judge) of each model, and how it was done, in words."""
        n_folds = FOLDS if self.folds is None else self.folds
        self._check(n_folds)
        if self.times is not None:
            words = f"{n_folds} periods, each judged by a model of the rows before it"
            return later_rows(self.times, n_folds), words
        n_rows = len(class_codes)
        cost = n_rows * n_attributes * (int(class_codes.max()) + 1)
        if self.groups is None and self.folds is None and self.repeats == 1 and cost > MAX_COST_FOR_FOLDS:
            n_held_out = min(n_rows // FOLDS, MAX_ROWS_HELD_OUT)
            return [one_part(class_codes, n_held_out, self.seed)], f"one part of {n_held_out:,} rows held out"
        folds: list[Fold] = []
        for seed in range(self.seed, self.seed + self.repeats):
            if self.groups is None:
                folds += stratified_folds(class_codes, n_folds, seed)
            else:
                folds += grouped_folds(class_codes, self.groups, n_folds, seed)
        of_groups = "" if self.groups is None else f" of {len(np.unique(self.groups)):,} groups"
        repeated = "" if self.repeats == 1 else f", repeated {self.repeats} times"
        return folds, f"{n_folds} folds{of_groups}{repeated}"

    def _check(self, n_folds: int) -> None:
        if n_folds < 2:
            raise OptionError(f"the number of folds is {n_folds}; expected at least 2.")
        if self.repeats < 1:
            raise OptionError(f"repeats is {self.repeats}; expected at least 1.")
        if self.times is not None and self.groups is not None:
            raise OptionError("rows are held out by group or by time, not by both.", hint="leave one out.")
        if self.times is not None and self.repeats > 1:
            raise OptionError("folds by time cannot be repeated.", hint="leave repeats out.")


def stratified_folds(y: Labels, n_folds: int, seed: int) -> list[Fold]:
    """Each row tests once; the classes are spread evenly over the folds."""
    if n_folds < 2:
        raise OptionError(f"the number of folds is {n_folds}; expected at least 2.")
    codes, sizes = np.unique(y, return_inverse=True)[1], np.unique(y, return_counts=True)[1]
    if n_folds > sizes.max():
        raise DataError(
            f"every class has fewer rows than the {n_folds} folds: the largest has {sizes.max()}.",
            hint="use fewer folds, or more rows.",
        )
    if n_folds > sizes.min():
        warnings.warn(
            f"the rarest class has fewer rows ({sizes.min()}) than there are folds ({n_folds}): some are without it.",
            DataWarning,
            stacklevel=2,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's words for the same
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes))


def grouped_folds(class_codes: Codes, groups: NDArray[np.generic], n_folds: int, seed: int) -> list[Fold]:
    """No group is on both sides of a fold; the classes are spread over the folds as evenly as groups allow."""
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        hint = f"use {n_groups} folds." if n_groups > 1 else "name a column with several groups."
        raise DataError(f"the number of groups is {n_groups}, fewer than the {n_folds} folds.", hint=hint)
    folds = list(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed).split(class_codes, class_codes, groups))
    return [(train, test) for train, test in folds if len(test)]


def later_rows(times: NDArray[np.generic], n_folds: int) -> list[Fold]:
    """The times in their order, cut into one part more than folds; each but the first is judged by those before it."""
    distinct, place = np.unique(times, return_inverse=True)
    if len(distinct) <= n_folds:
        raise DataError(
            f"the rows have {len(distinct)} different times, too few for {n_folds} periods and one before them.",
            hint="use fewer folds.",
        )
    split = TimeSeriesSplit(n_folds).split(distinct)
    return [(np.flatnonzero(np.isin(place, before)), np.flatnonzero(np.isin(place, then))) for before, then in split]


def one_part(class_codes: Codes, n_held_out: int, seed: int) -> Fold:
    """So many rows, with the classes as frequent as among all, and the others to fit on."""
    counts = np.bincount(class_codes)
    if counts[counts > 0].min() < 2:
        raise DataError("a class has only one row; expected at least two, one to fit to and one to hold out.")
    ((train, test),) = StratifiedShuffleSplit(1, test_size=n_held_out, random_state=seed).split(
        class_codes, class_codes
    )
    return np.sort(train), np.sort(test)


def read_groups(groups: object) -> NDArray[np.uint64]:
    """(n_rows,) a number for the group of each row; none may be missing."""
    column = _column(groups, "groups")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return _ranks(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column, "group")
    except pa.ArrowException:
        raise DataError(f"groups of rows are text, numbers or dates; these are {column.type}.") from None


def read_times(times: object) -> NDArray[np.uint64]:
    """(n_rows,) the place of each row's time among all times; text has no order in time."""
    column = _column(times, "times")
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)):
        example = next((str(cell) for cell in column.to_pylist() if cell is not None), "nothing")
        raise DataError(
            f"times cannot be ordered: they are {kind}, such as {example!r}; expected numbers, dates or times.",
            hint="write dates as 2024-12-31, or number the periods.",
        )
    return _ranks(column, "time")


def _column(values: object, what: str) -> pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        return values
    try:
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except pa.ArrowException:
        raise DataError(f"the {what} of rows are of several types; expected one.") from None


def _ranks(column: pa.ChunkedArray, what: str) -> NDArray[np.uint64]:
    if column.null_count:
        row = int(np.argmin(column.is_valid().to_numpy()))
        raise DataError(
            f"the {what} is missing in {column.null_count:,} of {len(column):,} rows, the first of them row {row}.",
            hint="fill it in, or leave these rows out.",
        )
    ranks: NDArray[np.uint64] = pc.rank(column, tiebreaker="dense").to_numpy()
    return ranks


def table_digest(clf: TableClassifier, X: object, y: ArrayLike) -> str:
    """SHA-256 of the rows and their classes in the codes of a fitted classifier, whatever kind of table they are in."""
    _, codes = encode_table(clf, X)
    _, class_codes = encode_labels(read_labels(y), clf.classes_)
    digest = hashlib.sha256(repr(codes.shape).encode())
    for part in (codes, class_codes):
        digest.update(np.ascontiguousarray(part, dtype="<u4").tobytes())
    return digest.hexdigest()


def quality_of_training_table(clf: TableClassifier, X: object, y: ArrayLike, quality: Quality | None) -> Quality | None:
    """The quality, if it is of just this table, whose rows all have a class."""
    if quality is None or not quality.digest:
        return None
    try:
        return quality if table_digest(clf, X, y) == quality.digest else None
    except DataError:  # no row, or a class that the model does not know: another table
        return None
