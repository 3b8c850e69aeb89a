"""Tables from files: CSV, TSV, Parquet and ARFF, chosen by suffix."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet

from tanager.errors import FileError
from tanager.files.paths import check_readable, reason
from tanager.files.read_arff import read_arff
from tanager.files.read_csv import read_csv, read_csv_stdin

Format = Literal["csv", "tsv", "txt", "parquet", "arff"]
FORMATS: tuple[Format, ...] = ("csv", "tsv", "txt", "parquet", "arff")
DELIMITERS: dict[Format, str | None] = {"csv": ",", "tsv": "\t", "txt": None}


def read_table(
    path: str | os.PathLike[str], *, missing_values: Sequence[str] = (), text_columns: Sequence[str] = ()
) -> pa.Table:
    """The table in a file, or CSV on standard input where `path` is "-".

    The suffix says the format: .csv (semicolons or tabs where its header has no comma), .tsv, .txt (tabs if its header
    has one), .parquet, .arff; the text formats may be compressed (.csv.gz). In text an empty cell is missing and
    nothing else is, except the texts in `missing_values` ("?", "NA"); in ARFF "?" is missing too. A column of digits
    holds integers, a column of numbers floats; dates, times and booleans are recognised, except in `text_columns`; an
    ARFF header says the type itself.
    """
    if os.fspath(path) == "-":
        return check_names(read_csv_stdin(missing_values, text_columns), "standard input")
    kind = table_format(path)
    file = check_readable(path)
    if kind == "parquet":
        table = _read_parquet(file)
    elif kind == "arff":
        table = read_arff(file, missing_values)
    else:
        table = read_csv(file, DELIMITERS[kind], missing_values, text_columns)
    return check_names(table, f"file {str(path)!r}")


def table_format(path: str | os.PathLike[str]) -> Format:
    """The format a suffix stands for."""
    name = Path(path).name.lower()
    stem = name.removesuffix(".gz")
    for kind in FORMATS:
        if stem.endswith(f".{kind}") and (stem == name or kind != "parquet"):
            return kind
    text = ", ".join(f".{kind}" for kind in FORMATS)
    raise FileError(
        f"cannot tell the format of {str(path)!r} from its suffix; expected one of {text}, "
        "or .gz after one of the text formats.",
        hint="rename the file, or give CSV on standard input as '-'.",
    )


def check_names(table: pa.Table, where: str) -> pa.Table:
    """The table, if no two of its columns have the same name."""
    repeated = [name for name, times in Counter(table.column_names).items() if times > 1]
    if repeated:
        raise FileError(
            f"{where} has {len(repeated)} column name(s) more than once: {', '.join(map(repr, repeated[:5]))}.",
            hint="give every column its own name in the header.",
        )
    return table


def _read_parquet(file: Path) -> pa.Table:
    """Not through a data set: that would read folder names ("a=1") as columns."""
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            return parquet.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(
            f"{str(file)!r} is not a complete Parquet file: {reason(error)}.", hint="write or copy it again."
        ) from error
