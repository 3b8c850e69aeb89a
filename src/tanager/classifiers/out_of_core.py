"""Learning from tables that come batch by batch: read once, codes on disk, the same counts as in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.classifiers.training import encode_labels
from tanager.counts.family import CountTable
from tanager.errors import DataError, DataWarning, OptionError
from tanager.parameters import ACLLOptimal, Conditional, Frequency, ParameterLearner
from tanager.registry import nearest_first
from tanager.scores import CLL
from tanager.structure import Selective, StructureLearner
from tanager.table.batch import code_dtype
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import choose_categorical, warn_of_useless_columns
from tanager.table.read_columns import RawTable, gaps, take
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream_batch import Meaning, StreamedBatch
from tanager.table.stream_coder import Cells, ColumnCoder
from tanager.table.stream_source import Stream, open_stream
from tanager.table.stream_spool import Spool, check_space
from tanager.threads import map_threads

# What needs counts, and rows only a block at a time.
IN_CHUNKS = (ACLLOptimal, Conditional, Frequency)


@dataclass(frozen=True)
class SchemaOptions:
    """How columns are turned into states; see `learn_schema`."""

    discretizer: Discretizer
    categorical_features: ArrayLike | str | None
    gap_states: bool
    fine: bool


@dataclass(frozen=True)
class StreamedTable:
    """What was learnt of the columns, and the rows on disk."""

    schema: TableSchema
    classes: NDArray[np.generic]
    class_rows: NDArray[np.int64]
    batch: StreamedBatch

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, then the class."""
        return tuple(column.name for column in (*self.schema.attributes, self.schema.target))

    @property
    def known(self) -> dict[tuple[int, ...], CountTable]:
        """Counts that need no pass over the rows: those of the class."""
        return {(self.batch.n_attributes,): self.class_rows}


@contextmanager
def streamed_table(X: object, y: object, options: SchemaOptions) -> Iterator[StreamedTable]:
    """Read all batches of X once; y names the class column. The rows are gone when the block ends, however it does."""
    if not isinstance(y, str):
        raise DataError(
            f"y is a {type(y).__name__}; expected the name of the class column, as the table comes batch by batch."
        )
    spool = Spool()
    try:
        yield _Reader(y, options, spool).read(open_stream(X))
    finally:
        spool.close()


class _Reader:
    """Encodes batch after batch provisionally, then says what the codes mean."""

    def __init__(self, target: str, options: SchemaOptions, spool: Spool) -> None:
        self._target = target
        self._options = options
        self._spool = spool
        self._classes = ColumnCoder()
        self._class_rows: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._columns: dict[str, ColumnCoder] = {}
        self._n_left_out = 0

    def read(self, stream: Stream) -> StreamedTable:
        for table in stream.tables():
            if not self._columns:
                self._start(table, stream.n_rows)
            self._add(table)
        self._spool.flush()
        self._warn_left_out()
        return self._finish()

    def _start(self, table: RawTable, n_rows: int | None) -> None:
        names = [name for name in table.names if name != self._target]
        if len(names) == len(table.names):
            nearest = ", ".join(map(repr, nearest_first(self._target, table.names)[:10]))
            raise DataError(
                f"the table has no column {self._target!r} to predict; its columns, nearest first, are {nearest}."
            )
        if not names:
            raise DataError(f"the table has no column besides the class {self._target!r}.")
        # A byte a cell, if columns have few values; more is refused when it comes to it.
        check_space((n_rows or 0) * len(table.names), "the codes, at a byte for each cell,")
        self._columns = {name: ColumnCoder() for name in names}

    def _add(self, table: RawTable) -> None:
        labels = table.columns[table.names.index(self._target)]
        missing = gaps(labels)
        if missing.any():
            self._n_left_out += int(missing.sum())
            table, labels = table.take(~missing), take(labels, ~missing)
            if table.n_rows == 0:
                return
        class_codes = self._classes.encode(labels, True, np.zeros(table.n_rows, dtype=np.uint8), 1)
        n_classes = len(self._classes.values)
        if n_classes > len(self._class_rows):
            self._check_labels()
        counted = np.bincount(class_codes, minlength=n_classes)
        counted[: len(self._class_rows)] += self._class_rows
        self._class_rows = counted
        columns = tuple(column for column in table.columns if column.name != self._target)
        rows = RawTable(tuple(self._columns), named=True, n_rows=table.n_rows, read=columns)
        categorical = choose_categorical(rows, self._options.categorical_features).tolist()
        coders = list(self._columns.values())

        def encode(position: int) -> Cells:
            return coders[position].encode(columns[position], categorical[position], class_codes, n_classes)

        self._spool.append([*map_threads(encode, range(len(columns))), class_codes])

    def _finish(self) -> StreamedTable:
        labels = self._classes.values
        if len(labels) < 2:
            held = f"one class, {labels.tolist()[0]!r}," if len(labels) else "no class"
            raise DataError(
                f"the class column {self._target!r} holds {held} in {self._spool.n_rows:,} rows; "
                "at least two are needed."
            )
        classes, class_order = encode_labels(labels)
        target = ColumnSchema(self._target, "categorical", tuple(classes.tolist()))
        options = self._options

        def learn(name: str) -> ColumnSchema:
            coder = self._columns[name]
            return coder.learn(name, class_order, options.discretizer, options.gap_states, options.fine)

        attributes = tuple(map_threads(learn, self._columns))
        empty = [name for name, coder in self._columns.items() if len(coder.values) == 0]
        warn_of_useless_columns(empty, attributes, self._spool.n_rows)
        dtype = code_dtype(max(column.n_states for column in (*attributes, target)))
        pairs = list(zip(attributes, self._columns.values(), strict=True))
        meanings = [Meaning(schema, coder.meaning(schema, dtype), not coder.incomplete) for schema, coder in pairs]
        incomplete = np.array([not meaning.complete and not meaning.schema.gap_state for meaning in meanings])
        own = Meaning(target, np.append(class_order, len(classes)).astype(code_dtype(len(classes))), True)
        batch = StreamedBatch(self._spool, [*meanings, own], incomplete)
        class_rows = self._class_rows[np.argsort(class_order)]
        return StreamedTable(TableSchema(attributes, target), classes, class_rows, batch)

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

    def _warn_left_out(self) -> None:
        if self._n_left_out:
            n_rows = self._spool.n_rows + self._n_left_out
            warnings.warn(
                f"the class is missing in {self._n_left_out:,} of {n_rows:,} rows; they are left out.",
                DataWarning,
                stacklevel=5,
            )


def check_streamable(
    structure: StructureLearner, score: object, parameters: ParameterLearner, sample_weight: object
) -> None:
    """Refuse what needs every row in memory at once."""
    refused = None
    if not isinstance(parameters, IN_CHUNKS):
        refused = f"parameters={type(parameters).__name__}()"
    elif isinstance(structure, Selective):
        refused = "structure='selective'"
    elif score == "cll" or isinstance(score, CLL):
        refused = "score='cll'"
    elif sample_weight is not None:
        refused = "sample_weight"
    if refused is not None:
        raise OptionError(
            f"{refused} needs all rows at once, and the table comes batch by batch.",
            hint="read the table into memory (--no-stream), or use parameters='frequency' or 'conditional'.",
        )
