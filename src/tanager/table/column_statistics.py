"""ColumnStatistics: how often each class has each value of a column; adds up over batches of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.errors import DataError
from tanager.table.batch import Weights
from tanager.table.categories import encode_column
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, gaps
from tanager.table.discretizer import Discretizer
from tanager.table.granularity import learn_column
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import ValueCounts, count_values

LARGEST_WHOLE = 2.0**53
"""A float holds all whole numbers below it."""


@dataclass(frozen=True)
class ColumnStatistics:
    """Everything a naive Bayes model needs of a column: its categories or cut points, and its table, follow.

    like         the column without its rows: name, type, unit, dictionary
    counts       weight of each distinct (value, class); the value of a dictionary column is its index
    gaps         (n_classes,) weight of the rows of each class in which the cell is empty
    categorical  values are categories, not numbers to be cut
    """

    like: Column
    counts: ValueCounts
    gaps: NDArray[np.float64]
    categorical: bool

    @classmethod
    def of(
        cls, column: Column, categorical: bool, class_codes: Codes, weights: Weights | None, n_classes: int
    ) -> ColumnStatistics:
        """Statistics of some rows."""
        values = column.values if isinstance(column, NumericColumn) else column.indices
        n_gaps = count_gaps(column, class_codes, weights, n_classes)
        if n_gaps.any():
            full = ~gaps(column)
            values, class_codes = values[full], class_codes[full]
            weights = None if weights is None else weights[full]
        counts = count_values(values, class_codes, weights, n_classes=n_classes)
        return cls(without_rows(column), counts, n_gaps, categorical)

    def merge(self, other: ColumnStatistics) -> ColumnStatistics:
        """Statistics of the rows of both."""
        n_gaps = self.gaps + other.gaps
        if isinstance(self.like, DictionaryColumn) and isinstance(other.like, DictionaryColumn):
            return replace(self._merge_dictionaries(self.like, other.like, other.counts), gaps=n_gaps)
        if isinstance(self.like, NumericColumn) and isinstance(other.like, NumericColumn):
            dtype = np.result_type(self.like.values, other.like.values)
            like = replace(self.like, values=np.empty(0, dtype=dtype))
            return replace(self, like=like, counts=self.counts.merge(other.counts), gaps=n_gaps)
        # A batch in which a column is empty says nothing of its type.
        for one, empty in ((self, other), (other, self)):
            if len(empty.counts.values) == 0:
                return replace(one, gaps=n_gaps)
        kinds = ["numbers" if isinstance(one.like, NumericColumn) else "text" for one in (self, other)]
        raise DataError(f"column {self.like.name!r} holds {kinds[1]} in this batch; earlier batches held {kinds[0]}.")

    def _merge_dictionaries(
        self, ours: DictionaryColumn, theirs: DictionaryColumn, counts: ValueCounts
    ) -> ColumnStatistics:
        position = {category: k for k, category in enumerate(ours.dictionary)}
        for category in theirs.dictionary:
            position.setdefault(category, len(position))
        moved = np.array([position[category] for category in theirs.dictionary], dtype=np.float64)
        renamed = replace(counts, values=moved[counts.values.astype(np.int64)])
        # Two declared orders are none.
        filled = [column for column in (ours, theirs) if column.dictionary]
        ordered = all(column.ordered and column.dictionary == filled[0].dictionary for column in filled)
        like = replace(ours, dictionary=tuple(position), ordered=bool(filled) and ordered)
        return replace(self, like=like, counts=self.counts.merge(renamed))

    def schema(self, discretizer: Discretizer, n_classes: int, gap_states: bool, fine: bool = False) -> ColumnSchema:
        """The column's categories or cut points (`learn_column`)."""
        counts = None if self.categorical else self.counts
        if self.categorical and isinstance(self.like, NumericColumn):
            _check_told_apart(self.like, self.counts.values)
        gap_state = gap_states and bool(self.gaps.any())
        return learn_column(self._cells(), counts, gap_state, discretizer, n_classes, fine)

    def table(self, schema: ColumnSchema, n_classes: int) -> NDArray[np.float64]:
        """Counts of (state, class), flat, the class changing fastest."""
        cells = encode_column(self._cells(), schema) * n_classes + self.counts.classes
        counted = np.bincount(cells, self.counts.weights, minlength=schema.n_states * n_classes).astype(np.float64)
        if schema.gap_state:
            counted[-n_classes:] = self.gaps
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


def count_gaps(column: Column, class_codes: Codes, weights: Weights | None, n_classes: int) -> NDArray[np.float64]:
    """(n_classes,) weight of the rows of each class in which the cell is empty."""
    counted = np.zeros(n_classes)
    if isinstance(column, DictionaryColumn) or column.values.dtype.kind == "f":
        empty = gaps(column)
        if empty.any():
            empty_weights = None if weights is None else weights[empty]
            counted += np.bincount(class_codes[empty], empty_weights, minlength=n_classes)
    return counted


def without_rows(column: Column) -> Column:
    """The column's name, type, unit and dictionary."""
    if isinstance(column, NumericColumn):
        return replace(column, values=column.values[:0])
    return replace(column, indices=column.indices[:0])
