"""Codes of one partition, on a worker: from the frame, or from the codes of its summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.dask.partition_summary import CodedRows, PartitionSummary
from tanager.dask.reader import Reader, naming
from tanager.dask.rows import join_blocks
from tanager.errors import DataError
from tanager.table.batch import Codes, EncodedBatch, code_dtype
from tanager.table.encode_rows import encode_rows, without_class
from tanager.table.encoder import encode_column
from tanager.table.granularity import states_of_both
from tanager.table.read_columns import Column
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.final_codes import FinalCodes
from tanager.table.training_table import encode_labels


@dataclass(frozen=True)
class PartitionEncoder:
    """How partitions become codes.

    schema   attributes in the order of the rows
    order    the column of the table that each of them is
    classes  the labels, ascending
    """

    schema: TableSchema
    order: tuple[int, ...]
    classes: NDArray[np.generic]

    @property
    def _empty(self) -> EncodedBatch:
        return EncodedBatch.empty(states_of_both(self.schema.attributes, len(self.classes)))

    def encode_frame(self, frame: Any, labels: Any, number: int, reader: Reader, keep_unlabelled: bool) -> EncodedBatch:
        """The rows with a class, then those without if they are to be kept, whose class code says missing."""
        table, unlabelled = reader.read(frame, labels, number, self.classes)
        blocks = []
        if table is not None:
            with _unchanged(number):
                columns = table.table.select(self.order)
                blocks.append(encode_rows(columns, self.schema, table.class_codes, table.weights, unseen_is_error=True))
        if keep_unlabelled and unlabelled is not None:
            with naming(number):
                columns = unlabelled.table.select(self.order)
                no_class = without_class(self.schema, columns.n_rows)
                blocks.append(encode_rows(columns, self.schema, no_class, unlabelled.weights))
        return join_blocks(blocks) if blocks else self._empty

    def encode_summary(self, summary: PartitionSummary, number: int) -> EncodedBatch:
        """The rows of a partition that were coded in its summary."""
        rows, schema = summary.rows, self.schema
        if rows is None:
            return self._empty
        dtype = code_dtype(max(schema.n_states))
        gaps = [bool(summary.statistics.columns[position].gaps.any()) for position in self.order]
        with _unchanged(number):
            _, places = encode_labels(summary.statistics.classes, self.classes)
            final = [
                _final_codes(rows.values[position], column, dtype, not gap)
                for position, column, gap in zip(self.order, schema.attributes, gaps, strict=True)
            ]
        incomplete = np.array(gaps) & ~np.array([column.gap_state for column in schema.attributes])
        codes, class_codes = _write_codes(rows, self.order, final, dtype), rows.class_codes
        if not np.array_equal(places, np.arange(len(places))):  # another partition has a class more
            class_codes = places[class_codes]
        return EncodedBatch(codes, class_codes, schema.n_states, incomplete, rows.weights)


def _final_codes(
    values: Column, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger], complete: bool
) -> FinalCodes:
    codes = encode_column(values, schema)
    if (codes > schema.missing_code).any():
        raise DataError(f"column {schema.name!r} holds another category.")
    return FinalCodes(schema, np.append(codes, schema.gap_code).astype(dtype), complete)


def _write_codes(
    rows: CodedRows, order: Sequence[int], final: Sequence[FinalCodes], dtype: np.dtype[np.unsignedinteger]
) -> Codes:
    """The final codes, in the order given: the rows' own where these are the same, as mostly of integers."""
    unchanged = dtype == rows.codes.dtype and not rows.wide and all(own.is_unchanged for own in final)
    if unchanged and list(order) == list(range(len(order))):
        return rows.codes
    codes: Codes = np.empty(rows.codes.shape, dtype=dtype, order="F")
    for place, (position, own) in enumerate(zip(order, final, strict=True)):
        own.write(rows.wide.get(position, rows.codes[:, position]), codes[:, place])
    return codes


@contextmanager
def _unchanged(number: int) -> Iterator[None]:
    """A category or class unseen in the summaries means that the partition has changed."""
    try:
        yield
    except DataError as error:
        what = str(error).partition("\nHint")[0]  # ours is another
        raise DataError(
            f"partition {number} is not what it was when its columns were looked at: {what}",
            hint="persist the data frame before fit if it cannot be computed twice alike.",
        ) from error
