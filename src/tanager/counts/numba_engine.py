"""The compiled engine: bit slices for pairs of attributes with few states, histograms for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

from tanager.arrays import Codes, Flags, Ints
from tanager.counts.bit_kernels import TILE, count_mask_pairs
from tanager.counts.family import CountTable, PairTables, pair_offsets, strides
from tanager.counts.mask_kernels import ROWS_PER_WORD, WORDS_PER_VECTOR, pack_masks, pack_masks_of_words, padded_words
from tanager.counts.numba_kernels import Units, count_nodes, count_partners
from tanager.runtime.resources import count_threads, map_threads
from tanager.table.rows import EncodedBatch

# Masks per attribute up to which AND + popcount beats a histogram: with a vector popcount instruction, and without.
CPU = binding.get_host_cpu_features()
MAX_MASKS = 18 if CPU.get("avx512vpopcntdq") else 13
# Classes up to which rows are grouped by taking every class from a vector of codes; more are faster row by row.
MAX_CLASSES_TAKEN = 12 if CPU.get("avx512vbmi2") else 0
# Rows packed at a time: their masks should stay in the cache the cores share; fewer if they took more than these bytes,
# but a block at least.
SLAB_ROWS = 1 << 18
SLAB_BYTES = 1 << 26
# A block of a mask is 512 words: two tiles of four of them fill the cache closest to the core.
BLOCK_ROWS = 512 * ROWS_PER_WORD
PARTNERS_PER_TASK = 16
# What `kernels_of` gave for work done in this process: the same kernels need not be loaded again.
LOADED: set[tuple[object, ...]] = set()


def kernels_of(batch: EncodedBatch, what: str) -> tuple[object, ...]:
    """Which kernels, of which types, count "sets" or "pairs" of a batch."""
    types = (what, batch.codes.dtype, batch.weights is None)
    if what == "sets":
        return types
    layout = _Layout.of(batch, 1)
    return (*types, batch.n_classes <= MAX_CLASSES_TAKEN, bool(layout.narrow.any()), bool(layout.narrow.all()))


class NumbaEngine:
    """See `CountEngine`. One thread sums a table, in the order of the rows: the number of threads changes nothing."""

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        rows = _Rows(batch)

        def count_one(nodes: tuple[int, ...]) -> CountTable:
            # The last cell takes the rows in which a node is missing.
            counts = rows.new_counts(prod(batch.n_states[node] for node in nodes) + 1)
            steps = np.array(strides(nodes, batch.n_states), np.int64)
            count_nodes(*rows.arrays, rows.incomplete, np.array(nodes, np.int64), steps, counts)
            return counts[:-1]

        found = map_threads(count_one, node_sets)
        LOADED.add(kernels_of(batch, "sets"))
        return found

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        rows = _Rows(batch)
        offsets = pair_offsets(batch.n_states)
        counts = rows.new_counts(int(offsets[-1]))
        layout = _Layout.of(batch, count_threads())
        if layout.narrow.sum() > 1:
            self._count_narrow(batch, rows, layout, offsets, counts)
        if not layout.narrow.all():
            partners, tasks = _histogram_tasks(layout.narrow)
            self._share(count_partners, *rows.arrays, offsets, partners, tasks, counts)
        LOADED.add(kernels_of(batch, "pairs"))
        return PairTables(batch.n_states, counts, offsets)

    def _count_narrow(
        self, batch: EncodedBatch, rows: _Rows, layout: _Layout, offsets: Ints, counts: CountTable
    ) -> None:
        """Add the pairs of attributes that have bit masks."""
        attributes, panels = layout.attributes, layout.panels
        masks = np.empty(0, np.uint64)
        for slab in _slabs(batch, layout.n_masks):
            if len(masks) < slab.n_words * layout.n_masks:
                masks = np.empty(slab.n_words * layout.n_masks, np.uint64)
            singles = np.zeros((batch.n_classes, layout.n_masks), np.int64)
            packed = slab.blocks, attributes, masks, singles
            if batch.n_classes <= MAX_CLASSES_TAKEN and rows.columns.dtype == np.uint8:
                self._share(pack_masks_of_words, rows.columns, slab.low, slab.class_words, *packed)
            else:
                self._share(pack_masks, rows.columns, slab.low, slab.order, *packed)
            margins = singles, slab.class_rows
            self._share(
                count_mask_pairs, masks, slab.blocks, attributes, panels, *margins, offsets, batch.n_attributes, counts
            )

    def _share(self, kernel: Callable[..., None], *arguments: object) -> None:
        """Run `kernel(first, step, *arguments)` on all threads; a few shares for each, as no two take equally long."""
        n_shares = 4 * count_threads()
        map_threads(lambda first: kernel(first, n_shares, *arguments), range(n_shares))


@dataclass(frozen=True)
class _Rows:
    """A batch in the few types the kernels are compiled for; see `numba_kernels` for the shapes."""

    batch: EncodedBatch

    @cached_property
    def columns(self) -> Codes:
        return np.ascontiguousarray(self.batch.codes.T)

    @cached_property
    def incomplete(self) -> Flags:
        return np.append(self.batch.incomplete, False)

    @cached_property
    def arrays(self) -> tuple[Codes, NDArray[np.uint32], Units, Ints]:
        """Columns, classes, units and numbers of states; masks need the first only."""
        batch = self.batch
        units = np.ones(batch.n_rows, np.int8) if batch.weights is None else np.ascontiguousarray(batch.weights)
        return self.columns, batch.class_codes.astype(np.uint32), units, np.array(batch.n_states, np.int64)

    def new_counts(self, n_cells: int) -> CountTable:
        return np.zeros(n_cells, np.int64) if self.batch.weights is None else np.zeros(n_cells, np.float64)


@dataclass(frozen=True)
class _Layout:
    """Which attributes are narrow enough for bit masks, their masks and panels: see `bit_kernels`."""

    narrow: Flags
    attributes: NDArray[np.uint64]
    panels: Ints

    @property
    def n_masks(self) -> int:
        return int(self.panels[-1, 1])

    @classmethod
    def of(cls, batch: EncodedBatch, n_threads: int) -> _Layout:
        n_states = np.array(batch.n_states[:-1], np.int64)
        n_masks = np.where(batch.incomplete, n_states, np.maximum(n_states - 1, 0))
        narrow = n_masks <= _widest(batch)
        # Wide panels reuse what they load; there must be enough of them to go round.
        width = min(max(int(n_masks[narrow].sum()) // (6 * n_threads), 3 * TILE), 12 * TILE)
        attributes, panels, used = [], [(0, 0)], 0
        for attribute in np.flatnonzero(narrow).tolist():
            attributes.append((attribute, batch.n_states[attribute], used, int(n_masks[attribute])))
            used += int(n_masks[attribute])
            if used - panels[-1][1] >= width:
                used += -used % TILE
                panels.append((len(attributes), used))
        panels.append((len(attributes), used + -used % TILE))
        return cls(narrow, np.array(attributes, np.uint64), np.array(panels, np.int64))


def _widest(batch: EncodedBatch) -> int:
    """Masks an attribute may have before histograms win; fewer where padding every class fills the words badly."""
    if batch.weights is not None or not batch.n_rows:
        return -1
    n_words = batch.n_rows / ROWS_PER_WORD
    padding = batch.n_classes * -(-batch.n_rows // SLAB_ROWS) * WORDS_PER_VECTOR
    return int(MAX_MASKS * sqrt(n_words / (n_words + padding)))


@dataclass(frozen=True)
class _Slab:
    """Rows packed at a time, from row `low` on: their classes, the rows of each and their blocks by class."""

    low: int
    classes: Codes
    blocks: Ints
    class_rows: Ints
    n_words: int

    @property
    def order(self) -> NDArray[np.uint32]:
        return np.argsort(self.classes, kind="stable").astype(np.uint32)

    @property
    def class_words(self) -> NDArray[np.uint64]:
        """(n_classes, n_words) a bit for every row, set if it is of the class."""
        words = np.zeros((len(self.class_rows), -(-len(self.classes) // ROWS_PER_WORD)), np.uint64)
        for c, class_bytes in enumerate(words.view(np.uint8)):
            bits = np.packbits(self.classes == c, bitorder="little")
            class_bytes[: len(bits)] = bits
        return words


def _slabs(batch: EncodedBatch, n_masks: int) -> Iterator[_Slab]:
    size = min(max(8 * SLAB_BYTES // max(n_masks, 1), BLOCK_ROWS), SLAB_ROWS)
    for low in range(0, batch.n_rows, size):
        classes = batch.class_codes[low : low + size]
        class_rows = np.bincount(classes, minlength=batch.n_classes)
        blocks, n_words, end = [], 0, 0
        for c, n_rows in enumerate(class_rows.tolist()):
            start, end = end, end + n_rows
            for first in range(start, end, BLOCK_ROWS):
                last = min(first + BLOCK_ROWS, end)
                blocks.append((c, first, last, n_words))
                n_words += padded_words(last - first)
        yield _Slab(low, classes, np.array(blocks, np.int64), class_rows, n_words)


def _histogram_tasks(narrow: Flags) -> tuple[Ints, Ints]:
    """The pairs with an attribute that is not narrow, as `count_partners` takes them."""
    partners: list[Ints] = [np.empty(0, np.int64)]
    tasks, stop = [], 0
    for i in range(len(narrow)):
        mine = i + 1 + np.flatnonzero(~(narrow[i] & narrow[i + 1 :]))
        partners.append(mine)
        start, stop = stop, stop + len(mine)
        tasks += [(i, at, min(at + PARTNERS_PER_TASK, stop)) for at in range(start, stop, PARTNERS_PER_TASK)]
    return np.concatenate(partners), np.array(tasks, np.int64).reshape(-1, 3)
