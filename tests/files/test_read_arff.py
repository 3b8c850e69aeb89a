"""Reading ARFF: declared types, quotes, comments, and what is refused on which line."""

from __future__ import annotations

import datetime
import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import arff

from tanager.errors import FileError
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table

HEADER = """% a comment
@RELATION 'two words'

@attribute length numeric
@ATTRIBUTE 'a b' {x, 'y z', "w"}
@attribute n integer
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute moment DATE
@Data
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text: str, **options: object) -> pa.Table:
        path: Path = tmp_path / "a.arff"
        path.write_text(text, encoding="utf-8")
        return read_table(path, **options)

    return read_text


def test_types_are_those_the_header_declares(read):
    table = read(HEADER + "% more\n1.5, y z , 3,some text,2024-01-02,2024-01-02T03:04:05\n\n?,?,?,?,?,?")
    assert [str(kind) for kind in table.schema.types] == [
        "double",
        "dictionary<values=string, indices=int32, ordered=0>",
        "int64",
        "string",
        "date32[day]",
        "timestamp[us]",
    ]
    assert table.slice(0, 1).to_pylist() == [
        {
            "length": 1.5,
            "a b": "y z",
            "n": 3,
            "note": "some text",
            "day": datetime.date(2024, 1, 2),
            "moment": datetime.datetime(2024, 1, 2, 3, 4, 5),
        }
    ]
    assert all(column[1].as_py() is None for column in table.columns)


def test_values_keep_their_declared_order_even_if_unused(read):
    table = read("@attribute c {w, x, a}\n@data\na\nw\n")
    assert table.column("c").chunk(0).dictionary.to_pylist() == ["w", "x", "a"]
    assert table.column("c").to_pylist() == ["a", "w"]


TEXTS = {
    "quotes and escapes are taken off": (
        "@attribute a string\n@attribute b string\n@data\n'it\\'s, ok' ,\"say \"\n'?', ?\n'50%',don't\n\"a\\\\b\",''\n",
        {"a": ["it's, ok", "?", "50%", "a\\b"], "b": ["say ", None, "don't", ""]},
    ),
    "tabs and blanks separate cells": (
        "@attribute a numeric\r\n@attribute b {x,y}\r\n@data\r\n1\tx\r\n2,\ty\r\n3 , 'y' \r\n",
        {"a": [1.0, 2.0, 3.0], "b": ["x", "y", "y"]},
    ),
    "a line end in quotes": ("@attribute a string\n@data\n'x\\ny'\n'z'\n", {"a": ["x\ny", "z"]}),
    "line ends of old": ("@attribute a string\r@data\rx\ry", {"a": ["x", "y"]}),
    "an integer column with fractions": ("@attribute a integer\n@data\n1\n2.5\n", {"a": [1.0, 2.5]}),
    "no rows": ("@attribute a numeric\n@attribute b {x}\n@data\n% nothing\n", {"a": [], "b": []}),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_read_as_it_says(read, text, expected):
    assert read(text).to_pydict() == expected


def test_more_texts_are_missing_where_asked_for(read):
    assert read("@attribute a numeric\n@data\n1\nNA\n", cells=CellRules(["NA"])).to_pydict() == {"a": [1.0, None]}


def test_compressed_arff_reads_as_the_text(read, tmp_path):
    text = "@attribute a numeric\n@data\n1\n"
    (tmp_path / "a.arff.gz").write_bytes(gzip.compress(text.encode()))
    assert read_table(tmp_path / "a.arff.gz").equals(read(text))
    (tmp_path / "a.arff.gz").write_bytes(gzip.compress(text.encode())[:-6])
    with pytest.raises(FileError, match="cannot read"):
        read_table(tmp_path / "a.arff.gz")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False) | st.none(), st.sampled_from(["x", "y z", "w"])),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", ", ", " , "]),
    st.sampled_from(["'", '"', ""]),
)
def test_cells_equal_those_of_scipys_reader(tmp_path_factory, rows, separator, mark):
    lines = [f"{'?' if number is None else repr(number)}{separator}{mark}{word}{mark}" for number, word in rows]
    text = "@relation r\n@attribute a real\n@attribute b {x,'y z',w}\n@data\n" + "\n".join(lines) + "\n"
    path = tmp_path_factory.mktemp("arff") / "a.arff"
    path.write_text(text)
    table = read_table(path)
    expected, _ = arff.loadarff(io.StringIO(text))
    np.testing.assert_array_equal(table.column("a").to_numpy(), expected["a"])
    assert table.column("b").to_pylist() == [word.decode() for word in expected["b"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("a,b\n1,2\n", "no line '@data'"),
        ("@attribute a {x,y\n@data\nx\n", "line 1: the values of attribute 'a' have no closing brace"),
        ("@attribute a relational\n@data\n1\n", "type 'relational'"),
        ("@attribute a date 'EEE'\n@data\n1\n", "the date pattern 'EEE' does not begin with yyyy-MM-dd"),
        ("hello\n@attribute a numeric\n@data\n1\n", "line 1 of the header"),
        ("@attribute a numeric\n@attribute a numeric\n@data\n1,2\n", "more than once: 'a'"),
        (HEADER + "1,x,1,t,2024-01-02", "line 11 has 5 cell(s), expected 6"),
        (HEADER + "1,v,1,t,2024-01-02,?", "line 11: 'v' is not a value of attribute 'a b' (nominal)"),
        (HEADER + "1,x,1,t,2024-13-02,?", "line 11: '2024-13-02' is not a value of attribute 'day' (date)"),
        (HEADER + "1,x,1,'t\n2,x,1,t',2024-01-02,?", "line 11: the quotes near"),
        (HEADER + "{0 1, 3 t}", "sparse"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(read, text, words):
    with pytest.raises(FileError) as caught:
        read(text)
    assert words in str(caught.value)


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "a.arff"
    path.write_bytes(b"@attribute a string\n@data\ncaf\xe9\n")
    with pytest.raises(FileError, match="not UTF-8"):
        read_table(path)
