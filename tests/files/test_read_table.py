"""Reading tables, as programs write them and as spreadsheets leave them: what cells mean, and what is refused."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import sys
import warnings
from functools import partial
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.check.text_values import MARKS
from tanager.errors import DataWarning, FileError
from tanager.files.read_csv import CellRules
from tanager.files.read_table import open_batches, read_table


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


def refusal(path: Path | str) -> str:
    with pytest.raises(FileError) as caught:
        read_table(path)
    return str(caught.value)


TEXTS: dict[str, tuple[bytes, dict[str, list]]] = {
    "only an empty cell is missing": (
        b"a,b\nNA,none\n,null\nNaN,\n",
        {"a": ["NA", None, "NaN"], "b": ["none", "null", None]},
    ),
    "a byte order mark and Windows line ends": (b"\xef\xbb\xbfa,b\r\n1,2\r\n", {"a": [1], "b": [2]}),
    "a blank line is a missing cell of one column": (b"a\n1\n\n2\n", {"a": [1, None, 2]}),
    "a blank line is no row of two columns": (b"a,b\n1,1\n\n2,2\n", {"a": [1, 2], "b": [1, 2]}),
    "a header without a line end": (b"a,b", {"a": [], "b": []}),
    "a header alone": (b"a,b\n", {"a": [], "b": []}),
    "a comma in the header": (b"a;b,c\n1;2,3\n", {"a;b": ["1;2"], "c": [3]}),
    "a semicolon in quotes": (b'"a;b"\nx\n', {"a;b": ["x"]}),
    "a time of day": (b"t,x\n13:30:00,2\n", {"t": [datetime.timedelta(hours=13.5)], "x": [2]}),
    "columns without name and cells": (b"a,b,,\n1,2,,\n3,4,,\n", {"a": [1, 3], "b": [2, 4]}),
    "quotes between semicolons": (b'"a";"b"\n1;"x;y"\n2;"z"\n', {"a": [1, 2], "b": ["x;y", "z"]}),
}


@pytest.mark.parametrize(("content", "expected"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_read_as_it_says(write, monkeypatch, content, expected):
    assert read_table(write("a.csv", content)).to_pydict() == expected
    assert read_table(write("a.csv.gz", gzip.compress(content))).to_pydict() == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_table("-").to_pydict() == expected


NUMBER_CELLS = {
    "integers": st.integers(-(10**6), 10**6).map(str),
    "floats": st.floats(-1e6, 1e6).map(repr),
    "dates": st.dates(datetime.date(1970, 1, 1), datetime.date(2030, 1, 1)).map(str),
}


@pytest.mark.parametrize("kind", NUMBER_CELLS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_marks_among_numbers_or_dates_are_empty_cells(tmp_path_factory, kind, data):
    own = NUMBER_CELLS[kind]
    cells = [*data.draw(st.lists(own | st.sampled_from([*MARKS, ""]), max_size=8)), data.draw(own)]
    folder = tmp_path_factory.mktemp("marks")
    (folder / "marked.csv").write_text("a,b\n" + "".join(f"{cell},x\n" for cell in cells))
    (folder / "empty.csv").write_text("a,b\n" + "".join(f"{'' if cell in MARKS else cell},x\n" for cell in cells))
    marked, empty = (read(folder / name)[0].column("a").to_pylist() for name in ("marked.csv", "empty.csv"))
    # pyarrow itself reads "NaN" and "nan" as the number that is none, where the others are nothing.
    assert [None if cell != cell else cell for cell in marked] == empty


def test_marks_among_words_are_words_unless_named(write):
    path = write("a.csv", b"a,b\nNA,?\nred,?\n-,\n")
    plain = {"a": ["NA", "red", "-"], "b": ["?", "?", None]}
    assert read_table(path, CellRules(marks=True)).to_pydict() == plain
    assert read_table(path, CellRules(["NA"], marks=True)).to_pydict() == {**plain, "a": [None, "red", "-"]}
    names, batches = open_batches(path, CellRules(["NA"], marks=True))
    assert pa.concat_tables(batches).to_pydict() == {**plain, "a": [None, "red", "-"]}
    assert names == ["a", "b"]


def test_a_column_of_marks_alone_is_empty_only_where_numbers_are_expected(write):
    path = write("a.csv", b"a,b\nNA,NA\nNA,NA\n")
    table, _ = read(path, CellRules(marks=True, numbers=["b"]))
    assert table.to_pydict() == {"a": ["NA", "NA"], "b": [None, None]}


@pytest.mark.parametrize(("name", "sign"), [("a.csv", ";"), ("a.csv", "\t"), ("a.txt", ","), ("A.TSV", "\t")])
def test_a_header_says_which_sign_separates(write, name, sign):
    table = read_table(write(name, f"a{sign}b\n1.5{sign}x,y\n2{sign}\n".replace("x,y", "x").encode()))
    assert table.to_pydict() == {"a": [1.5, 2.0], "b": ["x", None]}


def test_digits_are_integers_and_other_numbers_floats(write):
    table = read_table(write("a.csv", b"i,f,b,d,s\n1,1.5,true,2024-02-29,x\n-2,3,false,2024-03-01,7\n"))
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "bool", "date32[day]", "string"]


def test_a_column_that_turns_to_floats_or_text_late_is_read_whole(write):
    n_rows = 400_000  # several blocks of pyarrow's reader
    rows = b"".join(b"%d,%d\n" % (k, k) for k in range(n_rows))
    table = read_table(write("a.csv", b"a,b\n" + rows + b"0.5,x\n"))
    assert [str(kind) for kind in table.schema.types] == ["double", "string"]
    assert table.num_rows == n_rows + 1
    assert table.column("b")[0].as_py() == "0"


def test_a_row_longer_than_a_block_is_read(write):
    table = read_table(write("a.csv", b"a,b\n" + b"x" * (3 << 20) + b",1\n"))
    assert len(table.column("a")[0].as_py()) == 3 << 20


cells = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=5) | st.sampled_from(
    ["x\ny", 'quo"te', "a,b", " ", "1", "0.5"]
)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_cells_are_those_the_csv_module_wrote(tmp_path_factory, data):
    width = data.draw(st.integers(1, 4))
    rows = data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6))
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        # A word in every column keeps it text, so that cells come back as written.
        csv.writer(stream).writerows([[f"c{k}" for k in range(width)], *rows, ["word"] * width])
    table = read_table(path)
    expected = [tuple(cell or None for cell in row) for row in rows]
    assert list(zip(*table.to_pydict().values(), strict=True))[:-1] == expected


def test_parquet_keeps_types_and_order_of_categories(tmp_path):
    table = pa.table(
        {
            "c": pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["low", "high"])),
            "i": pa.array([1, None, 3], pa.int16()),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet").equals(table)


def test_folders_named_like_partitions_add_no_column(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    pyarrow.parquet.write_table(pa.table({"a": [1]}), folder / "a.parquet")
    assert read_table(folder / "a.parquet").column_names == ["a"]


def test_ragged_rows_are_refused_with_line_and_numbers_of_cells(write, monkeypatch):
    ragged = b'a,b,c\n1,"two\nlines",3\n\n1,2\n'
    message = refusal(write("a.csv", ragged))
    assert "line 5 has 2 cell(s), expected 3" in message
    assert "line 5 has 2 cell(s), expected 3" in refusal(write("a.csv.gz", gzip.compress(ragged)))
    assert "line 2 has 3 cell(s), expected 2" in refusal(write("b.csv", b"a,b\n1,2,3\n"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1\n")))
    assert refusal("-").startswith("standard input cannot be read as a table: line 2 has 1 cell(s), expected 2")


def test_a_quote_never_closed_is_found_however_long_the_file(write):
    rest = b"1,2\n" * 100_000  # longer than the csv module takes for a cell by itself
    for content in b'a,b\n1,"x\n2,3\n', b'a,b\n"x,2\n3,4\n':
        assert "the row that starts on line 2 is never closed" in refusal(write("a.csv", content))
    assert "line 1 is never closed" in refusal(write("a.csv", b'"a,b\n' + rest))
    assert "line 3 is never closed" in refusal(write("b.csv", b'a,b\n1,2\n3,"4\n' + rest))


def test_repeated_column_names_are_refused_by_name(write, tmp_path):
    assert "'a'" in refusal(write("a.csv", b"a,b,a\n1,2,3\n"))
    assert "'a'" in refusal(write("b.csv", b"a,a"))
    pyarrow.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    assert "'a'" in refusal(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(write, content):
    assert "is empty" in refusal(write("a.csv", content))


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    assert refusal(tmp_path / "a.csv").endswith("no such file or directory.")
    (tmp_path / "b.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "b.csv")
    assert "cannot read" in refusal("a\0.csv")


@pytest.mark.parametrize("name", ["a.xls", "a", "a.parquet.gz", ".gz", "a.zip"])
def test_an_unknown_suffix_is_refused_with_the_valid_ones(write, name):
    message = refusal(write(name, b"a,b\n1,2\n"))
    assert all(suffix in message for suffix in (".csv", ".tsv", ".txt", ".parquet", ".arff", ".gz"))


def test_files_cut_short_are_refused(write, tmp_path):
    rows = b"a,b\n" + b"".join(b"%d,%d\n" % (k, k * k) for k in range(100_000))
    packed = gzip.compress(rows)
    for length in (10, len(packed) // 2, len(packed) - 4):
        assert "cannot read" in refusal(write("a.csv.gz", packed[:length]))
    assert "cannot read" in refusal(write("b.csv.gz", rows))
    pyarrow.parquet.write_table(pa.table({"a": range(10_000)}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for length in (0, 3, 100, len(whole) - 1):
        assert "not a complete Parquet file" in refusal(write("cut.parquet", whole[:length]))


RULES = CellRules(marks=True)
TOWNS = ["Köln", "München", "Genève", "Zürich", "Málaga", "Århus"]


def read(path: Path, cells: CellRules = RULES, batches: bool = False) -> tuple[pa.Table, list[str]]:
    """The table, and what the run says it assumed."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        table = pa.concat_tables(open_batches(path, cells)[1]) if batches else read_table(path, cells)
    return table, [str(each.message) for each in said]


