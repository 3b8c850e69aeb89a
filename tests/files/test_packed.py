"""What a compressed file asks for is known before it is held."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from attack.files import workbook
from tanager import FileError, MemoryLimitError
from tanager.files import packed, read_table
from tanager.files.read_table import read_table as read
from tanager.files.workbook_size import CELL_OR_ROW, check_workbook_size

ROOM = 1 << 20
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
ROWS = "".join(f'<row r="{k}"><c r="A{k}"><v>{k}</v></c><c r="B{k}"><v>1</v></c></row>' for k in range(1, 4))


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(packed, "ALWAYS_ALLOWED", ROOM)
    monkeypatch.setattr(packed, "available_memory", lambda: ROOM)
    monkeypatch.setattr(read_table, "available_memory", lambda: ROOM)


def write_packed(folder: Path, n_rows: int) -> list[Path]:
    """The same rows in every kind of file that may be much shorter than its table."""
    text = b"x,y\n" + b"1,2\n" * n_rows
    paths = [folder / name for name in ("t.csv.gz", "t.zip", "t.parquet")]
    paths[0].write_bytes(gzip.compress(text))
    with zipfile.ZipFile(paths[1], "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a" * 300 + ".csv", text)
    pyarrow.parquet.write_table(pa.table({"x": np.ones(n_rows), "y": np.ones(n_rows)}), paths[2])
    return paths


def test_a_table_that_unpacks_to_more_than_memory_is_refused_before(tmp_path, little_memory):
    for path in write_packed(tmp_path, ROOM):
        assert path.stat().st_size < ROOM
        with pytest.raises(MemoryLimitError, match="GiB"):
            read(path)


def test_a_table_that_fits_is_read_from_every_kind_of_packed_file(tmp_path, little_memory):
    for path in write_packed(tmp_path, 1_000):
        assert (read(path).num_rows, read(path).column_names) == (1_000, ["x", "y"])


def write_sheet(folder: Path, rows: str) -> Path:
    path = folder / "t.xlsx"
    path.write_bytes(workbook(SHEET.format(rows).encode()))
    return path


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', "1,048,576 rows and 16,384 columns with 7 cells"),
        (f'<row r="1048576">{"<c><v>1</v></c>" * 99}</row>', "1,048,576 rows and 99 columns"),
        ("<row r='1048576'><x:c t='n' r='ZZ1048576'/></row>", "1,048,576 rows and 702 columns"),
        ('<row r="4294967297"><c r="A4294967297"><v>1</v></c></row>', "beyond the end of every sheet"),
        ('<row><c r="AAAAAAA1"><v>1</v></c></row>', "beyond the end of every sheet"),
    ],
)
def test_a_sheet_of_a_few_cells_far_apart_is_refused_before_it_is_held(tmp_path, last, words):
    with pytest.raises(FileError, match=words):
        read(write_sheet(tmp_path, ROWS + last))


def test_a_sheet_is_read_with_or_without_the_places_of_its_cells(tmp_path):
    named = ROWS.replace("<v>1</v></c></row>", "<v>5</v></c></row>", 1)  # names of columns differ
    expected = read(write_sheet(tmp_path, named)).to_pydict()
    assert expected == {"1": [2, 3], "5": [1, 1]}
    bare = "".join(f"<row><c><v>{k}</v></c><c><v>{5 if k == 1 else 1}</v></c></row>" for k in range(1, 4))
    path = write_sheet(tmp_path, bare)
    check_workbook_size(path, "it")
    assert read(path).to_pydict() == expected


def test_tags_are_found_in_one_pass_whatever_stands_between():
    for text in (b"<c " * 200_000, b"<" + b"a" * 200_000, b"<c" + b' r="A' * 100_000, b"<c " + b"x" * 200_000):
        assert sum(1 for _ in CELL_OR_ROW.finditer(text)) <= 200_000


def test_half_a_letter_of_utf16_is_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("x,y\n1,é\n2,ö\n".encode("utf-16")[:-1])
    with pytest.warns(UserWarning, match="utf-16"), pytest.raises(FileError, match="save it as UTF-8"):
        read(path)
