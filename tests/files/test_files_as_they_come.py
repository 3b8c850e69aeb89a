"""Files as spreadsheets leave them: other encodings, decimal commas, workbooks, archives."""

from __future__ import annotations

import builtins
import datetime
import warnings
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.workbook import write_workbook
from tanager.errors import DataWarning, FileError
from tanager.files.read_csv import CellRules
from tanager.files.read_table import open_batches, read_table

RULES = CellRules(marks=True)
TOWNS = ["Köln", "München", "Genève", "Zürich", "Málaga", "Århus"]


def read(path: Path, cells: CellRules = RULES) -> tuple[pa.Table, list[str]]:
    """The table, and what the run says it assumed."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        table = read_table(path, cells)
    return table, [str(each.message) for each in said]


def read_batches(path: Path) -> tuple[pa.Table, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        table = pa.concat_tables(open_batches(path, RULES)[1])
    return table, [str(each.message) for each in said]


def refusal(path: Path) -> str:
    with pytest.raises(FileError) as caught:
        read_table(path)
    return str(caught.value)


READERS = pytest.mark.parametrize("reader", [read, read_batches])


@READERS
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_in_another_encoding_reads_as_in_utf8_and_says_so(tmp_path, reader, encoding):
    text = "größe,town\n" + "".join(f"{k},{town}\n" for k, town in enumerate(TOWNS))
    (tmp_path / "utf8.csv").write_text(text, "utf-8")
    (tmp_path / "other.csv").write_bytes(text.encode(encoding))
    table, said = reader(tmp_path / "other.csv")
    assert table.to_pydict() == reader(tmp_path / "utf8.csv")[0].to_pydict() == {"größe": [*range(6)], "town": TOWNS}
    assert len(said) == 1
    assert "is not UTF-8 text; it is read as" in said[0]


def test_a_letter_beyond_ascii_far_down_a_file_says_the_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"x,1\n" * 500_000 + "Köln,2\n".encode("cp1252"))
    assert read(tmp_path / "a.csv")[0].column("a")[-1].as_py() == "Köln"


def test_without_the_extra_another_encoding_names_it(tmp_path, monkeypatch):
    without(monkeypatch, "charset_normalizer")
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


def test_quoted_names_may_stand_between_semicolons(tmp_path):
    (tmp_path / "a.csv").write_text('"a";"b"\n1,5;"x;y"\n2;"z"\n')
    assert read(tmp_path / "a.csv")[0].to_pydict() == {"a": [1.5, 2.0], "b": ["x;y", "z"]}


def test_words_with_commas_and_columns_of_text_stay_text(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;2,5\none, two;3\n")
    table, said = read(tmp_path / "a.csv", CellRules(texts=["b"]))
    assert table.to_pydict() == {"a": ["1,5", "one, two"], "b": ["2,5", "3"]}
    assert said == []


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
    assert said[0].endswith("has 2 sheets; the first, 'Data', is read, not 'Notes'.")


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
    without(monkeypatch, "python_calamine")
    assert "pip install 'tanager[files]'" in refusal(tmp_path / "a.xlsx")


def test_a_zip_archive_reads_as_the_table_in_it(tmp_path):
    table = write_workbook(tmp_path / "b.xlsx", {"Data": [["a"], [1]]})
    for name, content in ("folder/b.csv", b"a\n1\n"), ("b.xlsx", table.read_bytes()):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("__MACOSX/b.csv", b"\0")
            archive.writestr("readme.md", "about")
            archive.writestr(name, content)
        assert read(tmp_path / "a.zip")[0].to_pydict() == {"a": [1]}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"a.csv": "a\n1\n", "b.csv": "b\n1\n"}, "holds 2 tables: 'a.csv', 'b.csv'; expected one"),
        ({"readme.md": "x"}, "holds no table, but 'readme.md'"),
        ({"a.csv": "a,b\n1\n"}, "a.zip: a.csv' cannot be read as a table: line 2 has 1 cell(s)"),
    ],
)
def test_archives_without_one_table_are_refused(tmp_path, members, words):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert words in refusal(tmp_path / "a.zip")


def test_what_is_assumed_of_a_table_names_the_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.csv", "a;b\n1,5;x\n")
    table, said = read(tmp_path / "a.zip")
    assert table.to_pydict() == {"a": [1.5], "b": ["x"]}
    assert said == [f"file '{tmp_path / 'a.zip'}: b.csv': numbers have a decimal comma in column 'a'."]


def test_a_broken_archive_is_refused(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "not a complete zip archive" in refusal(tmp_path / "a.zip")


def without(monkeypatch, library: str) -> None:
    """As if a library were not installed."""
    importing = builtins.__import__

    def refuse(name: str, *rest: object, **more: object) -> object:
        if name == library:
            raise ImportError(name)
        return importing(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
