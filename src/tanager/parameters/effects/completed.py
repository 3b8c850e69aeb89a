"""Rows whose missing cells are filled: as such trees are grown and judged.

P(class | row) is averaged over what missing cells may hold (`gaps`), so a tree is never asked where a gap goes. One
that has learnt what gaps tell of the class would look better on rows held out than its answers are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.table.batch import EncodedBatch
from tanager.table.categories import Codes
from tanager.table.deal import row_keys
from tanager.table.granularity import fine_codes, n_codes
from tanager.table.schema import ColumnSchema

NUMBER_BITS = 53


def completed_codes(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    """`fine_codes` with every gap a state, drawn by the weights of the rows that have the cell.

    The numbers drawn by come from what a row holds, not from where it stands nor from its class, of which a draw says
    nothing. A column of gaps alone stays as it is.
    """
    codes, weights = fine_codes(rows, columns), rows.row_weights
    gaps = codes == n_codes(columns) - 1
    held = codes.copy()
    known = row_keys(held, np.zeros(len(held), dtype=np.uint64))[:, np.newaxis] if gaps.any() else held
    for attribute in np.flatnonzero(gaps.any(axis=0) & ~gaps.all(axis=0)):
        own = gaps[:, attribute]
        shares = np.cumsum(np.bincount(held[~own, attribute], weights[~own]))
        # Keys of another stratum for each attribute: numbers that have nothing to do with each other.
        keys = row_keys(known[own], np.full(own.sum(), attribute, dtype=np.uint64))
        numbers = (keys >> np.uint64(64 - NUMBER_BITS)) / 2.0**NUMBER_BITS
        codes[own, attribute] = np.searchsorted(shares, numbers * shares[-1], side="right")
    return codes
