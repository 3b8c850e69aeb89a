"""Kernels that tell the distinct cells of columns apart by hashing their bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes, Words
from tanager.runtime.kernel import kernel

EMPTY = -1
NEW = -2
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def find_slot(
    word: np.uint64, first: np.uint64, end: np.uint64, shift: np.uint64, keys: Words, codes: NDArray[np.int32]
) -> np.uint64:
    """The slot of a cell among first .. end - 1: its own, or the empty one that it would take."""
    slot = first + ((word * GOLDEN) >> shift)
    while keys[slot] != word and codes[slot] != EMPTY:
        slot += np.uint64(1)
        if slot == end:
            slot = first
    return slot


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
    room   (n_columns,) how many of them may still be taken: most are left empty, so that searches are short
    """
    overflow = False
    for i in range(words.shape[0]):
        for j in range(words.shape[1]):
            word = words[i, j]
            slot = find_slot(word, first[j], first[j + 1], shift[j], keys, codes)
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
            slot = find_slot(word, first[j], first[j + 1], shift[j], keys, codes)
            code = codes[slot]
            if code < 0:
                return False
            out[i, places[j]] = code
    return True


@kernel
def differ(words: Words, column: int, row: int, other: int) -> bool:
    """Whether two cells of a column of `number_cells` are not the same."""
    for k in range(words.shape[2]):  # noqa: SIM110 - compiled
        if words[row, column, k] != words[other, column, k]:
            return True
    return False


@kernel
def number_cells(
    words: Words,
    slots: NDArray[np.int32],
    firsts: NDArray[np.int64],
    n_found: NDArray[np.int64],
    numbers: NDArray[np.int32],
) -> None:
    """Number the distinct cells of each column in the order in which they come.

    words    (n_rows, n_columns, width) every cell as so many words
    slots    (n_columns, a power of two) the number of the cell that has a slot, or `EMPTY`
    firsts   (n_columns, most) the row in which each distinct cell is found first
    n_found  (n_columns,) how many there are; -1 for a column that is given up, as there are more than `most`
    numbers  (n_columns, n_rows) is written
    """
    n_rows, n_columns, width = words.shape
    last = np.uint64(slots.shape[1] - 1)
    for i in range(n_rows):
        for j in range(n_columns):
            if n_found[j] < 0:
                continue
            slot = np.uint64(0)
            for k in range(width):
                slot = (slot + words[i, j, k]) * GOLDEN
            slot = (slot >> np.uint64(32)) & last  # the lowest bits of a product depend on few of those of a word
            while slots[j, slot] != EMPTY and differ(words, j, i, firsts[j, slots[j, slot]]):
                slot = (slot + np.uint64(1)) & last
            if slots[j, slot] == EMPTY:
                if n_found[j] == firsts.shape[1]:
                    n_found[j] = -1
                    continue
                slots[j, slot] = n_found[j]
                firsts[j, n_found[j]] = i
                n_found[j] += 1
            numbers[j, i] = slots[j, slot]
