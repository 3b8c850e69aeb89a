"""Codes of one partition, on a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.dask.statistics import Reader
from tanager.errors import DataError
from tanager.table.batch import Codes, EncodedBatch, code_dtype
from tanager.table.encoder import encode_column
from tanager.table.read_columns import Column, NumericColumn, RawTable
from tanager.table.schema import ColumnSchema, TableSchema

# Workers are told to give memory back at once, so a temporary array of more than 128 KiB costs page faults.
BLOCK_ROWS = 1 << 13
# Integers that span less are looked up.
NARROW_SPAN = 1 << 12


def encode_part(
    frame: Any, labels: Any, reader: Reader, number: int, schema: TableSchema, classes: NDArray[np.generic]
) -> EncodedBatch:
    """The rows of a partition that have a class. A category unseen in the first pass means that it has changed."""
    rows, _ = reader.read(frame, labels, number, classes)
    if rows is None:
        return EncodedBatch.empty(schema.n_states)
    try:
        codes = _encode_table(rows.table, schema)
    except DataError as error:
        what = str(error).partition("\nHint")[0]  # ours is another
        raise DataError(
            f"partition {number} is not what it was when its columns were looked at: {what}",
            hint="persist the data frame before fit if it cannot be computed twice alike.",
        ) from error
    incomplete = [bool((codes[:, j] == column.n_states).any()) for j, column in enumerate(schema.attributes)]
    return EncodedBatch(codes, rows.class_codes, schema.n_states, np.array(incomplete))


def _encode_table(table: RawTable, schema: TableSchema) -> Codes:
    dtype = code_dtype(max(schema.n_states))
    codes = np.empty((table.n_rows, len(schema.attributes)), dtype=dtype, order="F")
    blocks = [slice(first, first + BLOCK_ROWS) for first in range(0, table.n_rows, BLOCK_ROWS)]
    for position, (column, own) in enumerate(zip(table.columns, schema.attributes, strict=True)):
        lowest, lookup = _lookup(column, own)
        for rows in blocks:
            out = codes[rows, position]
            if lookup is None:
                out[:] = _check_seen(encode_column(_cells(column, rows), own), own)
            else:
                cells = column.values if isinstance(column, NumericColumn) else column.indices
                np.take(lookup, cells[rows].astype(np.intp) - lowest, out=out, mode="wrap")  # -1 is the last
    return codes


def _lookup(column: Column, schema: ColumnSchema) -> tuple[int, Codes | None]:
    """The lowest cell, and the code of every cell from there on; no codes where cells are many or one is unseen."""
    dtype = code_dtype(schema.n_states)
    if isinstance(column, NumericColumn):
        if column.values.dtype.kind not in "iu":
            return 0, None
        lowest, highest = int(column.values.min()), int(column.values.max())
        if highest - lowest >= NARROW_SPAN:
            return 0, None
        every: Column = replace(column, values=np.arange(lowest, highest + 1))
    else:
        lowest = 0
        every = replace(column, indices=np.append(np.arange(len(column.dictionary)), -1).astype(np.int32))
    found = encode_column(every, schema)
    return lowest, None if (found > schema.missing_code).any() else found.astype(dtype)


def _cells(column: Column, rows: slice) -> Column:
    if isinstance(column, NumericColumn):
        return replace(column, values=column.values[rows])
    return replace(column, indices=column.indices[rows])


def _check_seen(found: NDArray[np.integer], schema: ColumnSchema) -> NDArray[np.integer]:
    if (found > schema.missing_code).any():
        raise DataError(f"column {schema.name!r} holds a value that it did not hold.")
    return found
