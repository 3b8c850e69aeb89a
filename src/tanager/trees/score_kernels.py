"""Compiled sums of a forest: each row walks down every tree."""

from __future__ import annotations

from tanager.kernel import kernel
from tanager.table.batch import Codes
from tanager.trees.forest import Array, Flags, Ints


@kernel
def add_trees(
    codes: Codes,
    roots: Ints,
    of_class: Ints,
    attributes: Ints,
    ends: Ints,
    offsets: Ints,
    left: Flags,
    values: Array,
    out: Array,
) -> None:
    """Add to `out` (n_rows, n_classes); codes (n_rows, n_attributes) by rows, the others as in `Forest`."""
    # Tree by tree: its splits stay in the cache while all rows pass.
    for tree in range(len(roots)):
        number = of_class[tree]
        for row in range(len(codes)):
            at = roots[tree]
            while at >= 0:
                side = left[offsets[at] + codes[row, attributes[at]]]
                at = ends[at, 1] if side else ends[at, 0]
            out[row, number] += values[~at]
