"""Columns of a table as they were read: numbers, or a dictionary and the index of each cell in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.table.schema import Category, Unit

Numbers = NDArray[Any]
"""Integers or floats of any width, as the table has them."""


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, a missing one NaN. Dates and times are microseconds since 1970, durations microseconds."""

    name: str
    values: Numbers
    unit: Unit = "number"


@dataclass(frozen=True)
class DictionaryColumn:
    """Cell i holds `dictionary[indices[i]]`, or nothing where the index is -1."""

    name: str
    indices: NDArray[np.int32]
    dictionary: tuple[Category, ...]
    ordered: bool = False
    """The table declares that the order of the dictionary has a meaning; any other order is of the container only."""


Column = NumericColumn | DictionaryColumn


@dataclass(frozen=True)
class RawTable:
    """Columns of one table.

    An array of numbers or booleans stays a `matrix`, so that it can be encoded a block of rows at a time. The columns
    are then those at these `places` in it, or all of them in their order.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    matrix: Numbers | None = None
    read: tuple[Column, ...] = ()
    places: tuple[int, ...] | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.matrix is None:
            return self.read
        return tuple(self.column_like(j, self.matrix[:, self.place(j)]) for j in range(len(self.names)))

    def place(self, position: int) -> int:
        """Of a column in the matrix."""
        return position if self.places is None else self.places[position]

    def column_like(self, position: int, values: Numbers) -> Column:
        """A column of these numbers or booleans in the place of the one at this position."""
        if self.matrix is None:
            column = self.read[position]
            assert isinstance(column, NumericColumn)
            return replace(column, values=values)
        if self.matrix.dtype.kind == "b":
            return DictionaryColumn(self.names[position], values.astype(np.int32), (False, True))
        return NumericColumn(self.names[position], values)

    def column(self, name: str) -> Column:
        """The column of that name."""
        return self.columns[self.names.index(name)]

    def select(self, positions: Sequence[int]) -> RawTable:
        """The table of some columns, in the order given."""
        if list(positions) == list(range(len(self.names))):
            return self
        names = tuple(self.names[position] for position in positions)
        places = None if self.matrix is None else tuple(self.place(position) for position in positions)
        read = tuple(self.read[position] for position in positions) if self.read else ()
        return RawTable(names, self.named, self.n_rows, self.matrix, read, places)

    def take(self, rows: NDArray[np.bool_]) -> RawTable:
        """The table of some of the rows."""
        matrix = None if self.matrix is None else self.matrix[rows]
        read = tuple(take(column, rows) for column in self.read)
        return RawTable(self.names, self.named, int(rows.sum()), matrix, read, self.places)


def take(column: Column, rows: NDArray[np.bool_] | NDArray[np.integer]) -> Column:
    """The column of some of the rows."""
    if isinstance(column, NumericColumn):
        return replace(column, values=column.values[rows])
    return replace(column, indices=column.indices[rows])


def kind_of(column: Column) -> str:
    """What a column holds, for a message: columns of two kinds are not one column."""
    if isinstance(column, NumericColumn):
        return {"number": "numbers", "date": "dates", "datetime": "times", "duration": "durations"}[column.unit]
    if not column.dictionary:
        return "nothing"
    return "booleans" if isinstance(column.dictionary[0], bool) else "text"


def gaps(column: Column) -> NDArray[np.bool_]:
    """Which cells hold nothing."""
    if isinstance(column, DictionaryColumn):
        return column.indices < 0
    return np.zeros(len(column.values), dtype=bool) if column.values.dtype.kind in "iu" else np.isnan(column.values)
