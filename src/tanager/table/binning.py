"""The values of a column -> its schema: categories, or bins, which may be of two granularities.

`ColumnStatistics` count values as rows come in batches. `ValueRows` let cut points be learnt again from some rows.
Numeric columns of the additive model have coarse bins for pairs and fine bins for single effects. Rows at both
granularities hold every attribute at its coarse one, then the fine codes of those that have two: the coarse table is
the first columns, and no code is held twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, ClassCodes, Codes, Places
from tanager.errors import DataError
from tanager.table.columns import (
    Column,
    DictionaryColumn,
    NumericColumn,
    check_same_kind,
    code_dtype,
    encode_column,
    learn_categories,
    missing_cells,
    take,
)
from tanager.table.discretizer import Discretizer
from tanager.table.rows import EncodedBatch, Weights
from tanager.table.schema import ColumnSchema, Unit
from tanager.table.value_counts import ValueCounts, bin_cuts, count_values

# Fine and coarse bins of a column of n rows: these times n to the power of GROWTH. The width of a bin that estimates a
# curve best shrinks about as slowly with n (n^(-1/5) to n^(-1/3)); 1,000 rows have 64 fine bins and 16 coarse ones.
FINE, COARSE = 16, 4
GROWTH = 0.2
# A float holds all whole numbers below it.
LARGEST_WHOLE = 2.0**53
# Cut points of more rows have hardly seen those of a fold: 11,000 rows of 200 columns of noise lose 0.0001 by them.
MAX_ROWS_TO_CUT_AGAIN = 10_000


def learn_column(
    column: Column,
    counts: ValueCounts | None,
    missing_state: bool,
    discretizer: Discretizer,
    n_classes: int,
    fine: bool,
) -> ColumnSchema:
    """The categories of a column or, where its values are counted by class to be cut, its cut points.

    The same for a table in memory, one that comes in batches, and one on a cluster.

    column         all cells, or every distinct value once
    counts         None for a column of categories
    missing_state  a missing cell is a state of its own
    fine           numbers have two granularities (`fine_bins`), not the discretiser's cuts alone, but for cuts by hand
    """
    if counts is None:
        ordered = isinstance(column, DictionaryColumn) and column.ordered
        unit: Unit = column.unit if isinstance(column, NumericColumn) else "number"
        states = learn_categories(column)
        return ColumnSchema(column.name, "categorical", states, (), unit, missing_state, ordered=ordered)
    assert isinstance(column, NumericColumn)
    cuts = discretizer.cuts(column.name, counts, n_classes)
    groups: tuple[int, ...] = ()
    if fine and column.name not in discretizer.by_hand:
        cuts, groups = fine_bins(cuts, counts)
    bins = tuple(cuts.tolist())
    return ColumnSchema(column.name, "numeric", cuts=bins, unit=column.unit, missing_state=missing_state, groups=groups)


def n_bins(n_rows: int) -> tuple[int, int]:
    """How many fine and how many coarse bins a column has that holds a value in so many rows."""
    return round(FINE * n_rows**GROWTH), round(COARSE * n_rows**GROWTH)


def fine_bins(cuts: NDArray[np.float64], counts: ValueCounts) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Cut points of the fine bins, and the coarse bin of each fine one.

    They make `n_bins` bins of equal weight where values allow (`bin_cuts`). The coarse bins are also cut where the
    discretiser cuts, and the fine ones where the coarse are.
    """
    n_fine, n_coarse = n_bins(counts.n_rows)
    coarse = np.union1d(bin_cuts(counts, n_coarse), cuts)
    fine = np.union1d(bin_cuts(counts, n_fine), coarse)
    # Fine bin k > 0 begins at cut k - 1, and lies in the coarse bin that has as many coarse cuts at or below it.
    groups = [0, *np.searchsorted(coarse, fine, side="right").tolist()]
    return fine, tuple(groups) if fine.size else ()


def fine_places(columns: Sequence[ColumnSchema]) -> Places:
    """(n_attributes,) the column that holds each attribute at its fine granularity."""
    grouped = np.array([bool(column.groups) for column in columns], dtype=bool)
    return np.where(grouped, len(columns) + np.cumsum(grouped) - 1, np.arange(len(columns)))


