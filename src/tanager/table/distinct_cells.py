"""Columns of numbers with few distinct values: these values, or the codes of all cells, in one pass over the table.

Whatever the type, cells are told apart by their bytes, a block of rows at a time. What a value means is asked once for
each distinct cell, of the functions that also read small tables.
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

# Cells from which the compiled kernels repay their start.
CELLS_WORTH_COMPILING = 5_000_000
# A block of rows is read once, and stays in cache while its codes are written.
BLOCK_CELLS = 1 << 16
FEWEST_SLOTS = 16
# A column with more distinct values than a quarter of this is left to be sorted.
MOST_SLOTS = 1 << 14

CodesOf = Callable[[int, Column], NDArray[np.integer] | None]
"""(position, a column of distinct cells) -> their codes, or None where one of them is an error."""


def distinct_cells(table: RawTable, positions: Sequence[int]) -> dict[int, Column]:
    """The distinct cells of those of the columns that are read fast, by position."""
    strips = _strips(table, positions)
    if not strips:
        return {}
    found: dict[int, list[Numbers]] = {}
    for one in map_threads(_Strip.distinct, strips):
        for position, values in one.items():
            found.setdefault(position, []).append(values)
    # A column may have too many distinct values in one strip, and few in another.
    n_strips = {position: sum(position in strip.positions for strip in strips) for position in found}
    return {
        position: table.column_like(position, np.concatenate(values))
        for position, values in found.items()
        if len(values) == n_strips[position]
    }


def encode_cells(
    table: RawTable, positions: Sequence[int], codes_of: CodesOf, codes: Codes, places: Sequence[int]
) -> set[int]:
    """Write the codes of those of the columns that are read fast, each to its place; return the others' positions."""
    strips = _strips(table, positions)
    if not strips:
        return set(positions)

    def encode(strip: _Strip) -> set[int]:
        return strip.encode(table, codes_of, codes, places)

    in_strips = {position for strip in strips for position in strip.positions}
    return (set(positions) - in_strips).union(*map_threads(encode, strips))


def _strips(table: RawTable, positions: Sequence[int]) -> list[_Strip]:
    """What is worth reading by distinct cells: rows of a row-major matrix, one part for each thread, or columns.

    Columns of integers that lie in one piece are not among it: NumPy finds their bounds, and subtracts, as fast.
    """
    matrix = table.matrix
    if matrix is not None and is_row_major(matrix):
        if table.n_rows * len(positions) < CELLS_WORTH_COMPILING or not _has_words(matrix):
            return []
        edges = np.linspace(0, table.n_rows, count_threads() + 1).astype(int).tolist()
        places = tuple(table.place(position) for position in positions)
        return [_Strip(tuple(positions), matrix, places, low, high) for low, high in pairwise(edges)]
    columns = {position: _values(table, position) for position in positions}
    slow = {j: values for j, values in columns.items() if values is not None and values.dtype.kind in "fb"}
    if table.n_rows * len(slow) < CELLS_WORTH_COMPILING:
        return []
    return [_Strip((j,), cells[:, np.newaxis], (0,), 0, len(cells)) for j, cells in slow.items() if _has_words(cells)]


def _values(table: RawTable, position: int) -> Numbers | None:
    if table.matrix is not None:
        return table.matrix[:, table.place(position)]
    column = table.read[position]
    return column.values if isinstance(column, NumericColumn) else None


def _has_words(values: Numbers) -> bool:
    """Whether a word of eight bytes holds each of the values: of all types but long doubles."""
    return values.dtype.itemsize <= 8


