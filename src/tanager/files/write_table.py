"""Tables to files: CSV, TSV and Parquet, chosen by suffix; written atomically."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tanager.errors import FileError
from tanager.files.atomic import atomic_write, check_writable

SUFFIXES = (".csv", ".tsv", ".parquet")


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table to a file, or as CSV to standard output where `path` is "-". A missing cell is written empty."""
    if os.fspath(path) == "-":
        _write_text(table, sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    suffix = _suffix(path)
    with atomic_write(path) as stream:
        if suffix == ".parquet":
            pyarrow.parquet.write_table(table, stream)
        else:
            _write_text(table, stream, "\t" if suffix == ".tsv" else ",")


def check_table_target(path: str | os.PathLike[str]) -> None:
    """Raise now if `write_table` could not write to `path` later."""
    if os.fspath(path) != "-":
        _suffix(path)
        check_writable(path)


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(
            f"cannot tell the format to write from the suffix of {str(path)!r}; expected one of {', '.join(SUFFIXES)}.",
            hint="use '-' for CSV on standard output.",
        )
    return suffix


def _write_text(table: pa.Table, stream: BinaryIO, delimiter: str) -> None:
    # pyarrow before version 23 puts quotes around every name, and "needed" around every text; they are in the way of
    # people and small tools, so here they stand only where they must.
    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(table.column_names)
    stream.write(header.getvalue().encode())
    style = "needed" if _has_special_text(table, delimiter) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
    pyarrow.csv.write_csv(table, stream, options)


def _has_special_text(table: pa.Table, delimiter: str) -> bool:
    """Whether a text has a delimiter, a quote or a line end in it."""
    texts = (column for column in table.columns if pa.types.is_string(column.type))
    return any(pc.any(pc.match_substring_regex(text, f'[{delimiter}"\r\n]')).as_py() for text in texts)
