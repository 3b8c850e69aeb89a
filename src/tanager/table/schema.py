"""What a table looks like once its categories and cut points are known: frozen values, no data."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.runtime import PicklesFields

Category = str | int | float | bool | datetime.date | datetime.datetime
Kind = Literal["categorical", "numeric"]
Unit = Literal["number", "date", "datetime", "zoned", "duration"]
"""What numbers count; a datetime is the clock time of no zone, a zoned one is in UTC."""
MOMENTS: tuple[Unit, ...] = ("date", "datetime", "zoned")
MISSING_LABEL = "(missing)"


@dataclass(frozen=True)
class ColumnSchema(PicklesFields):
    """A column is categorical (`categories`) or numeric and cut into bins (`cuts`, increasing).

    A state is a category or a bin. State k of a numeric column holds the values with exactly k cuts at or below them,
    so bin k is [cuts[k-1], cuts[k]). The code of a missing cell is `n_states`, one past the last state; but with
    `missing_state` an empty cell is a state like any other, the last one, and only an unseen category is missing.

    A numeric column may have two granularities: `groups` then gives the coarse bin of each fine one (`fine_bins`), and
    `coarse` is the column cut by the coarse bins alone. `ordered` says that the order of the categories has a meaning.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] = ()
    cuts: tuple[float, ...] = ()
    unit: Unit = "number"
    missing_state: bool = False
    groups: tuple[int, ...] = ()
    ordered: bool = False
    n_states: int = field(init=False, repr=False, compare=False)
    missing_code: int = field(init=False, repr=False, compare=False)
    empty_code: int = field(init=False, repr=False, compare=False)
    """The code of a cell that holds nothing."""
    has_order: bool = field(init=False, repr=False, compare=False)
    """Whether neighbouring states, but for that of missing cells, are alike: bins, and categories declared so."""

    def __post_init__(self) -> None:
        # A column without any value still has one state, which no cell is in.
        values = max(1, len(self.categories)) if self.kind == "categorical" else len(self.cuts) + 1
        derived = {
            "n_states": values + self.missing_state,
            "missing_code": values + self.missing_state,
            "empty_code": values,  # the last state if empty cells have one, else the missing code
            "has_order": self.kind == "numeric" or self.ordered,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def coarse(self) -> ColumnSchema:
        """The column at its coarse granularity; itself where it has only one."""
        if not self.groups:
            return self
        cuts = tuple(cut for cut, (low, high) in zip(self.cuts, pairwise(self.groups), strict=True) if low != high)
        return replace(self, cuts=cuts, groups=())

    @cached_property
    def coarse_codes(self) -> NDArray[np.int64]:
        """(n_states + 1,) the coarse code of each code, the missing one included."""
        if not self.groups:
            return np.arange(self.n_states + 1)
        empty = [self.coarse.empty_code] if self.missing_state else []
        return np.array([*self.groups, *empty, self.coarse.missing_code])

    @cached_property
    def states(self) -> tuple[Category, ...]:
        """The label of each state: the category itself, or the bin in words ("< 2.45", "[2.45, 4.75)", ">= 4.75")."""
        return (*self._values, MISSING_LABEL) if self.missing_state else self._values

    @property
    def _values(self) -> tuple[Category, ...]:
        if self.categories:
            return self.categories
        if not self.cuts:
            return ("any",)
        edges = format_values(self.cuts, self.unit)
        between = (f"[{low}, {high})" for low, high in pairwise(edges))
        return (f"< {edges[0]}", *between, f">= {edges[-1]}")


@dataclass(frozen=True)
class TableSchema:
    """The attributes in their order, and the class column. `named` is False when the table was a bare array."""

    attributes: tuple[ColumnSchema, ...]
    target: ColumnSchema
    named: bool = True
    n_states: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_states", tuple(column.n_states for column in (*self.attributes, self.target)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, then the class."""
        return tuple(column.name for column in (*self.attributes, self.target))

    @property
    def learning_order(self) -> tuple[int, ...]:
        """The columns in the order in which they are worked on: that of their names; a bare array's own."""
        positions = range(len(self.attributes))
        return tuple(sorted(positions, key=lambda k: self.attributes[k].name) if self.named else positions)

    def select(self, positions: Sequence[int]) -> TableSchema:
        return TableSchema(tuple(self.attributes[position] for position in positions), self.target, self.named)


def format_values(values: Sequence[float], unit: Unit) -> list[str]:
    """Increasing values in their column's unit, each with a text of its own: six digits, or all where six are too few.

    Dates and times are held as microseconds since 1970, durations as microseconds (`read_columns`).
    """
    if unit in MOMENTS:
        moments = np.array(np.round(values), dtype="datetime64[us]")
        days = [str(day) for day in moments.astype("datetime64[D]")]
        return days if unit == "date" and len(set(days)) == len(days) else [str(moment) for moment in moments]
    if unit == "duration":
        return [str(datetime.timedelta(microseconds=value)) for value in values]
    short = [f"{value:.6g}" for value in values]
    return short if len(set(short)) == len(short) else [repr(value) for value in values]
