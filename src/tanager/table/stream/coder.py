"""ColumnCoder: one column that comes batch by batch -> provisional codes, then its schema and the final codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.arrays import ClassCodes, Codes
from tanager.table.binning import ColumnStatistics, count_missing
from tanager.table.columns import (
    Column,
    DictionaryColumn,
    Numbers,
    NumericColumn,
    check_same_kind,
    encode_column,
    kind_of,
    look_up,
    missing_cells,
    occurring,
    take,
)
from tanager.table.rows import Weights
from tanager.table.schema import Category, ColumnSchema, Unit
from tanager.table.value_counts import ValueCounts, ValueSketch, count_values

MAX_DISTINCT_NUMBERS = (1 << 16) - 1
UNKNOWN, UNSEEN = -1, -2

ProvisionalCodes = NDArray[np.signedinteger]
"""In the smallest dtype for the values so far; -1 for a missing cell."""
RawCells = ProvisionalCodes | NDArray[np.floating]
"""Provisional codes, or numbers as they are."""


@dataclass(frozen=True)
class BatchRows:
    """What is known of the rows of a batch beside a column: class codes, classes so far, weights (None for ones)."""

    class_codes: ClassCodes
    n_classes: int
    weights: Weights | None = None


class ColumnCoder:
    """See `encode`, then `learn`; whether a column holds numbers or text is known from its first batch that has any."""

    def __init__(self) -> None:
        self._like: Column | None = None
        self._categorical = True
        self._text = TextCoder()
        self._numbers: NumberCoder | None = None
        self._missing: NDArray[np.float64] = np.zeros(1)
        self._empty: tuple[NumericColumn, bool] | None = None

    def encode(self, column: Column, categorical: bool, rows: BatchRows) -> RawCells:
        """One batch: codes that keep their meaning in later batches, or the numbers themselves."""
        counted = count_missing(column, rows.class_codes, rows.weights, rows.n_classes)
        if counted.any():
            counted[: len(self._missing)] += self._missing
            self._missing = counted
            if missing_cells(column).all() and (self._like is None or kind_of(column) != kind_of(self._like)):
                if isinstance(column, NumericColumn):
                    self._empty = (column, categorical)
                return np.full(len(rows.class_codes), UNKNOWN, dtype=np.int8)
        self._join(column, categorical)
        if isinstance(column, DictionaryColumn):
            return self._text.encode(column)
        assert self._numbers is not None
        return self._numbers.encode(column.values, rows)

    def _join(self, column: Column, categorical: bool) -> None:
        if self._like is None:
            self._categorical = categorical
            self._like = take(column, slice(0))
            self._numbers = None if isinstance(column, DictionaryColumn) else NumberCoder(cut=not categorical)
            if isinstance(column, NumericColumn) and self._empty is not None:
                self._join(*self._empty)  # for its dtype
            return
        check_same_kind(self._like, column)
        if isinstance(column, NumericColumn) and isinstance(self._like, NumericColumn):
            dtype = np.promote_types(column.values.dtype, self._like.values.dtype)
            self._like = replace(self._like, values=np.empty(0, dtype=dtype))
        if isinstance(column, DictionaryColumn) and isinstance(self._like, DictionaryColumn):
            ordered = self._like.ordered and column.ordered and column.dictionary == self._like.dictionary
            self._like = replace(self._like, ordered=ordered)

    def statistics(self, name: str, class_order: NDArray[np.integer]) -> ColumnStatistics:
        """What was counted; class c of the batches is class `class_order[c]`."""
        if self._like is None and self._empty is not None:
            self._join(*self._empty)
        n_classes = len(class_order)
        n_missing = np.zeros(n_classes)
        n_missing[class_order[: len(self._missing)]] = self._missing
        if self._like is None or isinstance(self._like, DictionaryColumn):
            like = self._like or DictionaryColumn(name, np.empty(0, np.int32), ())
            position = {category: k for k, category in enumerate(self._text.entries)}
            values = np.array([position[category] for category in self._text.dictionary], dtype=np.float64)
            counts = ValueCounts.of_distinct(values)
            return ColumnStatistics(replace(like, dictionary=tuple(position)), counts, n_missing, True)
        assert self._numbers is not None
        held = self._numbers.counts()
        counts = count_values(held.values, class_order[held.classes], held.weights, n_classes=n_classes)
        return ColumnStatistics(self._like, replace(counts, n_rows=held.n_rows), n_missing, self._categorical)

    def final_codes(self, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger]) -> FinalCodes:
        """What the codes stand for by a schema, that of these rows or of others; a category it lacks is missing."""
        codes: NDArray[np.integer] = np.empty(0, dtype=np.intp)
        if isinstance(self._like, NumericColumn):
            codes = encode_column(replace(self._like, values=self.values), schema)
        elif self._like is not None:
            indices = np.arange(len(self._text.dictionary), dtype=np.int32)
            codes = encode_column(DictionaryColumn(schema.name, indices, tuple(self._text.dictionary)), schema)
        codes = np.minimum(codes, schema.missing_code)
        return FinalCodes(schema, np.append(codes, schema.empty_code).astype(dtype), not self.incomplete)

    @property
    def n_values(self) -> int:
        """Distinct values so far."""
        return len(self._text.dictionary if self._numbers is None else self._numbers.vocabulary.values)

    @property
    def incomplete(self) -> bool:
        """Whether a cell was missing."""
        return bool(self._missing.any())

    @property
    def values(self) -> NDArray[np.generic]:
        """The distinct values in the order of their codes."""
        if isinstance(self._like, NumericColumn):
            assert self._numbers is not None
            return self._numbers.vocabulary.values.astype(self._like.values.dtype)
        categories = np.array(list(self._text.dictionary))
        return categories if categories.dtype.kind in "biuf" else np.array(list(self._text.dictionary), dtype=object)

    @property
    def unit(self) -> Unit:
        """What numbers of the column count."""
        return self._like.unit if isinstance(self._like, NumericColumn) else "number"


class TextCoder:
    """A dictionary column: categories are numbered in the order in which they are first seen."""

    def __init__(self) -> None:
        self.dictionary: dict[Category, int] = {}
        self.entries: dict[Category, None] = {}
        self._last: tuple[Category, ...] = ()
        self._codes: NDArray[np.int32] = np.array([UNKNOWN], dtype=np.int32)

    def encode(self, column: DictionaryColumn) -> ProvisionalCodes:
        """The code of each cell; only categories that occur get one."""
        if column.dictionary != self._last:
            self._last = column.dictionary
            self.entries.update(dict.fromkeys(column.dictionary))
            self._renew()
        if (self._codes == UNSEEN).any():
            occurs = occurring(column.indices, 0, len(column.dictionary))
            for index in np.flatnonzero(occurs & (self._codes[:-1] == UNSEEN)).tolist():
                self.dictionary[column.dictionary[index]] = len(self.dictionary)
            self._renew()
        return _look_up(self._codes, column.indices, len(self.dictionary))

    def _renew(self) -> None:
        """The code of each entry of the batch's dictionary; index -1, a missing cell, takes the last."""
        known = [self.dictionary.get(category, UNSEEN) for category in self._last]
        self._codes = np.array([*known, UNKNOWN], dtype=np.int32)


