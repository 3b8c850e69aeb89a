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
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO

import pyarrow as pa

from tanager.errors import DataWarning, FileError, TanagerError
from tanager.files.compressed import BROKEN_ARCHIVE, check_unpacked
from tanager.files.paths import reason
from tanager.files.read_csv import INSTALL, CellRules, read_csv_bytes
from tanager.registry import list_names

ENCRYPTED = bytes.fromhex("d0cf11e0a1b11ae1")
"""A workbook with a password is a file of another kind, which begins so; so does one of Excel before 2007."""
CODE = re.compile(r"0\d+\Z")
PIECE = 1 << 20
LONGEST_TAG = 1 << 16
# A tag ends where the next one begins, so that nothing is read twice.
TAG = re.compile(rb"<(?:\w+:)?(row|[cv])(?=[\s/>])([^<>]*)>?\s*(\d{0,19})")
PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]*)(\d+)["']""")
SHARED = re.compile(rb"""\st\s*=\s*["']s["']""")
TEXT_START = re.compile(rb"<(?:\w+:)?si(?=[\s/>])")
COMMENT = b"<!"
CELL_BYTES = 64
"""Memory of a cell, filled or not, without its text, estimated."""
ALWAYS_ALLOWED = 1 << 22
"""Cells of a sheet that may be empty, all but one."""
LARGEST_SHARE_EMPTY = 16
"""In a larger sheet at least one of this many cells must be filled."""
MOST_DIGITS, MOST_LETTERS = 7, 3
"""Digits and letters of the last row and column of Excel, 1,048,576 and XFD."""


def read_xlsx(file: Path, cells: CellRules) -> pa.Table:
    """The table in the first sheet that has one; a warning names it where there are several."""
    where = f"file {str(file)!r}"
    rows = _filled(_rows(file, where))
    if not rows:
        raise FileError(f"{where} is empty.", hint="expected a row with the column names, then the rows.")
    width = max(len(row) for row in rows)
    text = io.StringIO()
    csv.writer(text).writerows([_text(cell) for cell in (*row, *[""] * (width - len(row)))] for row in rows)
    names = [_text(cell) for cell in rows[0]]
    # Codes of digits that were typed as text: as numbers they would lose their zeros.
    pairs = (pair for row in rows[1:] for pair in zip(names, row, strict=False))
    coded = {name for name, cell in pairs if isinstance(cell, str) and CODE.match(cell)}
    return read_csv_bytes(text.getvalue().encode(), where, replace(cells, texts=[*cells.texts, *coded]))


def _rows(file: Path, where: str) -> list[list[object]]:
    """The rows of the first sheet with cells."""
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
        sheets = {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}
    except TanagerError:
        raise
    except (CalamineError, *BROKEN_ARCHIVE, RuntimeError, ValueError) as error:
        raise FileError(f"{where} is not a complete workbook: {reason(error)}.", hint="copy it again.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a reader in Rust raises where it did not expect an error
            raise
        raise FileError(f"{where} is not a workbook that can be read.", hint="save it again, or as CSV.") from error
    filled = [name for name, rows in sheets.items() if rows]
    if len(filled) > 1:
        others = list_names(filled[1:], 3)
        warnings.warn(
            f"{where} has {len(filled)} sheets; the first, {filled[0]!r}, is read, not {others}.",
            DataWarning,
            stacklevel=2,
        )
    return [list(row) for row in sheets[filled[0]]] if filled else []


def _filled(rows: list[list[object]]) -> list[list[object]]:
    """The rows without those at the top and the end, and the columns at the right, that hold nothing."""
    filled = [number for number, row in enumerate(rows) if any(cell != "" for cell in row)]
    width = max((k + 1 for row in rows for k, cell in enumerate(row) if cell != ""), default=0)
    return [row[:width] for row in rows[filled[0] : filled[-1] + 1]] if filled else []


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
    billion. It holds a text that cells share once for each of them. What is not a zip archive, or not a whole one, is a
    `zipfile.BadZipFile`.
    """
    with zipfile.ZipFile(file) as parts:
        n_bytes = sum(part.file_size for part in parts.infolist())
        check_unpacked(n_bytes, where)
        lengths = _shared_lengths(parts)
        for part in parts.infolist():
            with parts.open(part) as stream:
                n_rows, n_columns, n_cells, text_bytes = _measure_sheet(stream, lengths, where)
            if n_rows * n_columns > max(ALWAYS_ALLOWED, LARGEST_SHARE_EMPTY * n_cells):
                raise FileError(
                    f"{where} has a sheet of {n_rows:,} rows and {n_columns:,} columns with {n_cells:,} cells in it.",
                    hint="delete what stands far from the table, or save the sheet as CSV.",
                )
            n_bytes += n_rows * n_columns * CELL_BYTES + text_bytes
            check_unpacked(n_bytes, where)


def _shared_lengths(parts: zipfile.ZipFile) -> list[int]:
    """The bytes of each text that cells may share, as it is in the file."""
    starts: list[int] = []
    commented = False
    for part in parts.infolist():
        if part.filename.lower().endswith("sharedstrings.xml"):
            with parts.open(part) as stream:
                n_read = 0
                for whole in _pieces(stream):
                    commented = commented or COMMENT in whole
                    starts.extend(n_read + tag.start() for tag in TEXT_START.finditer(whole))
                    n_read += len(whole)
                starts.append(n_read)
    lengths = [end - start for start, end in pairwise(starts)]
    return [sum(lengths)] * len(lengths) if commented else lengths  # a tag in a comment is none


def _measure_sheet(stream: IO[bytes], lengths: Sequence[int], where: str) -> tuple[int, int, int, int]:
    """The last row, the last column, the number of cells, and the bytes of the texts that they share.

    A cell that does not say its place follows the last. A comment may hold tags that nobody reads; its cells count as
    the longest text.
    """
    row = column = n_rows = n_columns = n_cells = n_bytes = 0
    shared = False
    for whole in _pieces(stream):
        n_bytes += whole.count(b"<") * max(lengths, default=0) if COMMENT in whole else 0
        for kind, attributes, number in TAG.findall(whole):
            if kind == b"v":
                n_bytes += lengths[int(number)] if shared and number and int(number) < len(lengths) else 0
                continue
            place = PLACE.search(attributes)
            letters, digits = (place[1], place[2]) if place else (b"", b"")
            if len(digits) > MOST_DIGITS or len(letters) > MOST_LETTERS:
                cell = (letters + digits).decode()[:40]
                raise FileError(f"{where} has a cell at {cell}, beyond the end of every sheet.")
            if kind == b"row":
                row, column = int(digits) if digits else row + 1, 0
            else:
                row, column = int(digits) if digits else row, _number(letters) if letters else column + 1
                n_cells, shared = n_cells + 1, SHARED.search(attributes) is not None
            n_rows, n_columns = max(n_rows, row), max(n_columns, column)
    return n_rows, n_columns, n_cells, n_bytes


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
