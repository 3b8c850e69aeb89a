"""Rows as trees see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes, EncodedBatch
from tanager.table.granularity import fine_places
from tanager.table.schema import ColumnSchema
from tanager.trees.boost import Boosting, TreeOptions

# Fewer rows cannot show that trees gain, and need not wait for the compiler.
MIN_ROWS = 500


def fine_codes(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    return rows.codes[:, fine_places(columns)]


def n_codes(columns: Sequence[ColumnSchema]) -> NDArray[np.int64]:
    """Codes of each attribute, that of a missing cell too."""
    return np.array([column.n_states + 1 for column in columns])


def begin_trees(rows: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions) -> Boosting:
    """Trees on these rows, before the first round."""
    weights = rows.row_weights
    classes = np.bincount(rows.class_codes, weights, minlength=rows.n_classes)
    start = np.log(np.maximum(classes, 0.5) / classes.sum())  # a class without rows counts as half a row
    ordered = np.array([column.n_states - column.gap_state if column.has_order else 0 for column in columns])
    return Boosting(fine_codes(rows, columns), rows.class_codes, weights, start, n_codes(columns), ordered, options)
