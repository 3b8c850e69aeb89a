"""Data frames and arrays -> columns. The only file that knows frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from tanager.errors import DataError, DataTypeError
from tanager.table.number_cells import Numbered, number_cells
from tanager.table.schema import Category, Unit
from tanager.threads import map_threads

# Cells from which threads, and the compiled kernel that numbers objects, repay their start.
MANY_CELLS = 2_000_000

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
    declared: bool = False
    """The dictionary's order was declared by the table (a categorical dtype), so it is kept."""
    ordered: bool = False
    """The table says that this order means something: neighbours are alike."""


Column = NumericColumn | DictionaryColumn


@dataclass(frozen=True)
class RawTable:
    """Columns of one table.

    An array of numbers or booleans stays a `matrix`, so that it can be encoded a block of rows at a time.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    matrix: Numbers | None = None
    read: tuple[Column, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.matrix is None:
            return self.read
        return tuple(self.column_like(j, self.matrix[:, j]) for j in range(len(self.names)))

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
        matrix = None if self.matrix is None else self.matrix[:, positions]
        read = tuple(self.read[position] for position in positions) if self.read else ()
        return RawTable(names, self.named, self.n_rows, matrix, read)

    def take(self, rows: NDArray[np.bool_]) -> RawTable:
        """The table of some of the rows."""
        matrix = None if self.matrix is None else self.matrix[rows]
        return RawTable(
            self.names, self.named, int(rows.sum()), matrix, tuple(take(column, rows) for column in self.read)
        )


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


def read_columns(X: Any) -> RawTable:
    """Read any table: NumPy array, list of rows, pandas, polars or pyarrow frame."""
    if isinstance(X, np.ndarray) or not nw.dependencies.is_into_dataframe(X):
        return _read_array(X)
    return _read_frame(X)


def _read_frame(X: Any) -> RawTable:
    try:
        frame = nw.from_native(X, eager_only=True)
        names = [str(name) for name in frame.columns]
        check_unique(names)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"the table has two columns of the same name: {error}", hint="rename one.") from None
    if frame.shape[1] == 0:
        raise DataError("the table has no column: found 0 feature(s) while a minimum of 1 is required.")
    if frame.shape[0] == 0:
        raise DataError("the table has no row: found 0 sample(s) while a minimum of 1 is required.")
    return _read_all(names, list(frame.iter_columns()))


def read_named(frame: Any, names: Sequence[str]) -> RawTable:
    """`read_columns` of some columns of a pandas frame with rows; taken one by one they are not copied."""
    native = nw.from_native(frame, eager_only=True)
    by_name = dict(zip(map(str, native.columns), native.iter_columns(), strict=True))
    return _read_all(names, [by_name[name] for name in names])


def _read_all(names: Sequence[str], columns: Sequence[nw.Series[Any]]) -> RawTable:
    n_rows = len(columns[0]) if columns else 0
    many = n_rows * len(columns) >= MANY_CELLS
    read = _map_columns(lambda j: _read_series(names[j], columns[j], many), len(columns), many)
    return RawTable(tuple(names), named=True, n_rows=n_rows, read=read)


def _map_columns(read: Callable[[int], Column], n_columns: int, many: bool) -> tuple[Column, ...]:
    """The columns by position, on threads where there are many cells."""
    return tuple((map_threads if many else map)(read, range(n_columns)))


def read_record_batch(batch: pa.RecordBatch) -> RawTable:
    """Read a record batch with rows as `read_columns` reads a table of it, in a tenth of the time if rows are few."""
    names = batch.schema.names
    check_unique(names)

    def read(name: str, array: pa.Array) -> Column:
        try:
            return _read_arrow(name, array)
        except pa.ArrowException:
            return _read_objects(name, array.to_numpy(zero_copy_only=False))

    columns = tuple(read(name, array) for name, array in zip(names, batch.columns, strict=True))
    return RawTable(tuple(names), named=True, n_rows=batch.num_rows, read=columns)


def check_unique(names: Sequence[str]) -> None:
    """Columns are told apart by name, so a name may stand only once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the table has two columns named {name!r}.", hint="rename one or drop it.")
        seen.add(name)


def _read_series(name: str, series: nw.Series[Any], many: bool) -> Column:
    if series.dtype.is_integer():
        values = series.to_numpy()
        if values.dtype.kind in "iu":  # none is missing, for then they would be floats or objects
            return NumericColumn(name, values)
    if series.dtype.is_float() and series.null_count() == 0:
        return _finite(NumericColumn(name, series.to_numpy()))
    if series.dtype == nw.Object or _holds_objects(series.to_native().dtype):
        cells = series.to_numpy()
        return _read_cells(name, cells, number_cells(cells[:, np.newaxis])[0] if many else None)
    try:
        # Text of polars is a view, which its own conversion would copy.
        is_view = series.dtype == nw.String and series.implementation.is_polars()
        return _read_arrow(name, pa.chunked_array(series) if is_view else series.to_arrow())
    except pa.ArrowException:
        return _read_objects(name, series.to_numpy())


def _holds_objects(dtype: Any) -> bool:
    """Whether the column of a frame is an array of Python objects, which Arrow would have to look at one by one."""
    return dtype is np.dtype(object) or getattr(dtype, "storage", None) == "python"


def _read_array(X: object) -> RawTable:
    if hasattr(X, "dtype"):
        array = check_array(X, dtype=None, ensure_all_finite=False)
    else:
        array = check_array(X, dtype=None, ensure_all_finite=False)
        if array.dtype.kind in "US":  # a list of rows with text in them: keep the numbers beside it numbers
            array = check_array(X, dtype=object, ensure_all_finite=False)
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    n_rows = int(array.shape[0])
    if array.dtype.kind in "iufb":
        if array.dtype.kind == "f" and not np.isfinite(np.sum(array, dtype=np.float64)):
            for j, name in enumerate(names):
                _finite(NumericColumn(name, array[:, j]))
        return RawTable(names, named=False, n_rows=n_rows, matrix=array)
    many = array.size >= MANY_CELLS
    numbered = number_cells(array) if many else [None] * len(names)
    columns = _map_columns(lambda j: _read_cells(names[j], array[:, j], numbered[j]), len(names), many)
    return RawTable(names, named=False, n_rows=n_rows, read=columns)


def _read_cells(name: str, cells: NDArray[np.generic], numbered: Numbered | None) -> Column:
    """A column of Python objects or text; of which only the distinct cells are read where they are numbered."""
    if numbered is not None:
        rows, numbers = numbered
        try:
            return take(_read_objects(name, cells[rows]), numbers)
        except DataError:
            pass  # all cells say in which row the fault is
    return _read_objects(name, cells)


def _read_objects(name: str, values: NDArray[np.generic]) -> Column:
    """A column of Python objects, text, booleans or dates: Arrow infers one type for it, or we say why it cannot."""
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError):
        raise _mixed_types(name, values) from None
    return _read_arrow(name, array)


def _read_arrow(name: str, array: pa.Array | pa.ChunkedArray) -> Column:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind):
        return _finite(NumericColumn(name, array.to_numpy(zero_copy_only=False)))
    if types.is_decimal(kind):
        return _finite(NumericColumn(name, array.cast(pa.float64()).to_numpy(zero_copy_only=False)))
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


def _finite(column: NumericColumn) -> NumericColumn:
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
