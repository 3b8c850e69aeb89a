"""Rows as trees see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes, EncodedBatch
from tanager.table.granularity import fine_places
from tanager.table.schema import ColumnSchema

# Fewer rows cannot show that trees gain, and need not wait for the compiler.
MIN_ROWS = 500


def fine_codes(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    return rows.codes[:, fine_places(columns)]


def n_codes(columns: Sequence[ColumnSchema]) -> NDArray[np.int64]:
    """Codes of each attribute, that of a missing cell too."""
    return np.array([column.n_states + 1 for column in columns])
