"""A sheet of an Excel workbook -> table, by the rules for CSV; needs the extra `files` (python-calamine).

The size of the sheets is measured before they are held.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from tanager.errors import DataWarning, FileError, TanagerError
from tanager.files.paths import PIECE, check_unpacked, reason
from tanager.files.read_csv import HEADER_ROW, INSTALL, MAX_LINES, CellRules, find_header, read_csv_bytes
from tanager.registry import check_option, list_names

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

SHEET = "sheet"
"""In the metadata of a table: the sheet of a workbook."""

ENCRYPTED = bytes.fromhex("d0cf11e0a1b11ae1")
"""A workbook with a password is a file of another kind, which begins so; so does one of Excel before 2007."""
CODE = re.compile(r"0\d+\Z")
LONGEST_TAG = 1 << 16
# A tag ends where the next one begins, so that nothing is read twice.
TAG = re.compile(rb"<(?:\w+:)?(row|c)(?=[\s/>])([^<>]*)")
PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d+)["']""")
BROKEN_ARCHIVE = (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError, RuntimeError)
CELL_BYTES = 64
"""Memory of a cell, filled or not, without its text, estimated."""
ALWAYS_ALLOWED = 1 << 22
"""Cells of a sheet that may be empty, all but one."""
LARGEST_SHARE_EMPTY = 16
"""In a larger sheet at least one of this many cells must be filled."""
MOST_DIGITS, MOST_LETTERS = 7, 3
"""Digits and letters of the last row and column of Excel, 1,048,576 and XFD."""


def read_xlsx(file: Path, cells: CellRules) -> pa.Table:
    """The table in the largest sheet that has the columns expected, or in the largest table; a warning names it.

    A cell merged over several rows stands in each of them.
    """
    where = f"file {str(file)!r}"
    sheets = _read_sheets(file, where, cells.sheet)
    if not sheets:
        raise FileError(f"{where} is empty.", hint="expected a row with the column names, then the rows.")
    sheet = max((each for each in sheets if each.has(cells.expected)), key=lambda each: len(each.rows), default=None)
    tables = [each for each in sheets if each.is_table]
    sheet = sheet or max(tables, key=lambda each: len(each.rows), default=sheets[0])
    if len(sheets) > 1:
        others = list_names([each.name for each in sheets if each is not sheet], 3)
        words = f"{where} has {len(sheets)} sheets; {sheet.name!r} is read, not {others}. Hint: --sheet names another."
        warnings.warn(words, DataWarning, stacklevel=2)
    first = sheet.header(cells.expected) if cells.header_row is None else cells.header_row - 1
    last = max(place for place, row in enumerate(sheet.rows) if any(row))
    rows = sheet.rows[first : last + 1]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    # Codes of digits that were typed as text: as numbers they would lose their zeros.
    names = rows[0] if rows else []
    coded = {names[column] for row, column in sheet.codes if row > first and column < len(names)}
    rules = replace(cells, texts=[*cells.texts, *coded], header_row=1)
    table = read_csv_bytes(text.getvalue().encode(), where, rules)
    return table.replace_schema_metadata({HEADER_ROW: str(first + 1), SHEET: sheet.name})


@dataclass(frozen=True)
class _Sheet:
    """A sheet from its first row and column on.

    rows    the cells as CSV has them
    groups  rows with cells that are merged over several columns
    codes   row and column of digits that were typed as text and begin with a zero
    """

    name: str
    rows: list[list[str]]
    groups: frozenset[int]
    codes: list[tuple[int, int]]

    @classmethod
    def of(cls, name: str, sheet: CalamineSheet) -> _Sheet:
        cells = sheet.to_python(skip_empty_area=False)
        codes = [
            (row, column)
            for row, line in enumerate(cells)
            for column, cell in enumerate(line)
            if isinstance(cell, str) and CODE.match(cell)
        ]
        rows = [[_text(cell) for cell in line] for line in cells]
        merged = sheet.merged_cell_ranges or []
        room = sum(map(len, rows))  # ranges that overlap are no ranges of Excel; together they fill no more than this
        for (top, left), (bottom, _) in merged:
            room -= bottom - top
            for line in rows[top + 1 : bottom + 1] if room >= 0 else ():
                line[left] = rows[top][left]
        return cls(name, rows, frozenset(top for (top, left), (_, right) in merged if right > left), codes)

    def header(self, expected: Sequence[str]) -> int:
        """The place of the row with the names; of one far down, the first row with a cell."""
        start = next((place for place, row in enumerate(self.rows) if any(row)), 0)
        groups = [place - start for place in self.groups]
        return start + (find_header(self.rows[start : start + MAX_LINES], expected, groups) or 0)

    def has(self, expected: Sequence[str]) -> bool:
        """Whether the columns expected are in its header."""
        return bool(expected) and set(expected).issubset(self.rows[self.header(expected)])

    @property
    def is_table(self) -> bool:
        """Whether there is a row below a header of several columns."""
        header = self.header(())
        return sum(map(bool, self.rows[header])) > 1 and header + 1 < len(self.rows)


