"""Delimited text -> table. pyarrow parses; this file only says in words what is wrong with a file it refuses."""

from __future__ import annotations

import csv
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TextIO

import pyarrow as pa
import pyarrow.csv

from tanager.errors import FileError
from tanager.files.cell_rules import CellRules, decimal_commas, recognise_marks, warn_decimal_commas
from tanager.files.encoding import find_encoding
from tanager.files.packed import open_text
from tanager.files.paths import reason
from tanager.table.read_columns import replace_columns

BLOCK_SIZES = (1 << 20, 1 << 26)
"""Bytes parsed at once: pyarrow's own choice, then room for a row longer than that."""
LONGEST_CELL = 1 << 30
LONGEST_HEADER = BLOCK_SIZES[-1]
"""Characters: a compressed file may have a line of any length."""
REPLACED = "\ufffd"
"""What stands for bytes that are not UTF-8."""


QUOTED = re.compile(r'"[^"]*"')


class _OtherEncodingError(Exception):
    """The text is not in the encoding that it was read with."""


@dataclass(frozen=True)
class TextSource:
    """A text that is read several times: its bytes, its name in messages, and its encoding."""

    open_bytes: Callable[[], IO[bytes]]
    where: str
    encoding: str = "utf-8-sig"

    def open_text(self) -> TextIO:
        return io.TextIOWrapper(self.open_bytes(), encoding=self.encoding, errors="replace", newline="")


def read_csv(file: Path, delimiter: str | None, cells: CellRules) -> pa.Table:
    """The table in a text file, decompressed on the way if its name ends in .gz; `None`: tab or comma by the header."""
    try:
        return _parse(TextSource(lambda: open_text(file), f"file {str(file)!r}"), delimiter, cells)
    except (EOFError, OSError, zlib.error) as error:  # gzip.BadGzipFile is an OSError
        raise FileError(
            f"cannot read {str(file)!r}: {reason(error)}.", hint="the file may be cut short; copy it again."
        ) from error


def read_csv_bytes(data: bytes, where: str, cells: CellRules) -> pa.Table:
    """The comma-separated table in a text that is in memory."""
    return _parse(TextSource(lambda: io.BytesIO(data), where), ",", cells)


def read_csv_stdin(cells: CellRules) -> pa.Table:
    """The comma-separated table on standard input."""
    return read_csv_bytes(sys.stdin.buffer.read(), "standard input", cells)


def _parse(text: TextSource, delimiter: str | None, cells: CellRules) -> pa.Table:
    try:
        return _parse_text(text, delimiter, cells)
    except _OtherEncodingError:
        with text.open_bytes() as stream:
            encoding = find_encoding(stream, text.where)
        try:
            return _parse_text(TextSource(text.open_bytes, text.where, encoding), delimiter, cells)
        except (_OtherEncodingError, UnicodeError):
            raise FileError(
                f"{text.where} holds characters that no table has, read as {encoding}.", hint="save it as UTF-8."
            ) from None


def _parse_text(text: TextSource, delimiter: str | None, cells: CellRules) -> pa.Table:
    with text.open_text() as lines:
        names, delimiter = read_header(lines, text.where, delimiter)
    if not names:
        raise FileError(f"{text.where} is empty.", hint="expected a header line with the column names, then the rows.")
    if any(REPLACED in name or "\0" in name for name in names):
        raise _OtherEncodingError
    try:
        table = _arrow_table(text, len(names), delimiter, cells.conversion())
    except pa.ArrowInvalid as error:
        fault = _find_fault(text, len(names), delimiter)
        if fault is None and str(error).endswith("cannot infer number of columns"):
            return pa.table([pa.nulls(0)] * len(names), names=names)  # a header without a line end, and no row
        raise FileError(f"{text.where} cannot be read as a table: {fault or reason(error)}.") from error
    if any(map(pa.types.is_binary, table.schema.types)):
        raise _OtherEncodingError
    fault = _find_fault(text, len(names), delimiter) if _ends_in_open_quote(table) else None
    if fault is not None:
        raise FileError(f"{text.where} cannot be read as a table: {fault}.")
    if len(set(names)) == len(names):
        table = _read_numbers(table, text, delimiter, cells)
    return times_as_durations(table)


