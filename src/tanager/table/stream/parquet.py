"""Parquet files batch by batch. What a batch takes is counted before it is held: few bytes may stand for any number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import FileError, MemoryLimitError
from tanager.runtime.resources import available_memory
from tanager.table.read_arrow import read_arrow

BATCH_ROWS = 1 << 17
BATCH_BYTES = 1 << 28
"""Bytes of numbers, and of the text of all cells, that a batch may have."""
BATCHES_HELD = 2
"""One is worked on while the next is read."""
TEXT_BYTES = 16
"""A cell of text or of a dictionary in memory, about, without the text itself."""
SMALL_CHUNK = 1 << 24
"""Bytes of a column in a group of rows below which nobody asks how many are its dictionary."""


def plain_fragments(dataset: Any) -> list[Any]:
    """The files' parts where they hold every column of every row: not beside a filter, or columns from folder names."""
    if dataset.format.default_extname != "parquet":
        return []
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filter
        return []
    names = set(dataset.schema.names)
    return fragments if all(names == set(fragment.physical_schema.names) for fragment in fragments) else []


def text_columns(schema: pa.Schema, names: Sequence[str]) -> list[str]:
    """Those of the columns that a file may store as a dictionary, though they are plain text."""
    tests = (pa.types.is_string, pa.types.is_large_string)
    return [name for name in names if any(test(schema.field(name).type) for test in tests)]


def check_types(schema: pa.Schema, names: Sequence[str]) -> None:
    """Refuse what no column can hold before it is read: a cell may be a list of any length."""
    for name in names:
        kind = schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            read_arrow(name, pa.array([], kind))


def read_fragments(fragments: Sequence[Any], columns: list[str], stored: list[str]) -> Iterator[pa.RecordBatch]:
    """File by file: half the memory of a scan. Text comes as the dictionaries in the file, eight times as fast."""
    # A buffer ahead would keep every row group in memory until the file is closed.
    from pyarrow import parquet

    for fragment in fragments:
        groups = [group.id for group in fragment.row_groups]
        check_types(fragment.physical_schema, columns)
        try:
            with (
                fragment.filesystem.open_input_file(fragment.path) as source,
                parquet.ParquetFile(source, read_dictionary=stored, pre_buffer=False) as file,
            ):
                n_rows = count_batch(file, source, groups, columns, fragment.path)
                for batch in file.iter_batches(n_rows, row_groups=groups, columns=columns):
                    yield from split_texts(batch)
        except MemoryLimitError:
            raise
        except MemoryError as error:  # a count in the file was too small
            raise MemoryLimitError(f"file {fragment.path!r} does not fit in the memory that is left.") from error
        except (pa.ArrowException, OSError) as error:
            raise broken(fragment.path, error) from error


def cell_bytes(kind: pa.DataType) -> float:
    """What a cell takes in memory, without its text."""
    return kind.bit_width / 8 if pa.types.is_primitive(kind) else TEXT_BYTES


def count_batch(file: Any, source: BinaryIO, groups: Sequence[int], columns: Sequence[str], path: str) -> int:
    """How many rows a batch is to have; a MemoryLimitError where what it holds with them is too much."""
    width = sum(cell_bytes(file.schema_arrow.field(name).type) for name in columns)
    n_rows = int(max(1, min(BATCH_ROWS, file.metadata.num_rows, BATCH_BYTES // max(width, 1))))
    leaves = [leaf for leaf in range(len(file.schema)) if file.schema.column(leaf).path in set(columns)]
    sizes = [_group_bytes(file, source, group, leaves, n_rows) for group in groups]
    need = int(BATCHES_HELD * (n_rows * width + _most_at_once(sizes, n_rows)))
    room = available_memory()
    if need > room:
        raise MemoryLimitError(
            f"{n_rows:,} rows of file {path!r} take {need / 2**30:.1f} GiB with their texts; "
            f"{room / 2**30:.1f} GiB of memory are left.",
            hint="give fewer columns, or shorter texts.",
        )
    return n_rows


def _group_bytes(file: Any, source: BinaryIO, group: int, leaves: Sequence[int], n_rows: int) -> tuple[int, float]:
    """The rows of a group, and the bytes of dictionaries and texts that some of its rows bring."""
    metadata, n_bytes = file.metadata.row_group(group), 0.0
    for leaf in leaves:
        chunk = metadata.column(leaf)
        size = chunk.total_uncompressed_size
        dictionary = 0
        if chunk.has_dictionary_page and size > SMALL_CHUNK:
            dictionary = _page_size(source, chunk.dictionary_page_offset)
        if chunk.physical_type == "BYTE_ARRAY":
            size *= min(1.0, n_rows / max(metadata.num_rows, 1))
            n_bytes += max(size, dictionary)
        else:
            n_bytes += dictionary
    return metadata.num_rows, n_bytes


def _most_at_once(groups: Sequence[tuple[int, float]], n_rows: int) -> float:
    """The most bytes of consecutive groups that a batch of so many rows may touch."""
    first, held, most = 0, [0, 0.0], 0.0
    for rows, n_bytes in groups:
        held = [held[0] + rows, held[1] + n_bytes]
        while held[0] - groups[first][0] - rows >= n_rows:
            held = [held[0] - groups[first][0], held[1] - groups[first][1]]
            first += 1
        most = max(most, held[1])
    return most


def _page_size(source: BinaryIO, offset: int) -> int:
    """The bytes of a page once it is unpacked: the second field of its header, in Thrift's compact protocol."""
    source.seek(offset)
    header = iter(source.read(16))
    size = 0
    for _ in range(2):
        if next(header, None) != 0x15:  # the next field, a number of 32 bits
            return 0  # whoever reads it says what is wrong with it
        size = shift = 0
        for byte in header:
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
    return size >> 1


def split_texts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces whose texts, written out in every row, are no longer than a batch may be."""
    if batch.num_rows == 1 or sum(text_bytes(column) for column in batch.columns) <= BATCH_BYTES:
        yield batch
    else:
        middle = batch.num_rows // 2
        yield from split_texts(batch[:middle])
        yield from split_texts(batch[middle:])


def text_bytes(column: pa.Array) -> int:
    """The bytes of the texts of a dictionary, written out in every row; 0 for other columns."""
    if not pa.types.is_dictionary(column.type):
        return 0
    try:
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    except pa.ArrowException:  # a dictionary of numbers
        return 0
    return pc.sum(pc.take(lengths, column.indices)).as_py() or 0


def broken(path: str, error: Exception) -> FileError:
    """The error for a file that Arrow cannot read."""
    words = " ".join(str(error).split()).rstrip(".")
    return FileError(f"file {path!r} cannot be read: {words}.", hint="it may be cut short; write or copy it again.")
