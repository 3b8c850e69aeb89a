"""Cells that are whole numbers of a small range: which of them occur, and their codes, by their place in a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes

# Places are 64 KiB at a time: more than 128 KiB would be memory fresh from the system, with a fault for every page, in
# a process that is told to give memory back at once, as Dask's workers are.
BLOCK_ROWS = 1 << 13
# Integers that span no more than this are looked up in a table instead of sorted.
NARROW_SPAN = 1 << 16


def spans_little(low: int, high: int, most: int = NARROW_SPAN) -> bool:
    """Whether a table may have a place for each of the integers low .. high: few enough, and countable from low."""
    return high - low < most and high < np.iinfo(np.intp).max


def look_up(codes: Codes, cells: NDArray[np.integer], lowest: int, out: Codes) -> None:
    """out[i] = codes[cells[i] - lowest], in one dtype; a cell of lowest - 1, which says missing, takes the last."""
    for first in range(0, len(cells), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        places = cells[rows].astype(np.intp)
        places -= lowest
        np.take(codes, places, out=out[rows], mode="wrap")


def shift(cells: NDArray[np.integer], lowest: int, out: Codes) -> None:
    """out[i] = cells[i] - lowest, where all of these fit: `look_up` of codes that count up, ten times as fast."""
    # Whole numbers wrap around, so that both may be cut to the width of the code before.
    first = np.array(lowest).astype(out.dtype)
    if cells.itemsize == out.itemsize:
        np.subtract(cells.view(out.dtype), first, out=out)
        return
    for begin in range(0, len(cells), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        np.subtract(cells[rows].astype(out.dtype), first, out=out[rows])


def count_codes(codes: Codes, n_states: int) -> NDArray[np.int64]:
    """(n_states,) rows of each code, of which there are few."""
    counted = np.zeros(n_states, dtype=np.int64)
    for first in range(0, len(codes), BLOCK_ROWS):
        counted += np.bincount(codes[first : first + BLOCK_ROWS], minlength=n_states)
    return counted


def occurring(cells: NDArray[np.integer], lowest: int, n_places: int) -> NDArray[np.bool_]:
    """Whether there is a cell of lowest + k, for each k below n_places; cells of lowest - 1 say missing.

    Mostly all are found among the first cells, and then the others are not looked at.
    """
    marked = np.zeros(n_places + 1, dtype=bool)  # a missing cell marks the spare last entry
    found = marked[:-1]
    for first in range(0, len(cells), BLOCK_ROWS):
        places = cells[first : first + BLOCK_ROWS].astype(np.intp)
        places -= lowest
        marked[places] = True
        if found.all():
            break
    return found
