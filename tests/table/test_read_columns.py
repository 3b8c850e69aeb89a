"""Frames and arrays of every kind give the same columns."""

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tanager import TANClassifier
from tanager.errors import DataError, DataTypeError
from tanager.table.columns import DictionaryColumn, NumericColumn, gaps
from tanager.table.read_columns import read_arrow, read_columns

CELLS = {
    "text": ["a", None, "b", "a"],
    "flag": [True, False, None, True],
    "whole": [3, 1, 2, 3],
    "gappy": [3, None, 2, 3],
    "real": [0.5, None, 1.5, -2.0],
    "day": [datetime.date(2020, 1, 2), None, datetime.date(1969, 12, 31), datetime.date(2020, 1, 2)],
}


FRAMES = [
    pytest.param(pa.table(CELLS), id="pyarrow"),
    pytest.param(pl.DataFrame(CELLS), id="polars"),
    pytest.param(pa.table(CELLS).to_pandas(), id="pandas from arrow"),
    pytest.param(pd.DataFrame(CELLS).astype({"text": "category", "gappy": "Int64"}), id="pandas extension types"),
    pytest.param(pl.DataFrame(CELLS).with_columns(pl.col("text").cast(pl.Categorical)), id="polars categorical"),
]


def cells(column):
    """A column as plain Python cells, None where missing."""
    if isinstance(column, DictionaryColumn):
        return [None if k < 0 else column.dictionary[k] for k in column.indices]
    return [None if value != value else value for value in column.values.tolist()]


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_gives_the_same_cells(frame):
    columns = {column.name: column for column in read_columns(frame).columns}
    for name in ("text", "flag", "whole", "gappy", "real"):
        assert cells(columns[name]) == CELLS[name], name
    assert isinstance(columns["whole"], NumericColumn)
    day = columns["day"]
    assert cells(day) == [d and (d - datetime.date(1970, 1, 1)).days * 86_400 * 10**6 for d in CELLS["day"]]


@pytest.mark.parametrize("frame", FRAMES)
def test_gaps_are_the_cells_that_hold_nothing(frame):
    for column in read_columns(frame).columns:
        assert gaps(column).tolist() == [cell is None for cell in CELLS[column.name]]


def test_a_list_of_rows_keeps_numbers_beside_text_as_numbers():
    text, number = read_columns([["a", 1], ["b", 2.5], [None, None]]).columns
    assert cells(text) == ["a", "b", None]
    assert cells(number) == [1, 2.5, None]


def test_dates_times_and_durations_are_microseconds():
    t = pd.to_datetime(["1970-01-01T00:00:01", "2000-01-01T00:00:00"])
    moments = pd.DataFrame({"t": t, "d": pd.to_timedelta([1, 2], "s")})
    t, d = read_columns(moments).columns
    assert (t.unit, d.unit) == ("datetime", "duration")
    assert t.values.tolist() == [1_000_000, 946_684_800_000_000]
    assert d.values.tolist() == [1_000_000, 2_000_000]


def test_a_numeric_array_is_kept_whole_and_not_copied():
    X = np.arange(12).reshape(4, 3)
    assert np.shares_memory(read_columns(X).matrix, X)


@given(
    st.lists(st.sampled_from(["a", "b", "no", "é", "", "1", None]), min_size=1, max_size=8),
    st.booleans(),
    st.lists(st.sampled_from(["z", "b"]), unique=True),
)
def test_categories_of_pandas_are_those_of_their_arrow_array(cells, ordered, more):
    known = [*more, *sorted({cell for cell in cells if cell is not None} - set(more))]
    series = pd.Series(pd.Categorical(cells, categories=known, ordered=ordered))
    (column,) = read_columns(pd.DataFrame({"x": series})).columns
    expected = read_arrow("x", pa.array(series))
    assert column.indices.tolist() == expected.indices.tolist()
    assert replace(column, indices=0) == replace(expected, indices=0)


def test_taking_rows_takes_them_from_every_column():
    kept = np.array([True, False, False, True])
    for table in (read_columns(pa.table(CELLS)), read_columns(np.arange(8.0).reshape(4, 2))):
        some = table.take(kept)
        assert some.n_rows == 2
        for before, after in zip(table.columns, some.columns, strict=True):
            assert cells(after) == [cells(before)[0], cells(before)[3]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1, "x"]}), r"column 'a' mixes numbers \(1, row 0\) and text \('x', row 1\)"),
        (np.array([[1, True], ["b", 2]], dtype=object), r"column 'x0' mixes numbers"),
        (pd.DataFrame({"a": [1.0, np.inf]}), r"column 'a' contains infinity \(inf, in row 1\)"),
        (np.array([[1.0, 2.0], [np.nan, -np.inf]]), r"column 'x1' contains infinity \(-inf, in row 1\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'|two columns of the same name"),
        (pd.DataFrame({"a": []}), r"no row"),
        (pd.DataFrame(index=[0, 1]), r"no column"),
        (pa.table({"a": [[1], [2]]}), r"column 'a' holds list<.*> cells"),
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (np.arange(3.0), "Reshape your data"),
        (np.array([["a"], [{}]], dtype=object), r"column 'x0' holds a dict in row 1"),
    ],
)
def test_bad_tables_get_one_clear_message(table, message):
    with pytest.raises(
        DataError if "sample" not in message and "Reshape" not in message else ValueError, match=message
    ):
        read_columns(table)


def test_a_cell_that_is_neither_text_nor_number_is_a_type_error():
    with pytest.raises(DataTypeError, match="must be a string or a number"):
        read_columns(np.array([["a"], [object()]], dtype=object))


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        read_columns(sparse.csr_array(np.eye(2)))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "bool"])
def test_a_frame_of_rows_in_memory_is_encoded_as_its_columns_are(dtype):
    numbers = np.random.default_rng(0).integers(0, 3, (50, 4)).astype(dtype)
    together = pd.DataFrame(numbers, columns=["d", "a", "c", "b"], copy=False)
    apart = pd.DataFrame({name: together[name].to_numpy().copy() for name in together})
    tables = [read_columns(frame) for frame in (together, apart)]
    assert tables[0].matrix is not None
    assert tables[1].matrix is None
    for positions in ([0, 1, 2, 3], [1, 3, 2, 0], [2, 0]):
        for kept in (np.ones(50, dtype=bool), np.arange(50) % 3 == 0):
            one, other = (table.select(positions).take(kept).select([1, 0]) for table in tables)
            assert [cells(column) for column in one.columns] == [cells(column) for column in other.columns]
    y = numbers[:, 1].astype(int)
    fitted = [TANClassifier(categorical_features="all").fit(frame, y) for frame in (together, apart)]
    assert fitted[0].predict_proba(together).tolist() == fitted[1].predict_proba(apart).tolist()