class NumberCoder:
    """A numeric column: provisional codes, and how often each class has each value.

    With `cut` the numbers are to be cut into bins: once they are more than `MAX_DISTINCT_NUMBERS`, they are kept as
    they are in place of codes, and counted by a `ValueSketch`.
    """

    def __init__(self, cut: bool) -> None:
        self.vocabulary = NumberVocabulary()
        self.sketch: ValueSketch | None = None
        self._cut = cut
        self._counted: NDArray[Any] = np.zeros((0, 1), dtype=np.int64)
        self._n_rows = 0

    def encode(self, values: Numbers, rows: BatchRows) -> RawCells:
        """Codes or numbers: an array of integer or of float dtype says which."""
        if self.sketch is None:
            codes = self.vocabulary.codes(values)
            if not self._cut:
                return codes
            if len(self.vocabulary.values) <= MAX_DISTINCT_NUMBERS:
                self._count(codes, rows)
                return codes
            self.sketch = ValueSketch()
            if self._counted.any():
                self.sketch.add(self._table_counts())
        self.sketch.add(count_values(values, rows.class_codes, rows.weights, n_classes=rows.n_classes))
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)

    def counts(self) -> ValueCounts:
        """Rows of each (value, class); of a column that is not cut, one for each value."""
        if self.sketch is not None:
            return self.sketch.counts()
        if self._cut:
            return self._table_counts()
        return ValueCounts.of_distinct(self.vocabulary.values.astype(np.float64))

    def _count(self, codes: ProvisionalCodes, rows: BatchRows) -> None:
        n_values, n_classes = len(self.vocabulary.values), rows.n_classes
        cells = codes.astype(np.intp)
        cells += 1  # the missing come first
        cells *= n_classes
        cells += rows.class_codes
        flat: NDArray[Any] = np.bincount(cells, rows.weights, minlength=(n_values + 1) * n_classes)
        counted = flat.reshape(-1, n_classes)[1:]
        self._n_rows += int(counted.sum() if rows.weights is None else np.count_nonzero(codes != UNKNOWN))
        counted[: self._counted.shape[0], : self._counted.shape[1]] += self._counted
        self._counted = counted

    def _table_counts(self) -> ValueCounts:
        order = np.argsort(self.vocabulary.values[: len(self._counted)])
        counted = self._counted[order]
        ranks, classes = np.nonzero(counted)
        values = self.vocabulary.values[order].astype(np.float64)
        return ValueCounts(values[ranks], classes, counted[ranks, classes].astype(np.float64), self._n_rows)


