"""Cells -> a column: Python objects, text, and arrays of Arrow."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.errors import DataError, DataTypeError
from tanager.table.columns import Column, DictionaryColumn, Numbers, NumericColumn, take
from tanager.table.number_cells import Numbered, number_text
from tanager.table.numpy_cells import arrow_moments, too_far
from tanager.table.schema import Category, Unit

UNREADABLE = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""What Arrow raises for cells it cannot keep."""


def read_cells(name: str, cells: NDArray[np.generic], numbered: Numbered | None) -> Column:
    """A column of Python objects or text; of which only the distinct cells are read where they are numbered."""
    if numbered is not None:
        rows, numbers = numbered
        try:
            return take(read_objects(name, cells[rows]), numbers)
        except DataError:
            pass  # all cells say in which row the fault is
    return read_objects(name, cells)


def read_objects(name: str, values: NDArray[np.generic]) -> Column:
    """A column of Python objects, text, booleans or dates: Arrow infers one type for it, or we say why it cannot."""
    values = arrow_moments(name, values)
    try:
        array = pa.array(values, from_pandas=True)
    except UNREADABLE:
        try:
            array = pa.array(_plain_cells(name, values), from_pandas=True)
        except UNREADABLE:
            raise _mixed_types(name, values) from None
    return read_arrow(name, array)


def _plain_cells(name: str, values: NDArray[np.generic]) -> NDArray[np.generic]:
    """The cells with None for what holds nothing, and dates of NumPy, if there are only such, in an array of theirs."""
    cells = [None if holds_nothing(value) else value for value in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {np.datetime64} or kinds <= {np.timedelta64}:
        kind = "M8" if np.datetime64 in kinds else "m8"
        return arrow_moments(name, np.array([np.array("NaT", kind) if cell is None else cell for cell in cells]))
    return np.array([*cells, None], dtype=object)[:-1]  # a cell that is an array stays one


def read_arrow(name: str, array: pa.Array | pa.ChunkedArray, many: bool = False) -> Column:
    """A column of an Arrow array; where there are `many` cells, it may take a compiled kernel to read them."""
    one_order = True
    if isinstance(array, pa.ChunkedArray):
        one_order = _have_one_dictionary(array)
        array = array.combine_chunks()
    kind = array.type
    types = pa.types
    if many and _is_text(kind):
        return _read_text(name, array)
    if types.is_integer(kind) or types.is_floating(kind):
        return finite(NumericColumn(name, array.to_numpy(zero_copy_only=False)))
    if types.is_decimal(kind):
        return finite(NumericColumn(name, array.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    if types.is_date(kind) or types.is_timestamp(kind):
        zone = kind.tz if types.is_timestamp(kind) else None
        unit: Unit = "date" if types.is_date(kind) else "datetime"
        return NumericColumn(name, _microseconds(name, array, pa.timestamp("us", zone)), unit)
    if types.is_duration(kind):
        return NumericColumn(name, _microseconds(name, array, pa.duration("us")), "duration")
    is_dictionary = types.is_dictionary(kind)
    typeless = _is_category(kind) or (is_dictionary and not _is_entry(kind.value_type))
    if types.is_null(kind) or (typeless and array.null_count == len(array)):
        return DictionaryColumn(name, np.full(len(array), -1, dtype=np.int32), ())
    if _is_category(kind) or (is_dictionary and _is_entry(kind.value_type)):
        encoded = array if is_dictionary else array.dictionary_encode()
        indices = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        entries = encoded.dictionary.to_pylist()
        if is_dictionary:
            return _read_dictionary(name, indices, entries, ordered=bool(kind.ordered) and one_order)
        return DictionaryColumn(name, indices, tuple(entries))
    raise DataTypeError(
        f"column {name!r} holds {kind} cells; each argument must be a string, a number, a boolean or a date.",
        hint="turn it into one or several columns of these kinds, or drop it.",
    )


def _have_one_dictionary(array: pa.ChunkedArray) -> bool:
    """Whether the chunks of an ordered dictionary agree on its order: two declared orders are none."""
    if not pa.types.is_dictionary(array.type) or not array.type.ordered:
        return True
    chunks = [chunk for chunk in array.chunks if len(chunk)]
    return all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:])


def _microseconds(name: str, array: pa.Array, kind: pa.DataType) -> Numbers:
    """Dates, times or durations as numbers, rounded down where their unit is finer."""
    finer = not pa.types.is_date(array.type) and array.type.unit == "ns"
    try:
        return array.cast(kind, safe=not finer).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise too_far(name) from None


def _read_text(name: str, array: pa.Array) -> Column:
    """Many cells of text; if few and short ones are distinct, only these are read."""
    complete = array.fill_null("") if array.null_count else array
    numbered = number_text(complete)
    if numbered is None:
        return read_arrow(name, array)
    rows, numbers = numbered
    distinct = pa.array([complete[row].as_py() for row in rows.tolist()], type=pa.string())
    column = take(read_arrow(name, distinct), numbers)
    if array.null_count:
        assert isinstance(column, DictionaryColumn)
        column.indices[array.is_null().to_numpy(zero_copy_only=False)] = -1
    return column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_category(kind: pa.DataType) -> bool:
    return bool(_is_text(kind) or pa.types.is_boolean(kind))


def _is_entry(kind: pa.DataType) -> bool:
    """Whether a dictionary of these is one of categories."""
    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind)
    return bool(_is_category(kind) or number or types.is_date(kind) or types.is_timestamp(kind))


