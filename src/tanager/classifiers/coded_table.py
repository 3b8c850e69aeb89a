"""CodedTable: a training table as codes, ready to be learnt from, wherever its rows are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import CountTable
from tanager.counts.running_counts import CountedRows, RunningCounts
from tanager.table.batch import EncodedBatch
from tanager.table.encoder import encode_rows, without_class
from tanager.table.rows import Rows
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.reader import StreamedTable
from tanager.table.training_table import TrainingTable


@dataclass(frozen=True)
class CodedTable:
    """Rows and what their columns hold.

    schema      of the table, its attributes in their order there
    order       the column of the table that each attribute of the rows is
    classes     the labels, ascending
    rows        those with a class, at both granularities where columns have two (`table.granularity`)
    unlabelled  those without a class, where the learner asks for them and there are any
    known       counts that need no pass: ascending nodes to flat tables (`CountStore`)
    counted     rows that were counted as they were read, and are not among `rows`
    """

    schema: TableSchema
    order: tuple[int, ...]
    classes: NDArray[np.generic]
    rows: Rows
    unlabelled: Rows | None = None
    known: Mapping[tuple[int, ...], CountTable] = field(default_factory=dict)
    counted: CountedRows | None = None

    @property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """What each node of the rows holds, the class last."""
        return (*(self.schema.attributes[position] for position in self.order), self.schema.target)

    @property
    def table_order(self) -> tuple[int, ...]:
        """The node of the rows that each column of the table is, then the class."""
        return (*np.argsort(np.array(self.order, dtype=np.intp)).tolist(), len(self.order))

    def counts(self, engine: CountEngine) -> CountStore:
        """The counts of the rows, at their coarse granularity."""
        rows, n_attributes = self.rows, len(self.order)
        if rows.n_attributes > n_attributes:
            rows = rows.map(partial(EncodedBatch.first_attributes, number=n_attributes), "coarse")
        names = [column.name for column in self.columns]
        return CountStore(rows, engine, names, known=self.known, counted=self.counted)


def code_table(
    training: TrainingTable, schema: TableSchema, order: tuple[int, ...], unlabelled: bool = False
) -> CodedTable:
    """A table in memory; `unlabelled` keeps the rows without a class too.

    A category that no labelled row has is missing in these.
    """
    in_order, apart = schema.select(order), None
    rows = encode_rows(training.table.select(order), in_order, training.class_codes, training.weights)
    if unlabelled and training.unlabelled is not None:
        table = training.unlabelled.table.select(order)
        apart = encode_rows(table, in_order, without_class(schema, table.n_rows), training.unlabelled.weights)
    return CodedTable(schema, order, training.classes, rows, apart)


def code_stream(table: StreamedTable, running: RunningCounts | None) -> CodedTable:
    """A table that came batch by batch; `running` are the counts of the rows that were not kept."""
    n_states, counted = table.schema.n_states, None
    if running is not None:
        counted = running.counted([column.codes for column in table.final], n_states)
    known: dict[tuple[int, ...], CountTable] = {(len(table.order),): table.class_rows}
    return CodedTable(
        table.schema, table.order, table.classes, table.rows, table.unlabelled, known=known, counted=counted
    )
