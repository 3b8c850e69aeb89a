"""Delimited text -> table. pyarrow parses; this file only says in words what is wrong with a file it refuses."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TextIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tanager.errors import DataWarning, FileError
from tanager.files.paths import reason
from tanager.registry import list_names

BLOCK_SIZES = (1 << 20, 1 << 26)
"""Bytes parsed at once: pyarrow's own choice, then room for a row longer than that."""
DECIMAL = r"^\s*[+-]?\d+(,\d+)?\s*$"
MARKS = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-", ".")
"""Texts that commonly stand for a missing cell."""
MARKS_HINT = "--missing names such texts, --missing '' switches this off"
MAX_COLUMNS_NAMED = 5
REPLACED = "\ufffd"
"""What stands for bytes that are not UTF-8."""


@dataclass(frozen=True)
class CellRules:
    """What the cells of a text file mean.

    missing   texts that are missing in every column, besides the empty one
    marks     whether the texts in `MARKS` are missing in CSV columns without other text, with a warning
    texts     columns of text, whatever it looks like
    numbers   columns without text, even where there is nothing but marks
    """

    missing: Sequence[str] = ()
    marks: bool = False
    texts: Sequence[str] = ()
    numbers: Sequence[str] = ()

    def conversion(self) -> pyarrow.csv.ConvertOptions:
        """How pyarrow reads the cells, marks as text."""
        return pyarrow.csv.ConvertOptions(
            null_values=["", *self.missing],
            strings_can_be_null=True,
            column_types={name: pa.string() for name in self.texts},
        )

    def marked_conversion(self, columns: Sequence[str] = ()) -> pyarrow.csv.ConvertOptions:
        """How pyarrow reads these columns, or all, marks as missing; in a column of text every cell stays text."""
        return pyarrow.csv.ConvertOptions(
            null_values=["", *self.missing, *MARKS],
            strings_can_be_null=False,
            column_types={name: pa.string() for name in self.texts},
            include_columns=columns,
        )


PLAIN = CellRules()


def read_csv(file: Path, delimiter: str | None, cells: CellRules) -> pa.Table:
    """The table in a text file, decompressed on the way if its name ends in .gz; `None`: tab or comma by the header."""

    def open_text() -> TextIO:
        opener = gzip.open if file.name.lower().endswith(".gz") else open
        return cast(TextIO, opener(file, "rt", encoding="utf-8-sig", errors="replace", newline=""))

    try:
        return _parse(lambda: str(file), open_text, f"file {str(file)!r}", delimiter, cells)
    except (EOFError, OSError, zlib.error) as error:  # gzip.BadGzipFile is an OSError
        raise FileError(
            f"cannot read {str(file)!r}: {reason(error)}.", hint="the file may be cut short; copy it again."
        ) from error


def read_csv_stdin(cells: CellRules) -> pa.Table:
    """The comma-separated table on standard input."""
    data = sys.stdin.buffer.read()

    def open_text() -> TextIO:
        return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace", newline="")

    return _parse(lambda: io.BytesIO(data), open_text, "standard input", ",", cells)


def _parse(
    source: Callable[[], str | io.BytesIO],
    open_text: Callable[[], TextIO],
    where: str,
    delimiter: str | None,
    cells: CellRules,
) -> pa.Table:
    with open_text() as text:
        names, delimiter = read_header(text, delimiter)
    if not names:
        raise FileError(f"{where} is empty.", hint="expected a header line with the column names, then the rows.")
    if any(REPLACED in name or "\0" in name for name in names):
        raise _not_utf8(where, "the header")
    try:
        table = _arrow_table(source, len(names), delimiter, cells.conversion())
    except pa.ArrowInvalid as error:
        with open_text() as text:
            fault = _find_fault(text, len(names), delimiter)
        if fault is None and str(error).endswith("cannot infer number of columns"):
            return pa.table([pa.nulls(0)] * len(names), names=names)  # a header without a line end, and no row
        raise FileError(f"{where} cannot be read as a table: {fault or reason(error)}.") from error
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_binary(column.type):
            raise _not_utf8(where, f"column {name!r}")
    if delimiter == ";":
        _check_decimal_points(table, where)
    if _ends_in_open_quote(table):
        with open_text() as text:
            fault = _find_fault(text, len(names), delimiter)
        if fault is not None:
            raise FileError(f"{where} cannot be read as a table: {fault}.")
    if cells.marks and len(set(names)) == len(names):

        def read_again(columns: list[str]) -> pa.Table:
            return _arrow_table(source, len(names), delimiter, cells.marked_conversion(columns))

        table = _recognise_marks(table, cells, read_again)
    return times_as_durations(table)


def read_header(text: TextIO, delimiter: str | None) -> tuple[list[str], str]:
    """The cells of the first line that is not blank, and the delimiter that separates them."""
    for line in text:
        if line.strip("\r\n"):
            second = next(text, "")
            delimiter = _delimiter(line, second, delimiter)
            # More lines follow only where a quoted name goes on in the next one.
            with _cells_of_any_length():
                return next(csv.reader(chain([line, second], text), delimiter=delimiter)), delimiter
    return [], delimiter or ","


