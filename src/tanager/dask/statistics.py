"""PartitionStatistics: what the columns and classes of partitions hold; adds up over partitions, on the workers."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError
from tanager.table.column_statistics import ColumnStatistics
from tanager.table.columns import kind_of
from tanager.table.discretizer import choose_discretizer
from tanager.table.schema import ColumnSchema
from tanager.table.value_rows import cut_at_every_value, is_worth_cutting_again


@dataclass(frozen=True)
class PartitionStatistics:
    """Statistics of the rows with a class of one or several partitions.

    classes       ascending
    n_rows        how many have a class
    columns       statistics of each attribute; empty if no row has a class
    seen_in       of each attribute, a partition in which it has a value, -1 if none
    n_unlabelled  how many rows have no class
    coded         the summaries of these partitions have all rows that are needed
    """

    classes: NDArray[np.generic]
    n_rows: int
    columns: tuple[ColumnStatistics, ...]
    seen_in: tuple[int, ...]
    n_unlabelled: int
    coded: bool

    @classmethod
    def empty(cls, n_unlabelled: int, coded: bool) -> PartitionStatistics:
        """Those of no row with a class."""
        return cls(np.empty(0), 0, (), (), n_unlabelled, coded)


def merge_packed(parts: Sequence[bytes]) -> bytes:
    """Statistics of the rows of all, packed as those of the parts are."""
    merged = reduce(_merge, map(pickle.loads, parts))
    return pickle.dumps(merged, pickle.HIGHEST_PROTOCOL)


def _merge(one: PartitionStatistics, other: PartitionStatistics) -> PartitionStatistics:
    n_unlabelled, coded = one.n_unlabelled + other.n_unlabelled, one.coded and other.coded
    if not one.columns or not other.columns:
        return replace(one if one.columns else other, n_unlabelled=n_unlabelled, coded=coded)
    one, other = _with_classes(one, other.classes), _with_classes(other, one.classes)
    columns, seen_in = [], []
    for left, right, first, second in zip(one.columns, other.columns, one.seen_in, other.seen_in, strict=True):
        if first >= 0 and second >= 0 and kind_of(left.like) != kind_of(right.like):
            raise DataError(
                f"column {left.like.name!r} holds {kind_of(left.like)} in partition {first} and "
                f"{kind_of(right.like)} in partition {second}.",
                hint="give the column one type, with astype or in the files.",
            )
        columns.append(left.merge(right))
        seen_in.append(first if first >= 0 else second)
    n_rows = one.n_rows + other.n_rows
    return PartitionStatistics(one.classes, n_rows, tuple(columns), tuple(seen_in), n_unlabelled, coded)


def _with_classes(part: PartitionStatistics, more: NDArray[np.generic]) -> PartitionStatistics:
    """The same with these classes too."""
    if np.array_equal(part.classes, more):
        return part
    if (part.classes.dtype.kind in "OUST") != (more.dtype.kind in "OUST"):
        raise DataError(
            f"the class column holds {part.classes.tolist()[0]!r} in one partition and {more.tolist()[0]!r} in "
            "another; expected one type."
        )
    classes = np.unique(np.concatenate([part.classes, more]))
    place = np.searchsorted(classes, part.classes)
    columns = []
    for column in part.columns:
        gaps = np.zeros(len(classes))
        gaps[place] = column.gaps
        columns.append(replace(column, counts=replace(column.counts, classes=place[column.counts.classes]), gaps=gaps))
    return replace(part, classes=classes, columns=tuple(columns))


@dataclass(frozen=True)
class LearntColumns:
    """Categories and cut points, the statistics that they are from less their columns, and the columns uncut.

    uncut  with a cut at every value, where asked for and rows are few; else none
    """

    attributes: tuple[ColumnSchema, ...]
    statistics: PartitionStatistics
    uncut: tuple[ColumnSchema, ...]


def learn_columns(packed: bytes, discretizer: object, gap_states: bool, fine: bool, uncut: bool) -> LearntColumns:
    """What the columns hold, by the statistics of all rows. On a worker, for these may be as long as the table."""
    statistics: PartitionStatistics = pickle.loads(packed)
    cut, n_classes = choose_discretizer(discretizer, fine), len(statistics.classes)
    attributes = tuple(column.schema(cut, n_classes, gap_states, fine) for column in statistics.columns)
    at_values: tuple[ColumnSchema, ...] = ()
    weight = max((column.counts.weights.sum() + column.gaps.sum() for column in statistics.columns), default=0.0)
    if uncut and is_worth_cutting_again(attributes, statistics.n_rows, weight):
        pairs = zip(attributes, statistics.columns, strict=True)
        at_values = tuple(cut_at_every_value(column, counted.counts.values) for column, counted in pairs)
    return LearntColumns(attributes, replace(statistics, columns=()), at_values)
