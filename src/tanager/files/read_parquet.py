"""Parquet -> table. What a file unpacks to is counted before it is held: a few bytes may stand for any number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tanager.errors import FileError, MemoryLimitError
from tanager.files.paths import reason
from tanager.runtime.resources import available_memory
from tanager.table.read_columns import replace_columns
from tanager.table.stream.source import TEXT_BYTES, cell_bytes, text_bytes

WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": TEXT_BYTES}
LONGEST_ARRAY = (1 << 31) - 1
"""Bytes of text that one Arrow array holds."""


def read_parquet(file: Path) -> pa.Table:
    """The table in a file. Not through a data set: that would read folder names ("a=1") as columns."""
    try:
        with pyarrow.parquet.ParquetFile(file) as parquet:
            schema, n_rows, n_bytes = parquet.schema_arrow, parquet.metadata.num_rows, bytes_held(parquet)
        _check_room(file, n_rows, n_bytes)
        places = {place: entry.type for place, entry in enumerate(schema) if _is_text(entry.type)}
        # A text that stands in many rows is once in the file, and once in a dictionary: there it can be counted.
        with pyarrow.parquet.ParquetFile(file, read_dictionary=[schema.names[place] for place in places]) as parquet:
            table = parquet.read()
        n_bytes += sum(text_bytes(chunk) for place in places for chunk in table.column(place).chunks)
        _check_room(file, n_rows, n_bytes)
        return replace_columns(table, {place: _decoded(table.column(place), kind) for place, kind in places.items()})
    except MemoryLimitError:
        raise
    except MemoryError as error:  # a count in the file was too small
        raise MemoryLimitError(f"file {str(file)!r} does not fit in the memory that is left.") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(
            f"{str(file)!r} is not a complete Parquet file: {reason(error)}.", hint="write or copy it again."
        ) from error


def bytes_held(parquet: pyarrow.parquet.ParquetFile) -> int:
    """About what the table takes in memory; of a cell that is a list every entry counts, of a text as it is stored."""
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


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def _decoded(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The texts themselves, in pieces that an array can hold."""
    return pa.chunked_array([piece.cast(kind) for chunk in column.chunks for piece in _pieces(chunk)], kind)


def _pieces(chunk: pa.DictionaryArray) -> Iterator[pa.DictionaryArray]:
    if text_bytes(chunk) <= LONGEST_ARRAY or len(chunk) == 1:
        yield chunk
    else:
        middle = len(chunk) // 2
        yield from _pieces(chunk[:middle])
        yield from _pieces(chunk[middle:])
