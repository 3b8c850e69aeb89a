"""Tables of any library -> columns, and columns -> frames. The only file that knows data frames."""

from __future__ import annotations

import contextlib
import datetime
import numbers
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Literal, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from tanager.errors import DataError, DataTypeError, OptionError
from tanager.registry import check_option
from tanager.runtime.resources import map_threads
from tanager.table.columns import Column, DictionaryColumn, Numbers, NumericColumn, RawTable
from tanager.table.schema import Category, Unit

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")
# Cells from which threads repay their start.
MANY_CELLS = 2_000_000
# What Arrow raises for cells it cannot keep.
UNREADABLE = (pa.ArrowException, OverflowError, TypeError, ValueError)
# Of dates and durations; Arrow has seconds and finer units, and days of dates.
COARSE_UNITS = ("Y", "M", "W", "D", "h", "m")
NO_ROWS = "the table has no rows."
FAMILIES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "booleans"),
    (str, "text"),
    ((datetime.date, np.datetime64), "dates"),
    ((datetime.timedelta, np.timedelta64), "durations"),
    (numbers.Number, "numbers"),
)
"""Kinds of cells that a column may hold; the first that fits counts."""


def read_columns(X: Any) -> RawTable:
    """Read any table: NumPy array, list of rows, pandas, polars or pyarrow frame."""
    if isinstance(X, np.ndarray) or not nw.dependencies.is_into_dataframe(X):
        return _read_array(X)
    return _read_frame(X)


def read_mixed(X: Any) -> RawTable:
    """`read_columns`, but a column of a frame that mixes numbers and text is text, not an error."""
    try:
        return read_columns(X)
    except DataTypeError:
        if not nw.dependencies.is_into_dataframe(X):
            raise
        return read_columns(to_arrow(X))


def is_stream(X: object) -> bool:
    """Whether a table comes batch by batch; nothing is imported to tell."""
    known = isinstance(X, pa.RecordBatchReader | Iterator)
    return known or is_instance(X, "pyarrow.dataset", "Dataset") or is_instance(X, "polars", "LazyFrame")


def is_instance(X: object, module: str, name: str) -> bool:
    """An object of a class whose module is not loaded cannot exist."""
    loaded = sys.modules.get(module)  # None also where the module was found not to be there
    return loaded is not None and isinstance(X, getattr(loaded, name))


def to_arrow(X: Any) -> pa.Table:
    """A data frame as an Arrow table; a column of objects of several types is text."""
    frame = _from_native(X)
    return pa.table([_to_arrow(series) for series in frame.iter_columns()], names=[str(name) for name in frame.columns])


def _from_native(X: Any) -> nw.DataFrame[Any]:
    """The frame; polars ends the process when it hands over a column whose name holds a NUL."""
    frame = nw.from_native(X, eager_only=True)
    for name in frame.columns if frame.implementation.is_polars() else ():
        if "\0" in name:
            raise DataError(f"column {name!r} of the polars frame has a NUL in its name.", hint="rename it.")
    return frame


