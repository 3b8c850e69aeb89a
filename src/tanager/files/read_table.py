"""Tables from files: CSV, TSV, Parquet, ARFF and Excel, chosen by suffix."""

from __future__ import annotations

import io
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tanager.errors import FileError, MemoryLimitError
from tanager.files.paths import PIECE, check_regular, open_text, reason, table_bytes
from tanager.files.read_arff import read_arff
from tanager.files.read_csv import (
    PLAIN,
    CellRules,
    decimal_commas,
    find_encoding,
    is_utf8,
    parse_options,
    read_csv,
    read_csv_bytes,
    read_header,
    read_options,
    recognise_marks,
    times_as_durations,
    with_points,
)
from tanager.files.read_xlsx import read_xlsx
from tanager.runtime.resources import available_memory
from tanager.table.read_columns import replace_columns
from tanager.table.stream.source import TEXT_BYTES, cell_bytes, split_texts, text_bytes

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

DELIMITERS: dict[str, str | None] = {"csv": ",", "tsv": "\t", "txt": None}
WHOLE = ("arff", "xlsx")
"""The formats that cannot be read batch by batch."""
FORMATS = (*DELIMITERS, "parquet", *WHOLE)
PACKED = (*DELIMITERS, "arff")
"""The formats that may be compressed."""
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": TEXT_BYTES}
TEXT_TYPES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
STREAM_BLOCK = 1 << 26
"""Bytes of text parsed at once; the types of columns are found in the first block."""


def read_table(path: str | os.PathLike[str], cells: CellRules = PLAIN) -> pa.Table:
    """The table in a file, or CSV on standard input where `path` is "-".

    The suffix names the format: .csv (semicolons or tabs where its header has no comma, then also decimal commas),
    .tsv, .txt (tabs if its header has one), .parquet, .arff, .xlsx (the sheet with the columns expected, or the
    largest table); the text formats may be compressed (.csv.gz). The encoding of text is detected where it is not
    UTF-8. In text an empty cell is missing, and so are the texts in `cells.missing`; in ARFF "?" is missing too. A
    column of digits holds integers, a column of numbers floats; dates, times and booleans are recognised; an ARFF
    header declares the types.
    """
    try:
        return _read_table(path, cells)
    except MemoryError as error:
        size = "" if os.fspath(path) == "-" else f" of {os.path.getsize(path) / 2**20:,.1f} MiB"
        raise MemoryLimitError(
            f"the table in {os.fspath(path)!r}{size} does not fit in memory: {available_memory() / 2**30:.1f} GiB "
            "are left.",
            hint="convert it to Parquet, which is read batch by batch; or give fewer rows or columns.",
        ) from error


def _read_table(path: str | os.PathLike[str], cells: CellRules) -> pa.Table:
    if os.fspath(path) == "-":
        return check_names(read_csv_bytes(sys.stdin.buffer.read(), "standard input", cells), "standard input")
    kind = table_format(path)
    file = check_regular(path)
    if kind == "parquet":
        table = read_parquet(file)
    elif kind == "arff":
        table = read_arff(file, cells.missing)
    elif kind == "xlsx":
        table = read_xlsx(file, cells)
    else:
        table = read_csv(file, DELIMITERS[kind], cells)
    return check_names(table, f"file {str(path)!r}")


def open_batches(
    path: str | os.PathLike[str], cells: CellRules = PLAIN
) -> tuple[list[str], Dataset | Iterator[pa.Table]]:
    """The names of the columns, and the table as it comes batch by batch: for files larger than memory.

    `path` is as `read_table` takes it, but for ARFF and Excel, or a folder of Parquet files. In text the first
    64 MiB decide the types of the columns and the encoding.
    """
    if Path(path).is_dir() or table_format(path) == "parquet":
        from pyarrow import dataset

        source = Path(path) if Path(path).is_dir() else check_regular(path)
        try:
            data = dataset.dataset(source, format="parquet")
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{str(path)!r} cannot be read as Parquet: {reason(error)}.") from error
        return list(data.schema.names), data
    kind = table_format(path)
    if kind in WHOLE:
        raise FileError(f"{str(path)!r} cannot be read batch by batch.", hint="convert it to CSV or Parquet.")
    return _open_text(check_regular(path), DELIMITERS[kind], cells)


def bytes_in_memory(path: str | os.PathLike[str]) -> int:
    """The memory in bytes that the table in a file takes, estimated; 0 where it cannot be read: the reader says why.

    Of a text by the cells in its first megabyte, of which gzip leaves about a quarter.
    """
    file = Path(path)
    kind = "parquet" if file.is_dir() else table_format(path)
    files = [each for each in file.rglob("*.parquet") if each.is_file()] if file.is_dir() else [check_regular(file)]
    try:
        if kind == "parquet":
            return sum(map(_parquet_bytes, files))
        if kind in WHOLE:
            return 2 * file.stat().st_size
        with open_text(file) as stream:
            sample = stream.read(PIECE)
    except (pa.ArrowException, EOFError, OSError, zlib.error):
        return 0
    packing = 4 if file.suffix.lower() == ".gz" else 1
    return packing * file.stat().st_size * table_bytes(sample) // max(len(sample), 1)


def _parquet_bytes(file: Path) -> int:
    with pyarrow.parquet.ParquetFile(file) as parquet:
        return bytes_held(parquet)


