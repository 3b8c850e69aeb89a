"""Delimited text -> table: pyarrow parses; here are the header, below titles and blank lines, encoding, delimiter,
missing values, and faults in words.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from tanager.check.text_values import MARKS
from tanager.errors import DataWarning, FileError
from tanager.files.paths import open_text, reason
from tanager.registry import list_names
from tanager.table.read_columns import replace_columns

BLOCK, LARGE_BLOCK = 1 << 20, 1 << 26
"""Bytes parsed at once: pyarrow's own choice, then room for a row longer than that."""
LONGEST_CELL = 1 << 30
HEADER_ROW = "header_row"
"""In the metadata of a table: the row of the header in the file, counted from 1."""
REPLACED = "\ufffd"
"""The character that replaces bytes that are not UTF-8."""
MARKS_HINT = "--missing names such texts, --missing '' switches this off"
MAX_COLUMNS_NAMED = 5
DECIMAL = r"^\s*[+-]?\d+(,\d+)?\s*$"
EVIDENCE_BYTES = 1 << 18
"""Bytes of lines beyond ASCII from which the encoding is detected."""
USUAL = "cp1252"
"""The encoding of spreadsheets in western Europe; chosen where it fits as well as any other."""
UNUSUAL = frozenset(b"\x81\x8d\x8f\x90\x9d")
"""The bytes that stand for no character in it."""
OTHERS = ("cp1250", "cp1251", "cp1253", "shift_jis", "gb18030")
FEW_LETTERS = 16
"""With fewer letters beyond ASCII the usual encoding is chosen."""
INSTALL = "pip install 'tanager[files]'"
LONGEST_HEADER = 1 << 22
"""Characters in which the header must end: a compressed file may have a line of any length."""
MAX_LINES = 30
"""From the first that is not blank, the lines in which the header is looked for."""
FEWEST_ROWS = 2
"""Rows of the same width that must follow a header that is not the first row."""
NUMBER = re.compile(r"[\s\d.,'%€$£+-]*\d[\s\d.,'%€$£+-]*\Z")


@dataclass(frozen=True)
class CellRules:
    """How the table in a text file or a workbook is read.

    missing   texts that are missing in every column, besides the empty one
    marks     whether the texts in `MARKS` are missing in CSV columns without other text, with a warning
    texts     columns of text, whatever it looks like
    numbers   columns without text, even where there is nothing but marks
    expected  columns by which the header, and the sheet of a workbook, are found
    sheet, header_row  where the table is, if that is known; rows are counted as a spreadsheet counts them
    """

    missing: Sequence[str] = ()
    marks: bool = False
    texts: Sequence[str] = ()
    numbers: Sequence[str] = ()
    expected: Sequence[str] = ()
    sheet: str | None = None
    header_row: int | None = None

    @classmethod
    def given(cls, missing: Sequence[str], texts: Sequence[str] = (), **more: Any) -> CellRules:
        """The rules of a command; an empty text in `missing` switches marks off."""
        return cls([text for text in missing if text], "" not in missing, texts, **more)

    def conversion(self, marks: bool = False, columns: Sequence[str] = ()) -> pyarrow.csv.ConvertOptions:
        """Options for pyarrow; with `marks` as missing, all cells of a column of text stay text."""
        return pyarrow.csv.ConvertOptions(
            null_values=["", *self.missing, *(MARKS if marks else ())],
            strings_can_be_null=not marks,
            column_types={name: pa.string() for name in self.texts},
            include_columns=columns,
        )


PLAIN = CellRules()


@dataclass(frozen=True)
class Header:
    """The names of the columns, the sign that separates them, the number of lines above, and its characters."""

    names: list[str]
    delimiter: str
    n_above: int = 0
    n_characters: int = 0


