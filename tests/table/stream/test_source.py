"""Which tables come batch by batch, and how their batches are brought to one set of columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

from tanager.errors import DataError
from tanager.table.columns import DictionaryColumn
from tanager.table.read_columns import is_stream
from tanager.table.stream.source import open_stream


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (pa.table({"a": [1]}), False),
        (pd.DataFrame({"a": [1]}), False),
        ([[1], [2]], False),
        (np.zeros((2, 2)), False),
        (pl.DataFrame({"a": [1]}), False),
        (pl.LazyFrame({"a": [1]}), True),
        (pa.table({"a": [1]}).to_reader(), True),
        (pa.dataset.dataset(pa.table({"a": [1]})), True),
        (iter([]), True),
        ((frame for frame in ()), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_what_has_no_rows_at_hand_is_a_stream(X, expected):
    assert is_stream(X) == expected


def test_columns_follow_the_first_batch_in_any_order():
    batches = [pa.table({"a": [1], "b": ["x"]}), pa.table({"b": ["y"], "a": [2]})]
    tables = list(open_stream(iter(batches)).tables())
    assert [table.names for table in tables] == [("a", "b")] * 2
    assert [table.columns[0].values.tolist() for table in tables] == [[1], [2]]


def test_selected_columns_come_in_the_order_asked_for():
    batches = [pa.table({"a": [1], "b": ["x"], "c": [0]}), pd.DataFrame({"b": ["y"], "a": [2]})]
    found = list(open_stream(iter(batches)).select(["b", "a"]))
    assert [list(frame.columns if isinstance(frame, pd.DataFrame) else frame.column_names) for frame in found] == [
        ["b", "a"]
    ] * 2
    assert [type(frame) for frame in found] == [pa.Table, pd.DataFrame]


def test_a_batch_without_rows_is_no_batch_and_none_but_such_is_an_error():
    empty = pa.table({"a": pa.array([], pa.int64())})
    assert len(list(open_stream(iter([empty, pa.table({"a": [1]}), empty])).tables())) == 1
    with pytest.raises(DataError, match="every batch is empty"):
        list(open_stream(iter([empty])).select(["a"]))


def test_text_stored_as_a_dictionary_declares_no_order(tmp_path):
    plain = pa.array(["b", "a", "b"])
    grades = plain.dictionary_encode().cast(pa.dictionary(pa.int32(), pa.string(), ordered=True))
    pa.parquet.write_table(
        pa.table({"text": plain, "unordered": plain.dictionary_encode(), "ordered": grades}), tmp_path / "a.parquet"
    )
    stream = open_stream(pa.dataset.dataset(tmp_path))
    (table,) = stream.tables()
    columns = [column for column in table.columns if isinstance(column, DictionaryColumn)]
    assert [column.ordered for column in columns] == [False, False, True]
    assert [column.dictionary for column in columns] == [("b", "a")] * 3


def test_a_folder_named_as_a_value_is_a_column(tmp_path):
    for value in ("x", "y"):
        folder = tmp_path / f"kind={value}"
        folder.mkdir()
        pa.parquet.write_table(pa.table({"a": [1, 2]}), folder / "part.parquet")
    tables = list(open_stream(pa.dataset.dataset(tmp_path, partitioning="hive")).tables())
    found = [column.dictionary[k] for table in tables for column in table.columns[1:] for k in column.indices]
    assert found == ["x", "x", "y", "y"]


def test_text_files_are_a_data_set_too(tmp_path):
    for number in range(2):
        pa.csv.write_csv(pa.table({"a": [number], "b": ["x"]}), tmp_path / f"{number}.csv")
    tables = list(open_stream(pa.dataset.dataset(tmp_path, format="csv")).tables())
    assert [table.columns[0].values.tolist() for table in tables] == [[0], [1]]


def test_only_the_columns_asked_for_are_read(tmp_path):
    pa.parquet.write_table(pa.table({"a": [1], "b": ["x"], "c": [0]}), tmp_path / "a.parquet")
    for data in (pa.dataset.dataset(tmp_path), pa.dataset.dataset(pa.table({"a": [1], "b": ["x"], "c": [0]}))):
        stream = open_stream(data, ["b", "c", "none"])
        assert [frame.schema.names for frame in stream.frames] == [["b", "c"]]


def test_a_lazy_frame_that_fails_says_why():
    frame = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(DataError, match=r"lazy frame cannot be evaluated: .*conversion"):
        list(open_stream(frame).tables())


def test_a_data_set_without_files_is_refused(tmp_path):
    with pytest.raises(DataError, match="no file"):
        open_stream(pa.dataset.dataset(tmp_path, format="parquet"))
