"""StreamReader: the batches of a table, read once -> what its columns hold, and its rows on disk or counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Codes
from tanager.errors import DataError
from tanager.runtime.resources import map_threads
from tanager.table.batch import Weights
from tanager.table.categories import code_dtype
from tanager.table.class_weights import Weighting, class_factors, times_factors
from tanager.table.columns import RawTable, gaps
from tanager.table.discretizer import Discretizer
from tanager.table.encoder import warn_of_useless_columns
from tanager.table.rows import gather
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.coder import ColumnCoder
from tanager.table.stream.final_codes import FinalCodes
from tanager.table.stream.numbers import BatchRows
from tanager.table.stream.provisional_rows import ProvisionalRows, RowCounter
from tanager.table.stream.roles import Roles, read_weights
from tanager.table.stream.rows import DiskRows
from tanager.table.stream.source import Stream
from tanager.table.training_table import (
    LEARNS_WITHOUT_CLASS,
    check_total,
    check_two_classes,
    encode_labels,
    say_left_out,
)
from tanager.table.value_rows import ValueRows, cut_at_every_value, is_worth_cutting_again


@dataclass(frozen=True)
class ReadOptions:
    """How a table is read.

    discretizer, categorical_features, gap_states, fine  those of `learn_schema`
    unlabelled  rows without a class are read too
    values      few rows are also kept for cut points to be learnt again
    class_weight  what the weight of a row is multiplied by, by its class
    """

    discretizer: Discretizer
    categorical_features: ArrayLike | str | None
    gap_states: bool
    fine: bool
    unlabelled: bool = False
    values: bool = False
    class_weight: Weighting | None = None


@dataclass(frozen=True)
class StreamedTable:
    """What was read.

    class_rows  (n_classes,) how many rows each class has, or their weights
    rows        those with a class that were not counted as they were read; columns in the order of their names
    unlabelled  those without a class, if asked for and there are any
    values      those with a class, if asked for and they are few and have numbers to cut
    final       of every column of the rows, and of the class: what the codes given to the counter stand for
    """

    schema: TableSchema
    classes: NDArray[np.generic]
    class_rows: NDArray[Any]
    rows: DiskRows
    unlabelled: DiskRows | None
    values: ValueRows | None
    final: tuple[FinalCodes, ...]


class StreamReader:
    """Encodes batch after batch provisionally, then finds what the codes stand for. To be closed after use."""

    def __init__(self, roles: Roles, options: ReadOptions, counter: RowCounter | None = None) -> None:
        """The `counter` gets the rows of few values, and they are not kept."""
        self._roles = roles
        self._options = options
        self._counter = counter
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
                self._labelled = ProvisionalRows(names, features, self._counter, stream.n_rows or 0)
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
        missing = gaps(table.column(self._roles.target))
        if missing.any():
            self._n_unlabelled += int(missing.sum())
            if missing.all():
                self._encode_labels(table)  # for their type
            if self._unlabelled is not None:
                apart = table.take(missing)
                own_weights = None if weights is None else weights[missing]
                self._unlabelled.add(apart, _of_one_class(apart, own_weights), None)
            table, weights = table.take(~missing), None if weights is None else weights[~missing]
        if table.n_rows:
            class_codes, weighting = self._encode_labels(table), self._options.class_weight
            if weighting is not None:
                weights = times_factors(weights, class_factors(weighting, self._classes.values), class_codes)
            rows = BatchRows(class_codes, self._classes.n_values, weights)
            self._count_classes(rows)
            labelled.add(table, rows, class_codes)

    def _encode_labels(self, table: RawTable) -> Codes:
        out = np.empty(table.n_rows, dtype=np.uint8)
        return self._classes.encode(table.column(self._roles.target), True, _of_one_class(table), out)

    def _count_classes(self, rows: BatchRows) -> None:
        if rows.n_classes > len(self._class_rows):
            self._check_labels()
        counted: NDArray[Any] = np.bincount(rows.class_codes, rows.weights, minlength=rows.n_classes)
        counted[: len(self._class_rows)] += self._class_rows
        self._class_rows = counted

    def _finish(self, labelled: ProvisionalRows) -> StreamedTable:
        labels = self._classes.values
        if self._n_unlabelled and labels.dtype.kind == "O":
            labels = np.array(labels.tolist())  # as `read_rows` has them
        if self._roles.weight is not None and labelled.n_rows + self._n_unlabelled == 0:
            raise DataError("every row has weight zero, so there is nothing to learn from.")
        check_total(float(self._class_rows.sum()))
        check_two_classes(labels, labelled.n_rows, self._roles.target)
        classes, class_order = encode_labels(labels)
        target = ColumnSchema(self._roles.target, "categorical", tuple(classes.tolist()))
        schema = TableSchema(self._learn_columns(labelled, class_order), target)
        in_order = schema.select(schema.learning_order)
        final_class = np.append(class_order, len(classes)).astype(code_dtype(len(classes)))
        of_class = FinalCodes(target, final_class, True)
        final = labelled.final_codes(in_order)
        unlabelled = None
        if self._unlabelled is not None and self._n_unlabelled:
            codes = self._unlabelled.final_codes(in_order)
            unlabelled = self._unlabelled.rows(codes, of_class, labelled=False)
        rows = labelled.rows(final, of_class, labelled=True)
        class_rows = self._class_rows[np.argsort(class_order)]
        values = None
        if self._options.values and is_worth_cutting_again(schema.attributes, labelled.n_rows, class_rows.sum()):
            values = self._value_rows(labelled, in_order, of_class)
        return StreamedTable(schema, classes, class_rows, rows, unlabelled, values, (*final, of_class))

    def _value_rows(self, labelled: ProvisionalRows, schema: TableSchema, of_class: FinalCodes) -> ValueRows:
        pairs = zip(schema.attributes, labelled.coders.values(), strict=True)
        uncut = TableSchema(tuple(cut_at_every_value(column, coder.values) for column, coder in pairs), schema.target)
        rows = gather(labelled.rows(labelled.final_codes(uncut), of_class, labelled=True))
        return ValueRows(rows, uncut.attributes, self._options.discretizer)

    def _learn_columns(self, labelled: ProvisionalRows, class_order: Codes) -> tuple[ColumnSchema, ...]:
        options, coders = self._options, labelled.coders

        def learn(name: str) -> ColumnSchema:
            return coders[name].learn(name, class_order, options.discretizer, options.gap_states, options.fine)

        attributes = tuple(map_threads(learn, labelled.names))
        empty = [name for name in labelled.names if len(coders[name].values) == 0]
        warn_of_useless_columns(empty, attributes, labelled.n_rows)
        return attributes

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