def find_header(
    rows: Sequence[Sequence[str]], expected: Collection[str] = (), groups: Collection[int] = ()
) -> int | None:
    """The place of the header among the first rows of a table; None if no row has a cell.

    It is the row with all the names that are expected. If there is none, it is the first row that has cells, unless
    these are fewer than half of those of the widest row: then it is the next row with more than half as many that are
    all different and no numbers, and with rows of the same width below. `groups` are rows with cells that span
    several columns: names of groups of columns, or titles.
    """
    if expected:
        wanted = set(expected)
        for place, row in enumerate(rows):
            if wanted.issubset(row):
                return place
    counts = [0 if place in groups else sum(map(bool, map(str.strip, row))) for place, row in enumerate(rows)]
    first = next((place for place, row in enumerate(rows) if any(map(str.strip, row))), None)
    if first is None or 2 * counts[first] >= max(counts) > 0:
        return first
    for place in range(first + 1, len(rows)):
        below = [row for row in rows[place + 1 :] if row]
        of_same_width = len(below) >= FEWEST_ROWS and all(len(row) == len(rows[place]) for row in below)
        if 2 * counts[place] > max(counts) and of_same_width and _are_names(rows[place]):
            return place
    return first


def _are_names(row: Sequence[str]) -> bool:
    cells = [cell.strip() for cell in row if cell.strip()]
    return len(set(cells)) == len(cells) and not any(map(NUMBER.match, cells))


def read_header(
    text: TextIO, where: str, delimiter: str | None, expected: Collection[str] = (), header_row: int | None = None
) -> Header:
    """The header of a delimited text; `header_row` is the line that is known to be it, counted from 1."""
    n_above = 0 if header_row is None else header_row - 1
    for _ in range(n_above):
        text.readline(LONGEST_HEADER)
    start = text.read(LONGEST_HEADER)
    rest = io.StringIO(start, newline="")
    lines: list[str] = []
    for line in rest:
        if lines or line.strip("\r\n"):
            lines.append(line)
        else:
            n_above += 1
        if len(lines) == MAX_LINES:
            break
    if not lines:
        return Header([], delimiter or ",")
    with cells_up_to(LONGEST_HEADER):
        sign, place = _delimiter(lines, delimiter), 0
        if header_row is None:
            begins, rows = zip(*_rows(lines, sign), strict=True)
            place = begins[find_header(rows, expected) or 0]
        following = chain(lines[place:], rest)  # they follow only where a quoted name goes on in the next line
        names = next(csv.reader(following, delimiter=sign))
    if len(start) == LONGEST_HEADER and next(following, None) is None:
        raise FileError(
            f"{where} has a header of more than {LONGEST_HEADER:,} characters.",
            hint="expected a header line with the column names, then the rows.",
        )
    return Header(names, sign, n_above + place, sum(map(len, lines[: place + 1])))


def _rows(lines: list[str], sign: str) -> list[tuple[int, list[str]]]:
    """The rows of some lines, and the line that each begins with."""
    reader, rows, begin = csv.reader(lines, delimiter=sign), [], 0
    for row in reader:
        rows.append((begin, row))
        begin = reader.line_num
    return rows


def _delimiter(lines: list[str], expected: str | None) -> str:
    """The sign with which the most rows have the same number of cells; of several the one expected, else tab or comma.

    Spreadsheets write semicolons or tabs into .csv files, while one alone in the header may be part of a name.
    """
    if expected == "\t":
        return expected
    alike = {}
    for sign in dict.fromkeys([expected or "\t", ",", "\t", ";"]):
        widths = Counter(len(row) for _, row in _rows(lines, sign) if len(row) > 1)
        alike[sign] = max(widths.values(), default=0)
    best = max(alike, key=alike.__getitem__)
    return best if alike[best] > 1 or (expected is None and alike[best]) else expected or ","


@contextmanager
def cells_up_to(n_characters: int) -> Iterator[None]:
    """Lift the limit of the csv module for a while."""
    limit = csv.field_size_limit(n_characters)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


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
        header = read_header(lines, text.where, delimiter, cells.expected, cells.header_row)
    names = header.names
    if not names:
        raise FileError(f"{text.where} is empty.", hint="expected a header line with the column names, then the rows.")
    if any(REPLACED in name or "\0" in name for name in names):
        raise _OtherEncodingError
    try:
        table = _arrow_table(text, header, cells.conversion())
    except pa.ArrowInvalid as error:
        fault = _find_fault(text, header)
        if fault is None and str(error).endswith("cannot infer number of columns"):
            return pa.table([pa.nulls(0)] * len(names), names=names)  # a header without a line end, and no row
        raise FileError(f"{text.where} cannot be read as a table: {fault or reason(error)}.") from error
    if any(map(pa.types.is_binary, table.schema.types)):
        raise _OtherEncodingError
    fault = _find_fault(text, header) if _ends_in_open_quote(table) else None
    if fault is not None:
        raise FileError(f"{text.where} cannot be read as a table: {fault}.")
    table = _without_blank_columns(table)
    if len(set(table.column_names)) == table.num_columns:
        table = _read_numbers(table, text, header, cells)
    return times_as_durations(table).replace_schema_metadata({HEADER_ROW: str(header.n_above + 1)})


