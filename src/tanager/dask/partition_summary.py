"""PartitionSummary: what a partition holds, taken on a worker when it is first computed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import ArrayLike, NDArray

from tanager.counts.family import CountTable
from tanager.dask.reader import Reader
from tanager.dask.statistics import PartitionStatistics
from tanager.table.batch import Codes, Weights
from tanager.table.column_statistics import ColumnStatistics, count_gaps, without_rows
from tanager.table.encoder import choose_categorical
from tanager.table.look_up import count_codes, occurring
from tanager.table.read_columns import Column, DictionaryColumn, NumericColumn
from tanager.table.stream.coder import TextCoder
from tanager.table.stream.numbers import NumberVocabulary
from tanager.table.training_table import TrainingTable
from tanager.table.value_counts import ValueCounts


@dataclass(frozen=True)
class CodedRows:
    """Rows of categories, coded by the order in which this partition has them.

    codes        (n_rows, n_attributes) bytes, column-major; 255 for a missing cell
    wide         codes of the attributes that have more values than bytes, the largest number for a missing cell
    values       of each attribute the cells that the codes 0, 1, ... stand for
    class_codes  (n_rows,) by the classes of this partition
    """

    codes: Codes
    values: tuple[Column, ...]
    class_codes: Codes
    weights: Weights | None
    wide: dict[int, Codes] = field(default_factory=dict)


@dataclass(frozen=True)
class PartitionSummary:
    """Statistics of one partition, and its coded rows if every column is categorical."""

    statistics: PartitionStatistics
    rows: CodedRows | None = None


@sizeof.register(CodedRows)
def _n_bytes(rows: CodedRows) -> int:
    arrays = (rows.codes, rows.class_codes, rows.weights, *rows.wide.values())
    return sum(array.nbytes for array in arrays if array is not None)


@sizeof.register(PartitionSummary)
def _n_bytes_of_summary(summary: PartitionSummary) -> int:
    return 0 if summary.rows is None else _n_bytes(summary.rows)


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
    read_again = keep_unlabelled and n_unlabelled > 0
    if table is None:
        return PartitionSummary(PartitionStatistics.empty(n_unlabelled, coded=not read_again))
    categorical = choose_categorical(table.table, categorical_features)
    rows = _code_rows(table) if categorical.all() and not read_again else None
    columns = _column_statistics(table, categorical.tolist(), rows)
    seen_in = tuple(number if len(column.counts.values) else -1 for column in columns)
    class_rows: CountTable = (
        count_codes(table.class_codes, len(table.classes))
        if table.weights is None
        else np.bincount(table.class_codes, table.weights)
    )
    n_rows, coded = table.table.n_rows, rows is not None
    statistics = PartitionStatistics(table.classes, class_rows, n_rows, columns, seen_in, n_unlabelled, coded)
    return PartitionSummary(statistics, rows)


def packed_statistics(summary: PartitionSummary) -> bytes:
    """What is merged; the rows stay. Packed, for Dask would send each of its hundreds of small arrays by itself."""
    return pickle.dumps(summary.statistics, pickle.HIGHEST_PROTOCOL)


def _code_rows(table: TrainingTable) -> CodedRows:
    columns = table.table.columns
    codes: Codes = np.empty((table.table.n_rows, len(columns)), dtype=np.uint8, order="F")
    values, wide = [], {}
    for position, column in enumerate(columns):
        column_codes, distinct = _code(column, codes[:, position])
        values.append(distinct)
        if column_codes.dtype != codes.dtype:
            wide[position] = column_codes
    return CodedRows(codes, tuple(values), table.class_codes, table.weights, wide)


def _code(column: Column, out: Codes) -> tuple[Codes, Column]:
    """Codes of the cells, in `out` if they fit there, and the cells they stand for."""
    if isinstance(column, NumericColumn):
        numbers = NumberVocabulary()
        codes = numbers.codes(column.values, out)
        return codes, replace(column, values=numbers.values.astype(column.values.dtype))
    text = TextCoder()
    codes = text.encode(column, out)
    categories = tuple(text.dictionary)
    return codes, replace(column, indices=np.arange(len(categories), dtype=np.int32), dictionary=categories)


def _category_statistics(column: Column, values: Column, n_gaps: NDArray[np.float64]) -> ColumnStatistics:
    """Of categories only what there are matters, not how often."""
    if isinstance(column, DictionaryColumn):
        distinct = np.flatnonzero(occurring(column.indices, 0, len(column.dictionary))).astype(np.float64)
    else:
        assert isinstance(values, NumericColumn)
        distinct = np.sort(values.values.astype(np.float64))
    return ColumnStatistics(without_rows(column), ValueCounts.of_distinct(distinct), n_gaps, categorical=True)


def _column_statistics(
    table: TrainingTable, categorical: Sequence[bool], rows: CodedRows | None
) -> tuple[ColumnStatistics, ...]:
    columns, by_row = table.table.columns, (table.class_codes, table.weights, len(table.classes))
    if rows is None:
        pairs = zip(columns, categorical, strict=True)
        return tuple(ColumnStatistics.of(column, chosen, *by_row) for column, chosen in pairs)
    coded = zip(columns, rows.values, strict=True)
    return tuple(_category_statistics(column, values, count_gaps(column, *by_row)) for column, values in coded)
