"""RunningCounts: counts of rows that nobody keeps, taken before it is known what the states of their columns are.

Values are numbered as they are first seen, so that a later batch may bring more of them, and a gap is one state more,
the last. So every row counts for every set of nodes, and counts of fewer nodes are sums. What the states mean is said
at the end: several may become one, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import cast

import numpy as np

from tanager.arrays import Codes, Ints
from tanager.counts.engine import CountEngine, engine_for
from tanager.counts.family import CountTable, PairTables, pair_offsets
from tanager.table.rows import EncodedBatch, Weights

# Of all tables together: 32 MB, three times while a batch is added.
MAX_COUNTED_CELLS = 1 << 22
# Renumbered at a time.
BLOCK_CELLS = 1 << 16


@dataclass(frozen=True)
class ValuesSoFar:
    """What the nodes of a batch hold so far, the class last: how many values, and whether a gap.

    These grow from batch to batch.
    """

    n_values: tuple[int, ...]
    has_missing: tuple[bool, ...]

    @property
    def n_states(self) -> tuple[int, ...]:
        return tuple(n + gap for n, gap in zip(self.n_values, self.has_missing, strict=True))

    def codes_in(self, later: ValuesSoFar) -> list[Ints]:
        """The state of later ones that each state is."""
        nodes = zip(self.n_values, self.has_missing, later.n_values, strict=True)
        return [np.array([*range(n), *[more] * gap], dtype=np.int64) for n, gap, more in nodes]


class RunningCounts:
    """Counts of every attribute with the class; with `pairs`, of every two attributes with the class."""

    def __init__(self, engine: CountEngine, pairs: bool) -> None:
        self.n_rows = 0
        self._engine = engine
        self._pairs = pairs
        self._values = ValuesSoFar((), ())
        self._counts: CountTable = np.empty(0, dtype=np.int64)

    def has_room(self, n_states: Sequence[int]) -> bool:
        """Whether the tables of such nodes are small enough to be held and added up for every batch."""
        states = np.array(n_states[:-1], dtype=np.float64)
        cells = (states.sum() ** 2 - (states**2).sum()) / 2 if self._of_pairs(len(states)) else states.sum()
        return bool(cells * n_states[-1] <= MAX_COUNTED_CELLS)

    def add(
        self,
        codes: Codes,
        class_codes: Codes,
        weights: Weights | None,
        n_values: Sequence[int],
        has_missing: Sequence[bool],
    ) -> None:
        """Count the rows of a batch; `codes` (n_rows, n_attributes), column-major, a gap as the last state.

        Every node, the class last, has so many values so far, and a gap or none.
        """
        values = ValuesSoFar(tuple(n_values), tuple(has_missing))
        n_states = values.n_states
        batch = EncodedBatch(codes, class_codes, n_states, np.zeros(codes.shape[1], dtype=bool), weights)
        self.n_rows += batch.n_rows
        counted = self._count(batch)
        if self._values == values:
            self._counts += counted
            return
        if len(self._counts):
            sets = self._sets(codes.shape[1])
            codes_now = self._values.codes_in(values)
            counted += renumber(self._counts, sets, self._values.n_states, codes_now, n_states)
        self._values, self._counts = values, counted

    def counted(
        self, codes: Sequence[Codes], n_states: tuple[int, ...], factors: Weights | None = None
    ) -> CountedRows | None:
        """The counts by final states, `codes` being those of each node's values, and last of a gap; None without a row.

        A code of `n_states` says that the row does not count for sets with that node. The weights of the rows of a
        class are multiplied by its factor.
        """
        if self.n_rows == 0:
            return None
        values = self._values
        known_values = zip(codes, values.n_values, values.has_missing, strict=True)
        final = [np.append(known[:n], [known[-1]] * gap).astype(np.int64) for known, n, gap in known_values]
        sets = self._sets(len(n_states) - 1)
        counts = self._counts
        if factors is not None:
            cells = np.diff(_offsets(sets, values.n_states)) // values.n_states[-1]  # of a class, which comes first
            counts = counts * np.concatenate([np.repeat(factors[final[-1]], n) for n in cells.tolist()])
        return CountedRows(self.n_rows, sets, values.n_states, counts, tuple(final), n_states)

    def _count(self, batch: EncodedBatch) -> CountTable:
        engine, n_attributes = engine_for(self._engine, self.n_rows), batch.n_attributes
        if self._of_pairs(n_attributes):
            return engine.count_pairs(batch).counts
        sets = [(n_attributes, node) for node in range(n_attributes)]
        return cast(CountTable, np.concatenate(engine.count(batch, sets)))

    def _of_pairs(self, n_attributes: int) -> bool:
        return self._pairs and n_attributes > 1

    def _sets(self, n_attributes: int) -> Ints:
        """(n_sets, 2 or 3) the nodes of each table, in the order of the tables, the last changing fastest."""
        attributes = np.triu_indices(n_attributes, k=1) if self._of_pairs(n_attributes) else [np.arange(n_attributes)]
        return np.stack([np.full(len(attributes[0]), n_attributes), *attributes], axis=1)


@dataclass(frozen=True)
class CountedRows:
    """Counts of rows that are not kept.

    n_rows    how many they are
    sets      (n_sets, 2 or 3) the nodes of each table: the class, then one attribute or two
    n_before  states of each node in the tables
    counts    the tables, flat, one after the other
    codes     of each node the final state of each of those, `n_states` for one that does not count
    n_states  final states of each node
    """

    n_rows: int
    sets: Ints
    n_before: tuple[int, ...]
    counts: CountTable
    codes: tuple[Ints, ...]
    n_states: tuple[int, ...]

    def pairs(self) -> PairTables:
        """The tables of all pairs of attributes."""
        assert self.sets.shape[1] == 3, "no counts of pairs were taken"
        counts = renumber(self.counts, self.sets, self.n_before, self.codes, self.n_states)
        return PairTables(self.n_states, counts, pair_offsets(self.n_states))

    def table(self, nodes: Sequence[int]) -> CountTable:
        """Counts of nodes that are together in a table, flat, the last changing fastest."""
        held, counts = self._holder([node for node in nodes if node < len(self.n_states) - 1])
        others = tuple(axis for axis, node in enumerate(held) if node not in nodes)
        order = [node for node in held if node in nodes]
        summed = counts.sum(axis=others).transpose([order.index(node) for node in nodes])
        return renumber(summed.reshape(-1), np.array([nodes]), self.n_before, self.codes, self.n_states)

    def _holder(self, attributes: list[int]) -> tuple[list[int], CountTable]:
        """The nodes and the counts of a table with these attributes."""
        n_attributes, n_held = len(self.n_states) - 1, self.sets.shape[1] - 1
        assert len(attributes) <= n_held, "only counts of fewer nodes were taken"
        others = (node for node in range(n_attributes) if node not in attributes)
        table_nodes = sorted([*attributes, *islice(others, n_held - len(attributes))])
        tables = PairTables(self.n_before, self.counts, self._offsets)
        position = tables.index(table_nodes[0], table_nodes[1]) if n_held == 2 else table_nodes[0]
        held = [n_attributes, *table_nodes]
        counts = self.counts[self._offsets[position] : self._offsets[position + 1]]
        return held, counts.reshape([self.n_before[node] for node in held])

    @cached_property
    def _offsets(self) -> Ints:
        return _offsets(self.sets, self.n_before)


def renumber(
    counts: CountTable, sets: Ints, n_before: Sequence[int], codes: Sequence[Ints], n_states: Sequence[int]
) -> CountTable:
    """Tables of the same sets of nodes after state s of a node has become state `codes[node][s]`, or left."""
    before, after = np.array(n_before, dtype=np.int64), np.array(n_states, dtype=np.int64)
    starts = np.cumsum(before) - before
    flat_codes = np.concatenate(codes)
    offsets, result_offsets = _offsets(sets, before), _offsets(sets, after)
    result: CountTable = np.zeros(result_offsets[-1], dtype=counts.dtype)
    # Whole tables, as many as make a block of cells.
    edges = np.searchsorted(offsets, np.arange(0, offsets[-1], BLOCK_CELLS))
    for first, last in pairwise(np.unique([*edges, len(sets)]).tolist()):
        block_counts = counts[offsets[first] : offsets[last]]
        table = np.repeat(np.arange(first, last), np.diff(offsets[first : last + 1]))
        cell = np.arange(offsets[first], offsets[last]) - offsets[table]
        position, stride = result_offsets[table], np.ones(len(table), dtype=np.int64)
        present = np.ones(len(table), dtype=bool)
        for nodes in sets[:, ::-1].T:
            node = nodes[table]
            cell, state = np.divmod(cell, before[node])
            code = flat_codes[starts[node] + state]
            present &= code < after[node]
            position += code * stride
            stride *= after[node]
        np.add.at(result, position[present], block_counts[present])
    return result


def _offsets(sets: Ints, n_states: Sequence[int] | Ints) -> Ints:
    """Where each set's table begins, and where the last ends."""
    sizes = np.asarray(n_states, dtype=np.int64)[sets].prod(axis=1)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
