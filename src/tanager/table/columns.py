"""Columns of a table as they were read, and the codes of their cells: the category, or the bin, that a cell is in.

A column is an array of numbers, or a dictionary and the index of each cell in it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError
from tanager.table.schema import MOMENTS, Category, ColumnSchema, Unit

Numbers = NDArray[Any]
"""Integers or floats of any width, as the table has them."""

# Places are 64 KiB at a time: more than 128 KiB would be memory fresh from the system, with a fault for every page, in
# a process that is told to give memory back at once, as Dask's workers are.
BLOCK_ROWS = 1 << 13
MICROSECONDS_OF_YEAR = 365.2425 * 86_400_000_000
UNIT_KINDS: dict[Unit, str] = {"number": "numbers", "date": "dates", "datetime": "dates"}
UNIT_KINDS |= {"zoned": "times with a zone", "duration": "durations"}
MOMENT_KINDS = {UNIT_KINDS[unit] for unit in MOMENTS}


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
    """Columns of one table; those of an array are views of it. `named` is False for an array without names."""

    columns: tuple[Column, ...]
    named: bool
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        return self.columns[self.names.index(name)]

    def select(self, positions: Sequence[int]) -> RawTable:
        return replace(self, columns=tuple(self.columns[position] for position in positions))

    def take(self, rows: NDArray[np.bool_]) -> RawTable:
        return RawTable(tuple(take(column, rows) for column in self.columns), self.named, int(rows.sum()))


def take(column: Column, rows: NDArray[np.bool_] | NDArray[np.integer] | slice) -> Column:
    """The column of some of the rows; without any, its name, type, unit and dictionary."""
    if isinstance(column, NumericColumn):
        return replace(column, values=column.values[rows])
    return replace(column, indices=column.indices[rows])


def kind_of(column: Column) -> str:
    """What a column holds, for a message: columns of two kinds are not one column."""
    if isinstance(column, NumericColumn):
        return "times" if column.unit == "datetime" else UNIT_KINDS[column.unit]
    kind = _kind_of_categories(column.dictionary)
    return kind if kind in ("nothing", "booleans", "text") else f"categories of {kind}"


def check_same_kind(before: Column, column: Column) -> None:
    """Refuse two parts of a table that hold values of two kinds in one column."""
    if kind_of(column) != kind_of(before):
        raise DataError(
            f"column {column.name!r} holds {kind_of(column)} in one part of the table and {kind_of(before)} in "
            "another.",
            hint="give the column one type in all parts.",
        )


def _kind_of_categories(categories: Sequence[Category]) -> str:
    match categories[0] if categories else None:
        case None:
            return "nothing"
        case bool():
            return "booleans"
        case str():
            return "text"
        case datetime.datetime(tzinfo=datetime.tzinfo()):
            return UNIT_KINDS["zoned"]
        case datetime.date():
            return "dates"
    return "numbers"


def missing_cells(column: Column) -> NDArray[np.bool_]:
    if isinstance(column, DictionaryColumn):
        return column.indices < 0
    return np.zeros(len(column.values), dtype=bool) if column.values.dtype.kind in "iu" else np.isnan(column.values)


def code_dtype(n_states: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned dtype that holds codes 0 .. n_states (the last one says missing)."""
    return np.min_scalar_type(n_states)


def learn_categories(column: Column) -> tuple[Category, ...]:
    """The categories that occur, in declared order if the column is ordered, else ascending.

    So they depend neither on the order of the rows nor on that of an unordered dictionary.
    """
    if isinstance(column, NumericColumn):
        span = _narrow_span(column.values)
        if span is None:
            distinct = np.unique(column.values)
        else:
            distinct = (np.flatnonzero(occurring(column.values, *span)) + span[0]).astype(column.values.dtype)
        return tuple(_as_category(value, column.unit) for value in distinct[~np.isnan(distinct)].tolist())
    seen = occurring(column.indices, 0, len(column.dictionary))
    categories = [category for category, occurs in zip(column.dictionary, seen, strict=True) if occurs]
    return tuple(categories if column.ordered else sorted(categories))


def encode_column(column: Column, schema: ColumnSchema) -> NDArray[np.integer]:
    """Code of each cell: `empty_code` for an empty one, one more than `missing_code` for an unseen category."""
    if not check_same_type(column, schema):
        return np.full(len(missing_cells(column)), schema.empty_code)
    if isinstance(column, DictionaryColumn):
        if schema.kind == "categorical" and _kind_of_categories(schema.categories) not in MOMENT_KINDS:
            return _encode_categories(column, schema)
        # Booleans, numbers or dates; a date and a time of one moment are equal as numbers only.
        numbers = [float(as_number(category)) for category in column.dictionary]
        column = NumericColumn(column.name, np.array([*numbers, np.nan])[column.indices])
    encode, values = (_encode_numeric if schema.kind == "numeric" else _encode_numbers), column.values
    span = _narrow_span(values)
    if span is None:
        return encode(values, schema)
    lowest, n_places = span  # of few integers each is encoded once, and then looked up
    table = encode(lowest + np.arange(n_places), schema)
    table = table.astype(np.min_scalar_type(int(table.max())))
    codes = np.empty(len(values), table.dtype)
    look_up(table, values, lowest, codes)
    return codes


