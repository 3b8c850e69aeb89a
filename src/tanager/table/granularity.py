"""Rows at two granularities: every attribute at its coarse one, then the fine codes of those that have two.

So the coarse table is the first columns of this one, and no code is held twice. A coarse code follows from the fine
one of its attribute: the fine columns alone tell rows apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes, EncodedBatch
from tanager.table.schema import ColumnSchema

Places = NDArray[np.intp]


def fine_places(columns: Sequence[ColumnSchema]) -> Places:
    """(n_attributes,) the column that holds each attribute at its fine granularity."""
    grouped = np.array([bool(column.groups) for column in columns], dtype=bool)
    return np.where(grouped, len(columns) + np.cumsum(grouped) - 1, np.arange(len(columns)))


def states_of_both(columns: Sequence[ColumnSchema], n_classes: int) -> tuple[int, ...]:
    """States of each column of rows at both granularities, then of the class."""
    fine = (column.n_states for column in columns if column.groups)
    return (*(column.coarse.n_states for column in columns), *fine, n_classes)


def write_coarse(codes: Codes, columns: Sequence[ColumnSchema]) -> None:
    """Fill in the coarse columns from the fine ones."""
    for attribute, place in enumerate(fine_places(columns).tolist()):
        if place != attribute:
            np.take(columns[attribute].coarse_codes.astype(codes.dtype), codes[:, place], out=codes[:, attribute])


def coarse_rows(batch: EncodedBatch, n_attributes: int) -> EncodedBatch:
    """The rows with every attribute at its coarse granularity: a view."""
    n_states = (*batch.n_states[:n_attributes], batch.n_classes)
    return replace(
        batch, codes=batch.codes[:, :n_attributes], n_states=n_states, incomplete=batch.incomplete[:n_attributes]
    )


def gaps_as_states(batch: EncodedBatch) -> EncodedBatch:
    """The same codes with a missing cell as one more state of every attribute: a view."""
    n_states = (*(n + 1 for n in batch.n_states[:-1]), batch.n_classes)
    return replace(batch, n_states=n_states, incomplete=np.zeros(batch.n_attributes, dtype=bool))
