"""Codes by look-up: cells that are whole numbers of a small range each have a place in a table of codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes

# Places are 64 KiB at a time: more than 128 KiB would be memory fresh from the system, with a fault for every page, in
# a process that is told to give memory back at once, as Dask's workers are.
BLOCK_ROWS = 1 << 13


def look_up(codes: Codes, cells: NDArray[np.integer], lowest: int, out: Codes) -> None:
    """out[i] = codes[cells[i] - lowest], in one dtype; a cell of lowest - 1, which says missing, takes the last."""
    for first in range(0, len(cells), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        places = cells[rows].astype(np.intp)
        places -= lowest
        np.take(codes, places, out=out[rows], mode="wrap")
