"""The engine that counts through torch, on a GPU or on the CPU. Importing this module imports torch."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from tanager.counts.family import CountTable, PairTables, pair_offsets
from tanager.table.rows import EncodedBatch
from tanager.torch.rows import DeviceRows, choose_device, to_device, with_less_memory

# A position, its addends and what bincount makes of it.
BYTES_PER_POSITION = 32
# States of an attribute up to which products beat counting position by position: nearly all of a wide product is zero.
WIDEST = 256
# Sums of ones up to here are exact in float32.
EXACT_ROWS = (1 << 24) - 1
# Rows of a matrix are padded to a whole number of these, as the matrix units want them.
ALIGNED = 64
# Bytes of temporary arrays for each entry of a block of products, beside the products of each class.
BYTES_PER_ENTRY = 64


class TorchEngine:
    """See `CountEngine`. The rows of the latest batch stay on the device, so that later passes need not copy them."""

    on_device = True

    def __init__(self, device: str | None = None) -> None:
        self.device = choose_device(device)
        self._held: tuple[weakref.ref[EncodedBatch], DeviceRows] | None = None

    def rows(self, batch: EncodedBatch) -> DeviceRows:
        """The batch on the device, copied there if it is not the latest."""
        if self._held is None or self._held[0]() is not batch:
            self._held = None  # before the next one takes its place in memory
            rows = DeviceRows.of(batch, self.device)
            self._held = weakref.ref(batch), rows
        return self._held[1]

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        rows = self.rows(batch)
        by_place: dict[int, CountTable] = {}
        for length in {len(nodes) for nodes in node_sets}:
            places = [place for place, nodes in enumerate(node_sets) if len(nodes) == length]
            sets = [node_sets[place] for place in places]
            tables = with_less_memory(
                lambda n_bytes, sets=sets: _count_sets(rows, sets, n_bytes),  # type: ignore[misc]
                rows.device,
                f"counting {len(sets)} tables",
            )
            by_place.update(zip(places, tables, strict=True))
        return [by_place[place] for place in range(len(node_sets))]

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        rows = self.rows(batch)
        offsets = pair_offsets(batch.n_states)
        counts = with_less_memory(
            lambda n_bytes: _count_pairs(rows, offsets, n_bytes), rows.device, "counting all pairs of attributes"
        )
        return PairTables(batch.n_states, counts, offsets)


def _count_sets(rows: DeviceRows, sets: Sequence[tuple[int, ...]], n_bytes: int) -> list[CountTable]:
    """Tables of sets of equally many nodes: every row gets its position in one long table of as many sets as fit."""
    if not sets:
        return []
    every = np.array(sets, dtype=np.int64).reshape(len(sets), -1)
    states = np.array(rows.n_states, dtype=np.int64)[every]
    n_positions = max(1, n_bytes // BYTES_PER_POSITION)
    together = max(1, n_positions // max(1, rows.n_rows))
    result: list[CountTable] = []
    for start in range(0, len(sets), together):
        part = slice(start, start + together)
        nodes, limits = to_device(every[part], rows.device), to_device(states[part], rows.device)
        # Strides and sizes as `family.strides` has them: products of the states of all later nodes, of all nodes.
        products = np.cumprod(states[part, ::-1], axis=1)[:, ::-1]
        steps = to_device(np.concatenate([products[:, 1:], np.ones_like(products[:, :1])], axis=1), rows.device)
        ends = np.cumsum(products[:, 0])
        firsts = to_device(ends - products[:, 0], rows.device)[:, None]
        total: CountTable | None = None
        for low in range(0, max(rows.n_rows, 1), n_positions):
            part = slice(low, low + n_positions)
            position = firsts.repeat(1, rows.codes[:, part].shape[1])
            present = torch.ones_like(position, dtype=torch.bool)
            for d in range(nodes.shape[1]):
                codes = rows.codes[:, part][nodes[:, d]]
                present &= codes < limits[:, d, None]
                position += codes * steps[:, d, None]
            position.masked_fill_(~present, int(ends[-1]))  # one more cell takes the rows in which a node is missing
            counted = _bincount(position, None if rows.weights is None else rows.weights[part], int(ends[-1]) + 1)
            total = counted if total is None else cast(CountTable, total + counted)
        assert total is not None
        edges = [0, *ends.tolist()]
        result += [total[first:last] for first, last in pairwise(edges)]
    return result


def _bincount(position: torch.Tensor, weights: torch.Tensor | None, n_cells: int) -> CountTable:
    repeated = None if weights is None else weights.expand(position.shape).reshape(-1)
    counted = torch.bincount(position.reshape(-1), repeated, minlength=n_cells)
    result: CountTable = counted.to(torch.int64 if weights is None else torch.float64).cpu().numpy()
    return result


def _count_pairs(rows: DeviceRows, offsets: NDArray[np.int64], n_bytes: int) -> CountTable:
    """Products of one-hot matrices, their entries brought to the places that `PairTables` gives them."""
    n_states, device = rows.n_states, rows.device
    dtype = torch.int64 if rows.weights is None else torch.float64
    counts = torch.zeros(int(offsets[-1]), dtype=dtype, device=device)
    wide = np.array(n_states[:-1]) > WIDEST
    cells = StateColumns.of(tuple(np.where(wide, 0, n_states[:-1]).tolist()), device)
    if len(cells):
        one_hots = OneHots(rows, cells, n_bytes)
        begins = torch.from_numpy(offsets).to(device)
        for first, last in blocks(cells, len(n_states) - 1, n_states[-1], n_bytes):
            later, place, size = _places(cells, begins, n_states, first, last)
            for c in range(n_states[-1]):
                product = one_hots.product(c, slice(first, last), slice(first, None))
                counts[place + c * size] = product[later].to(dtype)
    result: CountTable = counts.cpu().numpy()
    i, j = np.triu_indices(len(wide), k=1)
    others = np.flatnonzero(wide[i] | wide[j]) if wide.any() else np.empty(0, dtype=np.intp)
    sets = [(len(wide), *pair) for pair in zip(i[others].tolist(), j[others].tolist(), strict=True)]
    for pair, table in zip(others.tolist(), _count_sets(rows, sets, n_bytes), strict=True):
        result[offsets[pair] : offsets[pair + 1]] = table
    return result


def _places(
    cells: StateColumns, begins: torch.Tensor, n_states: tuple[int, ...], first: int, last: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Which entries of a block belong to pairs i < j; where they lie for class 0; and how far classes are apart."""
    n_attributes = len(n_states) - 1
    states = torch.tensor(n_states[:-1], device=begins.device)
    i, x = cells.attribute[first:last, None], cells.state[first:last, None]
    j, y = cells.attribute[None, first:], cells.state[None, first:]
    later = i < j
    pair = (i * n_attributes - i * (i + 1) // 2 + (j - i - 1))[later]
    place = begins[pair] + (x * states[j] + y)[later]
    return later, place, (states[i] * states[j])[later]


@dataclass(frozen=True)
class StateColumns:
    """The rows of H: attribute and state of each, (n_cells,)."""

    attribute: torch.Tensor
    state: torch.Tensor

    @classmethod
    def of(cls, n_states: tuple[int, ...], device: torch.device) -> StateColumns:
        """`n_states` of the attributes alone; the cells of an attribute follow each other."""
        states = torch.tensor(n_states, dtype=torch.int64, device=device)
        attribute = torch.repeat_interleave(torch.arange(len(n_states), device=device), states)
        first = torch.cumsum(states, 0) - states
        return cls(attribute, torch.arange(len(attribute), device=device) - first[attribute])

    def __len__(self) -> int:
        return len(self.attribute)


class OneHots:
    """H_c, (cells, rows of class c) ones and zeros: one cell for each state of each attribute.

    The entry [(i, x), (j, y)] of H_c H_c^T is the number of rows of class c with states x of i and y of j. Ones and
    zeros are exact in bfloat16 and their sums in float32 below 2^24: a GPU's matrix units count without error. H_c
    comes in parts of some rows each, made when asked for, or once where all of them fit in `n_bytes`.
    """

    def __init__(self, rows: DeviceRows, cells: StateColumns, n_bytes: int) -> None:
        self._rows = rows
        self._cells = cells
        if rows.weights is not None:
            self._dtype = torch.float64
        else:
            self._dtype = torch.bfloat16 if rows.device.type == "cuda" else torch.float32
        # The codes, what they compare to, and the matrix.
        per_row = len(cells) * (rows.codes.itemsize + 1 + self._dtype.itemsize)
        length = min(max(n_bytes // per_row, ALIGNED), EXACT_ROWS) // ALIGNED * ALIGNED
        self._parts = rows.chunks(length)
        self._kept: dict[tuple[int, int], torch.Tensor] | None = {} if per_row * rows.n_rows <= n_bytes else None

    def parts(self, c: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """(H_c, H_c times the weights of the rows) of every part."""
        for part in self._parts[c]:
            matrix = self._matrix(part)
            weights = self._rows.weights
            weighted = matrix if weights is None else matrix[:, : part[1] - part[0]] * weights[slice(*part)]
            yield matrix[:, : weighted.shape[1]], weighted

    def _matrix(self, part: tuple[int, int]) -> torch.Tensor:
        if self._kept is not None and part in self._kept:
            return self._kept[part]
        codes = self._rows.codes[:, slice(*part)]
        length = codes.shape[1]
        matrix = torch.zeros(
            (len(self._cells), length + -length % ALIGNED), dtype=self._dtype, device=self._rows.device
        )
        matrix[:, :length] = codes[self._cells.attribute] == self._cells.state[:, None].to(codes.dtype)
        if self._kept is not None:
            self._kept[part] = matrix
        return matrix

    def product(self, c: int, left: slice, right: slice) -> torch.Tensor:
        """Rows of class c, or their weights, in each of the cells `left` and of the cells `right` at once."""
        total: torch.Tensor | None = None
        with _full_precision():
            for matrix, weighted in self.parts(c):
                product = _multiply(weighted[left], matrix[right])
                # Sums of several parts may exceed what float32 holds exactly.
                total = product if total is None else total.to(torch.float64) + product
        if total is None:
            shape = (len(range(*left.indices(len(self._cells)))), len(range(*right.indices(len(self._cells)))))
            return torch.zeros(shape, dtype=torch.float64, device=self._rows.device)
        return total


def blocks(cells: StateColumns, n_attributes: int, n_classes: int, n_bytes: int) -> Iterator[tuple[int, int]]:
    """(first, last) cells of runs of whole attributes whose products fit in `n_bytes`; at least one attribute each.

    The cells of an attribute follow each other.
    """
    ends = torch.searchsorted(cells.attribute, torch.arange(1, n_attributes + 1, device=cells.attribute.device))
    n_entries = max(1, n_bytes // (BYTES_PER_ENTRY + 16 * n_classes))
    edges = np.unique(ends.cpu().numpy())
    first = 0
    while first < len(cells):
        most = first + n_entries // (len(cells) - first)
        last = int(edges[max(np.searchsorted(edges, most, side="right") - 1, np.searchsorted(edges, first, "right"))])
        yield first, last
        first = last


def _multiply(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left right^T with sums in float32 at least."""
    if left.dtype == torch.bfloat16:
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left @ right.T


@contextmanager
def _full_precision() -> Iterator[None]:
    """Without it, partial sums of a product of bfloat16 may themselves be rounded to bfloat16."""
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_bf16_reduced_precision_reduction
    matmul.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        matmul.allow_bf16_reduced_precision_reduction = before