def _read_numbers(table: pa.Table, text: TextSource, delimiter: str, cells: CellRules) -> pa.Table:
    """The table with the numbers in it that pyarrow takes for text: with decimal commas, or with marks among them."""
    commas = decimal_commas(table, cells) if delimiter != "," else []

    def read_again(columns: list[str], decimal: str = ".") -> pa.Table:
        return _arrow_table(text, table.num_columns, delimiter, cells.marked_conversion(columns, decimal))

    if commas:
        places = {name: place for place, name in enumerate(table.column_names)}
        again = read_again(commas, ",")
        table = replace_columns(
            table, {places[name]: column for name, column in zip(commas, again.columns, strict=True)}
        )
        warn_decimal_commas(text.where, commas)
    return recognise_marks(table, cells, read_again) if cells.marks else table


def read_header(text: TextIO, where: str, delimiter: str | None) -> tuple[list[str], str]:
    """The cells of the first line that is not blank, and the delimiter that separates them."""
    while line := text.readline(LONGEST_HEADER):
        if line.strip("\r\n"):
            second = text.readline(LONGEST_HEADER)
            delimiter = _delimiter(line, second, delimiter)
            # More lines follow only where a quoted name goes on in the next one.
            lines = chain([line, second], iter(partial(text.readline, LONGEST_HEADER), ""))
            try:
                with _cells_up_to(LONGEST_HEADER):
                    names = next(csv.reader(lines, delimiter=delimiter))
            except csv.Error:
                names = None
            if names is None or len(line) == LONGEST_HEADER:
                raise FileError(
                    f"{where} has a header of more than {LONGEST_HEADER:,} characters.",
                    hint="expected a header line with the column names, then the rows.",
                )
            return names, delimiter
    return [], delimiter or ","


def _delimiter(header: str, row: str, expected: str | None) -> str:
    """The expected one, or tab or comma by the header; where it has neither, a semicolon that the first row has too.

    Spreadsheets write semicolons or tabs into .csv files, while one alone in the header may be part of a name.
    """
    if expected == "\t":
        return expected
    header, row = QUOTED.sub("", header), QUOTED.sub("", row)
    if expected is not None and (expected in header or '"' in header):  # a name that is quoted over several lines
        return expected
    sure = [sign for sign in ("\t", ",") if sign in header and expected is None]
    likely = [sign for sign in ("\t", ";") if sign in header and header.count(sign) == row.count(sign)]
    return [*sure, *likely, expected or ","][0]


def _arrow_table(text: TextSource, n_columns: int, delimiter: str, convert: pyarrow.csv.ConvertOptions) -> pa.Table:
    for block_size in BLOCK_SIZES:
        try:
            with text.open_bytes() as stream:
                read = read_options(text.encoding, block_size)
                parse = parse_options(delimiter, n_columns)
                return pyarrow.csv.read_csv(stream, parse_options=parse, convert_options=convert, read_options=read)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block_size == BLOCK_SIZES[-1]:
                raise
    raise AssertionError("the last block size returns or raises")


def read_options(encoding: str, block_size: int) -> pyarrow.csv.ReadOptions:
    """How pyarrow reads a text; it skips the mark at the beginning of UTF-8 by itself, and faster than a codec."""
    return pyarrow.csv.ReadOptions(encoding="utf8" if encoding == "utf-8-sig" else encoding, block_size=block_size)


def parse_options(delimiter: str, n_columns: int) -> pyarrow.csv.ParseOptions:
    """A blank line is a row with a missing cell where there is one column, and no row where there are more."""
    return pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=n_columns > 1)


def _find_fault(text: TextSource, expected: int, delimiter: str) -> str | None:
    """The first row with the wrong number of cells, or the quote that is never closed, with its line."""
    line = 1
    try:
        with text.open_text() as lines, _cells_up_to(LONGEST_CELL):
            rows = csv.reader(lines, delimiter=delimiter, strict=True)
            for row in rows:
                if row and len(row) != expected:
                    return f"line {line} has {len(row)} cell(s), expected {expected} as in the header"
                line = rows.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            return f"a quoted cell in the row that starts on line {line} is never closed"
    return None


@contextmanager
def _cells_up_to(n_characters: int) -> Iterator[None]:
    """Lift the limit of the csv module for a while."""
    limit = csv.field_size_limit(n_characters)
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


def times_as_durations(table: pa.Table) -> pa.Table:
    """A time of day (14:30) as the time since midnight, a quantity with an order."""
    durations = {
        place: column.cast(pa.int32()).cast(pa.int64()).cast(pa.duration("s"))
        for place, column in enumerate(table.columns)
        if pa.types.is_time32(column.type)
    }
    return replace_columns(table, durations)
