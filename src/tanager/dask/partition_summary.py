"""PartitionSummary: what a partition holds, taken on a worker when it is first computed."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import ArrayLike, NDArray

from tanager.dask.reader import Reader
from tanager.dask.statistics import PartitionStatistics
from tanager.table.batch import EncodedBatch
from tanager.table.categories import as_number, learn_categories
from tanager.table.column_statistics import ColumnStatistics, count_gaps, without_rows
from tanager.table.columns import Column, NumericColumn
from tanager.table.encoder import choose_categorical, encode_rows
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.training_table import TrainingTable
from tanager.table.value_counts import ValueCounts


@dataclass(frozen=True)
class PartitionSummary:
    """Statistics of one partition, and its coded rows if every column is categorical.

    `schema` has the categories of this partition alone: the final codes are known when all partitions are.
    """

    statistics: PartitionStatistics
    schema: TableSchema | None = None
    rows: EncodedBatch | None = None


@sizeof.register(PartitionSummary)
def _n_bytes(summary: PartitionSummary) -> int:
    return int(sizeof(summary.rows))


def summarize_partition(
    frame: Any,
    labels: Any,
    number: int,
    reader: Reader,
    categorical_features: ArrayLike | str | None,
    keep_unlabelled: bool,
) -> PartitionSummary:
    """Summary of a partition, which has to be read again for numbers to cut, and for rows without a class to keep."""
    table, unlabelled = reader.read(frame, labels, number)
    n_unlabelled = 0 if unlabelled is None else unlabelled.table.n_rows
    complete = not (keep_unlabelled and n_unlabelled)
    if table is None:
        return PartitionSummary(PartitionStatistics.empty(n_unlabelled, complete))
    by_row = table.class_codes, table.weights, len(table.classes)
    categorical = choose_categorical(table.table, categorical_features)
    schema = rows = None
    if complete and categorical.all():
        schema = _learn_categories(table)
        rows = encode_rows(table.table, range(len(categorical)), schema, table.class_codes, table.weights)
        pairs = zip(table.table.columns, schema.attributes, strict=True)
        columns = tuple(_category_statistics(column, held, count_gaps(column, *by_row)) for column, held in pairs)
    else:
        chosen = zip(table.table.columns, categorical.tolist(), strict=True)
        columns = tuple(ColumnStatistics.of(column, is_category, *by_row) for column, is_category in chosen)
    seen_in = tuple(number if len(column.counts.values) else -1 for column in columns)
    n_rows, coded = table.table.n_rows, rows is not None
    statistics = PartitionStatistics(table.classes, n_rows, columns, seen_in, n_unlabelled, coded)
    return PartitionSummary(statistics, schema, rows)


def packed_statistics(summary: PartitionSummary) -> bytes:
    """What is merged; the rows stay. Packed, for Dask would send each of its hundreds of small arrays by itself."""
    return pickle.dumps(summary.statistics, pickle.HIGHEST_PROTOCOL)


def _learn_categories(table: TrainingTable) -> TableSchema:
    columns = table.table.columns
    attributes = (ColumnSchema(column.name, "categorical", learn_categories(column)) for column in columns)
    return TableSchema(tuple(attributes), table.target)


def _category_statistics(column: Column, schema: ColumnSchema, n_gaps: NDArray[np.float64]) -> ColumnStatistics:
    """Of categories only which there are matters, not how often."""
    if isinstance(column, NumericColumn):
        distinct = [as_number(category) for category in schema.categories]
    else:
        position = {category: index for index, category in enumerate(column.dictionary)}
        distinct = [position[category] for category in schema.categories]
    counts = ValueCounts.of_distinct(np.sort(np.array(distinct, dtype=np.float64)))
    return ColumnStatistics(without_rows(column), counts, n_gaps, categorical=True)