def _read_sheets(file: Path, where: str, name: str | None) -> list[_Sheet]:
    """The sheets that have cells, or the one of this name."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise FileError(f"{where} is an Excel workbook, and python-calamine is not installed.", hint=INSTALL) from None
    with file.open("rb") as stream:
        if stream.read(len(ENCRYPTED)) == ENCRYPTED:
            raise FileError(
                f"{where} cannot be read: it is protected by a password, or of Excel before 2007.",
                hint="save it in Excel as .xlsx without a password, or as CSV.",
            )
    try:
        check_workbook_size(file, where)
        workbook = CalamineWorkbook.from_path(str(file))
        names = workbook.sheet_names if name is None else [check_option("--sheet", name, workbook.sheet_names)]
        sheets = [_Sheet.of(each, workbook.get_sheet_by_name(each)) for each in names]
    except TanagerError:
        raise
    except (CalamineError, *BROKEN_ARCHIVE, ValueError) as error:
        raise FileError(f"{where} is not a complete workbook: {reason(error)}.", hint="copy it again.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a reader in Rust raises where it did not expect an error
            raise
        raise FileError(f"{where} is not a workbook that can be read.", hint="save it again, or as CSV.") from error
    return [sheet for sheet in sheets if any(map(any, sheet.rows))]


def _text(cell: object) -> str:
    """A cell as CSV has it. Excel keeps whole numbers and dates as it keeps fractions and times."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        return str(cell.date() if cell.time() == datetime.time() else cell)
    return str(cell)


def check_workbook_size(file: Path, where: str) -> None:
    """Refuse a workbook that unpacks to more than memory has, or one whose few cells are far apart.

    A reader holds the whole rectangle from the first to the last cell: one cell at the end of a sheet makes it 17
    billion. What is not a zip archive, or not a whole one, is a `zipfile.BadZipFile`.
    """
    with zipfile.ZipFile(file) as parts:
        n_bytes = sum(part.file_size for part in parts.infolist())
        check_unpacked(n_bytes, where)
        for part in parts.infolist():
            with parts.open(part) as stream:
                n_rows, n_columns, n_cells = _measure_sheet(stream, where)
            if n_rows * n_columns > max(ALWAYS_ALLOWED, LARGEST_SHARE_EMPTY * n_cells):
                raise FileError(
                    f"{where} has a sheet of {n_rows:,} rows and {n_columns:,} columns with {n_cells:,} cells in it.",
                    hint="delete what stands far from the table, or save the sheet as CSV.",
                )
            n_bytes += n_rows * n_columns * CELL_BYTES
            check_unpacked(n_bytes, where)


def _measure_sheet(stream: IO[bytes], where: str) -> tuple[int, int, int]:
    """The last row, the last column and the number of cells. A cell that does not say its place follows the last."""
    row = column = n_rows = n_columns = n_cells = 0
    for whole in _pieces(stream):
        for kind, attributes in TAG.findall(whole):
            place = PLACE.search(attributes)
            letters, digits = (place[1], place[2]) if place else (b"", b"")
            if len(digits) > MOST_DIGITS or len(letters) > MOST_LETTERS:
                cell = (letters + digits).decode()[:40]
                raise FileError(f"{where} has a cell at {cell}, beyond the end of every sheet.")
            if kind == b"row":
                row, column = int(digits) if digits else row + 1, 0
            else:
                row, column = int(digits) if digits else row, _number(letters) if letters else column + 1
                n_cells += 1
            n_rows, n_columns = max(n_rows, row), max(n_columns, column)
    return n_rows, n_columns, n_cells


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """A part in pieces that each end before a tag."""
    rest = b""
    while piece := stream.read(PIECE):
        text = rest + piece
        end = text.rfind(b"<")
        whole, rest = (text, b"") if end < 0 or len(text) - end > LONGEST_TAG else (text[:end], text[end:])
        yield whole
    yield rest


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number