READERS = pytest.mark.parametrize("reader", [read, partial(read, batches=True)], ids=["whole", "batches"])


@READERS
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_a_text_in_another_encoding_reads_as_in_utf8_and_says_so(tmp_path, reader, encoding):
    text = "größe,town\n" + "".join(f"{k},{town}\n" for k, town in enumerate(TOWNS))
    (tmp_path / "utf8.csv").write_text(text, "utf-8")
    (tmp_path / "other.csv").write_bytes(text.encode(encoding))
    table, said = reader(tmp_path / "other.csv")
    assert table.to_pydict() == reader(tmp_path / "utf8.csv")[0].to_pydict() == {"größe": [*range(6)], "town": TOWNS}
    assert len(said) == (encoding != "utf-16")  # a byte order mark leaves no doubt
    assert all("is not UTF-8 text; it is read as" in each for each in said)


def test_a_letter_beyond_ascii_far_down_a_file_says_the_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"x,1\n" * 500_000 + "Köln,2\n".encode("cp1252"))
    assert read(tmp_path / "a.csv")[0].column("a")[-1].as_py() == "Köln"


def test_without_the_extra_another_encoding_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    (tmp_path / "a.csv").write_bytes("a,b\ncafé,1\n".encode("cp1252"))
    assert "pip install 'tanager[files]'" in refusal(tmp_path / "a.csv")


numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


@READERS
@settings(max_examples=25, deadline=None)
@given(cells=st.lists(numbers | st.none(), max_size=5), first=st.integers(0, 99), mark=st.sampled_from(["", "NA", "?"]))
def test_a_european_export_reads_as_with_points_and_commas(tmp_path_factory, reader, cells, first, mark):
    values = [first + 0.5, *cells]
    texts = [mark if value is None else f"{value:.3f}" for value in values]
    folder = tmp_path_factory.mktemp("european")
    lines = ["x;date;name", *(f"{text.replace('.', ',')};2024-01-02;a" for text in texts)]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    table, said = reader(folder / "a.csv")
    assert table.column("x").to_pylist() == values
    assert said[0].endswith("numbers have a decimal comma in column 'x'.")


@READERS
def test_points_and_commas_may_stand_in_one_file(tmp_path, reader):
    """Each column has its own: a column of numbers with points stays numbers beside one with commas."""
    (tmp_path / "a.csv").write_text("a;b;c;d\n1,5;2.5;NA;x\n -2 ;NA;1;y\n+,5;1;2;z\n".replace("+,5", "+0,5"))
    columns = {"a": [1.5, -2.0, 0.5], "b": [2.5, None, 1.0], "c": [None, 1, 2], "d": ["x", "y", "z"]}
    assert reader(tmp_path / "a.csv")[0].to_pydict() == columns


