"""PartStatistics: what one partition says of columns and classes; adds up over partitions. Runs on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers.training import TrainingTable, read_rows
from tanager.errors import DataError, TanagerError
from tanager.table.column_statistics import ColumnStatistics
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import choose_categorical
from tanager.table.read_columns import Column, NumericColumn
from tanager.table.schema import ColumnSchema

KINDS = {"number": "numbers", "date": "dates", "datetime": "times", "duration": "durations"}


@dataclass(frozen=True)
class Reader:
    """How a partition is read: the attributes' names, and the class column where it is one of the frame."""

    names: tuple[str, ...]
    column: str | None

    def read(
        self, frame: Any, labels: Any, number: int, classes: NDArray[np.generic] | None = None
    ) -> tuple[TrainingTable | None, int]:
        """The rows with a class, None if there is none, and how many have no class."""
        try:
            return self._read(frame, labels, classes)
        except TanagerError as error:
            raise type(error)(f"partition {number}: {error}") from error

    def _read(self, frame: Any, labels: Any, classes: NDArray[np.generic] | None) -> tuple[TrainingTable | None, int]:
        if self.column is not None:
            if self.column not in frame.columns:
                raise DataError(f"there is no class column {self.column!r}.")
            labels = frame[self.column]
            frame = frame.drop(columns=self.column)
        self._check(frame, labels)
        if labels.isna().all():  # or no row at all
            return None, len(labels)
        frame = frame if tuple(map(str, frame.columns)) == self.names else frame[list(self.names)]
        rows = read_rows(frame, labels, None, classes, unlabelled=True)
        return rows, 0 if rows.unlabelled is None else rows.unlabelled.table.n_rows

    def _check(self, frame: Any, labels: Any) -> None:
        if len(labels) != len(frame):
            raise DataError(f"X has {len(frame)} rows and y has {len(labels)}.")
        own = set(map(str, frame.columns))
        wrong = sorted(own.symmetric_difference(self.names))
        if wrong:
            what = "there is another column" if wrong[0] in own else "there is no column"
            raise DataError(f"{what} {wrong[0]!r}, unlike in the data frame.")


@dataclass(frozen=True)
class PartStatistics:
    """Of the rows of one or several partitions that have a class.

    classes     ascending
    class_rows  (n_classes,) rows of each
    columns     of each attribute; empty if there is no row
    seen_in     of each attribute, a partition in which it has a value, -1 if none
    unlabelled  rows without a class
    """

    classes: NDArray[np.generic]
    class_rows: NDArray[np.int64]
    columns: tuple[ColumnStatistics, ...]
    seen_in: tuple[int, ...]
    unlabelled: int


def part_statistics(
    frame: Any, labels: Any, reader: Reader, number: int, categorical_features: ArrayLike | str | None
) -> PartStatistics:
    """Statistics of one partition."""
    rows, unlabelled = reader.read(frame, labels, number)
    if rows is None:
        return PartStatistics(np.empty(0), np.empty(0, dtype=np.int64), (), (), unlabelled)
    n_classes = len(rows.classes)
    categorical = choose_categorical(rows.table, categorical_features)
    columns = tuple(
        ColumnStatistics.of(column, bool(own), rows.class_codes, None, n_classes)
        for column, own in zip(rows.table.columns, categorical, strict=True)
    )
    seen_in = tuple(number if len(column.counts.values) else -1 for column in columns)
    return PartStatistics(rows.classes, np.bincount(rows.class_codes), columns, seen_in, unlabelled)


def merge_statistics(parts: Sequence[PartStatistics]) -> PartStatistics:
    """Statistics of the rows of all."""
    total = parts[0]
    for part in parts[1:]:
        total = _merge(total, part)
    return total


def _merge(one: PartStatistics, other: PartStatistics) -> PartStatistics:
    unlabelled = one.unlabelled + other.unlabelled
    if not one.columns or not other.columns:
        return replace(one if one.columns else other, unlabelled=unlabelled)
    one, other = _with_classes(one, other.classes), _with_classes(other, one.classes)
    columns, seen_in = [], []
    for left, right, first, second in zip(one.columns, other.columns, one.seen_in, other.seen_in, strict=True):
        if first >= 0 and second >= 0 and _kind(left.like) != _kind(right.like):
            raise DataError(
                f"column {left.like.name!r} holds {_kind(left.like)} in partition {first} and {_kind(right.like)} in "
                f"partition {second}.",
                hint="give the column one type, with astype or in the files.",
            )
        columns.append(left.merge(right))
        seen_in.append(first if first >= 0 else second)
    return PartStatistics(one.classes, one.class_rows + other.class_rows, tuple(columns), tuple(seen_in), unlabelled)


def _with_classes(part: PartStatistics, more: NDArray[np.generic]) -> PartStatistics:
    """The same with these classes too."""
    if (part.classes.dtype.kind in "OUST") != (more.dtype.kind in "OUST"):
        raise DataError(
            f"the class column holds {part.classes.tolist()[0]!r} in one partition and {more.tolist()[0]!r} in "
            "another; expected one type."
        )
    classes = np.unique(np.concatenate([part.classes, more]))
    place = np.searchsorted(classes, part.classes)

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros(len(classes), dtype=values.dtype)
        result[place] = values
        return result

    columns = tuple(
        replace(column, counts=replace(column.counts, classes=place[column.counts.classes]), gaps=spread(column.gaps))
        for column in part.columns
    )
    return replace(part, classes=classes, class_rows=spread(part.class_rows), columns=columns)


def _kind(column: Column) -> str:
    if isinstance(column, NumericColumn):
        return KINDS[column.unit]
    return "booleans" if isinstance(column.dictionary[0], bool) else "text"


@dataclass(frozen=True)
class LearntColumns:
    """The schema of each attribute, the classes with their rows, and how many rows have no class.

    `empty` are the attributes without any value.
    """

    attributes: tuple[ColumnSchema, ...]
    classes: NDArray[np.generic]
    class_rows: NDArray[np.int64]
    unlabelled: int
    empty: tuple[str, ...]


def learn_columns(part: PartStatistics, discretizer: object, gap_states: bool, fine: bool) -> LearntColumns:
    """Categories and cut points, from the statistics of all rows; on a worker, for they may be as long as the table."""
    chosen, n_classes = choose_discretizer(discretizer), len(part.classes)
    attributes = tuple(column.schema(chosen, n_classes, gap_states, fine) for column in part.columns)
    empty = tuple(column.name for column, seen_in in zip(attributes, part.seen_in, strict=True) if seen_in < 0)
    return LearntColumns(attributes, part.classes, part.class_rows, part.unlabelled, empty)
