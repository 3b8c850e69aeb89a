"""ColumnCoder: one column that comes batch by batch -> provisional codes, then its schema and what the codes mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError
from tanager.table.batch import Codes
from tanager.table.column_statistics import ColumnStatistics, without_rows
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import encode_column
from tanager.table.read_columns import Column, DictionaryColumn, NumericColumn, gaps
from tanager.table.schema import Category, ColumnSchema, Unit
from tanager.table.stream_numbers import NumberCoder, pack_codes
from tanager.table.value_counts import ValueCounts, count_values

UNSEEN = -2

Cells = NDArray[Any]
"""Provisional codes, the largest number of their dtype for a missing cell; or numbers as they are."""


class TextCoder:
    """A dictionary column: categories are numbered in the order in which they are first seen."""

    def __init__(self) -> None:
        self.dictionary: dict[Category, int] = {}
        self.declared: dict[Category, None] = {}
        self._last: tuple[Category, ...] = ()
        self._lookup: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def encode(self, column: DictionaryColumn) -> Codes:
        """The code of each cell; only categories that occur get one."""
        if column.dictionary != self._last:
            self._last = column.dictionary
            self.declared.update(dict.fromkeys(column.dictionary))
            self._renew()
        codes = self._lookup[column.indices]
        if codes.min() == UNSEEN:
            for index in np.unique(column.indices[codes == UNSEEN]).tolist():
                self.dictionary[column.dictionary[index]] = len(self.dictionary)
            self._renew()
            codes = self._lookup[column.indices]
        return pack_codes(codes, len(self.dictionary))

    def _renew(self) -> None:
        """The code of each entry of the batch's dictionary; index -1, a missing cell, takes the last."""
        known = [self.dictionary.get(category, UNSEEN) for category in self._last]
        self._lookup = np.array([*known, -1], dtype=np.int32)


class ColumnCoder:
    """See `encode`, then `learn`; whether a column holds numbers or text is known from its first batch that has any."""

    def __init__(self) -> None:
        self._like: Column | None = None
        self._categorical = True
        self._text = TextCoder()
        self._numbers: NumberCoder | None = None
        self._gaps: NDArray[np.float64] = np.zeros(1)
        self._empty: tuple[NumericColumn, bool] | None = None

    def encode(self, column: Column, categorical: bool, class_codes: Codes, n_classes: int) -> Cells:
        """One batch: codes that keep their meaning in later batches, or the numbers themselves."""
        empty = gaps(column) if isinstance(column, DictionaryColumn) or column.values.dtype.kind == "f" else None
        if empty is not None and empty.any():
            counted = np.bincount(class_codes[empty], minlength=n_classes).astype(np.float64)
            counted[: len(self._gaps)] += self._gaps
            self._gaps = counted
            if empty.all() and (self._like is None or _kind(column) != _kind(self._like)):
                if isinstance(column, NumericColumn):
                    self._empty = (column, categorical)
                return np.full(len(empty), np.iinfo(np.uint8).max, dtype=np.uint8)
        self._join(column, categorical)
        if isinstance(column, DictionaryColumn):
            return self._text.encode(column)
        assert self._numbers is not None
        return self._numbers.encode(column.values, class_codes, n_classes)

    def _join(self, column: Column, categorical: bool) -> None:
        if self._like is None:
            self._categorical = categorical
            self._like = without_rows(column)
            self._numbers = None if isinstance(column, DictionaryColumn) else NumberCoder(cut=not categorical)
            if isinstance(column, NumericColumn) and self._empty is not None:
                self._join(*self._empty)  # for its dtype
            return
        if _kind(column) != _kind(self._like):
            raise DataError(
                f"column {column.name!r} holds {_kind(column)} in a batch; earlier batches held {_kind(self._like)}.",
                hint="convert the batches to one type.",
            )
        if isinstance(column, NumericColumn) and isinstance(self._like, NumericColumn):
            dtype = np.result_type(column.values, self._like.values)
            self._like = replace(self._like, values=np.empty(0, dtype=dtype))
        if isinstance(column, DictionaryColumn) and isinstance(self._like, DictionaryColumn):
            same = column.dictionary == self._like.dictionary
            declared = self._like.declared and column.declared
            self._like = replace(self._like, declared=declared, ordered=self._like.ordered and same)

    def statistics(self, name: str, class_order: NDArray[np.integer]) -> ColumnStatistics:
        """What was counted; class c of the batches is class `class_order[c]`."""
        n_classes = len(class_order)
        n_gaps = np.zeros(n_classes)
        n_gaps[class_order[: len(self._gaps)]] = self._gaps
        if self._like is None or isinstance(self._like, DictionaryColumn):
            n_values = len(self._text.dictionary)
            like = self._like or DictionaryColumn(name, np.empty(0, np.int32), ())
            position = {category: k for k, category in enumerate(self._text.declared)}
            values = np.array([position[category] for category in self._text.dictionary], dtype=np.float64)
            counts = ValueCounts(values, np.zeros(n_values, np.intp), np.ones(n_values))
            return ColumnStatistics(replace(like, dictionary=tuple(position)), counts, n_gaps, True)
        assert self._numbers is not None
        found = self._numbers.counts()
        counts = count_values(found.values, class_order[found.classes], found.weights, n_classes=n_classes)
        return ColumnStatistics(self._like, counts, n_gaps, self._categorical)

    def learn(
        self, name: str, class_order: NDArray[np.integer], discretizer: Discretizer, gap_states: bool, fine: bool
    ) -> ColumnSchema:
        """The column's categories or cut points."""
        if self._like is None and self._empty is not None:
            self._join(*self._empty)
        return self.statistics(name, class_order).schema(discretizer, len(class_order), gap_states, fine)

    def meaning(self, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger]) -> Codes:
        """The final code of each provisional one; the last entry is that of a missing cell."""
        found: NDArray[np.integer] = np.empty(0, dtype=np.intp)
        if isinstance(self._like, NumericColumn):
            found = encode_column(replace(self._like, values=self.values), schema)
        elif self._like is not None:
            indices = np.arange(len(self._text.dictionary), dtype=np.int32)
            found = encode_column(DictionaryColumn(schema.name, indices, tuple(self._text.dictionary)), schema)
        return np.append(found, schema.gap_code).astype(dtype)

    @property
    def incomplete(self) -> bool:
        """Whether a cell was missing."""
        return bool(self._gaps.any())

    @property
    def values(self) -> NDArray[np.generic]:
        """The distinct values in the order of their codes."""
        if isinstance(self._like, NumericColumn):
            assert self._numbers is not None
            return self._numbers.vocabulary.values.astype(self._like.values.dtype)
        found = list(self._text.dictionary)
        return np.array(found, dtype=bool if found and isinstance(found[0], bool) else object)

    @property
    def unit(self) -> Unit:
        """What numbers of the column count."""
        return self._like.unit if isinstance(self._like, NumericColumn) else "number"


def _kind(column: Column) -> str:
    if isinstance(column, NumericColumn):
        return {"number": "numbers", "date": "dates", "datetime": "times", "duration": "durations"}[column.unit]
    if not column.dictionary:
        return "nothing"
    return "booleans" if isinstance(column.dictionary[0], bool) else "text"
