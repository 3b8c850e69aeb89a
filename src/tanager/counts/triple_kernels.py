"""Compiled counts of all triples of attributes with the class; `numba_kernels` says what the arrays are."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Codes
from tanager.counts.family import CountTable
from tanager.counts.numba_kernels import BLOCK, Int64s, Units, add_units
from tanager.runtime.kernel import kernel


@kernel
def count_all_triples(
    first: int,
    step: int,
    columns: Codes,
    classes: Codes,
    units: Units,
    n_states: Int64s,
    starts: Int64s,
    counts: CountTable,
) -> None:
    """Add to `counts` (as in `TripleTables`) the triples of every step-th pair from `first` on, with later attributes.

    A table is filled by one thread, in the order of the rows.
    """
    n_attributes, n_rows = columns.shape
    n_classes = n_states[n_attributes]
    configuration = np.empty(BLOCK, np.int64)
    position = np.empty(BLOCK, np.int64)
    share = np.empty(BLOCK, units.dtype)
    pair = 0
    for i in range(n_attributes):
        for j in range(i + 1, n_attributes):
            pair += 1
            if pair % step != first:
                continue
            for low in range(0, n_rows, BLOCK):
                high = min(low + BLOCK, n_rows)
                x_i, x_j, y, unit = columns[i, low:high], columns[j, low:high], classes[low:high], units[low:high]
                for t in range(len(y)):
                    present = (x_i[t] < n_states[i]) & (x_j[t] < n_states[j])
                    configuration[t] = x_i[t] * n_states[j] + x_j[t] if present else -1
                start = starts[i, j]
                for k in range(j + 1, n_attributes):
                    x, r = columns[k, low:high], n_states[k]
                    # Positions first: that loop runs in vectors, and the scattered additions then wait for nothing.
                    for t in range(len(y)):
                        present = (x[t] < r) & (configuration[t] >= 0)
                        position[t] = (configuration[t] * r + x[t]) * n_classes + y[t] if present else 0
                        share[t] = unit[t] * present
                    add_units(position, share[: len(y)], counts[start:])
                    start += n_states[i] * n_states[j] * r * n_classes
