"""BatchReader: the batches of a table -> what its columns are, and their rows as counts or on disk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.counts.chunked_engine import ChunkedEngine
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import CountTable
from tanager.counts.running_counts import CountedRows, Outline, RunningCounts
from tanager.errors import DataError
from tanager.registry import nearest_first
from tanager.table.batch import Codes, Weights, code_dtype
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import choose_categorical, warn_of_useless_columns
from tanager.table.fine_bins import n_coarse_bins
from tanager.table.read_columns import Column, NumericColumn, RawTable, gaps, kind_of
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.batch import StreamedBatch
from tanager.table.stream.coder import ColumnCoder
from tanager.table.stream.final_codes import Cells, Meaning
from tanager.table.stream.numbers import BatchRows
from tanager.table.stream.source import Stream
from tanager.table.stream.spool import Spool, check_space
from tanager.table.training_table import check_two_classes, encode_labels, say_left_out
from tanager.threads import map_threads

# Values of a numeric column from which fewer bins are counted faster later, even by way of the disk.
MOST_CUT = 8


@dataclass(frozen=True)
class Roles:
    """The columns that are no attributes: the class, and the rows' weights if they have any."""

    target: str
    weight: str | None = None


@dataclass(frozen=True)
class SchemaOptions:
    """How columns are turned into states; see `learn_schema`."""

    discretizer: Discretizer
    categorical_features: ArrayLike | str | None
    gap_states: bool
    fine: bool