def _to_arrow(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    series = _narrow(series)
    with contextlib.suppress(*UNREADABLE):
        if series.dtype != nw.Object and not _holds_objects(series):
            return series.to_arrow()
        objects = _objects_of(series)  # for which polars gives their addresses
        cells = pa.array(objects, from_pandas=True)
        _check_moments(str(series.name), objects, cells.type)
        return cells
    try:
        return pa.array([as_written(cell) for cell in series.to_list()], pa.string())
    except UnicodeError:
        raise DataTypeError(
            f"column {str(series.name)!r} holds text that is not valid Unicode.",
            hint="replace half of a surrogate pair.",
        ) from None


def as_written(cell: Any) -> str | None:
    """A cell of any type as it would be written."""
    if holds_nothing(cell):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _read_frame(X: Any) -> RawTable:
    try:
        frame = _from_native(X)
        names = [str(name) for name in frame.columns]
        check_names(names)
    except nw.exceptions.DuplicateError as error:
        words = " ".join(str(error).split())
        raise DataError(f"the table has two columns of the same name: {words}", hint="rename one.") from None
    if frame.shape[1] == 0:
        raise DataError("the table has no column: found 0 feature(s) while a minimum of 1 is required.")
    if frame.shape[0] == 0:
        raise DataError(NO_ROWS)
    n_rows, columns = len(frame), list(frame.iter_columns())
    read = _map_columns(lambda j: _read_series(names[j], columns[j]), len(columns), n_rows)
    return RawTable(read, named=True, n_rows=n_rows)


def _map_columns(read: Callable[[int], Column], n_columns: int, n_rows: int) -> tuple[Column, ...]:
    """On threads where there are many cells."""
    return tuple((map_threads if n_rows * n_columns >= MANY_CELLS else map)(read, range(n_columns)))


def check_names(names: Sequence[str]) -> None:
    """Columns are told apart by name, so a name may stand only once; and names are written to files."""
    seen: set[str] = set()
    for name in names:
        check_unicode(name, "a column has the name")
        if name in seen:
            raise DataError(f"the table has two columns named {name!r}.", hint="rename one or drop it.")
        seen.add(name)


def check_unicode(text: str, words: str) -> None:
    """Refuse half of a surrogate pair, which no file can hold; the message begins with `words`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{words} {text!r:.80}, which is not valid Unicode.", hint="replace half of a surrogate pair."
        ) from None


def _read_series(name: str, series: nw.Series[Any]) -> Column:
    series = _narrow(series)
    dtype, native = series.dtype, getattr(series.to_native(), "dtype", None)
    if dtype.is_integer():
        values = series.to_numpy()
        if values.dtype.kind in "iu":  # none is missing, for then they would be floats or objects
            return NumericColumn(name, values)
    if dtype.is_float() and (isinstance(native, np.dtype) or series.null_count() == 0):
        return finite(NumericColumn(name, series.to_numpy()))
    if dtype == nw.Boolean and series.null_count() == 0:
        return DictionaryColumn(name, series.to_numpy().astype(np.int32), (False, True))
    if dtype == nw.Object or _holds_objects(series):
        return read_objects(name, _objects_of(series))
    try:
        is_polars = series.implementation.is_polars()
        column = read_arrow(name, _arrow_cells(series))
        if is_polars and dtype == nw.Enum and isinstance(column, DictionaryColumn):
            return replace(column, ordered=True)
        return column
    except DataError:
        raise
    except UNREADABLE:
        return read_objects(name, series.to_numpy())


def _narrow(series: nw.Series[Any]) -> nw.Series[Any]:
    """The column; whole numbers of 128 bits, which neither NumPy nor Arrow has, as floats."""
    return series.cast(nw.Float64) if series.dtype in (nw.Int128, nw.UInt128) else series


def _arrow_cells(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    if series.implementation.is_pyarrow():
        return series.to_native()  # in chunks, whose dictionaries may differ
    # Text of polars is a view, which its own conversion would copy.
    is_polars = series.implementation.is_polars()
    if is_polars and series.dtype in (nw.Struct, nw.List, nw.Array):  # a NUL in the name of a field ends the process
        raise _other_kind(series.name, series.dtype)
    is_view = series.dtype == nw.String and is_polars
    return pa.chunked_array(series) if is_view else series.to_arrow()


def _objects_of(series: nw.Series[Any]) -> NDArray[np.object_]:
    """The cells as they lie in memory: pandas itself would first look at each whether it is missing."""
    return np.asarray(series.to_native().array if series.implementation.is_pandas() else series.to_numpy())


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Whether the column of a frame is an array of Python objects, which Arrow would have to look at one by one."""
    dtype = getattr(series.to_native(), "dtype", None)
    return dtype is np.dtype(object) or getattr(dtype, "storage", None) == "python"


def _read_array(X: object) -> RawTable:
    if issparse(X):
        hint = "X.toarray() makes an array of it, if that fits into memory."
        raise DataTypeError(f"the table is a sparse {type(X).__name__}; dense data is required.", hint=hint)
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields or isinstance(X, dict):  # of a dict scikit-learn says that it is a scalar
        kind = f"structured array with the fields {', '.join(map(repr, fields[:5]))}" if fields else "dict"
        hint = "pandas.DataFrame(table) makes one."
        raise DataTypeError(f"the table is a {kind}; expected a data frame, an array or rows.", hint=hint)
    if isinstance(X, list | tuple) and not X:
        raise DataError(NO_ROWS)
    refuse_mask(X, "the table")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("Complex data not supported: the table holds complex numbers.", hint="take X.real, or X.imag.")
    array = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    if not len(array):
        raise DataError(NO_ROWS)
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        # A list of rows with text in them: keep the numbers beside it numbers.
        array = check_array(X, dtype=object, ensure_all_finite=False)
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    n_rows = int(array.shape[0])
    if array.dtype == np.longdouble:
        with np.errstate(over="ignore"):  # what no float holds is infinite, and refused
            array = array.astype(np.float64)
    if array.dtype.kind in "iufb":
        return RawTable(tuple(_read_numbers(names, array)), named=False, n_rows=n_rows)
    columns = _map_columns(lambda j: read_objects(names[j], array[:, j]), len(names), n_rows)
    return RawTable(columns, named=False, n_rows=n_rows)


def _read_numbers(names: Sequence[str], array: NDArray[Any]) -> Iterator[Column]:
    """The columns of an array of numbers or booleans, which are views of it."""
    with np.errstate(over="ignore"):  # finite ones may have no sum
        looks_finite = array.dtype.kind != "f" or np.isfinite(np.sum(array, dtype=np.float64))
    for j, name in enumerate(names):
        if array.dtype.kind == "b":
            yield DictionaryColumn(name, array[:, j].astype(np.int32), (False, True))
        else:
            column = NumericColumn(name, array[:, j])
            yield column if looks_finite else finite(column)


def read_objects(name: str, values: NDArray[np.generic]) -> Column:
    """A column of Python objects, text, booleans or dates: Arrow infers one type for it, or we say why it cannot."""
    values = arrow_moments(name, values)
    cells = _infer(values)
    if cells is None:
        values = _plain_cells(values)
        cells = _infer(values)
    if cells is None:
        raise _mixed_types(name, values)
    _check_moments(name, values, cells.type)
    return read_arrow(name, cells)


def _infer(values: NDArray[Any] | list[object]) -> pa.Array | pa.ChunkedArray | None:
    """The cells in the one type that Arrow sees in them; None where there is none."""
    with contextlib.suppress(*UNREADABLE):
        return pa.array(values, from_pandas=True)
    return None


def _check_moments(name: str, values: NDArray[Any], kind: pa.DataType) -> None:
    """Refuse dates beside times, of which Arrow would cut the hours off, and times that it would move to a zone."""
    if values.dtype == object and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        kinds = {_kind_of_moment(value) for value in values if not holds_nothing(value)}
        if len(kinds) > 1:
            raise DataTypeError(
                f"column {name!r} mixes {' and '.join(sorted(kinds))}.", hint="convert the column to one type."
            )


def _kind_of_moment(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return "times without a zone" if value.tzinfo is None else "times with a zone"
    return "dates" if isinstance(value, datetime.date | np.datetime64) else type(value).__name__


def _plain_cells(values: NDArray[np.generic]) -> NDArray[np.object_]:
    """The cells with None for what holds nothing."""
    cells = [None if holds_nothing(value) else value for value in values]
    return np.array([*cells, None], dtype=object)[:-1]  # a cell that is an array stays one


def read_arrow(name: str, array: pa.Array | pa.ChunkedArray) -> Column:
    one_order = True
    if isinstance(array, pa.ChunkedArray):
        one_order = _have_one_dictionary(array)
        array = array.combine_chunks()
    kind = array.type
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind):
        return finite(NumericColumn(name, array.to_numpy(zero_copy_only=False)))
    if types.is_decimal(kind):
        return finite(NumericColumn(name, array.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    if types.is_date(kind) or types.is_timestamp(kind):
        zone = kind.tz if types.is_timestamp(kind) else None
        unit: Unit = "date" if types.is_date(kind) else "datetime" if zone is None else "zoned"
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
    raise _other_kind(name, kind)


def _other_kind(name: str, kind: object) -> DataTypeError:
    return DataTypeError(
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


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_category(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_boolean(kind))


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
        family = next((family for kind, family in FAMILIES if isinstance(value, kind)), None)
        if family is None:
            kind = type(value).__name__
            return DataTypeError(
                f"column {name!r} holds a {kind} in row {row}; each argument must be a string or a number "
                "(or a boolean or a date)."
            )
        if _infer([value]) is None:
            return DataError(
                f"column {name!r} holds {family} in row {row} that cannot be kept: {value!r:.60}.",
                hint="numbers must be finite, whole ones have at most 64 bits, and text must be valid Unicode.",
            )
        first.setdefault(family, (row, value))
    kinds = " and ".join(f"{family} ({value!r}, row {row})" for family, (row, value) in first.items())
    mixes = "mixes" if len(first) > 1 else "holds several types of"
    return DataTypeError(f"column {name!r} {mixes} {kinds}.", hint="convert the column to one type.")


def refuse_mask(values: object, what: str) -> None:
    """Whoever takes a masked array for an array (`numpy.asarray`, scikit-learn) sees the numbers below its mask."""
    rows = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        raise DataTypeError(
            f"{what} is a masked array, and numbers below a mask are no data.",
            hint="values.astype(float).filled(numpy.nan) is an array whose masked cells are missing.",
        )


def arrow_moments(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Dates and durations in a unit that Arrow has; other cells as they are."""
    if values.dtype.kind not in "mM":
        return values
    unit = np.datetime_data(values.dtype)[0]
    if unit == "generic":
        raise DataTypeError(f"column {name!r} holds {values.dtype} cells, which have no unit.", hint="give them one.")
    if unit in ("s", "ms", "us", "ns") or values.dtype == "M8[D]":
        return values
    moments = values.astype(f"{values.dtype.kind}8[us]")
    if unit in COARSE_UNITS and ((moments.astype(values.dtype) != values) & ~np.isnat(values)).any():
        raise too_far(name)
    return moments


def too_far(name: str) -> DataError:
    return DataError(
        f"column {name!r} holds a date or duration of more than 292,000 years.",
        hint="replace it by a missing cell if it stands for one.",
    )


def replace_columns(table: pa.Table, replaced: Mapping[int, pa.ChunkedArray]) -> pa.Table:
    """The table with other columns at these places, under the same names.

    All at once: `pa.Table.set_column` copies the list of columns, so that one call for each is quadratic in them.
    """
    if not replaced:
        return table
    columns = [replaced.get(place, column) for place, column in enumerate(table.columns)]
    return pa.table(columns, names=table.column_names)


def make_frame(columns: Mapping[str, Sequence[object]], library: str) -> Any:
    """A frame of "pandas", "polars" or "pyarrow" with these columns."""
    chosen = cast(Library, check_option("library", library, LIBRARIES))
    try:
        return nw.from_dict(columns, backend=chosen).to_native()
    except ModuleNotFoundError:
        raise OptionError(
            f"{library} is not installed, so no frame of it can be made.",
            hint="library='pyarrow' always works; or use to_dict().",
        ) from None


def any_frame(columns: Mapping[str, Sequence[object]]) -> Any:
    """A frame of pandas, or else of polars; where neither is installed the columns themselves, as a dict."""
    for library in LIBRARIES[:2]:
        if find_spec(library) is not None:
            return make_frame(columns, library)
    return dict(columns)
