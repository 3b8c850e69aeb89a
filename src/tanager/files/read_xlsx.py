"""A sheet of an Excel workbook -> table, by the rules for CSV; needs the extra `files` (python-calamine)."""

from __future__ import annotations

import csv
import datetime
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tanager.errors import DataWarning, FileError, TanagerError
from tanager.files.cell_rules import CellRules
from tanager.files.encoding import INSTALL
from tanager.files.paths import reason
from tanager.files.read_csv import read_csv_bytes
from tanager.files.unzip import BROKEN_ARCHIVE
from tanager.files.workbook_size import check_workbook_size
from tanager.registry import list_names

ENCRYPTED = bytes.fromhex("d0cf11e0a1b11ae1")
"""A workbook with a password is a file of another kind, which begins so; so does one of Excel before 2007."""
LEADING_ZERO = re.compile(r"0\d+\Z")
Row = Sequence[object]


def read_xlsx(file: Path, cells: CellRules) -> pa.Table:
    """The table in the first sheet that has one; a warning says which where there are several."""
    where = f"file {str(file)!r}"
    rows = _filled(_rows(file, where))
    if not rows:
        raise FileError(f"{where} is empty.", hint="expected a row with the column names, then the rows.")
    width = max(len(row) for row in rows)
    text = io.StringIO()
    csv.writer(text).writerows([_text(cell) for cell in (*row, *[""] * (width - len(row)))] for row in rows)
    names = [_text(cell) for cell in rows[0]]
    coded = [name for k, name in enumerate(names) if any(_leads_with_zero(row[k]) for row in rows[1:] if k < len(row))]
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


def _leads_with_zero(cell: object) -> bool:
    """Whether a cell is a code of digits that was typed as text, since as a number it would lose its zeros."""
    return isinstance(cell, str) and LEADING_ZERO.match(cell) is not None