def _without_blank_columns(table: pa.Table) -> pa.Table:
    """The table without the columns that have neither a name nor a cell: what a spreadsheet leaves beside a table."""
    named = [
        place
        for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True))
        if name.strip() or column.null_count < len(column)
    ]
    return table if len(named) == table.num_columns or not table.num_rows else table.select(named)


def _read_numbers(table: pa.Table, text: TextSource, header: Header, cells: CellRules) -> pa.Table:
    """The table with the numbers in it that pyarrow takes for text: with decimal commas, or with marks among them."""

    def read_again(columns: list[str]) -> pa.Table:
        return _arrow_table(text, header, cells.conversion(marks=True, columns=columns))

    table = with_points(table, decimal_commas(table, header, cells, text.where))
    return recognise_marks(table, cells, read_again) if cells.marks else table


def _arrow_table(text: TextSource, header: Header, convert: pyarrow.csv.ConvertOptions) -> pa.Table:
    # The first block must hold the header, of which a character has up to four bytes.
    for block_size in (BLOCK, LARGE_BLOCK) if 4 * header.n_characters < BLOCK else (LARGE_BLOCK,):
        try:
            with text.open_bytes() as stream:
                read, parse = read_options(text.encoding, block_size, header), parse_options(header)
                return pyarrow.csv.read_csv(stream, parse_options=parse, convert_options=convert, read_options=read)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block_size == LARGE_BLOCK:
                raise
    raise AssertionError("the large block returns or raises")


def read_options(encoding: str, block_size: int, header: Header) -> pyarrow.csv.ReadOptions:
    """Options for pyarrow, which skips the byte-order mark of UTF-8 faster than a codec."""
    known = "utf8" if encoding == "utf-8-sig" else encoding
    return pyarrow.csv.ReadOptions(encoding=known, block_size=block_size, skip_rows=header.n_above)


def parse_options(header: Header) -> pyarrow.csv.ParseOptions:
    """A blank line is a row with a missing cell where there is one column, and no row where there are more."""
    several = len(header.names) > 1
    return pyarrow.csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True, ignore_empty_lines=several)


def _find_fault(text: TextSource, header: Header) -> str | None:
    """The first row with the wrong number of cells, or the quote that is never closed, with its line."""
    line, expected = header.n_above + 1, len(header.names)
    try:
        with text.open_text() as lines, cells_up_to(LONGEST_CELL):
            rows = csv.reader(islice(lines, header.n_above, None), delimiter=header.delimiter, strict=True)
            for row in rows:
                if row and len(row) != expected:
                    return f"line {line} has {len(row)} cell(s), expected {expected} as in the header"
                line = header.n_above + rows.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            return f"a quoted cell in the row that starts on line {line} is never closed"
    return None


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


def recognise_marks(
    table: pa.Table, cells: CellRules, read_again: Callable[[list[str]], pa.Table], counted: bool = True
) -> pa.Table:
    """The table with the marks taken as missing in columns of numbers, dates, times or booleans, and a warning.

    A column is one of these if `read_again`, which gives columns with the marks as empty cells, finds no text in it.
    A column of nothing but marks stays text, except in `cells.numbers`. Marks are not counted in a part of a file.
    """
    names, known_texts, known_numbers = table.column_names, set(cells.texts), set(cells.numbers)
    marked = [
        place
        for place, (name, column) in enumerate(zip(names, table.columns, strict=True))
        if name not in known_texts and pa.types.is_string(column.type) and pc.any(_is_mark(column)).as_py()
    ]
    if not marked:
        return table
    again = read_again([names[place] for place in marked])
    taken = {
        place: column
        for place, column in zip(marked, again.columns, strict=True)
        if not pa.types.is_string(column.type) and (names[place] in known_numbers or not pa.types.is_null(column.type))
    }
    if taken:
        found = _count_marks([table.column(place) for place in taken]) if counted else "texts such as 'NA' are"
        columns = _columns([names[place] for place in taken])
        warnings.warn(f"{columns}: {found} taken as missing; {MARKS_HINT}.", DataWarning, stacklevel=2)
    return replace_columns(table, taken)