def fine_codes(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    """(n_rows, n_attributes) the codes of rows at both granularities, at the fine one alone."""
    return rows.codes[:, fine_places(columns)]


def states_of_both(columns: Sequence[ColumnSchema], n_classes: int) -> tuple[int, ...]:
    """States of each column of rows at both granularities, then of the class."""
    fine = (column.n_states for column in columns if column.groups)
    return (*(column.coarse.n_states for column in columns), *fine, n_classes)


def write_coarse(codes: Codes, columns: Sequence[ColumnSchema]) -> None:
    """Fill in the coarse columns from the fine ones."""
    for attribute, place in enumerate(fine_places(columns).tolist()):
        if place != attribute:
            np.take(columns[attribute].coarse_codes.astype(codes.dtype), codes[:, place], out=codes[:, attribute])


@dataclass(frozen=True)
class ColumnStatistics:
    """Everything a naive Bayes model needs of a column: its categories or cut points, and its table, follow.

    like         the column without its rows: name, type, unit, dictionary
    counts       weight of each distinct (value, class); the value of a dictionary column is its index
    missing      (n_classes,) weight of the rows of each class in which the cell is empty
    categorical  values are categories, not numbers to be cut
    """

    like: Column
    counts: ValueCounts
    missing: NDArray[np.float64]
    categorical: bool

    @classmethod
    def of(
        cls, column: Column, categorical: bool, class_codes: Codes, weights: Weights | None, n_classes: int
    ) -> ColumnStatistics:
        values = column.values if isinstance(column, NumericColumn) else column.indices
        n_missing = count_missing(column, class_codes, weights, n_classes)
        if n_missing.any():
            full = ~missing_cells(column)
            values, class_codes = values[full], class_codes[full]
            weights = None if weights is None else weights[full]
        counts = count_values(values, class_codes, weights, n_classes=n_classes)
        return cls(take(column, slice(0)), counts, n_missing, categorical)

    def weighed(self, factors: NDArray[np.float64]) -> ColumnStatistics:
        counts = replace(self.counts, weights=self.counts.weights * factors[self.counts.classes])
        return replace(self, counts=counts, missing=self.missing * factors)

    def merge(self, other: ColumnStatistics) -> ColumnStatistics:
        n_missing = self.missing + other.missing
        # A part in which a column is empty says nothing of its type.
        if len(self.counts.values) and len(other.counts.values):
            check_same_kind(self.like, other.like)
        if isinstance(self.like, DictionaryColumn) and isinstance(other.like, DictionaryColumn):
            return replace(self._merge_dictionaries(self.like, other.like, other.counts), missing=n_missing)
        if isinstance(self.like, NumericColumn) and isinstance(other.like, NumericColumn):
            dtype = np.result_type(self.like.values, other.like.values)
            like = replace(self.like, values=np.empty(0, dtype=dtype))
            return replace(self, like=like, counts=self.counts.merge(other.counts), missing=n_missing)
        return replace(self if len(self.counts.values) else other, missing=n_missing)

    def _merge_dictionaries(
        self, ours: DictionaryColumn, theirs: DictionaryColumn, counts: ValueCounts
    ) -> ColumnStatistics:
        position = {category: k for k, category in enumerate(dict.fromkeys((*ours.dictionary, *theirs.dictionary)))}
        moved = np.array([position[category] for category in theirs.dictionary], dtype=np.float64)
        renamed = replace(counts, values=moved[counts.values.astype(np.int64)])
        # Two declared orders are none.
        filled = [column for column in (ours, theirs) if column.dictionary]
        ordered = all(column.ordered and column.dictionary == filled[0].dictionary for column in filled)
        like = replace(ours, dictionary=tuple(position), ordered=bool(filled) and ordered)
        return replace(self, like=like, counts=self.counts.merge(renamed))

    def schema(
        self, discretizer: Discretizer, n_classes: int, missing_states: bool, fine: bool = False
    ) -> ColumnSchema:
        """The column's categories or cut points (`learn_column`)."""
        counts = None if self.categorical else self.counts
        if self.categorical and isinstance(self.like, NumericColumn):
            _check_told_apart(self.like, self.counts.values)
        missing_state = missing_states and bool(self.missing.any())
        return learn_column(self._cells(), counts, missing_state, discretizer, n_classes, fine)

    def table(self, schema: ColumnSchema, n_classes: int) -> NDArray[np.float64]:
        """Counts of (state, class), flat, the class changing fastest."""
        cells = encode_column(self._cells(), schema) * n_classes + self.counts.classes
        counted = np.bincount(cells, self.counts.weights, minlength=schema.n_states * n_classes).astype(np.float64)
        if schema.missing_state:
            counted[-n_classes:] = self.missing
        return counted

    def _cells(self) -> Column:
        """The distinct values as a column, one cell for each (value, class)."""
        if isinstance(self.like, NumericColumn):
            return replace(self.like, values=self.counts.values.astype(self.like.values.dtype))
        return replace(self.like, indices=self.counts.values.astype(np.int32))


def _check_told_apart(column: NumericColumn, distinct: NDArray[np.float64]) -> None:
    """Refuse whole numbers as categories that a float does not tell from their neighbours."""
    if column.unit == "number" and column.values.dtype.kind in "iu" and len(distinct):
        largest = max(distinct[[0, -1]].tolist(), key=abs)
        if abs(largest) >= LARGEST_WHOLE:
            raise DataError(
                f"column {column.name!r} holds {int(largest)} as a category; of rows that come in batches, whole "
                "numbers from 2^53 on are not told apart from their neighbours.",
                hint="turn the column into text, or treat it as numeric.",
            )


def count_missing(column: Column, class_codes: ClassCodes, weights: Weights | None, n_classes: int) -> Array:
    """(n_classes,) weight of the rows of each class in which the cell is empty."""
    counted = np.zeros(n_classes)
    if isinstance(column, DictionaryColumn) or column.values.dtype.kind == "f":
        empty = missing_cells(column)
        if empty.any():
            empty_weights = None if weights is None else weights[empty]
            counted += np.bincount(class_codes[empty], empty_weights, minlength=n_classes)
    return counted


def cut_at_every_value(column: ColumnSchema, values: NDArray[np.generic]) -> ColumnSchema:
    """The column, if it holds numbers, with a cut at each of these: code k > 0 is the k-th of them, and 0 is none.

    One value alone is cut nowhere.
    """
    if column.kind == "categorical":
        return column
    distinct = np.unique(values.astype(np.float64))
    cuts = distinct[~np.isnan(distinct)].tolist()
    return replace(column, cuts=tuple(cuts) if len(cuts) > 1 else (), groups=())


def is_worth_cutting_again(columns: Sequence[ColumnSchema], n_rows: int) -> bool:
    """Whether there are numbers to cut, in few enough rows."""
    return n_rows <= MAX_ROWS_TO_CUT_AGAIN and any(column.kind == "numeric" for column in columns)


@dataclass(frozen=True)
class ValueRows:
    """Rows whose numeric columns are cut at every value.

    columns      what each attribute holds
    discretizer  what the rows would be cut by
    """

    rows: EncodedBatch
    columns: tuple[ColumnSchema, ...]
    discretizer: Discretizer

    def cut(self, kept: EncodedBatch, others: EncodedBatch) -> tuple[EncodedBatch, EncodedBatch]:
        """Some of these rows, and others of them, with cut points learnt from the first alone."""
        new = [self._cut_column(node, kept) for node in range(len(self.columns))]
        n_states = tuple(n for n, _ in new)
        codes = [column_codes for _, column_codes in new]
        return _recode(kept, n_states, codes), _recode(others, n_states, codes)

    def _cut_column(self, node: int, kept: EncodedBatch) -> tuple[int, NDArray[np.integer]]:
        """The states of a column, and the new code of each old one, the missing one included."""
        column = self.columns[node]
        if column.kind == "categorical":
            return column.n_states, np.arange(column.n_states + 1)
        values = np.array([-np.inf, *column.cuts])
        codes = kept.column(node)
        held = codes < len(values)
        weights = kept.row_weights[held]
        counts = count_values(values[codes[held]], kept.class_codes[held], weights, n_classes=kept.n_classes)
        cuts = self.discretizer.cuts(column.name, counts, kept.n_classes)
        n_states = len(cuts) + 1 + column.missing_state
        # Of an empty cell, then of an unknown one; these are one where a missing cell is no state.
        missing = [n_states - 1, n_states] if column.missing_state else [n_states]
        return n_states, np.array([*np.searchsorted(cuts, values, side="right"), *missing])


def _recode(batch: EncodedBatch, n_states: tuple[int, ...], new: Sequence[NDArray[np.integer]]) -> EncodedBatch:
    dtype = code_dtype(max((*n_states, batch.n_classes)))
    codes: Codes = np.empty(batch.codes.shape, dtype=dtype, order="F")
    for node, column_codes in enumerate(new):
        np.take(column_codes.astype(dtype), batch.codes[:, node], out=codes[:, node])
    return replace(batch, codes=codes, n_states=(*n_states, batch.n_classes))
