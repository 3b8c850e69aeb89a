"""StreamReader: the batches of a table, read once -> what its columns hold, and its rows on disk or counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Codes
from tanager.errors import DataError
from tanager.runtime.resources import map_threads
from tanager.table.binning import (
    MAX_ROWS_TO_CUT_AGAIN,
    ColumnStatistics,
    ValueRows,
    cut_at_every_value,
    fine_places,
    is_worth_cutting_again,
    states_of_both,
    write_coarse,
)
from tanager.table.columns import Column, NumericColumn, RawTable, code_dtype, kind_of, missing_cells
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import choose_categorical, warn_of_useless_columns
from tanager.table.rows import EncodedBatch, Outline, Rows, Weights, gather, weigh
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.coder import UNKNOWN, BatchRows, ColumnCoder, FinalCodes, ProvisionalCodes, RawCells
from tanager.table.stream.rows import DiskRows, Spool
from tanager.table.stream.source import Stream
from tanager.table.training_table import (
    LEARNS_WITHOUT_CLASS,
    ClassWeight,
    check_has_column,
    check_least,
    check_total,
    check_two_classes,
    class_factors,
    encode_labels,
    say_left_out,
    warn_of_weights,
)

Source = TypeVar("Source")


@dataclass(frozen=True)
class ReadOptions:
    """How a table is read.

    discretizer, categorical_features, missing_states, fine  those of `learn_schema`
    unlabelled  rows without a class are read too
    values      few rows are also kept for cut points to be learnt again
    class_weight  that of the classifier
    """

    discretizer: Discretizer
    categorical_features: ArrayLike | str | None
    missing_states: bool
    fine: bool
    unlabelled: bool = False
    values: bool = False
    class_weight: ClassWeight = None


@dataclass(frozen=True)
class LearntColumns:
    """What columns hold, by the statistics of all rows.

    empty    names of the columns without a value
    uncut    the columns with a cut at every value, where asked for and rows are few; else none
    factors  (n_classes,) what class weights multiply the weights of rows by
    """

    attributes: tuple[ColumnSchema, ...]
    empty: list[str]
    uncut: tuple[ColumnSchema, ...]
    factors: Weights | None


def learn_columns(
    columns: Sequence[Source],
    read: Callable[[Source], ColumnStatistics],
    classes: NDArray[np.generic],
    class_rows: NDArray[Any],
    n_rows: int,
    options: ReadOptions,
) -> LearntColumns:
    """`read` gives the statistics of a column, one at a time; `class_rows` (n_classes,) are rows or weights."""
    factors = None
    if options.class_weight is not None and len(classes):
        factors = class_factors(options.class_weight, classes, class_rows)

    cut_again = options.values and n_rows <= MAX_ROWS_TO_CUT_AGAIN

    def learn(source: Source) -> tuple[ColumnSchema, ColumnSchema | None, bool]:
        held = read(source)
        statistics = held if factors is None else held.weighed(factors)
        column = statistics.schema(options.discretizer, len(classes), options.missing_states, options.fine)
        uncut = cut_at_every_value(column, held.counts.values) if cut_again else None
        return column, uncut, not len(held.counts.values)

    learnt = map_threads(learn, columns)
    attributes = tuple(column for column, _, _ in learnt)
    options.discretizer.check_columns(attributes)
    uncut = tuple(column for _, column, _ in learnt if column and is_worth_cutting_again(attributes, n_rows))
    return LearntColumns(attributes, [column.name for column, _, empty in learnt if empty], uncut, factors)


@dataclass(frozen=True)
class StreamedTable:
    """What was read.

    class_rows  (n_classes,) how many rows each class has, or their weights
    factors     (n_classes,) what class weights have multiplied the weights of rows by
    rows        those with a class, columns in the order of their names
    unlabelled  those without a class, if asked for and there are any
    values      those with a class, if asked for and they are few and have numbers to cut
    """

    schema: TableSchema
    classes: NDArray[np.generic]
    class_rows: NDArray[Any]
    factors: Weights | None
    rows: Rows
    unlabelled: Rows | None
    values: ValueRows | None


class StreamReader:
    """Encodes batch after batch provisionally, then finds what the codes stand for. To be closed after use."""

    def __init__(self, roles: Roles, options: ReadOptions) -> None:
        self._roles = roles
        self._options = options
        self._classes = ColumnCoder()
        self._class_rows: NDArray[Any] = np.zeros(0, dtype=np.int64)
        self._labelled: ProvisionalRows | None = None
        self._unlabelled: ProvisionalRows | None = None
        self._n_unlabelled = 0

    def close(self) -> None:
        """Give the disk space of what was read back; rows that are `kept` have their own."""
        for rows in (self._labelled, self._unlabelled):
            if rows is not None:
                rows.spool.close()

    def read(self, stream: Stream) -> StreamedTable:
        options = self._options
        for table in stream.tables():
            if self._labelled is None:
                names, features = self._roles.attributes(table.names), options.categorical_features
                self._labelled = ProvisionalRows(names, features)
                self._unlabelled = ProvisionalRows(names, features) if options.unlabelled else None
            self._add(table, self._labelled)
        assert self._labelled is not None, "a stream without a row is an error"
        if not options.unlabelled:
            n_rows = self._labelled.n_rows + self._n_unlabelled
            say_left_out(self._n_unlabelled, n_rows, hint=LEARNS_WITHOUT_CLASS, stacklevel=6)
        return self._finish(self._labelled)

    def _add(self, table: RawTable, labelled: ProvisionalRows) -> None:
        weights = None if self._roles.weight is None else read_weights(table.column(self._roles.weight))
        if weights is not None and not weights.all():  # as if the rows were not there
            table, weights = table.take(weights > 0), weights[weights > 0]
        missing = missing_cells(table.column(self._roles.target))
        if missing.any():
            self._n_unlabelled += int(missing.sum())
            if missing.all():
                self._encode_labels(table)  # for their type
            if self._unlabelled is not None:
                apart = table.take(missing)
                weights_apart = None if weights is None else weights[missing]
                no_class = np.full(apart.n_rows, UNKNOWN, dtype=np.int8)
                self._unlabelled.add(apart, _of_one_class(apart, weights_apart), no_class)
            table, weights = table.take(~missing), None if weights is None else weights[~missing]
        if table.n_rows:
            class_codes = self._encode_labels(table)
            rows = BatchRows(class_codes, self._classes.n_values, weights)
            if rows.n_classes > len(self._class_rows):
                self._check_labels()
            counted: NDArray[Any] = np.bincount(class_codes, weights, minlength=rows.n_classes)
            counted[: len(self._class_rows)] += self._class_rows
            self._class_rows = counted
            labelled.add(table, rows, class_codes)

    def _encode_labels(self, table: RawTable) -> ProvisionalCodes:
        codes = self._classes.encode(table.column(self._roles.target), True, _of_one_class(table))
        return cast(ProvisionalCodes, codes)

    def _finish(self, labelled: ProvisionalRows) -> StreamedTable:
        labels = self._classes.values
        if self._n_unlabelled and labels.dtype.kind == "O":
            labels = np.array(labels.tolist())  # as `read_rows` has them
        if self._roles.weight is not None and labelled.n_rows + self._n_unlabelled == 0:
            raise DataError("every row has weight zero, so there is nothing to learn from.")
        weight = float(self._class_rows.sum())
        check_total(weight)
        check_two_classes(labels, labelled.n_rows, self._roles.target)
        warn_of_weights(weight, labelled.n_rows, stacklevel=7)
        classes, class_order = encode_labels(labels)
        target = ColumnSchema(self._roles.target, "categorical", tuple(classes.tolist()))
        class_rows = self._class_rows[np.argsort(class_order)]

        def read(name: str) -> ColumnStatistics:
            return labelled.coders[name].statistics(name, class_order)

        learnt = learn_columns(labelled.names, read, classes, class_rows, labelled.n_rows, self._options)
        warn_of_useless_columns(learnt.empty, learnt.attributes, labelled.n_rows)
        schema = TableSchema(learnt.attributes, target)
        final_class = np.append(class_order, len(classes)).astype(code_dtype(len(classes)))
        of_class = FinalCodes(target, final_class, True)
        unlabelled = None
        if self._unlabelled is not None and self._n_unlabelled:
            unlabelled = self._unlabelled.rows(schema, of_class)
        factors, values = learnt.factors, None
        rows = weigh(labelled.rows(schema, of_class), factors)
        class_rows = class_rows if factors is None else class_rows * factors
        if learnt.uncut:
            uncut = TableSchema(learnt.uncut, target)
            rows_uncut = gather(weigh(labelled.rows(uncut, of_class), factors))
            values = ValueRows(rows_uncut, uncut.select(uncut.learning_order).attributes, self._options.discretizer)
        return StreamedTable(schema, classes, class_rows, factors, rows, unlabelled, values)

    def _check_labels(self) -> None:
        """At once: a quantity taken for a class would have as many classes as rows."""
        name = self._roles.target
        if self._classes.unit != "number":
            raise DataError(f"the class column {name!r} holds dates; expected text, numbers or booleans.")
        labels = self._classes.values
        if labels.dtype.kind == "f":
            fractions = labels[labels != np.rint(labels)]
            if len(fractions):
                raise DataError(f"the class column {name!r} holds {fractions[0]}; expected classes, not a quantity.")


def _of_one_class(table: RawTable, weights: Weights | None = None) -> BatchRows:
    """Rows whose class says nothing."""
    return BatchRows(np.zeros(table.n_rows, dtype=np.uint8), 1, weights)


@dataclass(frozen=True)
class Roles:
    """The names of the class column, and of that with the rows' weights if they have any."""

    target: str
    weight: str | None = None

    def attributes(self, names: Sequence[str]) -> list[str]:
        """The other columns of a table, which has both of these and at least one other."""
        for name, what in ((self.target, "to predict"), (self.weight, "with the rows' weights")):
            if name is not None:
                check_has_column(names, name, what)
        others = [name for name in names if name not in (self.target, self.weight)]
        if not others:
            raise DataError(f"the table has no column besides the class {self.target!r}.")
        return others


