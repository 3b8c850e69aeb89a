"""Tables that come batch by batch: data sets of files, lazy frames, readers and iterators of frames.

What a batch of a Parquet file takes is counted before it is held: few bytes may stand for any number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tanager.errors import DataError, FileError, MemoryLimitError
from tanager.registry import list_names
from tanager.runtime.resources import available_memory
from tanager.table.columns import RawTable
from tanager.table.read_columns import is_instance, is_text, read_arrow, read_columns, replace_columns

BATCH_ROWS = 1 << 17
# Bytes of numbers, and of the text of all cells, that a batch may have.
BATCH_BYTES = 1 << 28
# One is worked on while the next is read.
BATCHES_HELD = 2
# A cell of text or of a dictionary in memory, about, without the text itself.
TEXT_BYTES = 16


@dataclass(frozen=True)
class Stream:
    """Frames that together are one table.

    frames   each with the same columns, in any order; those without a row are skipped
    stored   text columns that come as dictionaries only because the file stores them so
    """

    frames: Iterator[object]
    stored: frozenset[str] = frozenset()

    def tables(self) -> Iterator[RawTable]:
        """Every batch, with the columns of the first in their order."""
        names: tuple[str, ...] = ()
        for number, frame in enumerate(self._with_rows()):
            table = read_columns(frame)
            if not table.named:
                raise DataError(
                    f"batch {number} is a {type(frame).__name__} without column names.",
                    hint="give record batches or data frames.",
                )
            names = names or table.names
            yield self._arrange(table, names, number)

    def select(self, names: Sequence[str]) -> Iterator[object]:
        """Every batch as a frame with these columns."""
        for number, frame in enumerate(self._with_rows()):
            batch = nw.from_native(frame, eager_only=True)
            absent = [name for name in names if name not in batch.columns]
            if absent:
                raise DataError(f"batch {number} lacks column {absent[0]!r}; it has {list_names(batch.columns)}.")
            yield batch.select(*names).to_native()

    def plain_tables(self) -> Iterator[pa.Table]:
        """Every batch of files as a table whose texts are texts."""
        for table in self._with_rows():
            names = table.column_names
            coded = {place: column for place, column in enumerate(table.columns) if names[place] in self.stored}
            texts = {place: column.cast(column.type.value_type) for place, column in coded.items()}
            yield replace_columns(table, texts)

    def _with_rows(self) -> Iterator[Any]:
        """The frames that have rows; a record batch as a table."""
        has_rows = False
        for frame in self.frames:
            if not hasattr(frame, "__len__") or len(frame):
                has_rows = True
                yield pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
        if not has_rows:
            raise DataError("the table has no rows: every batch is empty.")

    def _arrange(self, table: RawTable, names: tuple[str, ...], number: int) -> RawTable:
        by_name = dict(zip(table.names, table.columns, strict=True))
        if set(by_name) != set(names):
            other = sorted(set(by_name) ^ set(names))[0]
            what = "has" if other in by_name else "lacks"
            raise DataError(
                f"batch {number} {what} the column {other!r}, unlike the first batch: "
                f"its columns are {list_names(names)}."
            )
        return RawTable(tuple(by_name[name] for name in names), named=True, n_rows=table.n_rows)


def open_stream(X: Any, columns: Sequence[str] | None = None) -> Stream:
    """The batches of whatever `is_stream` takes; of files only the columns named, if any are, need to be read."""
    if is_instance(X, "pyarrow.dataset", "Dataset"):
        return _open_dataset(X, columns)
    if is_instance(X, "polars", "LazyFrame"):
        return Stream(_collect(X))
    return Stream(iter(X))


def _collect(frame: Any) -> Iterator[object]:
    errors = sys.modules["polars"].exceptions.PolarsError
    try:
        yield from frame.collect_batches(chunk_size=BATCH_ROWS)
    except errors as error:
        raise DataError(f"the lazy frame cannot be evaluated: {' '.join(str(error).split())}") from error


def _open_dataset(dataset: Any, columns: Sequence[str] | None) -> Stream:
    from pyarrow import dataset as arrow

    wanted = [name for name in dataset.schema.names if columns is None or name in columns]
    if not isinstance(dataset, arrow.FileSystemDataset):
        return Stream(_scan(dataset, wanted))
    files = dataset.files
    if not files:
        raise DataError("the data set has no file.")
    _check_columns(dataset)
    fragments = plain_fragments(dataset)
    if not fragments:
        check_types(dataset.schema, wanted)
        return Stream(_name_file(_scan(dataset, wanted), files))
    stored = [name for name in wanted if is_text(dataset.schema.field(name).type)]
    return Stream(_read_ahead(read_fragments(fragments, wanted, stored)), frozenset(stored))


def _scan(dataset: Any, columns: list[str]) -> Iterator[object]:
    # One batch and one file ahead: more would hold whole row groups of several files.
    ahead = {"batch_readahead": 1, "fragment_readahead": 1}
    batches: Iterator[object] = dataset.to_batches(columns=columns, batch_size=BATCH_ROWS, **ahead)
    return batches


def _read_ahead(frames: Iterator[object]) -> Iterator[object]:
    """The next batch is read while the last one is worked on."""
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(next, frames, None)
        while (frame := ahead.result()) is not None:
            ahead = reader.submit(next, frames, None)
            yield frame


def _name_file(batches: Iterator[object], files: Sequence[str]) -> Iterator[object]:
    try:
        yield from batches
    except MemoryError as error:
        raise MemoryLimitError(f"a batch of file {files[0]!r} does not fit in the memory that is left.") from error
    except (pa.ArrowException, OSError) as error:
        where = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        raise broken(where, error) from error


def _check_columns(dataset: Any) -> None:
    """Every file has the columns of the first, whatever their order."""
    first: set[str] = set()
    for file in dataset.files:
        try:
            names = set(dataset.format.inspect(file, dataset.filesystem).names)
        except (pa.ArrowException, OSError) as error:
            raise broken(file, error) from error
        first = first or names
        if names != first:
            other = sorted(first ^ names)[0]
            what = "lacks" if other in first else "has"
            raise FileError(
                f"file {file!r} {what} the column {other!r}, unlike the first file of the data set.",
                hint="fit the files of one kind only.",
            )


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
                n_rows = count_batch(file, groups, columns, fragment.path)
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


def count_batch(file: Any, groups: Sequence[int], columns: Sequence[str], path: str) -> int:
    """How many rows a batch is to have; a MemoryLimitError where what it holds with them is too much."""
    width = sum(cell_bytes(file.schema_arrow.field(name).type) for name in columns)
    n_rows = int(max(1, min(BATCH_ROWS, file.metadata.num_rows, BATCH_BYTES // max(width, 1))))
    need = int(BATCHES_HELD * (n_rows * width + _most_text(file, groups, columns, n_rows)))
    room = available_memory()
    if need > room:
        raise MemoryLimitError(
            f"{n_rows:,} rows of file {path!r} take {need / 2**30:.1f} GiB with their texts; "
            f"{room / 2**30:.1f} GiB of memory are left.",
            hint="give fewer columns, or shorter texts.",
        )
    return n_rows


def _most_text(file: Any, groups: Sequence[int], columns: Sequence[str], n_rows: int) -> float:
    """The most bytes of dictionaries and texts in the groups of rows that a batch of so many rows may touch."""
    leaves = [leaf for leaf in range(len(file.schema)) if file.schema.column(leaf).path in set(columns)]
    sizes = np.zeros((len(groups), 2))
    for place, group in enumerate(map(file.metadata.row_group, groups)):
        share = min(1.0, n_rows / max(group.num_rows, 1))
        sizes[place] = group.num_rows, sum(_chunk_bytes(group.column(leaf), share) for leaf in leaves)
    ends, totals = np.cumsum(sizes, axis=0).T
    last = np.minimum(np.searchsorted(ends, ends - 1 + n_rows), len(ends) - 1)  # it may begin at the end of a group
    return float(np.max(totals[last] - totals + sizes[:, 1], initial=0.0))


def _chunk_bytes(chunk: Any, share: float) -> float:
    """Bytes of the dictionary of a column in a group, about, and of the texts in a share of its rows."""
    size, dictionary = chunk.total_uncompressed_size, 0.0
    if chunk.has_dictionary_page:
        stored = chunk.data_page_offset - chunk.dictionary_page_offset
        dictionary = size * min(1.0, stored / max(chunk.total_compressed_size, 1))
    return max(share * size, dictionary) if chunk.physical_type == "BYTE_ARRAY" else dictionary


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
