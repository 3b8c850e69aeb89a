"""The kernel that tells the distinct cells of columns apart by hashing their bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Ints, Words
from tanager.runtime.kernel import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def number_cells(
    words: Words,
    slots: NDArray[np.int32],
    shift: np.uint64,
    cells: Words,
    n_distinct: Ints,
    numbers: NDArray[np.int32],
) -> None:
    """Number the distinct cells of each column in the order in which they come, those of earlier rows first.

    words       (n_rows, n_columns, width) every cell as so many words
    slots       (n_columns, n_slots) the number of the cell that has a slot, from 1 on; 0 for an empty slot
    shift       64 less the binary logarithm of n_slots
    cells       (n_columns, most, width) the distinct cells, by number
    n_distinct  (n_columns,) how many there are; -1 for a column that has more than `most`
    numbers     (n_columns, n_rows) is written
    """
    n_rows, n_columns, width = words.shape
    last = np.uint64(slots.shape[1] - 1)
    for i in range(n_rows):
        for j in range(n_columns):
            if n_distinct[j] < 0:
                continue
            slot = np.uint64(0)
            for k in range(width):
                slot = (slot + words[i, j, k]) * GOLDEN
            slot >>= shift  # the lowest bits of a product depend on few of those of a word
            number = slots[j, slot]
            while number:
                same = True
                for k in range(width):
                    same &= cells[j, number - 1, k] == words[i, j, k]
                if same:
                    break
                slot = (slot + np.uint64(1)) & last
                number = slots[j, slot]
            if not number:
                if n_distinct[j] == cells.shape[1]:
                    n_distinct[j] = -1
                    continue
                cells[j, n_distinct[j]] = words[i, j]
                n_distinct[j] += 1
                slots[j, slot] = number = n_distinct[j]
            numbers[j, i] = number - 1
