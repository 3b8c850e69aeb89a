"""ValueRows: few rows with a code for every value of a number, so that cut points can be learnt from part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.table.batch import EncodedBatch
from tanager.table.categories import code_dtype
from tanager.table.discretizer import Discretizer
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import count_values

# Cut points of more rows have hardly seen those of a fold: 11,000 rows of 200 columns of noise lose 0.0001 by them.
MAX_ROWS_TO_CUT_AGAIN = 10_000


def cut_at_every_value(column: ColumnSchema, values: NDArray[np.generic]) -> ColumnSchema:
    """The column, if it holds numbers, with a cut at each of these: code k > 0 is the k-th of them, and 0 is none."""
    if column.kind == "categorical":
        return column
    distinct = np.unique(values.astype(np.float64))
    return replace(column, cuts=tuple(distinct[~np.isnan(distinct)].tolist()), groups=())


def is_worth_cutting_again(columns: Sequence[ColumnSchema], n_rows: int, weight: float) -> bool:
    """Whether there are numbers to cut, in few enough rows; a row of weight w is w rows."""
    return max(n_rows, weight) <= MAX_ROWS_TO_CUT_AGAIN and any(column.kind == "numeric" for column in columns)


@dataclass(frozen=True)
class ValueRows:
    """Rows whose numeric columns are cut at every value.

    columns      what each attribute holds
    discretizer  what the rows would be cut by
    """

    rows: EncodedBatch
    columns: tuple[ColumnSchema, ...]
    discretizer: Discretizer

    def cut(self, kept: EncodedBatch, others: EncodedBatch) -> tuple[EncodedBatch, EncodedBatch]:
        """Some of these rows, and others of them, with cut points learnt from the first alone."""
        new = [self._cut_column(node, kept) for node in range(len(self.columns))]
        n_states = tuple(n for n, _ in new)
        codes = [own for _, own in new]
        return _recode(kept, n_states, codes), _recode(others, n_states, codes)

    def _cut_column(self, node: int, kept: EncodedBatch) -> tuple[int, NDArray[np.integer]]:
        """The states of a column, and the new code of each old one, the missing one included."""
        column = self.columns[node]
        if column.kind == "categorical":
            return column.n_states, np.arange(column.n_states + 1)
        values = np.array([-np.inf, *column.cuts])
        codes = kept.column(node)
        held = codes < len(values)
        weights = kept.row_weights[held]
        counts = count_values(values[codes[held]], kept.class_codes[held], weights, n_classes=kept.n_classes)
        cuts = self.discretizer(counts, kept.n_classes)
        n_states = len(cuts) + 1 + column.gap_state
        # Of a gap, then of a missing cell; these are one where a gap is no state.
        gaps = [n_states - 1, n_states] if column.gap_state else [n_states]
        return n_states, np.array([*np.searchsorted(cuts, values, side="right"), *gaps])


def _recode(batch: EncodedBatch, n_states: tuple[int, ...], new: Sequence[NDArray[np.integer]]) -> EncodedBatch:
    dtype = code_dtype(max((*n_states, batch.n_classes)))
    codes: Codes = np.empty(batch.codes.shape, dtype=dtype, order="F")
    for node, own in enumerate(new):
        np.take(own.astype(dtype), batch.codes[:, node], out=codes[:, node])
    return replace(batch, codes=codes, n_states=(*n_states, batch.n_classes))