def check_roles(y: object, sample_weight: object) -> Roles:
    """What `fit` was given for them are names of columns."""
    arguments = (("y", y, "class column"), ("sample_weight", sample_weight, "column with the rows' weights"))
    for option, value, what in arguments:
        if not isinstance(value, str) and (option == "y" or value is not None):
            raise DataError(
                f"{option} is a {type(value).__name__}; expected the name of the {what}, as the table comes in parts.",
                hint="add it to the table as a column.",
            )
    if y == sample_weight:
        raise DataError(f"the column {y!r} cannot be both the class and the rows' weights.")
    return Roles(str(y), sample_weight if isinstance(sample_weight, str) else None)


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
    check_least(weights)
    return weights


class ProvisionalRows:
    """Codes every column for itself; rows go to a spool.

    `names` are the attributes in their order in the table; they are coded in the order of the names themselves.
    """

    def __init__(self, names: Sequence[str], categorical_features: ArrayLike | str | None) -> None:
        self.names = tuple(names)
        self.coders = {name: ColumnCoder() for name in sorted(names)}
        self.spool = Spool()
        self._categorical_features = categorical_features
        self._least_weight: float | None = None

    @property
    def n_rows(self) -> int:
        return self.spool.n_rows

    def add(self, table: RawTable, rows: BatchRows, classes: RawCells) -> None:
        """Add the rows of a batch; `classes` are written with them, -1 for none."""
        if rows.weights is not None:
            least = float(rows.weights.min())
            self._least_weight = least if self._least_weight is None else min(least, self._least_weight)
        self.spool.append([*self._encode(table, rows), classes, *([] if rows.weights is None else [rows.weights])])

    def _encode(self, table: RawTable, rows: BatchRows) -> list[RawCells]:
        columns = {column.name: column for column in table.columns if column.name in self.coders}
        attributes = RawTable(tuple(columns.values()), named=True, n_rows=table.n_rows)
        features = choose_categorical(attributes, self._categorical_features).tolist()
        categorical = dict(zip(self.names, features, strict=True))
        coders = list(self.coders.items())

        def encode(node: int) -> RawCells:
            name, coder = coders[node]
            return coder.encode(columns[name], categorical[name], rows)

        return map_threads(encode, range(len(columns)))

    def rows(self, schema: TableSchema, target: FinalCodes) -> DiskRows:
        """Those on disk, as blocks of final codes, at both granularities where columns have two."""
        spool, weighted = self.spool, self._least_weight is not None
        spool.flush()
        columns = schema.select(schema.learning_order).attributes
        dtype = code_dtype(max(schema.n_states))
        attributes = [
            coder.final_codes(column, dtype) for coder, column in zip(self.coders.values(), columns, strict=True)
        ]
        n_states = states_of_both(columns, target.schema.n_states)
        fine = [column.incomplete for column in attributes if column.schema.groups]
        incomplete = np.array([*(column.incomplete for column in attributes), *fine], dtype=bool)
        places = fine_places(columns).tolist()

        def blocks() -> Iterator[EncodedBatch]:
            for cells in spool.chunks():
                n_rows = len(cells[0])
                codes = np.empty((n_rows, len(incomplete)), dtype=code_dtype(max(n_states)), order="F")

                def write(node: int, cells: Sequence[RawCells] = cells, codes: Codes = codes) -> None:
                    attributes[node].write(cells[node], codes[:, places[node]])

                map_threads(write, range(len(attributes)))
                write_coarse(codes, columns)
                classes = np.empty(n_rows, dtype=target.codes.dtype)
                target.write(cells[len(attributes)], classes)
                weights = cells[-1].astype(np.float64) if weighted else None
                yield EncodedBatch(codes, classes, n_states, incomplete, weights)

        return DiskRows(n_states, blocks, known=Outline(n_states, incomplete, spool.n_rows, self._least_weight))