def test_words_with_commas_and_columns_of_text_stay_text(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;2,5\none, two;3\n")
    table, said = read(tmp_path / "a.csv", CellRules(texts=["b"]))
    assert table.to_pydict() == {"a": ["1,5", "one, two"], "b": ["2,5", "3"]}
    assert said == []


def write_workbook(path: Path, sheets: dict[str, list[list[object]]], merged: tuple[str, ...] = ()) -> Path:
    """A sheet is rows of cells; None is an empty one. The last sheet has the merged cells."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path)
    return path


ROWS: list[list[object]] = [
    ["id", "age", "when", "seen", "ok", "name"],
    ["007", 31.0, datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 2, 12, 30), True, "Köln"],
    ["010", 2.5, datetime.datetime(2023, 5, 6), datetime.datetime(2023, 5, 6), False, None],
    ["011", "NA", None, None, None, 'a "b", c'],
]


def test_a_workbook_reads_as_the_csv_of_its_first_sheet(tmp_path):
    table, said = read(write_workbook(tmp_path / "a.xlsx", {"Data": ROWS}))
    assert table.to_pydict() == {
        "id": ["007", "010", "011"],
        "age": [31.0, 2.5, None],
        "when": [datetime.date(2024, 1, 2), datetime.date(2023, 5, 6), None],
        "seen": [datetime.datetime(2024, 1, 2, 12, 30), datetime.datetime(2023, 5, 6), None],
        "ok": [True, False, None],
        "name": ["Köln", None, 'a "b", c'],
    }
    assert said == ["column 'age': 'NA' in 1 row is taken as missing; --missing names such texts, "
                    "--missing '' switches this off."]  # fmt: skip


def test_of_several_sheets_the_first_that_holds_cells_is_read_and_named(tmp_path):
    sheets = {"Empty": [], "Data": [[None], ["a", "b"], [1, 2], [None]], "Notes": [["x"]]}
    table, said = read(write_workbook(tmp_path / "a.xlsx", sheets))
    assert table.to_pydict() == {"a": [1], "b": [2]}
    assert said[0].endswith("has 2 sheets; 'Data' is read, not 'Notes'. Hint: --sheet names another.")


def test_of_several_sheets_with_the_columns_expected_the_largest_is_read(tmp_path):
    codebook, rows = [["y", "meaning"], ["a", "well"], ["b", "ill"]], [["x", "y"], [1, "a"], [2, "b"], [3, "a"]]
    path = write_workbook(tmp_path / "a.xlsx", {"Codes": codebook, "Data": rows, "Notes": [["x"]] * 9})
    with pytest.warns(DataWarning, match="'Data' is read, not 'Codes', 'Notes'"):
        assert read_table(path, CellRules(expected=["y"])).to_pydict() == {"x": [1, 2, 3], "y": ["a", "b", "a"]}


def test_bad_workbooks_are_refused(tmp_path, monkeypatch):
    whole = write_workbook(tmp_path / "a.xlsx", {"Data": ROWS}).read_bytes()
    for name, content, words in (
        ("password", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "protected by a password"),
        ("cut", whole[:300], "not a complete workbook"),
        ("text", b"a,b\n1,2\n", "not a complete workbook"),
        ("empty", write_workbook(tmp_path / "e.xlsx", {"Data": []}).read_bytes(), "is empty"),
    ):
        (tmp_path / f"{name}.xlsx").write_bytes(content)
        assert words in refusal(tmp_path / f"{name}.xlsx")
    with pytest.raises(FileError, match="cannot be read batch by batch"):
        open_batches(tmp_path / "a.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'tanager[files]'" in refusal(tmp_path / "a.xlsx")