class NumberVocabulary:
    """The distinct numbers of a column so far; the code of a number never changes."""

    def __init__(self) -> None:
        self.values: Numbers = np.empty(0, dtype=np.int8)
        self._order: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def codes(self, values: Numbers) -> ProvisionalCodes:
        """The code of each number, NaN as missing."""
        encoded = pa.array(values).dictionary_encode()
        distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
        present = distinct == distinct
        new = present & (self._find(distinct) == UNKNOWN)
        if new.any():
            added = np.unique(distinct[new]) + distinct.dtype.type(0)  # -0.0 is 0.0
            self.values = np.concatenate([self.values, added]) if len(self.values) else added
            self._order = np.argsort(self.values, kind="stable")
        known = np.where(present, self._find(distinct), UNKNOWN)
        return _look_up(known, encoded.indices.to_numpy(zero_copy_only=False), len(self.values))

    def _find(self, values: Numbers) -> NDArray[np.intp]:
        if len(self.values) == 0:
            return np.full(len(values), UNKNOWN, dtype=np.intp)
        position = np.minimum(np.searchsorted(self.values, values, sorter=self._order), len(self.values) - 1)
        nearest = self._order[position]
        return np.where(self.values[nearest] == values, nearest, UNKNOWN)


def _look_up(codes: NDArray[np.integer], indices: NDArray[np.integer], n_values: int) -> ProvisionalCodes:
    """codes[indices], -1 taking the last code, in the smallest dtype for so many values."""
    dtype = np.min_scalar_type(-max(n_values, 1))
    cell_codes = np.empty(len(indices), dtype=dtype)
    look_up(codes.astype(dtype), indices, 0, cell_codes)
    return cell_codes


@dataclass(frozen=True)
class FinalCodes:
    """The final code of every provisional code of a column.

    codes     by provisional code; the last is that of an empty cell
    complete  no cell is empty
    """

    schema: ColumnSchema
    codes: Codes
    complete: bool

    @property
    def incomplete(self) -> bool:
        """Whether a cell is missing: empty, or a category that the schema does not have."""
        occurring = self.codes[:-1] if self.complete else self.codes
        return bool((occurring == self.schema.missing_code).any())

    def write(self, cells: RawCells, out: Codes) -> None:
        """The final codes of some rows."""
        if cells.dtype.kind == "f":
            out[:] = encode_column(NumericColumn(self.schema.name, cells, self.schema.unit), self.schema)
        else:
            look_up(self.codes, cells, 0, out)  # type: ignore[arg-type]
