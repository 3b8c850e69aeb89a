"""Codes of one partition, on a worker: from the frame, or from the codes of its first look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.dask.look import CodedRows, Look
from tanager.dask.reader import Reader
from tanager.errors import DataError
from tanager.table.batch import Codes, EncodedBatch, code_dtype
from tanager.table.encoder import TableEncoder, encode_column
from tanager.table.read_columns import Column
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.final_codes import Meaning
from tanager.table.training_table import encode_labels
from tanager.threads import thread_limit


def encode_part(
    frame: Any, labels: Any, reader: Reader, number: int, schema: TableSchema, classes: NDArray[np.generic]
) -> EncodedBatch:
    """The rows of a partition that have a class."""
    rows, _ = reader.read(frame, labels, number, classes)
    if rows is None:
        return EncodedBatch.empty(schema.n_states)
    with _unchanged(number), thread_limit(1):  # the worker has its own
        codes = TableEncoder(schema, unseen_is_error=True).encode(rows.table)
    incomplete = [bool((codes[:, j] == column.n_states).any()) for j, column in enumerate(schema.attributes)]
    return EncodedBatch(codes, rows.class_codes, schema.n_states, np.array(incomplete), rows.weights)


def encode_look(look: Look, number: int, schema: TableSchema, classes: NDArray[np.generic]) -> EncodedBatch:
    """The rows of a partition that was coded when it was looked at."""
    if look.rows is None:
        return EncodedBatch.empty(schema.n_states)
    dtype = code_dtype(max(schema.n_states))
    gaps = np.array([column.gaps.any() for column in look.statistics.columns])
    with _unchanged(number):
        _, places = encode_labels(look.statistics.classes, classes)
        columns = zip(look.rows.values, schema.attributes, gaps.tolist(), strict=True)
        meanings = [_meaning(values, column, dtype, not gap) for values, column, gap in columns]
    incomplete = gaps & ~np.array([column.gap_state for column in schema.attributes])
    codes, class_codes = _write_codes(look.rows, meanings, dtype), look.rows.class_codes
    if not np.array_equal(places, np.arange(len(places))):  # another partition has a class more
        class_codes = places[class_codes]
    return EncodedBatch(codes, class_codes, schema.n_states, incomplete, look.rows.weights)


def _meaning(values: Column, schema: ColumnSchema, dtype: np.dtype[np.unsignedinteger], complete: bool) -> Meaning:
    codes = encode_column(values, schema)
    if (codes > schema.missing_code).any():
        raise DataError(f"column {schema.name!r} holds another category.")
    return Meaning(schema, np.append(codes, schema.gap_code).astype(dtype), complete)


def _write_codes(rows: CodedRows, meanings: list[Meaning], dtype: np.dtype[np.unsignedinteger]) -> Codes:
    """The rows' own codes where they mean themselves, as mostly with integers."""
    if not rows.wide and dtype == rows.codes.dtype and all(meaning.is_own_code for meaning in meanings):
        return rows.codes
    codes: Codes = np.empty(rows.codes.shape, dtype=dtype, order="F")
    for position, meaning in enumerate(meanings):
        meaning.write(rows.wide.get(position, rows.codes[:, position]), codes[:, position])
    return codes


@contextmanager
def _unchanged(number: int) -> Iterator[None]:
    """A category or class unseen at the first look means that the partition has changed."""
    try:
        yield
    except DataError as error:
        what = str(error).partition("\nHint")[0]  # ours is another
        raise DataError(
            f"partition {number} is not what it was when its columns were looked at: {what}",
            hint="persist the data frame before fit if it cannot be computed twice alike.",
        ) from error
