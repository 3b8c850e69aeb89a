"""Compiled sums of a forest: each row walks down every tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes
from tanager.trees.forest import Array, Ints


@kernel
def add_trees(
    codes: Codes,
    roots: Ints,
    of_class: Ints,
    steps: NDArray[np.int32],
    left: NDArray[np.uint8],
    values: Array,
    out: Array,
) -> None:
    """Add to `out` (n_rows, n_classes); codes (n_rows, n_attributes) by rows.

    steps  (n_splits, 4) attribute, offset in `left`, right and left end: what a step asks for lies together
    left   whether a code goes to the left; the others as in `Forest`
    """
    # Tree by tree: its splits stay in the cache while all rows pass.
    for tree in range(len(roots)):
        number = of_class[tree]
        for row in range(len(codes)):
            at = roots[tree]
            while at >= 0:
                step = steps[at]
                at = np.int64(step[2 + left[step[1] + codes[row, step[0]]]])
            out[row, number] += values[~at]


@kernel
def add_credits(
    codes: Codes,
    roots: Ints,
    of_class: Ints,
    steps: NDArray[np.int32],
    left: NDArray[np.uint8],
    means: Array,
    out: Array,
) -> None:
    """Add to `out` (n_rows, n_attributes, n_classes) what splits change; `means` of the splits, then the leaves."""
    n_splits = len(steps)
    for tree in range(len(roots)):
        number = of_class[tree]
        for row in range(len(codes)):
            at = roots[tree]
            while at >= 0:
                step = steps[at]
                end = np.int64(step[2 + left[step[1] + codes[row, step[0]]]])
                after = means[end] if end >= 0 else means[n_splits + ~end]
                out[row, step[0], number] += after - means[at]
                at = end
