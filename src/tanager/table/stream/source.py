"""Tables that come batch by batch: data sets of files, lazy frames, readers and iterators of frames."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from tanager.errors import DataError, FileError, MemoryLimitError
from tanager.registry import list_names
from tanager.table.columns import DictionaryColumn, RawTable
from tanager.table.read_columns import read_columns, read_record_batch
from tanager.table.replace_columns import replace_columns
from tanager.table.stream.parquet import BATCH_ROWS, broken, check_types, plain_fragments, read_fragments, text_columns


@dataclass(frozen=True)
class Stream:
    """Frames that together are one table.

    frames   each with the same columns, in any order; those without a row are skipped
    n_rows   rows in all, where that is known beforehand
    stored   text columns that come as dictionaries only because the file stores them so
    check    raises if what was read has changed meanwhile
    """

    frames: Iterator[object]
    n_rows: int | None = None
    stored: frozenset[str] = frozenset()
    check: Callable[[], None] = field(default=lambda: None)

    def tables(self) -> Iterator[RawTable]:
        """Every batch, with the columns of the first in their order."""
        names: tuple[str, ...] = ()
        for number, frame in enumerate(self._with_rows()):
            table = read_record_batch(frame) if isinstance(frame, pa.RecordBatch) else read_columns(frame)
            if not table.named:
                raise DataError(
                    f"batch {number} is a {type(frame).__name__} without column names.",
                    hint="give record batches or data frames.",
                )
            names = names or table.names
            yield self._arrange(table, names, number)
        self.check()

    def select(self, names: Sequence[str]) -> Iterator[object]:
        """Every batch as a frame with these columns."""
        for number, frame in enumerate(self._with_rows()):
            known: Any = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
            batch = nw.from_native(known, eager_only=True)
            absent = [name for name in names if name not in batch.columns]
            if absent:
                raise DataError(f"batch {number} lacks column {absent[0]!r}; it has {list_names(batch.columns)}.")
            yield batch.select(*names).to_native()
        self.check()

    def plain_tables(self) -> Iterator[pa.Table]:
        """Every batch of files as a table whose texts are texts."""
        for frame in self._with_rows():
            assert isinstance(frame, pa.RecordBatch)
            table, names = pa.Table.from_batches([frame]), frame.schema.names
            coded = {place: column for place, column in enumerate(table.columns) if names[place] in self.stored}
            texts = {place: column.cast(column.type.value_type) for place, column in coded.items()}
            yield replace_columns(table, texts)
        self.check()

    def _with_rows(self) -> Iterator[object]:
        found = False
        for frame in self.frames:
            if not hasattr(frame, "__len__") or len(frame):
                found = True
                yield frame
        if not found:
            raise DataError("the table has no row: every batch is empty.")

    def _arrange(self, table: RawTable, names: tuple[str, ...], number: int) -> RawTable:
        by_name = dict(zip(table.names, table.columns, strict=True))
        if set(by_name) != set(names):
            other = sorted(set(by_name) ^ set(names))[0]
            what = "has" if other in by_name else "lacks"
            raise DataError(
                f"batch {number} {what} the column {other!r}, unlike the first batch: "
                f"its columns are {list_names(names)}."
            )
        columns = [by_name[name] for name in names]
        for position, column in enumerate(columns):
            if column.name in self.stored and isinstance(column, DictionaryColumn):
                columns[position] = DictionaryColumn(column.name, column.indices, column.dictionary)
        return RawTable(names, named=True, n_rows=table.n_rows, read=tuple(columns))


def is_stream(X: object) -> bool:
    """Whether a table comes batch by batch; nothing is imported to tell."""
    known = isinstance(X, pa.RecordBatchReader | Iterator)
    return known or _is(X, "pyarrow.dataset", "Dataset") or _is(X, "polars", "LazyFrame")


def open_stream(X: Any, columns: Sequence[str] | None = None) -> Stream:
    """The batches of whatever `is_stream` takes; of files only the columns named, if any are, need to be read."""
    if _is(X, "pyarrow.dataset", "Dataset"):
        return _open_dataset(X, columns)
    if _is(X, "polars", "LazyFrame"):
        return Stream(_collect(X))
    return Stream(iter(X))


def _is(X: object, module: str, name: str) -> bool:
    """An object of a class whose module is not loaded cannot exist."""
    loaded = sys.modules.get(module)  # None also where the module was found not to be there
    return loaded is not None and isinstance(X, getattr(loaded, name))


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
    before = _fingerprints(files)
    _check_columns(dataset)

    def check() -> None:
        for file, found, expected in zip(files, _fingerprints(files), before, strict=True):
            if found != expected:
                raise FileError(f"file {file!r} changed while it was read.", hint="fit again when nobody writes to it.")

    fragments = plain_fragments(dataset)
    if not fragments:
        check_types(dataset.schema, wanted)
        return Stream(_name_file(_scan(dataset, wanted), files), check=check)
    stored = text_columns(dataset.schema, wanted)
    n_rows = sum(fragment.count_rows() for fragment in fragments)
    return Stream(_read_ahead(read_fragments(fragments, wanted, stored)), n_rows, frozenset(stored), check)


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


def _fingerprints(files: Sequence[str]) -> list[tuple[int, int] | None]:
    """Size and time of the last change of each file on this machine; None for others."""
    found: list[tuple[int, int] | None] = []
    for file in files:
        stat = Path(file).stat() if Path(file).exists() else None
        found.append(None if stat is None else (stat.st_size, stat.st_mtime_ns))
    return found
