"""Training rows -> codes, at the granularities their schema has; they are written once, where they stay."""

from __future__ import annotations

import numpy as np

from tanager.table.batch import Codes, EncodedBatch, Weights, code_dtype
from tanager.table.encoder import TableEncoder
from tanager.table.granularity import fine_places, states_of_both, write_coarse
from tanager.table.read_columns import RawTable
from tanager.table.schema import TableSchema


def encode_rows(
    table: RawTable, schema: TableSchema, class_codes: Codes, weights: Weights | None, unseen_is_error: bool = False
) -> EncodedBatch:
    """The rows of a table whose columns are those of the schema, in its order.

    Where a column has two granularities, the rows are at both (`table.granularity`).
    """
    columns = schema.attributes
    n_states = states_of_both(columns, schema.target.n_states)
    codes = np.empty((table.n_rows, len(n_states) - 1), order="F", dtype=code_dtype(max(n_states)))
    TableEncoder(schema, unseen_is_error).encode_into(codes, table, fine_places(columns).tolist())
    write_coarse(codes, columns)
    # The code of a missing cell is the largest: no array of comparisons has to be made.
    incomplete = np.array([codes[:, j].max(initial=0) == n_states[j] for j in range(codes.shape[1])])
    return EncodedBatch(codes, class_codes, n_states, incomplete, weights)


def without_class(schema: TableSchema, n_rows: int) -> Codes:
    """The class codes of rows whose class is missing."""
    n_classes = schema.target.n_states
    return np.full(n_rows, n_classes, dtype=code_dtype(n_classes))