@dataclass(frozen=True)
class StreamedTable:
    """What was learnt of the columns, the rows on disk, and the counts of those that are not there."""

    schema: TableSchema
    classes: NDArray[np.generic]
    class_rows: CountTable
    batch: StreamedBatch
    counted: CountedRows | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, then the class."""
        return tuple(column.name for column in (*self.schema.attributes, self.schema.target))

    def count_store(self, engine: CountEngine) -> CountStore:
        """The counts of all rows; those of the class need no pass over them."""
        known: dict[tuple[int, ...], CountTable] = {(self.batch.n_attributes,): self.class_rows}
        return CountStore(self.batch, ChunkedEngine(engine, self.counted), self.names, known=known)


class BatchReader:
    """Encodes batch after batch provisionally, then says what the codes mean."""

    def __init__(self, roles: Roles, options: SchemaOptions, spool: Spool, counts: RunningCounts | None) -> None:
        self._target = roles.target
        self._weight = roles.weight
        self._options = options
        self._spool = spool
        self._counts = counts
        self._cells: Codes = np.empty((0, 0), dtype=np.uint8)
        self._n_expected = 0
        self._classes = ColumnCoder()
        self._class_rows: CountTable = np.zeros(0, dtype=np.int64)
        self._columns: dict[str, ColumnCoder] = {}
        self._n_left_out = 0

    def read(self, stream: Stream) -> StreamedTable:
        for table in stream.tables():
            if not self._columns:
                self._start(table)
                self._n_expected = stream.n_rows or 0
            self._add(table)
        self._spool.flush()
        say_left_out(self._n_left_out, self._n_rows + self._n_left_out, stacklevel=6)
        return self._finish()

    def _start(self, table: RawTable) -> None:
        for name, what in ((self._target, "to predict"), (self._weight, "with the rows' weights")):
            if name is not None and name not in table.names:
                nearest = ", ".join(map(repr, nearest_first(name, table.names)[:10]))
                raise DataError(f"the table has no column {name!r} {what}; its columns, nearest first, are {nearest}.")
        names = [name for name in table.names if name not in (self._target, self._weight)]
        if not names:
            raise DataError(f"the table has no column besides the class {self._target!r}.")
        self._columns = {name: ColumnCoder() for name in names}

    def _add(self, table: RawTable) -> None:
        weights = None if self._weight is None else read_weights(table.column(self._weight))
        if weights is not None and not weights.all():  # as if the rows were not there
            table, weights = table.take(weights > 0), weights[weights > 0]
        missing = gaps(table.column(self._target))
        if missing.any():
            self._n_left_out += int(missing.sum())
            if missing.all():
                self._encode_labels(table)  # for their type
                return
            table, weights = table.take(~missing), None if weights is None else weights[~missing]
        if table.n_rows:
            self._add_labelled(table, weights)

    def _add_labelled(self, table: RawTable, weights: Weights | None) -> None:
        class_codes = self._encode_labels(table)
        rows = BatchRows(class_codes, self._classes.n_values, weights)
        if rows.n_classes > len(self._class_rows):
            self._check_labels()
        counted: CountTable = np.bincount(class_codes, weights, minlength=rows.n_classes)
        counted[: len(self._class_rows)] += self._class_rows
        self._class_rows = counted
        columns = tuple(column for column in table.columns if column.name in self._columns)
        attributes = RawTable(tuple(self._columns), named=True, n_rows=table.n_rows, read=columns)
        categorical = choose_categorical(attributes, self._options.categorical_features).tolist()
        coders = list(self._columns.values())
        if self._cells.shape != (len(columns), table.n_rows):
            self._cells = np.empty((len(columns), table.n_rows), dtype=np.uint8)
        out = self._cells

        def encode(position: int) -> Cells:
            return coders[position].encode(columns[position], categorical[position], rows, out[position])

        cells = map_threads(encode, range(len(columns)))
        if not self._count(cells, rows):
            self._keep(cells, rows)

    def _encode_labels(self, table: RawTable) -> Codes:
        out, alike = np.empty(table.n_rows, dtype=np.uint8), np.zeros(table.n_rows, dtype=np.uint8)
        return self._classes.encode(table.column(self._target), True, BatchRows(alike, 1), out)

    def _count(self, cells: list[Cells], rows: BatchRows) -> bool:
        """Count the rows of a batch at once, if that is enough and worth it."""
        coders = list(self._columns.values())
        if self._counts is None or any(coder.is_cut and coder.n_values > MOST_CUT for coder in coders):
            return False
        n_values = (*(coder.n_values for coder in coders), self._classes.n_values)
        outline = Outline(n_values, (*(coder.incomplete for coder in coders), False))
        if any(own.dtype != np.uint8 for own in cells) or not self._counts.has_room(outline.n_states):
            return False
        for own, coder in zip(cells, coders, strict=True):
            if coder.incomplete:
                np.minimum(own, coder.n_values, out=own)
        self._counts.add(self._cells.T, rows.class_codes, rows.weights, outline)
        return True

    def _keep(self, cells: list[Cells], rows: BatchRows) -> None:
        if self._spool.n_rows == 0:
            # A byte a cell, if columns have few values; more is refused when it comes to it.
            n_rows = max(self._n_expected - self._n_counted, 0)
            row_bytes = len(cells) + 1 + (0 if rows.weights is None else rows.weights.itemsize)
            check_space(n_rows * row_bytes, "the codes, at a byte for each cell,")
        self._spool.append([*cells, *([] if rows.weights is None else [rows.weights]), rows.class_codes])
        self._cells = np.empty((0, 0), dtype=np.uint8)  # they are the spool's now

    @property
    def _n_counted(self) -> int:
        return 0 if self._counts is None else self._counts.n_rows

    @property
    def _n_rows(self) -> int:
        return self._spool.n_rows + self._n_counted

    def _finish(self) -> StreamedTable:
        labels = self._classes.values
        if self._n_left_out and labels.dtype.kind == "O":
            labels = np.array(labels.tolist())  # as `read_rows` has them
        if self._weight is not None and self._n_rows + self._n_left_out == 0:
            raise DataError("every row has weight zero, so there is nothing to learn from.")
        check_two_classes(labels, self._n_rows, self._target)
        classes, class_order = encode_labels(labels)
        target = ColumnSchema(self._target, "categorical", tuple(classes.tolist()))
        options = self._options
        n_coarse = n_coarse_bins(len(self._columns), options.fine)

        def learn(name: str) -> ColumnSchema:
            coder = self._columns[name]
            return coder.learn(name, class_order, options.discretizer, options.gap_states, n_coarse)

        attributes = tuple(map_threads(learn, self._columns))
        empty = [name for name, coder in self._columns.items() if len(coder.values) == 0]
        warn_of_useless_columns(empty, attributes, self._n_rows)
        dtype = code_dtype(max(column.n_states for column in (*attributes, target)))
        pairs = list(zip(attributes, self._columns.values(), strict=True))
        meanings = [Meaning(schema, coder.meaning(schema, dtype), not coder.incomplete) for schema, coder in pairs]
        incomplete = np.array([not meaning.complete and not meaning.schema.gap_state for meaning in meanings])
        own = Meaning(target, np.append(class_order, len(classes)).astype(code_dtype(len(classes))), True)
        weighted = self._weight is not None
        batch = StreamedBatch(self._spool, [*meanings, own], incomplete, self._n_counted, weighted)
        class_rows = self._class_rows[np.argsort(class_order)]
        counted = None
        if self._counts is not None:
            counted = self._counts.counted([meaning.codes for meaning in (*meanings, own)], batch.n_states)
        return StreamedTable(TableSchema(attributes, target), classes, class_rows, batch, counted)

    def _check_labels(self) -> None:
        """At once: a quantity taken for a class would have as many classes as rows."""
        if self._classes.unit != "number":
            raise DataError(f"the class column {self._target!r} holds dates; expected text, numbers or booleans.")
        labels = self._classes.values
        if labels.dtype.kind == "f":
            fractions = labels[labels != np.rint(labels)]
            if len(fractions):
                raise DataError(
                    f"the class column {self._target!r} holds {fractions[0]}; expected classes, not a quantity."
                )


def read_weights(column: Column) -> Weights:
    """The weight of every row: a number, not below zero."""
    if not isinstance(column, NumericColumn) or column.unit != "number":
        raise DataError(f"the column of weights {column.name!r} holds {kind_of(column)}; expected numbers.")
    weights = column.values.astype(np.float64)
    wrong = ~(weights >= 0)  # or missing
    if wrong.any():
        held = weights[wrong][0]
        raise DataError(
            f"the column of weights {column.name!r} {'misses a cell' if np.isnan(held) else f'holds {held:g}'}; "
            "expected numbers from zero up.",
            hint="a row of weight 0 is left out.",
        )
    return weights
