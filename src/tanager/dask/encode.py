"""Codes of one partition, on a worker."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.dask.statistics import Reader
from tanager.errors import DataError
from tanager.table.batch import EncodedBatch
from tanager.table.encoder import TableEncoder
from tanager.table.schema import TableSchema
from tanager.threads import thread_limit


def encode_part(
    frame: Any, labels: Any, reader: Reader, number: int, schema: TableSchema, classes: NDArray[np.generic]
) -> EncodedBatch:
    """The rows of a partition that have a class. A category unseen in the first pass means that it has changed."""
    rows, _ = reader.read(frame, labels, number, classes)
    if rows is None:
        return EncodedBatch.empty(schema.n_states)
    try:
        with thread_limit(1):  # the worker has its own
            codes = TableEncoder(schema, unseen_is_error=True).encode(rows.table)
    except DataError as error:
        what = str(error).partition("\nHint")[0]  # ours is another
        raise DataError(
            f"partition {number} is not what it was when its columns were looked at: {what}",
            hint="persist the data frame before fit if it cannot be computed twice alike.",
        ) from error
    incomplete = [bool((codes[:, j] == column.n_states).any()) for j, column in enumerate(schema.attributes)]
    return EncodedBatch(codes, rows.class_codes, schema.n_states, np.array(incomplete), rows.weights)