def _read_dictionary(
    name: str, indices: NDArray[np.int32], entries: Sequence[Category | None], ordered: bool
) -> DictionaryColumn:
    """A column of a dictionary, with each entry once; a cell whose entry is null or NaN is missing."""
    places: dict[Category, int] = {}
    moved = [
        -1 if entry is None or holds_nothing(entry) else places.setdefault(entry, len(places)) for entry in entries
    ]
    for entry in places:
        if isinstance(entry, float) and np.isinf(entry):
            raise DataError(f"column {name!r} has infinity among its categories.", hint="replace it by a finite value.")
    if moved != list(range(len(entries))):
        indices = np.array([*moved, -1], dtype=np.int32)[indices]
    return DictionaryColumn(name, indices, tuple(places), ordered=ordered)


def finite(column: NumericColumn) -> NumericColumn:
    """Refuse infinite values, which have no bin; NaN is a missing cell and may stay."""
    if column.values.dtype.kind == "f":
        infinite = np.isinf(column.values)
        if infinite.any():
            row = int(infinite.argmax())
            raise DataError(
                f"column {column.name!r} contains infinity ({column.values[row]}, in row {row}).",
                hint="replace it by NaN if it means missing, or by a finite bound.",
            )
    return column


def holds_nothing(cell: object) -> bool:
    """Whether a Python object stands for a missing cell: None, NaN, NaT or pandas.NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError, ArithmeticError):  # an array, say, or a signalling NaN
        return False


def _mixed_types(name: str, values: NDArray[np.generic]) -> DataError:
    """Say which two kinds of value a column mixes, and where."""
    first: dict[str, tuple[int, object]] = {}
    for row, value in enumerate(values):
        if holds_nothing(value):
            continue
        family = _family_of(value)
        if family is None:
            kind = type(value).__name__
            return DataTypeError(
                f"column {name!r} holds a {kind} in row {row}; each argument must be a string or a number "
                "(or a boolean or a date)."
            )
        if not _can_be_kept(value):
            return DataError(
                f"column {name!r} holds {family} in row {row} that cannot be kept: {value!r:.60}.",
                hint="numbers must be finite, whole ones have at most 64 bits, and text must be valid Unicode.",
            )
        first.setdefault(family, (row, value))
    found = " and ".join(f"{family} ({value!r}, row {row})" for family, (row, value) in first.items())
    mixes = "mixes" if len(first) > 1 else "holds several types of"
    return DataTypeError(f"column {name!r} {mixes} {found}.", hint="convert the column to one type.")


def _family_of(value: object) -> str | None:
    families: dict[str, tuple[str, ...]] = {
        "booleans": ("bool", "bool_"),
        "text": ("str", "str_"),
        "dates": ("date", "datetime", "Timestamp", "datetime64"),
        "durations": ("timedelta", "Timedelta", "timedelta64"),
    }
    for family, names in families.items():
        if type(value).__name__ in names:
            return family
    return "numbers" if isinstance(value, numbers.Number) else None


def _can_be_kept(value: object) -> bool:
    """Whether a text can be written as UTF-8, and a number is finite and, if whole, of at most 64 bits."""
    try:
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, int):
            return -(2**63) <= value < 2**64
        elif isinstance(value, numbers.Number):
            return math.isfinite(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError, TypeError):
        return False
    return True
