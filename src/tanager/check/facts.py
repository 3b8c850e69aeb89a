"""ColumnFacts: the distinct cells of a column and the number of rows of each, which every finding is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.recipe.texts import parse_number
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, distinct_integers
from tanager.table.schema import Category, Unit, format_values


@dataclass(frozen=True)
class ColumnFacts:
    """A column by its distinct cells.

    codes   (n_rows,) which of the distinct cells each row holds, -1 for none; unsigned where no cell is missing
    values  the distinct cells: ascending numbers, or texts and booleans
    unit    what the numbers are, or "" if there are none
    """

    name: str
    codes: NDArray[np.integer]
    values: tuple[Category, ...] | NDArray[np.generic]
    unit: Unit | str

    @classmethod
    def of(cls, column: Column) -> ColumnFacts:
        """The facts of a column that was read."""
        if isinstance(column, DictionaryColumn):
            return _of_dictionary(column)
        return _of_numbers(column)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def is_text(self) -> bool:
        return self.unit == "" and any(isinstance(value, str) for value in self.values)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each distinct cell."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @property
    def n_filled(self) -> int:
        """Rows that hold something."""
        return int(self.counts.sum())

    @property
    def gap_share(self) -> float:
        return 1 - self.n_filled / max(self.n_rows, 1)

    @cached_property
    def texts(self) -> list[str]:
        """The distinct cells of a column of text."""
        return [str(value) for value in self.values] if self.is_text else []

    @cached_property
    def are_numbers(self) -> NDArray[np.bool_]:
        """Which of the distinct texts are plain numbers."""
        return np.array([parse_number(text) is not None for text in self.texts], dtype=bool)

    @property
    def n_numbers(self) -> int:
        """Rows that hold a plain number as text."""
        return int(self.counts[self.are_numbers].sum())

    @property
    def distinct_share(self) -> float:
        """Distinct cells for each row that holds something."""
        return len(self.values) / max(self.n_filled, 1)

    def row_of(self, value: int) -> int:
        """The first row that holds a distinct cell."""
        return int((self.codes == value).argmax())

    def show(self, row: int) -> str:
        """What a row holds, in words."""
        code = int(self.codes[row])
        if code < 0:
            return "nothing"
        value = self.values[code]
        return repr(value) if isinstance(value, str) else format_values([float(value)], self.unit or "number")[0]  # type: ignore[arg-type]


def _of_dictionary(column: DictionaryColumn) -> ColumnFacts:
    seen = np.bincount(column.indices[column.indices >= 0], minlength=len(column.dictionary)) > 0
    if seen.all():
        return ColumnFacts(column.name, column.indices, column.dictionary, "")
    places = np.append(np.where(seen, np.cumsum(seen) - 1, -1), -1)  # index -1 takes the last entry
    values = tuple(value for value, occurs in zip(column.dictionary, seen, strict=True) if occurs)
    return ColumnFacts(column.name, places[column.indices], values, "")


def _of_numbers(column: NumericColumn) -> ColumnFacts:
    cells = column.values
    if cells.dtype.kind in "iu" and len(cells):
        values, codes = distinct_integers(cells)
        return ColumnFacts(column.name, codes, values, column.unit)
    filled = ~np.isnan(cells.astype(np.float64))
    values, found = np.unique(cells[filled], return_inverse=True)
    codes = np.full(len(cells), -1, dtype=np.int32 if len(values) < 2**31 else np.int64)
    codes[filled] = found
    return ColumnFacts(column.name, codes, values, column.unit)