@dataclass(frozen=True)
class _Strip:
    """The rows first .. last - 1 of some columns of an array.

    positions  of these columns in the table
    columns    and in the array
    """

    positions: tuple[int, ...]
    cells: Numbers
    columns: tuple[int, ...]
    first: int
    last: int

    def distinct(self) -> dict[int, Numbers]:
        """The distinct cells of each column that has few, by position."""
        slots = _Slots(len(self.positions))
        for _, block in self._blocks():
            slots.mark(block)
        as_type = _word_type(self.cells)
        return {self.positions[k]: slots.cells(j).view(as_type) for j, k in enumerate(slots.kept.tolist())}

    def encode(self, table: RawTable, codes_of: CodesOf, codes: Codes, places: Sequence[int]) -> set[int]:
        """Write the codes of each column that has few distinct cells; return the positions of the others."""
        slots = _Slots(len(self.positions))
        as_type = _word_type(self.cells)
        out_of = np.array([places[position] for position in self.positions], dtype=np.int64)

        def code(column: int, words: Words) -> NDArray[np.integer] | None:
            position = self.positions[column]
            return codes_of(position, table.column_like(position, words.view(as_type)))

        for rows, block in self._blocks():
            while len(slots.kept) and not slots.encode(block, out_of, codes[rows]):
                slots.mark(block)
                slots.code(code)
        return {self.positions[k] for k in range(len(self.positions)) if k not in slots.kept}

    def _blocks(self) -> Iterator[tuple[slice, Words]]:
        n_rows = max(1, BLOCK_CELLS // len(self.columns))
        whole = self.columns == tuple(range(self.cells.shape[1]))
        for start in range(self.first, self.last, n_rows):
            rows = slice(start, min(start + n_rows, self.last))
            block = self.cells[rows] if whole else self.cells[rows][:, self.columns]
            yield rows, np.ascontiguousarray(block, dtype=_word_type(self.cells)).view(np.uint64)


def _word_type(values: Numbers) -> type[np.generic]:
    """The type of eight bytes in which the values are compared: equal cells have equal bytes, but for 0.0 and NaN."""
    if values.dtype.kind == "f":
        return np.float64
    return np.uint64 if values.dtype.kind in "ub" else np.int64


class _Slots:
    """Slots for the distinct cells of several columns, and a code in each (`cell_kernels` has the shapes).

    kept  which of the columns: those with too many distinct cells are dropped, and those that are an error
    """

    def __init__(self, n_columns: int) -> None:
        self.kept = np.arange(n_columns)
        self._make(np.full(n_columns, FEWEST_SLOTS))

    def _make(self, sizes: NDArray[np.int64]) -> None:
        self._sizes = sizes
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
        self._shift = (64 - np.log2(sizes)).astype(np.uint64)
        self._keys = np.zeros(sizes.sum(), dtype=np.uint64)
        self._codes = np.full(sizes.sum(), -1, dtype=np.int32)
        self._room = sizes // 4

    def cells(self, column: int) -> Words:
        """The distinct cells of a column that is kept."""
        slots = self._slots(column)
        return self._keys[slots][self._codes[slots] != -1]

    def mark(self, block: Words) -> None:
        """Give every distinct cell of a block of rows a slot; make as many as that needs."""
        from tanager.table.cell_kernels import mark_cells

        while len(self.kept):
            full = np.zeros(len(self.kept), dtype=bool)
            tables = self._first, self._shift, self._keys, self._codes, self._room
            if not mark_cells(self._of_kept(block), *tables, full):
                return
            self._make_again(np.where(full, 4 * self._sizes, self._sizes))

    def code(self, codes_of: Callable[[int, Words], NDArray[np.integer] | None]) -> None:
        """Give the distinct cells of each column their codes; drop a column that has none."""
        sizes = self._sizes.copy()
        for j, column in enumerate(self.kept.tolist()):
            codes = codes_of(column, self.cells(j))
            if codes is None:
                sizes[j] = 0
            else:
                slots = self._codes[self._slots(j)]
                slots[slots != -1] = codes
        if not sizes.all():
            self._make_again(sizes)

    def encode(self, block: Words, places: NDArray[np.int64], out: Codes) -> bool:
        """Write the codes of a block of rows; False if a cell has none yet."""
        from tanager.table.cell_kernels import code_cells

        tables = self._first, self._shift, self._keys, self._codes
        return code_cells(self._of_kept(block), *tables, places[self.kept], out)

    def _make_again(self, sizes: NDArray[np.int64]) -> None:
        """So many slots for each column, which its cells move to without their codes; none, or too many, drop it."""
        from tanager.table.cell_kernels import mark_cells

        keep = np.flatnonzero((sizes > 0) & (sizes <= MOST_SLOTS))
        cells = [self.cells(j) for j in keep.tolist()]
        self.kept = self.kept[keep]
        self._make(sizes[keep])
        for j, words in enumerate(cells):
            tables = self._first[j : j + 2], self._shift[j : j + 1], self._keys, self._codes, self._room[j : j + 1]
            mark_cells(words[:, np.newaxis], *tables, np.zeros(1, dtype=bool))

    def _slots(self, column: int) -> slice:
        return slice(*self._first[column : column + 2].tolist())

    def _of_kept(self, block: Words) -> Words:
        return block if len(self.kept) == block.shape[1] else block.take(self.kept, axis=1)


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
