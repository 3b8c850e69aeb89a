"""ColumnCoder: one column that comes batch by batch -> provisional codes, then its schema and the final codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.errors import DataError
from tanager.table.categories import code_dtype, encode_column, look_up, occurring
from tanager.table.column_statistics import ColumnStatistics, count_gaps, without_rows
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, gaps, kind_of
from tanager.table.discretizer import Discretizer
from tanager.table.schema import Category, ColumnSchema, Unit
from tanager.table.stream.final_codes import FinalCodes, RawCells
from tanager.table.stream.numbers import BatchRows, NumberCoder
from tanager.table.value_counts import ValueCounts, count_values

MISSING, UNSEEN = -1, -2


class TextCoder:
    """A dictionary column: categories are numbered in the order in which they are first seen."""

    def __init__(self) -> None:
        self.dictionary: dict[Category, int] = {}
        self.entries: dict[Category, None] = {}
        self._last: tuple[Category, ...] = ()
        self._codes: NDArray[np.int32] = np.array([MISSING], dtype=np.int32)

    def encode(self, column: DictionaryColumn, out: Codes) -> Codes:
        """The code of each cell, in `out` if they fit a byte; only categories that occur get one."""
        if column.dictionary != self._last:
            self._last = column.dictionary
            self.entries.update(dict.fromkeys(column.dictionary))
            self._renew()
        if (self._codes == UNSEEN).any():
            occurs = occurring(column.indices, 0, len(column.dictionary))
            for index in np.flatnonzero(occurs & (self._codes[:-1] == UNSEEN)).tolist():
                self.dictionary[column.dictionary[index]] = len(self.dictionary)
            self._renew()
        packed: Codes = self._codes.astype(code_dtype(len(self.dictionary)))
        codes: Codes = out if out.dtype == packed.dtype else np.empty(len(column.indices), dtype=packed.dtype)
        look_up(packed, column.indices, 0, codes)
        return codes

    def _renew(self) -> None:
        """The code of each entry of the batch's dictionary; index -1, a missing cell, takes the last."""
        known = [self.dictionary.get(category, UNSEEN) for category in self._last]
        self._codes = np.array([*known, MISSING], dtype=np.int32)


class ColumnCoder:
    """See `encode`, then `learn`; whether a column holds numbers or text is known from its first batch that has any."""

    def __init__(self) -> None:
        self._like: Column | None = None
        self._categorical = True
        self._text = TextCoder()
        self._numbers: NumberCoder | None = None
        self._gaps: NDArray[np.float64] = np.zeros(1)
        self._empty: tuple[NumericColumn, bool] | None = None

    def encode(self, column: Column, categorical: bool, rows: BatchRows, out: Codes) -> RawCells:
        """One batch: codes that keep their meaning in later batches, or the numbers themselves.

        They are in `out`, (n_rows,) bytes, where they fit there.
        """
        counted = count_gaps(column, rows.class_codes, rows.weights, rows.n_classes)
        if counted.any():
            counted[: len(self._gaps)] += self._gaps
            self._gaps = counted
            if gaps(column).all() and (self._like is None or kind_of(column) != kind_of(self._like)):
                if isinstance(column, NumericColumn):
                    self._empty = (column, categorical)
                out[:] = np.iinfo(out.dtype).max
                return out
        if not self._is_like(column):
            self._join(column, categorical)
        if isinstance(column, DictionaryColumn):
            return self._text.encode(column, out)
        assert self._numbers is not None
        return self._numbers.encode(column.values, rows, out)

    def _join(self, column: Column, categorical: bool) -> None:
        if self._like is None:
            self._categorical = categorical
            self._like = without_rows(column)
            self._numbers = None if isinstance(column, DictionaryColumn) else NumberCoder(cut=not categorical)
            if isinstance(column, NumericColumn) and self._empty is not None:
                self._join(*self._empty)  # for its dtype
            return
        if kind_of(column) != kind_of(self._like):
            raise DataError(
                f"column {column.name!r} holds {kind_of(column)} in a batch; earlier batches held "
                f"{kind_of(self._like)}.",
                hint="convert the batches to one type.",
            )
        if isinstance(column, NumericColumn) and isinstance(self._like, NumericColumn):
            dtype = np.promote_types(column.values.dtype, self._like.values.dtype)
            self._like = replace(self._like, values=np.empty(0, dtype=dtype))
        if isinstance(column, DictionaryColumn) and isinstance(self._like, DictionaryColumn):
            ordered = self._like.ordered and column.ordered and column.dictionary == self._like.dictionary
            self._like = replace(self._like, ordered=ordered)

    def _is_like(self, column: Column) -> bool:
        """Whether the numbers of a batch are of the type of those before, as mostly: that is quickly said."""
        like = self._like
        if not isinstance(column, NumericColumn) or not isinstance(like, NumericColumn):
            return False
        return column.values.dtype == like.values.dtype and column.unit == like.unit

    def statistics(self, name: str, class_order: NDArray[np.integer]) -> ColumnStatistics:
        """What was counted; class c of the batches is class `class_order[c]`."""
        n_classes = len(class_order)
        n_gaps = np.zeros(n_classes)
        n_gaps[class_order[: len(self._gaps)]] = self._gaps
        if self._like is None or isinstance(self._like, DictionaryColumn):
            like = self._like or DictionaryColumn(name, np.empty(0, np.int32), ())
            position = {category: k for k, category in enumerate(self._text.entries)}
            values = np.array([position[category] for category in self._text.dictionary], dtype=np.float64)
            counts = ValueCounts.of_distinct(values)
            return ColumnStatistics(replace(like, dictionary=tuple(position)), counts, n_gaps, True)
        assert self._numbers is not None
        found = self._numbers.counts()
        counts = count_values(found.values, class_order[found.classes], found.weights, n_classes=n_classes)
        return ColumnStatistics(self._like, replace(counts, n_rows=found.n_rows), n_gaps, self._categorical)

    def learn(
        self, name: str, class_order: NDArray[np.integer], discretizer: Discretizer, gap_states: bool, fine: bool
    ) -> ColumnSchema:
        """The column's categories or cut points (`ColumnStatistics.schema`)."""
        if self._like is None and self._empty is not None:
            self._join(*self._empty)
        return self.statistics(name, class_order).schema(discretizer, len(class_order), gap_states, fine)

    def final_codes(self, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger]) -> FinalCodes:
        """What the codes stand for by a schema, that of these rows or of others; a category it lacks is missing."""
        found: NDArray[np.integer] = np.empty(0, dtype=np.intp)
        if isinstance(self._like, NumericColumn):
            found = encode_column(replace(self._like, values=self.values), schema)
        elif self._like is not None:
            indices = np.arange(len(self._text.dictionary), dtype=np.int32)
            found = encode_column(DictionaryColumn(schema.name, indices, tuple(self._text.dictionary)), schema)
        found = np.minimum(found, schema.missing_code)
        return FinalCodes(schema, np.append(found, schema.gap_code).astype(dtype), not self.incomplete)

    @property
    def n_values(self) -> int:
        """Distinct values so far."""
        return len(self._text.dictionary if self._numbers is None else self._numbers.vocabulary.values)

    @property
    def is_cut(self) -> bool:
        """Whether several values may come to mean one state."""
        return self._numbers is not None and not self._categorical

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
        found = np.array(list(self._text.dictionary))
        return found if found.dtype.kind in "biuf" else np.array(list(self._text.dictionary), dtype=object)

    @property
    def unit(self) -> Unit:
        """What numbers of the column count."""
        return self._like.unit if isinstance(self._like, NumericColumn) else "number"
