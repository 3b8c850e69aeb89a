"""How large the sheets of an Excel workbook are, found before they are held."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tanager.errors import FileError
from tanager.files.packed import check_unpacked

PIECE = 1 << 20
LONGEST_TAG = 1 << 16
# A tag ends where the next one begins, so that nothing is read twice.
CELL_OR_ROW = re.compile(rb"""<(?:\w+:)?(c|row)(?=[\s/>])(?:[^<>]*?\sr=["']([A-Za-z]*)(\d+)["'])?""")
ALWAYS_ALLOWED = 1 << 22
"""Cells of a sheet that may be empty, all but one."""
LARGEST_SHARE_EMPTY = 16
"""Beyond, at least one of so many cells must be filled."""
MOST_DIGITS, MOST_LETTERS = 7, 3
"""Of the last row and column that Excel has, 1,048,576 and XFD."""


def check_workbook_size(file: Path, where: str) -> None:
    """Refuse a workbook that unpacks to more than memory has, or one whose few cells are far apart.

    A reader holds the whole rectangle from the first to the last cell: one cell at the end of a sheet makes it 17
    billion. What is not a zip archive, or not a whole one, is a `zipfile.BadZipFile`.
    """
    with zipfile.ZipFile(file) as parts:
        check_unpacked(sum(part.file_size for part in parts.infolist()), where)
        for part in parts.infolist():
            with parts.open(part) as stream:
                n_rows, n_columns, n_cells = _extent(stream, where)
            if n_rows * n_columns > max(ALWAYS_ALLOWED, LARGEST_SHARE_EMPTY * n_cells):
                raise FileError(
                    f"{where} has a sheet of {n_rows:,} rows and {n_columns:,} columns with {n_cells:,} cells in it.",
                    hint="delete what stands far from the table, or save the sheet as CSV.",
                )


def _extent(stream: IO[bytes], where: str) -> tuple[int, int, int]:
    """The last row, the last column, and the number of cells; a cell that does not say its place follows the last."""
    row = column = n_rows = n_columns = n_cells = 0
    for kind, letters, digits in _tags(stream):
        if len(digits) > MOST_DIGITS or len(letters) > MOST_LETTERS:
            raise FileError(f"{where} has a cell at {(letters + digits).decode()[:40]}, beyond the end of every sheet.")
        if kind == b"row":
            row, column = int(digits) if digits else row + 1, 0
        else:
            row = int(digits) if digits else row
            column = _number(letters) if letters else column + 1
            n_cells += 1
        n_rows, n_columns = max(n_rows, row), max(n_columns, column)
    return n_rows, n_columns, n_cells


def _tags(stream: IO[bytes]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Of each tag of a row or a cell its kind, and the letters and digits of its place."""
    rest = b""
    while piece := stream.read(PIECE):
        text = rest + piece
        end = text.rfind(b"<")
        whole, rest = (text, b"") if end < 0 or len(text) - end > LONGEST_TAG else (text[:end], text[end:])
        for found in CELL_OR_ROW.finditer(whole):
            yield found[1], found[2] or b"", found[3] or b""
    for found in CELL_OR_ROW.finditer(rest):
        yield found[1], found[2] or b"", found[3] or b""


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number
