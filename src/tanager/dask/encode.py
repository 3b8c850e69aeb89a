"""Codes of one partition, on a worker: from the frame, or from the coded rows of its summary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.dask.partition_summary import PartitionSummary
from tanager.dask.reader import Reader, naming
from tanager.errors import DataError
from tanager.table.batch import EncodedBatch, join_blocks
from tanager.table.categories import code_dtype, look_up
from tanager.table.encoder import encode_rows, without_class
from tanager.table.granularity import states_of_both
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.training_table import encode_labels


@dataclass(frozen=True)
class PartitionEncoder:
    """How partitions become codes.

    schema   the attributes in the order of the rows
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
                rows = table.class_codes, table.weights
                blocks.append(encode_rows(table.table, self.order, self.schema, *rows, unseen_is_error=True))
        if keep_unlabelled and unlabelled is not None:
            with naming(number):
                no_class = without_class(self.schema, unlabelled.table.n_rows)
                blocks.append(encode_rows(unlabelled.table, self.order, self.schema, no_class, unlabelled.weights))
        return join_blocks(blocks, self._empty.n_states)

    def encode_summary(self, summary: PartitionSummary, number: int) -> EncodedBatch:
        """The rows of a partition that were coded in its summary."""
        rows, order, attributes = summary.rows, list(self.order), self.schema.attributes
        if rows is None or summary.schema is None:
            return self._empty
        gaps = rows.incomplete[order]
        with _unchanged(number):
            _, class_codes = encode_labels(summary.statistics.classes, self.classes)
            here = summary.schema.select(order).attributes
            final = [_final_codes(*column) for column in zip(here, attributes, gaps.tolist(), strict=True)]
        codes, dtype = rows.codes, code_dtype(max(self.schema.n_states))
        if codes.dtype != dtype or not _counts_up(np.array(order)) or not all(map(_counts_up, final)):
            codes = np.empty(codes.shape, dtype=dtype, order="F")
            for place, position in enumerate(order):
                look_up(final[place].astype(dtype), rows.codes[:, position], 0, codes[:, place])
        if not _counts_up(class_codes):  # another partition has a class more
            rows = replace(rows, class_codes=class_codes[rows.class_codes])
        incomplete = gaps & ~np.array([column.gap_state for column in attributes])
        return replace(rows, codes=codes, n_states=self.schema.n_states, incomplete=incomplete)


def _final_codes(here: ColumnSchema, final: ColumnSchema, gaps: bool) -> NDArray[np.intp]:
    """(states here + 1,) the final code of each code of this partition; the last says missing if there are gaps."""
    code_of = {category: code for code, category in enumerate(final.categories)}
    another = [category for category in here.categories if category not in code_of]
    if another:
        raise DataError(f"column {final.name!r} holds another category, {another[0]!r}.")
    codes = np.full(here.n_states + 1, final.gap_code if gaps else here.n_states)
    codes[: len(here.categories)] = [code_of[category] for category in here.categories]
    return codes


def _counts_up(numbers: NDArray[np.integer]) -> bool:
    """Whether they are 0, 1, 2, ...: then nothing has to be looked up, as mostly."""
    return np.array_equal(numbers, np.arange(len(numbers)))


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
