"""Grid: equal cells over the cuts of a column, so that few cuts are left to compare a number with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 2_048


@dataclass(frozen=True)
class Grid:
    """A number x is in cell floor((x - low) * scale), or the first or last one.

    Rounding keeps the order of numbers, so a cut in a lower cell than x is below x and one in a higher cell is above,
    whatever x is: only the cuts in its own cell are left.

    below  how many cuts are in lower cells than each; a single cell where the cuts are too far apart for a grid
    span   a power of two above the number of cuts in any cell
    """

    low: float
    scale: float
    below: tuple[int, ...]
    span: int

    @classmethod
    def of(cls, cuts: Sequence[float]) -> Grid:
        """The coarsest grid with a cut in each cell at most, or the finest."""
        values, n_cells = np.array(cuts, dtype=np.float64), len(cuts)
        best = cls(0.0, 0.0, (0,), _span(len(cuts)))
        with np.errstate(over="ignore", divide="ignore"):
            width = values[-1] - values[0]
            while n_cells <= MOST_CELLS:
                scale = n_cells / width
                if not (np.isfinite(width) and np.isfinite(scale) and scale > 0.0):
                    return best
                counted = np.bincount(cls._cells(values, scale, n_cells), minlength=n_cells)
                below = tuple((np.cumsum(counted) - counted).tolist())
                found = cls(float(values[0]), float(scale), below, _span(int(counted.max())))
                if found.span < best.span:
                    best = found
                if found.span == 2:
                    return found
                n_cells *= 2
        return best

    @staticmethod
    def _cells(values: NDArray[np.float64], scale: float, n_cells: int) -> NDArray[np.intp]:
        return np.floor(np.clip((values - values[0]) * scale, 0.0, n_cells - 1.0)).astype(np.intp)


def _span(n_cuts: int) -> int:
    return 1 << int(n_cuts).bit_length()
