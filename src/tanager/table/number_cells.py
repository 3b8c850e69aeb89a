"""Text of fixed width, and objects: the distinct cells of each column, so that only these have to be read."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.runtime.resources import count_threads, map_threads

# A column with more distinct cells than this is read cell by cell.
MOST_CELLS = 1 << 12

Numbered = tuple[NDArray[np.int64], NDArray[np.int32]]
"""(n_distinct,) a row of each distinct cell, and (n_rows,) the number of the cell in each row."""


def number_cells(cells: NDArray[Any]) -> list[Numbered | None]:
    """The distinct cells of each column of an array of text or objects; None for a column in which they are many.

    Text is told apart by its characters, objects by where they are in memory: equal ones may have several numbers.
    """
    n_columns = cells.shape[1]
    if cells.dtype.kind not in "UO" or not cells.itemsize:
        return [None] * n_columns
    n_parts = min(count_threads(), n_columns) if is_row_major(cells) else n_columns
    edges = [k * n_columns // n_parts for k in range(n_parts + 1)]
    words = _words(cells)
    parts = [words[:, low:high] for low, high in pairwise(edges)]
    return [column for part in map_threads(_number, parts) for column in part]


def number_text(text: pa.Array) -> Numbered | None:
    """The distinct cells of a column of text of Arrow, none missing; None where they are many, or long.

    Up to twelve bytes of text are within its view of sixteen; of a longer one the view says where it is.
    """
    try:
        views = text.cast(pa.string_view())
    except pa.ArrowException:  # of a version that has no views
        return None
    words = np.frombuffer(views.buffers()[1], dtype=np.uint64).reshape(-1, 1, 2)
    return _number(words[views.offset : views.offset + len(views)])[0]


def is_row_major(cells: NDArray[Any]) -> bool:
    """Whether the cells of a row are nearer to one another than those of a column."""
    return cells.shape[1] > 1 and abs(cells.strides[1]) < abs(cells.strides[0])


def _number(words: NDArray[Any]) -> list[Numbered | None]:
    from tanager.table.cell_kernels import number_cells

    n_rows, n_columns = words.shape[:2]
    slots = np.full((n_columns, 4 * MOST_CELLS), -1, dtype=np.int32)
    firsts = np.empty((n_columns, MOST_CELLS), dtype=np.int64)
    n_found = np.zeros(n_columns, dtype=np.int64)
    numbers = np.empty((n_columns, n_rows), dtype=np.int32)
    number_cells(words, slots, firsts, n_found, numbers)
    return [(firsts[j, :n], numbers[j]) if n >= 0 else None for j, n in enumerate(n_found.tolist())]


def _words(cells: NDArray[Any]) -> NDArray[Any]:
    """(n_rows, n_columns, width) the bytes of each cell, as words that are as wide as can be."""
    if cells.dtype.kind == "O":
        return np.asarray(_Pointers(cells))[:, :, np.newaxis]
    word = np.dtype(np.uint32 if cells.itemsize % 8 else np.uint64)
    return cells.view([("words", word, (cells.itemsize // word.itemsize,))])["words"]


class _Pointers:
    """Where the objects of an array are in memory: to NumPy an array of integers."""

    def __init__(self, objects: NDArray[np.object_]) -> None:
        self.objects = objects  # are to live as long as their places are looked at
        word = np.dtype(np.uint64).str
        self.__array_interface__ = {**objects.__array_interface__, "typestr": word, "descr": [("", word)]}
