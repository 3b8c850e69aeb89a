"""ColumnCoder: one column that comes batch by batch -> provisional codes, then its schema and the final codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

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
    """See `encode`, then `learn`; whether a column holds numbers or text is known from its first batch that has any.

    Values are numbered in the order in which they are first seen. Numbers that are to be cut are also counted; once
    they are more than `MAX_DISTINCT_NUMBERS`, they are kept as they are, and counted by a `ValueSketch`.
    """

    def __init__(self) -> None:
        self._like: Column | None = None
        self._categorical = True
        self._codes: dict[Category, int] = {}
        self._entries: dict[Category, None] = {}  # of all dictionaries, whether they occur or not
        self._counted: NDArray[Any] = np.zeros((0, 1), dtype=np.int64)  # (values, classes)
        self._n_counted = 0
        self._sketch: ValueSketch | None = None
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
            self._entries.update(dict.fromkeys(column.dictionary))
            return self._number(column.dictionary, column.indices)
        return self._encode_numbers(column.values, rows)

    def _join(self, column: Column, categorical: bool) -> None:
        if self._like is None:
            self._categorical = categorical
            self._like = take(column, slice(0))
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

    def _encode_numbers(self, values: Numbers, rows: BatchRows) -> RawCells:
        """Codes or numbers: an array of integer or of float dtype says which."""
        if self._sketch is None:
            encoded = pa.array(values, from_pandas=True).dictionary_encode()
            distinct = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
            codes = self._number(distinct, encoded.indices.fill_null(UNKNOWN).to_numpy(zero_copy_only=False))
            if self._categorical:
                return codes
            if self.n_values <= MAX_DISTINCT_NUMBERS:
                self._count(codes, rows)
                return codes
            self._sketch = ValueSketch()
            if self._counted.any():
                self._sketch.add(self._table_counts())
        self._sketch.add(count_values(values, rows.class_codes, rows.weights, n_classes=rows.n_classes))
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)

    def _number(self, entries: Sequence[Category], indices: NDArray[np.integer]) -> ProvisionalCodes:
        """The code of each cell, in the smallest dtype for all; only entries that occur get one."""
        codes = np.array([*(self._codes.get(entry, UNSEEN) for entry in entries), UNKNOWN])  # index -1 takes the last
        if (codes == UNSEEN).any():
            occurs = occurring(indices, 0, len(entries))
            for index in np.flatnonzero(occurs & (codes[:-1] == UNSEEN)).tolist():
                codes[index] = self._codes.setdefault(entries[index], self.n_values)  # 0.0 is -0.0
        dtype = np.min_scalar_type(-max(self.n_values, 1))
        cell_codes = np.empty(len(indices), dtype=dtype)
        look_up(codes.astype(dtype), indices, 0, cell_codes)
        return cell_codes

    def _count(self, codes: ProvisionalCodes, rows: BatchRows) -> None:
        cells = codes.astype(np.intp)
        cells += 1  # the missing come first
        cells *= rows.n_classes
        cells += rows.class_codes
        flat: NDArray[Any] = np.bincount(cells, rows.weights, minlength=(self.n_values + 1) * rows.n_classes)
        counted = flat.reshape(-1, rows.n_classes)[1:]
        self._n_counted += int(counted.sum() if rows.weights is None else np.count_nonzero(codes != UNKNOWN))
        counted[: self._counted.shape[0], : self._counted.shape[1]] += self._counted
        self._counted = counted

    def _table_counts(self) -> ValueCounts:
        values = self._numbers(np.float64)[: len(self._counted)]
        order = np.argsort(values)
        ranks, classes = np.nonzero(self._counted[order])
        weights = self._counted[order][ranks, classes].astype(np.float64)
        return ValueCounts(values[order][ranks], classes, weights, self._n_counted)

    def _numbers(self, dtype: DTypeLike) -> Numbers:
        return np.array(list(self._codes), dtype=dtype) + np.zeros(1, dtype=dtype)  # -0.0 + 0.0 is 0.0

    def statistics(self, name: str, class_order: NDArray[np.integer]) -> ColumnStatistics:
        """What was counted; class c of the batches is class `class_order[c]`."""
        if self._like is None and self._empty is not None:
            self._join(*self._empty)
        n_missing = np.zeros(len(class_order))
        n_missing[class_order[: len(self._missing)]] = self._missing
        if not isinstance(self._like, NumericColumn):
            like = self._like or DictionaryColumn(name, np.empty(0, np.int32), ())
            position = {category: k for k, category in enumerate(self._entries)}
            counts = ValueCounts.of_distinct(np.array([position[category] for category in self._codes], np.float64))
            return ColumnStatistics(replace(like, dictionary=tuple(position)), counts, n_missing, True)
        if self._categorical:
            counts = ValueCounts.of_distinct(self._numbers(np.float64))
        else:
            held = self._table_counts() if self._sketch is None else self._sketch.counts()
            n_classes = len(class_order)
            counts = count_values(held.values, class_order[held.classes], held.weights, n_classes=n_classes)
            counts = replace(counts, n_rows=held.n_rows)
        return ColumnStatistics(self._like, counts, n_missing, self._categorical)

    def final_codes(self, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger]) -> FinalCodes:
        """What the codes stand for by a schema, that of these rows or of others; a category it lacks is missing."""
        if isinstance(self._like, NumericColumn):
            column: Column = replace(self._like, values=self.values)
        else:
            column = DictionaryColumn(schema.name, np.arange(self.n_values, dtype=np.int32), tuple(self._codes))
        codes = np.minimum(encode_column(column, schema), schema.missing_code)
        return FinalCodes(schema, np.append(codes, schema.empty_code).astype(dtype), not self._missing.any())

    @property
    def n_values(self) -> int:
        return len(self._codes)

    @property
    def values(self) -> NDArray[np.generic]:
        """The distinct values in the order of their codes."""
        if isinstance(self._like, NumericColumn):
            return self._numbers(self._like.values.dtype)
        categories = np.array(list(self._codes))
        return categories if categories.dtype.kind in "biuf" else np.array(list(self._codes), dtype=object)

    @property
    def unit(self) -> Unit:
        return self._like.unit if isinstance(self._like, NumericColumn) else "number"


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
        if cells.dtype.kind == "f":
            out[:] = encode_column(NumericColumn(self.schema.name, cells, self.schema.unit), self.schema)
        else:
            look_up(self.codes, cells, 0, out)  # type: ignore[arg-type]
