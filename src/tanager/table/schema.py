"""What a table looks like once its categories and cut points are known: frozen values, no data."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

Category = str | int | float | bool | datetime.date | datetime.datetime
Kind = Literal["categorical", "numeric"]
Unit = Literal["number", "date", "datetime", "duration"]


@dataclass(frozen=True)
class ColumnSchema:
    """A column is categorical (`categories`) or numeric and cut into bins (`cuts`, increasing).

    A state is a category or a bin. State k of a numeric column holds the values with exactly k cuts at or below them,
    so bin k is [cuts[k-1], cuts[k]). The code of a missing cell is `n_states`: one past the last state.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] = ()
    cuts: tuple[float, ...] = ()
    unit: Unit = "number"

    @property
    def n_states(self) -> int:
        # A column without any value still has one state, which no cell is in.
        return max(1, len(self.categories)) if self.kind == "categorical" else len(self.cuts) + 1

    @property
    def missing_code(self) -> int:
        return self.n_states

    @cached_property
    def states(self) -> tuple[Category, ...]:
        """The label of each state: the category itself, or the bin in words ("< 2.45", "[2.45, 4.75)", ">= 4.75")."""
        if self.categories:
            return self.categories
        if not self.cuts:
            return ("any",)
        edges = [format_value(cut, self.unit) for cut in self.cuts]
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


def format_value(value: float, unit: Unit) -> str:
    """A numeric value in its column's unit: dates and times are held as microseconds since 1970 (`read_columns`)."""
    if unit == "date" or unit == "datetime":
        moment = np.datetime64(round(value), "us")
        return str(moment.astype("datetime64[D]") if unit == "date" else moment)
    if unit == "duration":
        return str(datetime.timedelta(microseconds=value))
    return f"{value:.6g}" if float(f"{value:.6g}") == value else repr(value)
