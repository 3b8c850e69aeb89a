"""The compiled look-ups of `LogJoint`."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Codes, Ints
from tanager.runtime.kernel import kernel


@kernel
def add_log_tables(
    codes: Codes,
    nodes: Ints,
    strides: Ints,
    offsets: Ints,
    tables: Array,
    out: Array,
) -> None:
    """Family by family down a block of rows: the columns of `codes` and the block of `out` stay in cache."""
    n_rows, n_classes = out.shape
    cells = np.empty(n_rows, np.int64)
    for f in range(nodes.shape[0]):
        cells[:] = offsets[f]
        for m in range(nodes.shape[1]):
            if strides[f, m] > 0:
                column = codes[:, nodes[f, m]]
                for i in range(n_rows):
                    cells[i] += strides[f, m] * np.int64(column[i])
        if n_classes == 2:  # unrolled: most tables have two classes
            for i in range(n_rows):
                out[i, 0] += tables[cells[i], 0]
                out[i, 1] += tables[cells[i], 1]
        else:
            for i in range(n_rows):
                for c in range(n_classes):
                    out[i, c] += tables[cells[i], c]
