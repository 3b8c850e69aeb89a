"""The header of a table as people have it: below titles, in one of several sheets, with merged cells."""

from __future__ import annotations

import gzip
import os
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from files.test_read_table import write_workbook
from tanager.check.preprocessing import Drop, Recipe
from tanager.errors import DataWarning, FileError, MemoryLimitError
from tanager.files import paths
from tanager.files.json_file import load_recipe, save_recipe
from tanager.files.read_csv import CellRules
from tanager.files.read_table import FORMATS, WHOLE, bytes_in_memory, open_batches, read_table

TITLES = st.lists(st.sampled_from(["", "Patients of 2024", "source: the clinic", '"a, b; c"', ","]), max_size=4)


@settings(max_examples=40, deadline=None)
@example(titles=[",", ","], sign=";", n_columns=3, batches=False)
@given(titles=TITLES, sign=st.sampled_from([",", ";", "\t"]), n_columns=st.integers(3, 6), batches=st.booleans())
def test_a_table_below_titles_reads_as_alone(tmp_path_factory, titles, sign, n_columns, batches):
    path = tmp_path_factory.mktemp("titles") / "t.csv"
    rows = [[f"name {k}" for k in range(n_columns)], *([str(row + k) for k in range(n_columns)] for row in range(4))]
    path.write_text("\n".join([*titles, *(sign.join(row) for row in rows)]) + "\n")
    if batches:
        (table,) = open_batches(path)[1]
    else:
        table = read_table(path)
        assert table.schema.metadata == {b"header_row": str(len(titles) + 1).encode()}
    assert table.to_pylist() == [dict(zip(rows[0], map(int, row), strict=True)) for row in rows[1:]]


def test_a_first_row_that_may_be_a_header_is_it(tmp_path):
    path = tmp_path / "t.csv"
    for text, names in (
        ("a\n1,2\n3,4\n", None),  # numbers are no names
        ("a\nx;y\n", ["a"]),
        ("a,b,,\nx,y,z,w\nx,y,z,w\nu,v,s,t\n", None),  # half a header: two columns without a name
        (",a,b\n0,x,y\n1,u,v\n", ["", "a", "b"]),
    ):
        path.write_text(text)
        if names is None:
            with pytest.raises(FileError):
                read_table(path)
        else:
            assert read_table(path).column_names == names


def test_the_row_with_the_expected_names_or_the_given_row_is_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("u,v,w\nx,y,class\n1,2,a\n3,4,b\n")
    assert read_table(path).column_names == ["u", "v", "w"]
    assert read_table(path, CellRules(expected=["class"])).to_pydict() == {
        "x": [1, 3],
        "y": [2, 4],
        "class": ["a", "b"],
    }
    assert read_table(path, CellRules(header_row=2)).column_names == ["x", "y", "class"]
    assert open_batches(path, CellRules(header_row=2))[0] == ["x", "y", "class"]


def read(path: Path, **rules: object) -> tuple[dict[str, list[object]], dict[bytes, bytes]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = read_table(path, CellRules(**rules))
    return table.to_pydict(), table.schema.metadata


def test_merged_cells_are_titles_groups_of_columns_or_the_same_value_in_several_rows(tmp_path):
    head = [[], [None, "Title"], [], [None, "site", "pressure"], [None, None, "low", "high"]]
    rows = [[None, "Bern", 60, 60], [None, None, 70, 70], [None, "Basel", 80, 80]]
    path = write_workbook(tmp_path / "t.xlsx", {"S": [*head, *rows]}, ("B2:D2", "B4:B5", "C4:D4", "B6:B7"))
    expected = {"site": ["Bern", "Bern", "Basel"], "low": [60, 70, 80], "high": [60, 70, 80]}
    assert read(path) == (expected, {b"header_row": b"5", b"sheet": b"S"})


def test_the_sheet_with_the_expected_columns_is_read_unless_another_is_named(tmp_path):
    sheets = {"About": [["by hand"]], "One": [["x", "y"], [1, 2]], "Two": [["notes"], [], ["x", "class"], [3, "b"]]}
    path = write_workbook(tmp_path / "t.xlsx", sheets)
    assert read(path)[0] == {"x": [1], "y": [2]}
    assert read(path, expected=["class"]) == ({"x": [3], "class": ["b"]}, {b"header_row": b"3", b"sheet": b"Two"})
    assert read(path, sheet="Two", header_row=3)[0] == {"x": [3], "class": ["b"]}
    with pytest.raises(ValueError, match=r"--sheet.*'Too'.*One"):
        read(path, sheet="Too")


@pytest.mark.parametrize("reader", [read_table, open_batches, bytes_in_memory])
@pytest.mark.parametrize("suffix", [*FORMATS, "csv.gz"])
def test_a_pipe_is_refused_and_never_waited_for(tmp_path, reader, suffix):
    path = tmp_path / f"t.{suffix}"
    os.mkfifo(path)
    if reader is open_batches and suffix in WHOLE:
        pytest.skip("not read batch by batch")
    with pytest.raises(FileError, match="is no regular file"):
        reader(path)


def test_a_pipe_with_a_document_is_opened_once(tmp_path):
    pipe, recipe = tmp_path / "recipe.json", Recipe((Drop("id"),))
    save_recipe(recipe, tmp_path / "whole.json")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[(tmp_path / "whole.json").read_bytes()])
    writer.start()
    assert load_recipe(pipe) == recipe
    writer.join()


def test_a_header_of_more_than_a_block_is_read(tmp_path):
    names = ["n" * 100 + str(k) for k in range(15_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    table = read_table(tmp_path / "t.csv")
    assert (table.column_names, table.num_rows) == (names, 1)


def test_memory_is_estimated_by_cells_before_they_are_held(tmp_path, monkeypatch):
    """Of a megabyte of digits every other byte is a number of eight bytes."""
    text = b"1,2\n" * (1 << 18)
    (tmp_path / "t.csv").write_bytes(text)
    assert bytes_in_memory(tmp_path / "t.csv") == len(text) + 8 * (len(text) // 2)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    monkeypatch.setattr(paths, "ALWAYS_ALLOWED", 2 * len(text))
    monkeypatch.setattr(paths, "available_memory", lambda: 0)
    with pytest.raises(MemoryLimitError, match="unpacks to a table of more than"):
        read_table(tmp_path / "t.csv.gz")
