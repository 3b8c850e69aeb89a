"""The information of every pair of attributes in one compiled pass over their tables, whatever their shapes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.family import CountTable
from tanager.runtime.kernel import kernel, kernel_part


@kernel_part
def xlogx(count: float) -> float:
    """N log N, zero at zero. Of few rows most counts are zero or one, which need no logarithm."""
    return 0.0 if count == 0.0 or count == 1.0 else count * math.log(count)


@kernel
def sum_pairs(
    counts: CountTable, offsets: NDArray[np.int64], n_states: NDArray[np.int64], n_classes: int, result: Array
) -> None:
    """Of every pair N I(X_i;X_j|C), N I(X_i;X_j) and N into result (3, n, n), at [i, j] and [j, i].

    counts and offsets as in `PairTables`; n_states (n,) of the attributes.
    """
    pair = 0
    for i in range(len(n_states)):
        for j in range(i + 1, len(n_states)):
            r_i, r_j, at = n_states[i], n_states[j], offsets[pair]
            both, left, right = np.zeros(r_i * r_j), np.zeros(r_i), np.zeros(r_j)
            conditional = marginal = rows = 0.0
            for c in range(n_classes):
                in_class, by_right = 0.0, np.zeros(r_j)
                for x in range(r_i):
                    by_left = 0.0
                    for y in range(r_j):
                        count = float(counts[at + (c * r_i + x) * r_j + y])
                        conditional += xlogx(count)
                        by_left += count
                        by_right[y] += count
                        both[x * r_j + y] += count
                    conditional -= xlogx(by_left)
                    left[x] += by_left
                    in_class += by_left
                for y in range(r_j):
                    conditional -= xlogx(by_right[y])
                    right[y] += by_right[y]
                conditional += xlogx(in_class)
                rows += in_class
            for cell in range(r_i * r_j):
                marginal += xlogx(both[cell])
            for x in range(r_i):
                marginal -= xlogx(left[x])
            for y in range(r_j):
                marginal -= xlogx(right[y])
            marginal += xlogx(rows)
            result[0, i, j] = result[0, j, i] = conditional
            result[1, i, j] = result[1, j, i] = marginal
            result[2, i, j] = result[2, j, i] = rows
            pair += 1
