"""Which rows are held out to judge a model: folds, repeats of them, whole groups, later rows, or one part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit

from tanager.arrays import Codes
from tanager.errors import DataError, OptionError
from tanager.evaluate.protocol import Fold, stratified_folds

FOLDS = 5
MAX_COST_FOR_FOLDS = 2_000_000
"""Rows x attributes x classes. Five fits of a larger table take minutes, and one part of it says nearly as much."""
MAX_ROWS_HELD_OUT = 10_000
"""Of a table that has one part held out: an accuracy of so many rows is good to half a percent."""


@dataclass(frozen=True)
class HeldOut:
    """How rows are held out.

    folds    parts, each judged by a model of the others; None is 5, or, where rows x attributes x classes are more than
             two million, a single part: a fifth of the rows, at most 10,000
    repeats  how often the rows are dealt to folds anew
    groups   (n_rows,) rows of one group are held out together
    times    (n_rows,) numbers: rows are judged by a model of earlier ones
    seed     for the folds
    """

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
        if self.groups is not None:
            n_groups = len(np.unique(self.groups))
            words = f"{n_folds} folds of {n_groups:,} groups{self._repeated}"
            return [
                fold
                for repeat in range(self.repeats)
                for fold in grouped_folds(class_codes, self.groups, n_folds, self.seed + repeat)
            ], words
        n_rows = len(class_codes)
        cost = n_rows * n_attributes * (int(class_codes.max()) + 1)
        if self.folds is None and self.repeats == 1 and cost > MAX_COST_FOR_FOLDS:
            n_held_out = min(n_rows // FOLDS, MAX_ROWS_HELD_OUT)
            return [one_part(class_codes, n_held_out, self.seed)], f"one part of {n_held_out:,} rows held out"
        return [
            fold
            for repeat in range(self.repeats)
            for fold in stratified_folds(class_codes, n_folds, self.seed + repeat)
        ], f"{n_folds} folds{self._repeated}"

    @property
    def _repeated(self) -> str:
        return "" if self.repeats == 1 else f", dealt {self.repeats} times"

    def _check(self, n_folds: int) -> None:
        if n_folds < 2:
            raise OptionError(f"folds={n_folds} leaves nothing to test on; expected at least 2.")
        if self.repeats < 1:
            raise OptionError(f"repeats={self.repeats} measures nothing; expected at least 1.")
        if self.times is not None and self.groups is not None:
            raise OptionError("rows are held out by group or by time, not by both.", hint="leave one out.")
        if self.times is not None and self.repeats > 1:
            raise OptionError("the order of time leaves nothing to deal again.", hint="leave repeats out.")


def grouped_folds(class_codes: Codes, groups: NDArray[np.generic], n_folds: int, seed: int) -> list[Fold]:
    """No group is on both sides of a fold; the classes are spread over the folds as evenly as groups allow."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise DataError(
            "all rows are of one group, so none can be judged by a model of others.",
            hint="name a column that tells groups apart.",
        )
    if n_groups < n_folds:
        raise DataError(f"there are {n_groups} groups, fewer than the {n_folds} folds.", hint=f"use {n_groups} folds.")
    folds = list(StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed).split(class_codes, class_codes, groups))
    return [(train, test) for train, test in folds if len(test)]


def later_rows(times: NDArray[np.generic], n_folds: int) -> list[Fold]:
    """The rows in order of time, cut into one part more than folds; each but the first is judged by those before it.

    Parts have about equally many rows. Rows of the same time stay together.
    """
    distinct, place = np.unique(times, return_inverse=True)
    if len(distinct) <= n_folds:
        raise DataError(
            f"the rows have {len(distinct)} different times, too few for {n_folds} periods and one before them.",
            hint="use fewer folds.",
        )
    # The part of a time: by how many rows come before it, yet at least one time in each part.
    before = np.concatenate([[0], np.cumsum(np.bincount(place))[:-1]])
    part = before * (n_folds + 1) // len(times)
    first = np.searchsorted(part, np.arange(1, n_folds + 1))
    steps = np.arange(n_folds)
    first = np.maximum.accumulate(np.maximum(first, 1) - steps) + steps
    first = np.minimum(first, len(distinct) - n_folds + steps)
    ends = [*first[1:].tolist(), len(distinct)]
    return [
        (np.flatnonzero(place < begin), np.flatnonzero((place >= begin) & (place < end)))
        for begin, end in zip(first.tolist(), ends, strict=True)
    ]


def one_part(class_codes: Codes, n_held_out: int, seed: int) -> Fold:
    """So many rows, with the classes as frequent as among all, and the others to fit on."""
    counts = np.bincount(class_codes)
    if counts[counts > 0].min() < 2:
        raise DataError("a class has only one row, which cannot be learnt from and judged.")
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