def _delimiter(header: str, row: str, expected: str | None) -> str:
    """The expected one, or tab or comma by the header; where it has neither, a semicolon that the first row has too.

    Spreadsheets write semicolons or tabs into .csv files, while one alone in the header may be part of a name.
    """
    if expected == "\t" or (expected is not None and (expected in header or '"' in header)):
        return expected
    sure = [sign for sign in ("\t", ",") if sign in header and expected is None]
    likely = [sign for sign in ("\t", ";") if sign in header and header.count(sign) == row.count(sign)]
    return [*sure, *likely, expected or ","][0]


def _arrow_table(
    source: Callable[[], str | io.BytesIO], n_columns: int, delimiter: str, convert: pyarrow.csv.ConvertOptions
) -> pa.Table:
    # A blank line is a row with a missing cell where there is one column, and no row where there are more.
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=n_columns > 1)
    for block_size in BLOCK_SIZES:
        try:
            read = pyarrow.csv.ReadOptions(block_size=block_size)
            return pyarrow.csv.read_csv(source(), parse_options=parse, convert_options=convert, read_options=read)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block_size == BLOCK_SIZES[-1]:
                raise
    raise AssertionError("the last block size returns or raises")


def _find_fault(text: TextIO, expected: int, delimiter: str) -> str | None:
    """The first row with the wrong number of cells, or the quote that is never closed, with its line."""
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    line = 1
    try:
        with _cells_of_any_length():
            for row in rows:
                if row and len(row) != expected:
                    return f"line {line} has {len(row)} cell(s), expected {expected} as in the header"
                line = rows.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            return f"a quoted cell in the row that starts on line {line} is never closed"
    return None


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lift the limit of the csv module for a while."""
    limit = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _ends_in_open_quote(table: pa.Table) -> bool:
    """Whether the last cell may be the rest of the file after a quote that is never closed."""
    if table.num_rows == 0 or not pa.types.is_string(table.column(-1).type):
        return False
    last = table.column(-1)[-1].as_py()
    return last is not None and "\n" in last


def _check_decimal_points(table: pa.Table, where: str) -> None:
    """Refuse numbers with a decimal comma, as 1,5: they would be taken for as many words."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        texts = column.drop_null()
        texts = texts.filter(pc.invert(_is_mark(texts)))
        commas = texts.filter(pc.match_substring(texts, ","))
        if len(commas) and pc.all(pc.match_substring_regex(texts, DECIMAL)).as_py():
            raise FileError(
                f"{where}: column {name!r} holds numbers with a decimal comma, as {commas[0].as_py()!r}.",
                hint="save the file with decimal points.",
            )


def times_as_durations(table: pa.Table) -> pa.Table:
    """A time of day (14:30) as the time since midnight, a quantity with an order."""
    for position, field in enumerate(table.schema):
        if pa.types.is_time32(field.type):
            seconds = table.column(position).cast(pa.int32()).cast(pa.int64())
            table = table.set_column(position, field.name, seconds.cast(pa.duration("s")))
    return table


def _not_utf8(where: str, what: str) -> FileError:
    return FileError(f"{where}: {what} is not UTF-8 text.", hint="save the file with the encoding UTF-8.")


def _recognise_marks(table: pa.Table, cells: CellRules, read_again: Callable[[list[str]], pa.Table]) -> pa.Table:
    """The table with the marks taken as missing in columns of numbers, dates, times or booleans, and a warning.

    A column is one of these if `read_again`, which gives columns with the marks as empty cells, finds no text in it.
    A column of nothing but marks stays text, except in `cells.numbers`.
    """
    marked = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if name not in cells.texts and pa.types.is_string(column.type) and pc.any(_is_mark(column)).as_py()
    ]
    if not marked:
        return table
    again = read_again(marked)
    taken: dict[str, pa.ChunkedArray] = {}
    for name in marked:
        kind = again.column(name).type
        if not pa.types.is_string(kind) and (name in cells.numbers or not pa.types.is_null(kind)):
            taken[name] = table.column(name)
            table = table.set_column(table.column_names.index(name), name, again.column(name))
    if taken:
        texts = pa.chunked_array([chunk for column in taken.values() for chunk in column.chunks], pa.string())
        counts = pc.value_counts(texts.filter(_is_mark(texts)))
        _warn_counted(list(taken), {entry["values"]: entry["counts"] for entry in counts.to_pylist()})
    return table


def warn_recognised(names: Sequence[str]) -> None:
    """Say which columns have marks where nobody counts them: in a file that is read batch by batch."""
    warnings.warn(
        f"{_columns(names)}: texts such as 'NA' are taken as missing; {MARKS_HINT}.", DataWarning, stacklevel=2
    )


def _is_mark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which cells hold a mark."""
    return pc.is_in(column, value_set=pa.array(MARKS))


def _warn_counted(names: Sequence[str], counts: dict[str, int]) -> None:
    texts = ", ".join(
        f"{text!r} in {n:,} {'row' if len(names) == 1 else 'cell'}{'s'[: n != 1]}" for text, n in counts.items()
    )
    verb = "are" if len(counts) > 1 else "is"
    warnings.warn(f"{_columns(names)}: {texts} {verb} taken as missing; {MARKS_HINT}.", DataWarning, stacklevel=2)


def _columns(names: Sequence[str]) -> str:
    return f"column{'s'[: len(names) != 1]} {list_names(names, MAX_COLUMNS_NAMED)}"
