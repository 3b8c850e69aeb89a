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

from tanager.errors import DataError, FileError
from tanager.registry import list_names
from tanager.table.columns import DictionaryColumn, RawTable
from tanager.table.read_columns import read_columns, read_record_batch

BATCH_ROWS = 1 << 17


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

    fragments = _plain_parquet(dataset)
    if not fragments:
        return Stream(_name_file(_scan(dataset, wanted), files), check=check)
    stored = [name for name in wanted if pa.types.is_string(dataset.schema.field(name).type)]
    n_rows = sum(fragment.count_rows() for fragment in fragments)
    return Stream(_read_ahead(_read_parquet(fragments, wanted, stored)), n_rows, frozenset(stored), check)


def _scan(dataset: Any, columns: list[str]) -> Iterator[object]:
    # One batch and one file ahead: more would hold whole row groups of several files.
    ahead = {"batch_readahead": 1, "fragment_readahead": 1}
    batches: Iterator[object] = dataset.to_batches(columns=columns, batch_size=BATCH_ROWS, **ahead)
    return batches


def _plain_parquet(dataset: Any) -> list[Any]:
    """The files' parts where they hold every column of every row: not beside a filter, or columns from folder names."""
    if dataset.format.default_extname != "parquet":
        return []
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filter
        return []
    names = set(dataset.schema.names)
    return fragments if all(names == set(fragment.physical_schema.names) for fragment in fragments) else []


def _read_parquet(fragments: Sequence[Any], columns: list[str], stored: list[str]) -> Iterator[object]:
    """File by file: half the memory of a scan. Text comes as the dictionaries in the file, eight times as fast."""
    # A buffer ahead would keep every row group in memory until the file is closed.
    from pyarrow import parquet

    for fragment in fragments:
        groups = [group.id for group in fragment.row_groups]
        try:
            with parquet.ParquetFile(
                fragment.path, filesystem=fragment.filesystem, read_dictionary=stored, pre_buffer=False
            ) as file:
                yield from file.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise _broken(fragment.path, error) from error


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
    except (pa.ArrowException, OSError) as error:
        where = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        raise _broken(where, error) from error


def _check_columns(dataset: Any) -> None:
    """Every file has the columns of the first, whatever their order."""
    first: set[str] = set()
    for file in dataset.files:
        try:
            names = set(dataset.format.inspect(file, dataset.filesystem).names)
        except (pa.ArrowException, OSError) as error:
            raise _broken(file, error) from error
        first = first or names
        if names != first:
            other = sorted(first ^ names)[0]
            what = "lacks" if other in first else "has"
            raise FileError(
                f"file {file!r} {what} the column {other!r}, unlike the first file of the data set.",
                hint="fit the files of one kind only.",
            )


def _broken(path: str, error: Exception) -> FileError:
    words = " ".join(str(error).split()).rstrip(".")
    return FileError(f"file {path!r} cannot be read: {words}.", hint="it may be cut short; write or copy it again.")


def _fingerprints(files: Sequence[str]) -> list[tuple[int, int] | None]:
    """Size and time of the last change of each file on this machine; None for others."""
    found: list[tuple[int, int] | None] = []
    for file in files:
        stat = Path(file).stat() if Path(file).exists() else None
        found.append(None if stat is None else (stat.st_size, stat.st_mtime_ns))
    return found
