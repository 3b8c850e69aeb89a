"""Data frames and arrays -> columns. The only file that knows frames."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from tanager.errors import DataError, DataTypeError
from tanager.runtime.resources import map_threads
from tanager.table.columns import Column, DictionaryColumn, NumericColumn, RawTable
from tanager.table.number_cells import number_cells
from tanager.table.numpy_cells import check_unstructured, without_mask
from tanager.table.read_arrow import finite, holds_nothing, read_arrow, read_cells, read_objects

# Cells from which threads, and the compiled kernel that numbers objects, repay their start.
MANY_CELLS = 2_000_000


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


def to_arrow(X: Any) -> pa.Table:
    """A data frame as an Arrow table; a column of objects of several types is text."""
    frame = nw.from_native(X, eager_only=True)
    return pa.table([_to_arrow(series) for series in frame.iter_columns()], names=[str(name) for name in frame.columns])


def _to_arrow(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, ValueError):
        return series.to_arrow()
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
        frame = nw.from_native(X, eager_only=True)
        names = [str(name) for name in frame.columns]
        check_unique(names)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"the table has two columns of the same name: {error}", hint="rename one.") from None
    if frame.shape[1] == 0:
        raise DataError("the table has no column: found 0 feature(s) while a minimum of 1 is required.")
    if frame.shape[0] == 0:
        raise DataError("the table has no row: found 0 sample(s) while a minimum of 1 is required.")
    matrix = _row_major(X) if nw.dependencies.is_pandas_dataframe(X) else None
    if matrix is not None:
        return _read_matrix(tuple(names), matrix, named=True)
    return _read_all(names, list(frame.iter_columns()))


def _row_major(frame: Any) -> NDArray[Any] | None:
    """A frame of pandas that is one array, row by row in memory: taken column by column it would be read as often."""
    dtypes = {*frame.dtypes}
    if len(dtypes) > 1 or not all(isinstance(dtype, np.dtype) and dtype.kind in "iufb" for dtype in dtypes):
        return None
    first, last = frame.iloc[:, 0].to_numpy(), frame.iloc[:, -1].to_numpy()
    if first.strides[0] <= first.itemsize:
        return None
    strides = (frame.shape[1] * first.itemsize, first.itemsize)
    begins, ends = (values.__array_interface__["data"][0] for values in (first, last))
    if first.strides[0] != strides[0] or ends - begins != (frame.shape[1] - 1) * first.itemsize:
        return None
    matrix: NDArray[Any] = frame.to_numpy()  # of one array it is a view
    return matrix


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
            return read_arrow(name, array)
        except pa.ArrowException:
            return read_objects(name, array.to_numpy(zero_copy_only=False))

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
    if series.dtype in (nw.Int128, nw.UInt128):
        series = series.cast(nw.Float64)  # NumPy and Arrow have none so wide
    if series.dtype.is_integer():
        values = series.to_numpy()
        if values.dtype.kind in "iu":  # none is missing, for then they would be floats or objects
            return NumericColumn(name, values)
    if series.dtype.is_float() and series.null_count() == 0:
        return finite(NumericColumn(name, series.to_numpy()))
    if series.dtype == nw.Boolean and series.null_count() == 0:
        return DictionaryColumn(name, series.to_numpy().astype(np.int32), (False, True))
    if (categories := _read_categories(name, series)) is not None:
        return categories
    if series.dtype == nw.Object or _holds_objects(series):
        cells = _objects_of(series)
        return read_cells(name, cells, number_cells(cells[:, np.newaxis])[0] if many else None)
    try:
        is_polars = series.implementation.is_polars()
        column = read_arrow(name, _arrow_cells(series), many)
        if is_polars and series.dtype == nw.Enum and isinstance(column, DictionaryColumn):
            return replace(column, ordered=True)
        return column
    except DataError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return read_objects(name, series.to_numpy())


def _arrow_cells(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    if series.implementation.is_pyarrow():
        return series.to_native()  # in chunks, whose dictionaries may differ
    # Text of polars is a view, which its own conversion would copy.
    is_view = series.dtype == nw.String and series.implementation.is_polars()
    return pa.chunked_array(series) if is_view else series.to_arrow()


def _objects_of(series: nw.Series[Any]) -> NDArray[np.object_]:
    """The cells as they lie in memory: pandas itself would first look at each whether it is missing."""
    return np.asarray(series.to_native().array if series.implementation.is_pandas() else series.to_numpy())


def _read_categories(name: str, series: nw.Series[Any]) -> DictionaryColumn | None:
    """Categories of pandas as they are, if all are plain text: through Arrow a column of few rows takes ten times."""
    if series.dtype not in (nw.Categorical, nw.Enum) or not series.implementation.is_pandas():
        return None
    held = series.to_native().array
    entries = tuple(held.categories)
    if not entries or not all(type(entry) is str and entry.isascii() for entry in entries):
        return None
    return DictionaryColumn(name, held.codes.astype(np.int32), entries, ordered=bool(held.ordered))


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Whether the column of a frame is an array of Python objects, which Arrow would have to look at one by one."""
    dtype = getattr(series.to_native(), "dtype", None)
    return dtype is np.dtype(object) or getattr(dtype, "storage", None) == "python"


def _read_array(X: object) -> RawTable:
    if isinstance(X, dict) and not issparse(X):  # of which scikit-learn says that it is a scalar
        raise DataTypeError(
            "the table is a dict; expected a data frame, an array or rows.", hint="pandas.DataFrame(table) makes one."
        )
    check_unstructured(X)
    X = without_mask(X)
    array = check_array(X, dtype=None, ensure_all_finite=False)
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        # A list of rows with text in them: keep the numbers beside it numbers.
        array = check_array(X, dtype=object, ensure_all_finite=False)
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    n_rows = int(array.shape[0])
    if array.dtype == np.longdouble:
        with np.errstate(over="ignore"):  # what no float holds is infinite, and refused
            array = array.astype(np.float64)
    if array.dtype.kind in "iufb":
        return _read_matrix(names, array, named=False)
    many = array.size >= MANY_CELLS
    numbered = number_cells(array) if many else [None] * len(names)
    columns = _map_columns(lambda j: read_cells(names[j], array[:, j], numbered[j]), len(names), many)
    return RawTable(names, named=False, n_rows=n_rows, read=columns)


def _read_matrix(names: tuple[str, ...], array: NDArray[Any], named: bool) -> RawTable:
    """An array of numbers or booleans."""
    if array.dtype.kind == "f" and not np.isfinite(np.sum(array, dtype=np.float64)):
        for j, name in enumerate(names):
            finite(NumericColumn(name, array[:, j]))
    return RawTable(names, named, n_rows=len(array), matrix=array)
