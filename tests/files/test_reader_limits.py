"""What a file asks for: time in proportion to its length, and memory that is counted before it is taken."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

from attack.files import workbook
from files.test_network_file import refused_text
from tanager import DataError, DataWarning, FileError, MemoryLimitError, read_network
from tanager.check.preprocessing import NOTHING_TO_DO
from tanager.files import paths, read_csv
from tanager.files import read_table as read_table_module
from tanager.files.read_arff import ArffError, split_cells
from tanager.files.read_csv import CellRules
from tanager.files.read_table import open_batches, read_table
from tanager.files.read_table import read_table as read
from tanager.files.read_xlsx import check_workbook_size
from tanager.table.stream import source as stream_source
from tanager.table.stream.source import open_stream

# Quadratic, these take minutes.
LONG = 200_000
COIN = "network n {} variable a { type discrete [2] { s, t }; } "
ROOM = 1 << 20


@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\\", "a "])
@pytest.mark.parametrize("end", ["y", "'", '"', ""])
def test_cells_of_arff_are_split_in_one_pass_whatever_they_hold(blank, end):
    line = "x" + blank * LONG + end
    try:
        cells = list(split_cells(line, 1))
    except ArffError:
        return
    assert len("".join(cell.text for cell in cells)) <= len(line)


def test_rows_of_a_table_are_found_by_name_without_a_search(tmp_path):
    """As many rows as states: a search through the states for each row would be quadratic."""
    n_states = 30_000
    states = ", ".join(f"s{k}" for k in range(n_states))
    rows = " ".join(f"(s{k}) 1, 0;" for k in range(n_states))
    content = (
        f"{COIN}variable b {{ type discrete [{n_states}] {{ {states} }}; }} "
        f"probability ( a | b ) {{ {rows} }} probability ( b ) {{ table 1{', 0' * (n_states - 1)}; }}"
    )
    path = tmp_path / "wide.bif"
    path.write_text(content)
    assert read_network(path).tables[0].tolist() == [[1.0, 0.0]] * n_states


def hungry_bif(n_tables: int, n_parents: int) -> str:
    """Tables of 2^(parents + 1) cells each, in a few words."""
    variables = "".join(COIN[13:].replace(" a ", f" p{k} ") for k in range(n_parents))
    children = "".join(COIN[13:].replace(" a ", f" c{k} ") for k in range(n_tables))
    parents = ", ".join(f"p{k}" for k in range(n_parents))
    tables = "".join(f"probability ( c{k} | {parents} ) {{ default 0.5, 0.5; }}" for k in range(n_tables))
    return f"network n {{}} {variables} {children} {tables}"


HUNGRY = {
    "one table of .bif": (".bif", hungry_bif(1, 26)),
    "a table of more cells than a float can count": (".bif", hungry_bif(1, 2_000)),
    "many tables of .bif": (".bif", hungry_bif(100, 19)),
}


@pytest.mark.parametrize(("suffix", "content"), HUNGRY.values(), ids=HUNGRY)
def test_no_file_takes_memory_out_of_proportion_to_its_length(tmp_path, suffix, content):
    tracemalloc.start()
    try:
        refused_text(tmp_path, suffix, content)
        assert tracemalloc.get_traced_memory()[1] < 100 * ROOM
    finally:
        tracemalloc.stop()


def test_a_default_may_stand_for_all_rows_of_a_table_of_common_size(tmp_path):
    path = tmp_path / "default.bif"
    path.write_text(hungry_bif(1, 15) + "".join(f"probability ( p{k} ) {{ table 0.5, 0.5; }}" for k in range(15)))
    assert read_network(path).tables[-1].shape == (2**15, 2)


def test_a_table_of_many_columns_is_fixed_in_one_pass(tmp_path):
    """Marks, decimal commas and texts that mean missing: to replace the columns one by one would take minutes."""
    n_columns = 5_000
    names, path = [f"c{k}" for k in range(n_columns)], tmp_path / "wide.csv"
    path.write_text(";".join(names) + "\n" + ";".join(["1,5"] * n_columns) + "\n" + ";".join(["NA"] * n_columns) + "\n")
    with pytest.warns(DataWarning):
        table = read_table(path, CellRules(marks=True))
    assert table.column_names == names
    assert table.slice(0, 1).to_pylist() == [dict.fromkeys(names, 1.5)]
    recipe = NOTHING_TO_DO.with_options(["x"], names[1:], None)
    assert recipe.apply(pa.table({name: ["x", "y"] for name in names})).to_pylist() == [{"c0": None}, {"c0": "y"}]


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
ROWS = "".join(f'<row r="{k}"><c r="A{k}"><v>{k}</v></c><c r="B{k}"><v>1</v></c></row>' for k in range(1, 4))


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(paths, "ALWAYS_ALLOWED", ROOM)
    monkeypatch.setattr(paths, "available_memory", lambda: ROOM)
    monkeypatch.setattr(read_table_module, "available_memory", lambda: ROOM)


def write_packed(folder: Path, n_rows: int) -> list[Path]:
    """The same rows in every kind of file that may be much shorter than its table."""
    text = b"x,y\n" + b"1,2\n" * n_rows
    paths = [folder / name for name in ("t.csv.gz", "t.parquet")]
    paths[0].write_bytes(gzip.compress(text))
    pyarrow.parquet.write_table(pa.table({"x": np.ones(n_rows), "y": np.ones(n_rows)}), paths[1])
    return paths


def test_a_table_that_unpacks_to_more_than_memory_is_refused_before_and_one_that_fits_is_read(tmp_path, little_memory):
    for path in write_packed(tmp_path, 1_000):
        assert (read(path).num_rows, read(path).column_names) == (1_000, ["x", "y"])
    for path in write_packed(tmp_path, ROOM):
        assert path.stat().st_size < ROOM
        with pytest.raises(MemoryLimitError, match="GiB"):
            read(path)


def test_memory_that_ends_while_a_table_is_read_is_said_with_the_file_and_its_size(tmp_path, monkeypatch):
    def end(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(read_table_module, "read_csv", end)
    path = write_packed(tmp_path, 1_000)[0]
    with pytest.raises(MemoryLimitError, match=rf"{path.name}' of 0\.0 MiB does not fit in memory: .* GiB"):
        read(path)


REPEATED = {
    "a text in many rows": pa.DictionaryArray.from_arrays(np.zeros(1_000, np.int32), ["x" * 10_000]),
    "a list of many entries": pa.ListArray.from_arrays([0, *[10**6] * 1_000], np.zeros(10**6, np.int8)),
    "long texts, each once": pa.array([f"{k}" + "x" * ROOM for k in range(64)]),
}


@pytest.mark.parametrize("column", REPEATED.values(), ids=REPEATED)
def test_what_a_parquet_file_says_once_and_means_often_is_counted_before_it_is_held(tmp_path, little_memory, column):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": column}), path, store_schema=False, compression="zstd")
    assert path.stat().st_size < ROOM // 8
    before = pa.total_allocated_bytes()
    with pytest.raises(MemoryLimitError, match=rf"{len(column):,} rows, which take"):
        read(path)
    assert pa.total_allocated_bytes() - before < ROOM


@pytest.mark.parametrize("start", [b"a", b'"a\n'], ids=["one line", "a quoted name"])
@pytest.mark.parametrize("reader", [read, open_batches], ids=["whole", "in batches"])
def test_a_header_without_an_end_is_refused_where_it_is_too_long(tmp_path, monkeypatch, start, reader):
    monkeypatch.setattr(read_csv, "LONGEST_HEADER", ROOM)
    monkeypatch.setattr("tanager.files.read_table.STREAM_BLOCK", ROOM)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(start + b"a" * 40 * ROOM))
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match="header of more than 1,048,576 characters"):
            reader(path)
        assert tracemalloc.get_traced_memory()[1] < 20 * ROOM
    finally:
        tracemalloc.stop()


def write_sheet(folder: Path, rows: str) -> Path:
    path = folder / "t.xlsx"
    path.write_bytes(workbook(SHEET.format(rows).encode()))
    return path


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', "1,048,576 rows and 16,384 columns with 7 cells"),
        ("<row r='1048576'><x:c t='n' r='ZZ1048576'/></row>", "1,048,576 rows and 702 columns"),
        ('<row><c r="AAAAAAA1"><v>1</v></c></row>', "beyond the end of every sheet"),
    ],
)
def test_a_sheet_of_a_few_cells_far_apart_is_refused_before_it_is_held(tmp_path, last, words):
    with pytest.raises(FileError, match=words):
        read(write_sheet(tmp_path, ROWS + last))


def test_rows_around_a_table_that_hold_nothing_are_left_out_in_one_pass(tmp_path):
    """Cells without a text: one by one, to leave out so many rows would take minutes."""
    cells = ["x" if row == 100_000 else "" for row in range(200_000)]
    path = write_sheet(tmp_path, "".join(f'<row><c t="str"><v>{cell}</v></c></row>' for cell in cells))
    table = read(path)
    assert (table.column_names, table.num_rows) == (["x"], 0)


def test_a_sheet_is_read_with_or_without_the_places_of_its_cells(tmp_path):
    named = ROWS.replace("<v>1</v></c></row>", "<v>5</v></c></row>", 1)  # names of columns differ
    expected = read(write_sheet(tmp_path, named)).to_pydict()
    assert expected == {"1": [2, 3], "5": [1, 1]}
    bare = "".join(f"<row><c><v>{k}</v></c><c><v>{5 if k == 1 else 1}</v></c></row>" for k in range(1, 4))
    path = write_sheet(tmp_path, bare)
    check_workbook_size(path, "it")
    assert read(path).to_pydict() == expected


def test_cells_that_hold_nothing_are_counted_before_they_are_held(tmp_path, little_memory):
    with pytest.raises(MemoryLimitError, match="unpacks to a table of more than"):
        read(write_sheet(tmp_path, '<row r="2000"><c r="Z2000"><v>1</v></c></row>'))


def test_half_a_letter_of_utf16_is_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\n1,é\n2,ö\n".encode("utf-16")[:-1])
    with pytest.raises(FileError, match="save it as UTF-8"):
        read(path)


TEXTS = {
    "a text in many rows": ["x" * ROOM] * 64,
    "long texts, each once": [f"{k}" + "x" * ROOM for k in range(64)],
}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("group_rows", [1, 64])
@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_batches_of_parquet_hold_no_more_text_than_a_batch_may(tmp_path, monkeypatch, texts, group_rows, kind):
    """Whoever writes a text out in every row writes no more than these bytes at a time."""
    monkeypatch.setattr(stream_source, "BATCH_BYTES", 5 * ROOM)
    path = tmp_path / "t.parquet"
    written = pa.table({"a": pa.array(texts, kind), "b": range(64)})
    pyarrow.parquet.write_table(written, path, row_group_size=group_rows, compression="zstd")
    _, source = open_batches(path)
    batches = list(open_stream(source).plain_tables())
    assert pa.concat_tables(batches).cast(written.schema).equals(written)
    assert max(pc.sum(pc.binary_length(batch["a"])).as_py() for batch in batches) <= 5 * ROOM + 64


@pytest.mark.parametrize("use_dictionary", [False, True], ids=["plain", "dictionary"])
def test_a_batch_of_parquet_is_counted_before_it_is_held(tmp_path, monkeypatch, use_dictionary):
    monkeypatch.setattr(stream_source, "available_memory", lambda: 8 * ROOM)
    options = {"compression": "zstd", "use_dictionary": use_dictionary, "dictionary_pagesize_limit": 100 * ROOM}
    path, texts = tmp_path / "t.parquet", TEXTS["long texts, each once"]
    pyarrow.parquet.write_table(pa.table({"a": texts}), path, **options)
    assert path.stat().st_size < ROOM
    before = pa.total_allocated_bytes()
    with pytest.raises(MemoryLimitError, match=r"64 rows of file .*take 0\.1 GiB with their texts"):
        next(open_stream(open_batches(path)[1]).tables())
    assert pa.total_allocated_bytes() - before < ROOM
    pyarrow.parquet.write_table(pa.table({"a": texts[:2]}), path, **options)
    assert next(open_stream(open_batches(path)[1]).tables()).n_rows == 2


def test_a_list_is_refused_before_its_entries_are_read(tmp_path):
    path = tmp_path / "t.parquet"
    column = pa.ListArray.from_arrays([0, *[10**6] * 10], np.zeros(10**6, np.int8))
    pyarrow.parquet.write_table(pa.table({"a": column, "b": range(10)}), path)
    _, source = open_batches(path)
    with pytest.raises(DataError, match="'a' holds list<"):
        next(open_stream(source).tables())
    assert next(open_stream(source, ["b"]).tables()).names == ("b",)
