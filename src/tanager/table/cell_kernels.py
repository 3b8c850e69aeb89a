"""Kernels that tell the distinct cells of columns apart by hashing their bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes

EMPTY = -1
NEW = -2
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Words = NDArray[np.uint64]


@kernel
def mark_cells(
    words: Words,
    first: Words,
    shift: Words,
    keys: Words,
    codes: NDArray[np.int32],
    room: NDArray[np.int64],
    full: NDArray[np.bool_],
) -> bool:
    """Give every distinct cell a slot with the code `NEW`; True if a column has too few, which is then `full`.

    words  (n_rows, n_columns) cells of eight bytes, row-major: a table is read in the order it lies in memory
    first  (n_columns + 1,) column j has the slots first[j] .. first[j + 1] - 1 of `keys` and `codes`
    shift  (n_columns,) 64 less the binary logarithm of their number
    room   (n_columns,) how many of them may still be taken: half are left empty, so that searches are short
    """
    overflow = False
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            word = words[i, j]
            slot = first[j] + (((word ^ (word >> np.uint64(32))) * GOLDEN) >> shift[j])
            while codes[slot] != EMPTY and keys[slot] != word:
                slot += np.uint64(1)
                if slot == first[j + 1]:
                    slot = first[j]
            if codes[slot] == EMPTY:
                if room[j] == 0:
                    full[j] = overflow = True
                else:
                    room[j] -= 1
                    keys[slot] = word
                    codes[slot] = NEW
    return overflow


@kernel
def code_cells(
    words: Words,
    first: Words,
    shift: Words,
    keys: Words,
    codes: NDArray[np.int32],
    places: NDArray[np.int64],
    out: Codes,
) -> bool:
    """Write the code of every cell of column j to column places[j] of `out`; False at the first cell without code.

    `out` is column-major: a block of rows of it stays in cache while it is filled.
    """
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            word = words[i, j]
            slot = first[j] + (((word ^ (word >> np.uint64(32))) * GOLDEN) >> shift[j])
            while keys[slot] != word or codes[slot] < 0:
                if codes[slot] < 0:
                    return False
                slot += np.uint64(1)
                if slot == first[j + 1]:
                    slot = first[j]
            out[i, places[j]] = codes[slot]
    return True
