"""Tables to files: CSV, TSV and Parquet, chosen by suffix; text that a spreadsheet takes for a formula is escaped."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tanager.errors import FileError
from tanager.files.paths import OutputKind, atomic_write

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".parquet")
# A sign or an equals sign alone, and a number with its sign, are shown as they are.
FORMULA = r"^(?:[=@\t\r](?s:.)+|[+-](?s:.)+)$"
NUMBER = r"^[+-](?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"

TEXT_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
)

WriteRows = Callable[[pa.Table], None]


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, or as CSV to standard output where `path` is "-". A missing cell is written empty."""
    with table_writer(path) as write:
        write(table)


@contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[WriteRows]:
    """A function that writes the next rows of a table; the file is there when the block ends without an error."""
    if os.fspath(path) == "-":
        yield _text_writer(sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    suffix = table_suffix(path)
    with atomic_write(path) as stream, ExitStack() as stack:
        yield _parquet_writer(stream, stack) if suffix == ".parquet" else _text_writer(stream, DELIMITERS[suffix])


def table_kind(names: Sequence[str]) -> OutputKind:
    """A table with just these columns, in the format of the suffix, as `write_table` begins it."""

    def is_in(file: Path) -> bool:
        suffix = table_suffix(file)
        if suffix == ".parquet":
            try:
                return pyarrow.parquet.read_schema(file).names == list(names)
            except pa.ArrowException:
                return False
        header = write_lines([names], DELIMITERS[suffix]).encode()
        with file.open("rb") as stream:
            return stream.read(len(header)) == header

    return OutputKind("a table with the columns that are written now", is_in)


def table_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix, if it is that of a format."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(
            f"cannot tell the format to write from the suffix of {str(path)!r}; expected one of {', '.join(SUFFIXES)}.",
            hint="use '-' for CSV on standard output.",
        )
    return suffix


def _parquet_writer(stream: BinaryIO, stack: ExitStack) -> WriteRows:
    """The file is opened with the columns of the first rows, and closed by the stack."""
    opened: list[pyarrow.parquet.ParquetWriter] = []

    def write(table: pa.Table) -> None:
        if not opened:
            opened.append(stack.enter_context(pyarrow.parquet.ParquetWriter(stream, table.schema)))
        opened[0].write_table(table)

    return write


def _text_writer(stream: BinaryIO, delimiter: str) -> WriteRows:
    """Lines of text, the names first."""
    begun = False

    def write(table: pa.Table) -> None:
        nonlocal begun
        table = _plain(table)
        # pyarrow before version 23 puts quotes around every name, and "needed" around every text; they are in the way
        # of people and small tools, so here they stand only where they must.
        if not begun:
            stream.write(write_lines([table.column_names], delimiter).encode())
            begun = True
        if table.num_columns == 1 and table.column(0).null_count:
            # Missing cells of a column alone are quotes: readers skip a line of nothing and lose count of the rows.
            cells = ([cell] for cell in table.column(0).to_pylist())
            stream.write(write_lines(cells, delimiter).encode())
            return
        style = "needed" if _has_special_text(table, delimiter) else "none"
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
        pyarrow.csv.write_csv(table, stream, options)

    return write


def write_lines(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """Rows as CSV; a cell with a carriage return, which some Pythons leave bare, is in quotes with all of its row."""
    lines = io.StringIO()
    for row in rows:
        style: Literal[0, 1] = csv.QUOTE_ALL if any("\r" in str(cell) for cell in row) else csv.QUOTE_MINIMAL
        csv.writer(lines, delimiter=delimiter, lineterminator="\n", quoting=style).writerow(row)
    return lines.getvalue()


def _plain(table: pa.Table) -> pa.Table:
    """The table with dictionaries written out, and one type of text; what text cannot say is refused."""
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_nested(kind):
            raise FileError(f"column {name!r} holds {kind}, which CSV has no place for.", hint="write .parquet.")
        try:
            columns.append(column.cast(pa.large_string() if any(test(kind) for test in TEXT_TYPES) else kind))
        except pa.ArrowInvalid as error:
            raise FileError(f"column {name!r} holds bytes that are no text.", hint="write .parquet.") from error
    return pa.table(columns, names=table.column_names)


def _has_special_text(table: pa.Table, delimiter: str) -> bool:
    """Whether a text has a delimiter, a quote or a line end in it."""
    texts = (column for column in table.columns if pa.types.is_large_string(column.type))
    return any(pc.any(pc.match_substring_regex(text, f'[{delimiter}"\r\n]')).as_py() for text in texts)


def escape_formula(text: str) -> str:
    """The text, with an apostrophe before it if it is like a formula."""
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def escape_formulas(table: pa.Table) -> pa.Table:
    """The table with names and texts that are like formulas behind an apostrophe."""
    columns = [_escape(column) if pa.types.is_large_string(column.type) else column for column in _plain(table).columns]
    return pa.table(columns, names=[escape_formula(name) for name in table.column_names])


def _escape(column: pa.ChunkedArray) -> pa.ChunkedArray:
    like = pc.and_(pc.match_substring_regex(column, FORMULA), pc.invert(pc.match_substring_regex(column, NUMBER)))
    if not pc.any(like).as_py():
        return column
    return pc.if_else(like, pc.replace_substring_regex(column, r"\A", "'"), column)
