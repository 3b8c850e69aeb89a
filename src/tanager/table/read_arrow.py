"""Cells -> a column: Python objects, text, and arrays of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.errors import DataError, DataTypeError
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, take
from tanager.table.number_cells import Numbered, number_text
from tanager.table.schema import Category, Unit


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
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError):
        raise _mixed_types(name, values) from None
    return read_arrow(name, array)


def read_arrow(name: str, array: pa.Array | pa.ChunkedArray, many: bool = False) -> Column:
    """A column of an Arrow array; where there are `many` cells, it may take a compiled kernel to read them."""
    if isinstance(array, pa.ChunkedArray):
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
        moments = array.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
        unit: Unit = "date" if types.is_date(kind) else "datetime"
        return NumericColumn(name, moments.to_numpy(zero_copy_only=False), unit)
    if types.is_duration(kind):
        spans = array.cast(pa.duration("us"), safe=False).cast(pa.int64())
        return NumericColumn(name, spans.to_numpy(zero_copy_only=False), "duration")
    if types.is_null(kind):
        return DictionaryColumn(name, np.full(len(array), -1, dtype=np.int32), ())
    if types.is_boolean(kind) or types.is_dictionary(kind) or _is_text(kind):
        declared = types.is_dictionary(kind)
        encoded = array if declared else array.dictionary_encode()
        indices = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        ordered = declared and bool(kind.ordered)
        entries = tuple(encoded.dictionary.to_pylist())
        return _drop_null_entry(DictionaryColumn(name, indices, entries, declared, ordered))
    raise DataTypeError(
        f"column {name!r} holds {kind} cells; each argument must be a string, a number, a boolean or a date.",
        hint="turn it into one or several columns of these kinds, or drop it.",
    )


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


def _drop_null_entry(column: DictionaryColumn) -> DictionaryColumn:
    """Some frames list 'nothing' in the dictionary itself; point its cells to -1."""
    entries: Sequence[Category | None] = column.dictionary
    if None not in entries:
        return column
    missing = entries.index(None)
    lookup = np.array([-1 if k == missing else k - (k > missing) for k in range(len(entries))] + [-1])
    kept = tuple(entry for entry in entries if entry is not None)
    return replace(column, indices=lookup[column.indices].astype(np.int32), dictionary=kept)


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


def _mixed_types(name: str, values: NDArray[np.generic]) -> DataError:
    """Say which two kinds of value a column mixes, and where."""
    first: dict[str, tuple[int, object]] = {}
    for row, value in enumerate(values):
        if value is None or value != value:
            continue
        family = _family_of(value)
        if family is None:
            kind = type(value).__name__
            return DataTypeError(
                f"column {name!r} holds a {kind} in row {row}; each argument must be a string or a number "
                "(or a boolean or a date)."
            )
        first.setdefault(family, (row, value))
    found = " and ".join(f"{family} ({value!r}, row {row})" for family, (row, value) in first.items())
    return DataTypeError(f"column {name!r} mixes {found}.", hint="convert the column to one type.")


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
    return "numbers" if isinstance(value, int | float | np.number) else None