def _narrow_span(values: Numbers) -> tuple[int, int] | None:
    """The least of some integers, and how many from there on reach the largest; None if they span too much.

    A look-up pays where there are more rows than places, and its table is then as small as a block.
    """
    if values.dtype.kind not in "iu" or len(values) < BLOCK_ROWS:
        return None
    lowest, largest = int(values.min()), int(values.max())
    n_places = largest - lowest + 1
    return (lowest, n_places) if n_places <= BLOCK_ROWS and abs(lowest) + n_places < np.iinfo(np.intp).max else None


def _encode_numeric(values: Numbers, schema: ColumnSchema) -> NDArray[np.integer]:
    """Bin of each cell: how many cuts are at or below it; NaN gets `empty_code`."""
    bins = np.searchsorted(np.array(schema.cuts), values, side="right")
    if values.dtype.kind == "f":
        bins[np.isnan(values)] = schema.empty_code
    return bins


def _encode_categories(column: DictionaryColumn, schema: ColumnSchema) -> NDArray[np.integer]:
    known = {category: code for code, category in enumerate(schema.categories)}
    unseen = schema.missing_code + 1
    lookup = [known.get(category, unseen) for category in column.dictionary]
    return np.array([*lookup, schema.empty_code])[column.indices]  # index -1 takes the last entry


def check_same_type(column: Column, schema: ColumnSchema) -> bool:
    """Whether a column holds values, which must be of the kind it was learnt with.

    Numbers and booleans are converted into each other where nothing is lost, as are dates and times, but no times with
    a zone into times without one. A column without a value has no kind, however it is declared.
    """
    expected = "numbers" if schema.kind == "numeric" else _kind_of_categories(schema.categories)
    if expected == "numbers":
        expected = UNIT_KINDS[schema.unit]
    held = UNIT_KINDS[column.unit] if isinstance(column, NumericColumn) else _kind_of_categories(column.dictionary)
    lossless = held == expected or (held, expected) == ("booleans", "numbers") or expected == "nothing"
    if (held, expected) == ("numbers", "booleans"):
        cells = column.values if isinstance(column, NumericColumn) else np.array(column.dictionary)
        lossless = bool(np.isin(cells[~np.isnan(cells)], (0, 1)).all())
    if lossless:
        return True
    if missing_cells(column).all():
        return False
    example = f" ({column.dictionary[0]!r})" if isinstance(column, DictionaryColumn) else ""
    hint = "convert the column to the type used in training, or refit with categorical_features naming it."
    if {held, expected} == MOMENT_KINDS:
        held, expected = ("times without a zone" if kind == "dates" else kind for kind in (held, expected))
        hint = "add the time zone or remove it (in pandas dt.tz_localize), so that it is as in training."
    raise DataError(
        f"column {column.name!r} of the table to predict holds {held}{example}; it held {expected} when the model was "
        "fitted.",
        hint=hint,
    )


def are_told_apart(categories: Sequence[Category]) -> bool:
    """Whether the numbers that cells are compared with differ: floats where some are, and times without their zone."""
    return (
        not categories or isinstance(categories[0], str) or len(np.unique(_as_numbers(categories))) == len(categories)
    )


def _as_numbers(categories: Sequence[Category]) -> NDArray[Any]:
    return np.array([as_number(category) for category in categories])


def _encode_numbers(values: Numbers, schema: ColumnSchema) -> NDArray[np.integer]:
    if not schema.categories:
        return np.where(np.isnan(values), schema.empty_code, schema.missing_code + 1)
    categories = _as_numbers(schema.categories)
    order = np.argsort(categories)
    position = np.minimum(np.searchsorted(categories, values, sorter=order), len(categories) - 1)
    codes = order[position]
    codes[categories[codes] != values] = schema.missing_code + 1
    codes[np.isnan(values)] = schema.empty_code
    return codes


def _as_category(value: float, unit: Unit) -> Category:
    if unit in MOMENTS:
        try:
            zone = datetime.UTC if unit == "zoned" else None
            moment = datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(microseconds=value)
        except OverflowError:
            year = 1970 + value / MICROSECONDS_OF_YEAR
            raise DataError(
                f"a date of year {year:.0f} can be no category; expected years 1 to 9999.",
                hint="replace it by a missing cell if it stands for one.",
            ) from None
        return moment.date() if unit == "date" else moment
    return value


def as_number(category: Category) -> float:
    """A category that is no text as the number `read_columns` gives its cells (microseconds for dates)."""
    if isinstance(category, datetime.date):
        moment = datetime.datetime.combine(category, datetime.time())
        moment = category if isinstance(category, datetime.datetime) else moment
        moment = moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)
        return (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1)
    return category  # type: ignore[return-value]


def look_up(codes: NDArray[np.integer], cells: NDArray[np.integer], lowest: int, out: NDArray[np.integer]) -> None:
    """out[i] = codes[cells[i] - lowest], in one dtype; a cell of lowest - 1, which says missing, takes the last."""
    for first in range(0, len(cells), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        places = cells[rows].astype(np.intp)
        places -= lowest
        np.take(codes, places, out=out[rows], mode="wrap")


def occurring(cells: NDArray[np.integer], lowest: int, n_places: int) -> NDArray[np.bool_]:
    """Whether there is a cell of lowest + k, for each k below n_places; cells of lowest - 1 say missing.

    Mostly all are found among the first cells, and then the others are not looked at.
    """
    marked = np.zeros(n_places + 1, dtype=bool)  # a missing cell marks the spare last entry
    occurs = marked[:-1]
    for first in range(0, len(cells), BLOCK_ROWS):
        places = cells[first : first + BLOCK_ROWS].astype(np.intp)
        places -= lowest
        marked[places] = True
        if occurs.all():
            break
    return occurs