def _count_marks(columns: Sequence[pa.ChunkedArray]) -> str:
    """How often each mark stands in columns, the subject of a sentence and its verb."""
    texts = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(texts.filter(_is_mark(texts))).to_pylist()}
    unit = "row" if len(columns) == 1 else "cell"
    words = [f"{mark!r} in {n:,} {unit}{'s'[: n != 1]}" for mark, n in counts.items()]
    return f"{', '.join(words)} {'are' if len(words) > 1 else 'is'}"


def decimal_commas(table: pa.Table, header: Header, cells: CellRules, where: str) -> list[str]:
    """The columns of text that hold numbers with a decimal comma, and nothing else but marks; a warning names them."""
    names, known_texts = [], set(cells.texts)
    for name, column in zip(table.column_names, table.columns if header.delimiter != "," else (), strict=False):
        if name in known_texts or not pa.types.is_string(column.type):
            continue
        texts = column.drop_null()
        texts = texts.filter(pc.invert(_is_mark(texts))) if cells.marks else texts
        has_comma = pc.any(pc.match_substring(texts, ",")).as_py()
        if has_comma and pc.all(pc.match_substring_regex(texts, DECIMAL)).as_py():
            names.append(name)
    if names:
        warnings.warn(f"{where}: numbers have a decimal comma in {_columns(names)}.", DataWarning, stacklevel=2)
    return names


def with_points(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with these columns of text as numbers, which have a decimal comma in it."""

    def numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
        texts = pc.if_else(_is_mark(column), pa.scalar(None, pa.string()), column)
        texts = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "")
        return pc.replace_substring(texts, ",", ".").cast(pa.float64())

    return replace_columns(table, {table.column_names.index(name): numbers(table[name]) for name in names})


def _is_mark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which cells hold a mark."""
    return pc.is_in(column, value_set=pa.array(MARKS))


def _columns(names: Sequence[str]) -> str:
    return f"column{'s'[: len(names) != 1]} {list_names(names, MAX_COLUMNS_NAMED)}"


def find_encoding(stream: IO[bytes], where: str) -> str:
    """The encoding of a text that is not UTF-8, with a warning that names it where its first bytes do not."""
    start = stream.read(EVIDENCE_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    encoding = _detect(_lines_beyond_ascii(start, stream), where)
    warnings.warn(
        f"{where} is not UTF-8 text; it is read as {encoding}. Hint: check that names with accents look right.",
        DataWarning,
        stacklevel=2,
    )
    return encoding


def is_utf8(start: bytes) -> bool:
    """Whether a text may be UTF-8 by its first bytes, of which the last may be part of a letter."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\0" not in start


def _detect(text: bytes, where: str) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise FileError(
            f"{where} is not UTF-8 text.", hint=f"save it with the encoding UTF-8; or {INSTALL} finds others."
        ) from None
    if len(text.translate(None, bytes(range(128)))) < FEW_LETTERS and not UNUSUAL.intersection(text):
        return USUAL
    matches = list(from_bytes(text, cp_isolation=[USUAL, *OTHERS]))
    if not matches:
        raise FileError(f"{where} is not UTF-8 text.", hint="save it with the encoding UTF-8.")
    best = max(matches, key=lambda match: (-match.chaos, match.coherence, USUAL in match.could_be_from_charset))
    return USUAL if USUAL in best.could_be_from_charset else best.encoding


def _lines_beyond_ascii(start: bytes, stream: IO[bytes]) -> bytes:
    """The lines from which the encoding can be detected: ASCII is the same in nearly all encodings."""
    lines = b""
    while start and len(lines) < EVIDENCE_BYTES:
        lines += b"\n".join(line for line in start.splitlines() if not line.isascii())
        start = stream.read(EVIDENCE_BYTES)
    return lines