def _open_text(file: Path, delimiter: str | None, cells: CellRules) -> tuple[list[str], Iterator[pa.Table]]:
    where = f"file {str(file)!r}"
    try:
        encoding = _stream_encoding(file, where)
        with io.TextIOWrapper(_open(file), encoding=encoding, errors="replace", newline="") as text:
            header = read_header(text, where, delimiter, cells.expected, cells.header_row)

        def open_csv(convert: pyarrow.csv.ConvertOptions) -> pyarrow.csv.CSVStreamingReader:
            read, parse = read_options(encoding, STREAM_BLOCK, header), parse_options(header)
            return pyarrow.csv.open_csv(str(file), read_options=read, parse_options=parse, convert_options=convert)

        def first_block(convert: pyarrow.csv.ConvertOptions) -> pa.Table:
            opened = open_csv(convert)
            return next(map(_as_table, opened), opened.schema.empty_table())

        first = check_names(first_block(cells.conversion()), where)
        commas = decimal_commas(first, header, cells, where)
        known = replace(cells, texts=[*cells.texts, *commas])
        if cells.marks:
            first = recognise_marks(
                first, known, lambda columns: first_block(known.conversion(True, columns)), counted=False
            )
            texts = [field.name for field in first.schema if pa.types.is_string(field.type)]
            known = replace(known, texts=[*known.texts, *texts])
        reader = open_csv(known.conversion(cells.marks))
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise FileError(f"{where} cannot be read as a table: {reason(error)}.") from error

    def batches() -> Iterator[pa.Table]:
        n_rows = 0
        try:
            for batch in reader:
                yield times_as_durations(with_points(_empty_texts(_as_table(batch), cells), commas))
                n_rows += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise FileError(
                f"{where} cannot be read as a table: {reason(error)}, somewhere after row {n_rows:,}.",
                hint="the first rows say what a column holds; --no-stream, or a Parquet file, asks all of them, "
                "and --missing names a text that stands for a missing cell.",
            ) from error

    return list(reader.schema.names), batches()


def _open(file: Path) -> pa.NativeFile:
    return pa.input_stream(str(file), compression="detect")


def _stream_encoding(file: Path, where: str) -> str:
    """UTF-8, unless the first block is not."""
    with _open(file) as stream:
        if is_utf8(stream.read(STREAM_BLOCK)):
            return "utf-8-sig"
    with _open(file) as stream:
        return find_encoding(stream, where)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _empty_texts(table: pa.Table, cells: CellRules) -> pa.Table:
    """Texts that are missing in every column, as nulls: a reader that knows marks leaves them in columns of text."""
    missing, nothing = pa.array(["", *cells.missing]), pa.scalar(None, pa.string())
    kept = {
        place: pc.if_else(pc.is_in(column, value_set=missing), nothing, column)
        for place, column in enumerate(table.columns if cells.marks else ())
        if pa.types.is_string(column.type)
    }
    return replace_columns(table, kept)


def table_format(path: str | os.PathLike[str]) -> str:
    """The format a suffix stands for."""
    name = Path(path).name.lower()
    stem = name.removesuffix(".gz")
    for kind in FORMATS:
        if stem.endswith(f".{kind}") and (stem == name or kind in PACKED):
            return kind
    text = ", ".join(f".{kind}" for kind in FORMATS)
    raise FileError(
        f"cannot tell the format of {str(path)!r} from its suffix; expected one of {text}, "
        "or .gz after one of the text formats.",
        hint="unpack an archive, rename the file, or give CSV on standard input as '-'.",
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


def read_parquet(file: Path) -> pa.Table:
    """The table in a file. Not through a data set: that would read folder names ("a=1") as columns."""
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            schema, n_rows, n_bytes = parquet.schema_arrow, parquet.metadata.num_rows, bytes_held(parquet)
        _check_room(file, n_rows, n_bytes)
        texts = {entry.name for entry in schema if any(test(entry.type) for test in TEXT_TYPES)}
        # A text that stands in many rows is once in the file, and once in a dictionary: there it can be counted.
        with pyarrow.parquet.ParquetFile(file, read_dictionary=sorted(texts)) as parquet:
            table = parquet.read()
        columns = [column for name, column in zip(table.column_names, table.columns, strict=True) if name in texts]
        _check_room(file, n_rows, n_bytes + sum(text_bytes(chunk) for column in columns for chunk in column.chunks))
        # In pieces: an array holds 2 GiB of text.
        pieces = [piece for batch in table.to_batches() for piece in split_texts(batch)]
        return pa.Table.from_batches(pieces, table.schema).cast(schema)
    except (MemoryLimitError, MemoryError):  # where a count in the file was too small
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(
            f"{str(file)!r} is not a complete Parquet file: {reason(error)}.", hint="write or copy it again."
        ) from error


def bytes_held(parquet: pyarrow.parquet.ParquetFile) -> int:
    """The memory in bytes that the table takes, estimated: every entry of a list counts, texts as they are stored."""
    metadata, leaves = parquet.metadata, [parquet.schema.column(leaf) for leaf in range(len(parquet.schema))]
    n_bytes = int(metadata.num_rows * sum(map(cell_bytes, parquet.schema_arrow.types)))
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for number, leaf in enumerate(leaves):
            if leaf.max_repetition_level:
                n_bytes += group.column(number).num_values * WIDTHS.get(leaf.physical_type, leaf.length)
            if leaf.physical_type == "BYTE_ARRAY":
                n_bytes += group.column(number).total_uncompressed_size
    return n_bytes


def _check_room(file: Path, n_rows: int, n_bytes: int) -> None:
    room = available_memory()
    if n_bytes > room:
        raise MemoryLimitError(
            f"file {str(file)!r} has {n_rows:,} rows, which take {n_bytes / 2**30:.1f} GiB; "
            f"{room / 2**30:.1f} GiB of memory are left.",
            hint="give fewer rows or columns at a time.",
        )
