"""Large tables with few distinct cells in a column: only these are read, and coded, one by one.

Whatever the type, cells are told apart by their bytes. What a cell means is asked once for each distinct one, of the
functions that also read small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tanager.arrays import Codes, Words
from tanager.runtime.resources import count_threads, map_threads
from tanager.table.columns import Column, Numbers, NumericColumn, RawTable

# Cells from which the compiled kernel repays its start.
CELLS_WORTH_COMPILING = 5_000_000
# Numbers are read a block of rows at a time.
BLOCK_CELLS = 1 << 20
# A column with more distinct cells than this is read cell by cell.
MOST_CELLS = 1 << 12

CodesOf = Callable[[int, Column], NDArray[np.integer] | None]
"""(position, a column of distinct cells) -> their codes, or None where one of them is an error."""
Numbered = tuple[NDArray[np.intp], NDArray[np.int32]]
"""(n_distinct,) a row of each distinct cell, and (n_rows,) the number of the cell in each row."""


def distinct_cells(table: RawTable, positions: Sequence[int]) -> dict[int, Column]:
    """The distinct cells of those of the columns that are worth it and have few, by position."""

    def find(part: _Part) -> dict[int, Column]:
        numbering = _Numbering(len(part.positions))
        for _, block in part.blocks():
            numbering.add(block)
        columns = zip(part.positions, numbering.cells(), strict=True)
        return {j: table.column_like(j, part.values(cells)) for j, cells in columns if cells is not None}

    return {j: column for columns in map_threads(find, _parts(table, positions)) for j, column in columns.items()}


def encode_cells(
    table: RawTable, positions: Sequence[int], codes_of: CodesOf, codes: Codes, places: Sequence[int]
) -> set[int]:
    """Write the codes of the columns that are worth it, each to its place; return the positions of the others."""

    def encode(part: _Part) -> set[int]:
        numbering = _Numbering(len(part.positions))
        known: dict[int, Codes] = dict.fromkeys(part.positions, codes[:0, 0])
        for rows, block in part.blocks():
            numbers = numbering.add(block)
            for position, cells, of_rows in zip(part.positions, numbering.cells(), numbers, strict=True):
                if position not in known:
                    continue
                if cells is None or len(cells) > len(known[position]):
                    new = None if cells is None else codes_of(position, table.column_like(position, part.values(cells)))
                    if new is None:
                        del known[position]
                        continue
                    known[position] = new.astype(codes.dtype)
                np.take(known[position], of_rows, out=codes[rows, places[position]], mode="clip")
        return set(known)

    return set(positions).difference(*map_threads(encode, _parts(table, positions)))


def number_cells(cells: NDArray[Any]) -> list[Numbered | None]:
    """The distinct cells of each column of an array of text or objects; None for a column in which they are many.

    Text is told apart by its characters, objects by where they are in memory: equal ones may have several numbers.
    """
    n_columns = cells.shape[1]
    if cells.dtype.kind not in "UO" or not cells.itemsize:
        return [None] * n_columns
    words = _words(cells)
    parts = [words[:, low:high] for low, high in _column_ranges(cells)]
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


@dataclass(frozen=True)
class _Part:
    """Columns of an array that one thread reads: their positions in the table, and their cells side by side."""

    positions: tuple[int, ...]
    columns: Numbers

    def blocks(self) -> Iterator[tuple[slice, Words]]:
        """Blocks of rows, every cell as one word."""
        n_rows = max(1, BLOCK_CELLS // len(self.positions))
        for start in range(0, len(self.columns), n_rows):
            rows = slice(start, min(start + n_rows, len(self.columns)))
            block = np.ascontiguousarray(self.columns[rows], dtype=self._word_type)
            yield rows, block.view(np.uint64)[:, :, np.newaxis]

    def values(self, cells: Words) -> Numbers:
        """Distinct cells, (n_distinct, 1) words, as numbers."""
        return np.ascontiguousarray(cells[:, 0]).view(self._word_type)

    @property
    def _word_type(self) -> type[np.generic]:
        """The type of eight bytes in which cells are compared: equal ones have equal bytes, but for 0.0 and NaN."""
        kind = self.columns.dtype.kind
        return np.float64 if kind == "f" else np.uint64 if kind in "ub" else np.int64


def _parts(table: RawTable, positions: Sequence[int]) -> list[_Part]:
    """What is worth reading by distinct cells: columns of a row-major matrix, or columns of floats or booleans.

    Columns of integers that lie in one piece are not among it: NumPy finds their bounds, and subtracts, as fast. Nor
    are long doubles, which are wider than a word.
    """
    matrix = table.matrix
    if matrix is not None and is_row_major(matrix):
        if table.n_rows * len(positions) < CELLS_WORTH_COMPILING or matrix.itemsize > 8:
            return []
        places = [table.place(position) for position in positions]
        cells = matrix if places == list(range(matrix.shape[1])) else matrix[:, places]
        return [_Part(tuple(positions[low:high]), cells[:, low:high]) for low, high in _column_ranges(cells)]
    columns = [(position, _values(table, position)) for position in positions]
    slow = [(position, values) for position, values in columns if values is not None and values.dtype.kind in "fb"]
    if table.n_rows * len(slow) < CELLS_WORTH_COMPILING:
        return []
    return [_Part((position,), values[:, np.newaxis]) for position, values in slow if values.itemsize <= 8]


def _values(table: RawTable, position: int) -> Numbers | None:
    if table.matrix is not None:
        return table.matrix[:, table.place(position)]
    column = table.read[position]
    return column.values if isinstance(column, NumericColumn) else None


def _column_ranges(cells: NDArray[Any]) -> list[tuple[int, int]]:
    """(first, last) columns of each part: one for each thread where a row lies in one piece, else one column each."""
    n_columns = cells.shape[1]
    n_parts = min(count_threads(), n_columns) if is_row_major(cells) else n_columns
    return list(pairwise(k * n_columns // n_parts for k in range(n_parts + 1)))


class _Numbering:
    """Numbers for the distinct cells of some columns, which keep theirs from block to block."""

    def __init__(self, n_columns: int, width: int = 1, word: np.dtype[Any] | None = None) -> None:
        # Nothing of these takes memory before it is written.
        self._slots = np.zeros((n_columns, 4 * MOST_CELLS), dtype=np.int32)
        self._cells = np.empty((n_columns, MOST_CELLS, width), dtype=word or np.uint64)
        self._n_distinct = np.zeros(n_columns, dtype=np.int64)

    def add(self, words: Words) -> NDArray[np.int32]:
        """(n_columns, n_rows) the number of every cell of a block; anything in a column that has too many."""
        from tanager.table.cell_kernels import number_cells

        numbers = np.empty((words.shape[1], len(words)), dtype=np.int32)
        shift = np.uint64(64 - int(np.log2(self._slots.shape[1])))
        number_cells(words, self._slots, shift, self._cells, self._n_distinct, numbers)
        return numbers

    def cells(self) -> list[Words | None]:
        """The distinct cells of each column by number, (n_distinct, width); None where they are too many."""
        columns = zip(self._cells, self._n_distinct.tolist(), strict=True)
        return [cells[:n_distinct] if n_distinct >= 0 else None for cells, n_distinct in columns]


def _number(words: NDArray[Any]) -> list[Numbered | None]:
    numbering = _Numbering(words.shape[1], words.shape[2], words.dtype)
    numbered = zip(numbering.add(words), numbering.cells(), strict=True)
    return [None if cells is None else (_first_rows(numbers, len(cells)), numbers) for numbers, cells in numbered]


def _first_rows(numbers: NDArray[np.int32], n_distinct: int) -> NDArray[np.intp]:
    """The first row of each number: they count up in the order in which they come."""
    return np.searchsorted(np.maximum.accumulate(numbers), np.arange(n_distinct))


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
