"""TripleTables: the counts of every three attributes with the class, in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np

from tanager.arrays import Ints
from tanager.counts.engine import SETS_WORTH_COMPILING, CountEngine
from tanager.counts.family import CountTable
from tanager.runtime.resources import count_threads, map_threads
from tanager.table.rows import EncodedBatch

ROWS_OF_A_CALL = 2_000
"""An engine that counts set by set takes as long to begin a set as to count so many rows."""


@dataclass(frozen=True)
class TripleTables:
    """The table of attributes i < j < k is (r_i, r_j, r_k, n_classes), flat, in `counts`.

    Tables lie in the order of their triples: (0, 1, 2), (0, 1, 3), ..., (0, 2, 3), ...

    starts  (n, n) where those of i and j and later attributes begin, at [i, j]
    """

    n_states: tuple[int, ...]
    counts: CountTable
    starts: Ints

    def __iadd__(self, other: TripleTables) -> TripleTables:
        """The counts of the rows of both, in place."""
        self.counts[:] += other.counts
        return self

    def table(self, i: int, j: int, k: int) -> CountTable:
        """A view (r_i, r_j, r_k, n_classes) of three ascending attributes."""
        states, n_classes = self.n_states, self.n_states[-1]
        start = int(self.starts[i, j]) + states[i] * states[j] * n_classes * sum(states[j + 1 : k])
        shape = states[i], states[j], states[k], n_classes
        return self.counts[start : start + int(np.prod(shape))].reshape(shape)


def triple_cells(n_states: Sequence[int]) -> int:
    """Cells of all tables: of the states, the class apart, the sum of all products of three, times the classes."""
    *states, n_classes = n_states
    first, second, third = (sum(each**power for each in states) for power in (1, 2, 3))
    return n_classes * (first**3 - 3 * first * second + 2 * third) // 6


def triple_starts(n_states: Sequence[int]) -> Ints:
    """(n, n) where the tables of the attributes i < j and later ones begin."""
    states = np.array(n_states[:-1], dtype=np.int64)
    later = states.sum() - np.cumsum(states)
    sizes = np.triu(states[:, np.newaxis] * states * later, k=1) * n_states[-1]
    ends = sizes.cumsum().reshape(sizes.shape)
    starts: Ints = ends - sizes
    return starts


def count_triples(batch: EncodedBatch, engine: CountEngine) -> TripleTables:
    """The counts of a batch: sets by the engine where they are few, otherwise all in one compiled pass."""
    n = batch.n_attributes
    n_triples, starts = n * (n - 1) * (n - 2) // 6, triple_starts(batch.n_states)
    if n_triples * (batch.n_rows + ROWS_OF_A_CALL) < SETS_WORTH_COMPILING:
        tables = engine.count(batch, [(*triple, n) for triple in combinations(range(n), 3)])
        return TripleTables(batch.n_states, cast(CountTable, np.concatenate(tables)), starts)
    from tanager.counts.numba_kernels import count_all_triples

    units = np.ones(batch.n_rows, np.int8) if batch.weights is None else np.ascontiguousarray(batch.weights)
    n_cells = triple_cells(batch.n_states)
    counts: CountTable = np.zeros(n_cells, np.int64) if batch.weights is None else np.zeros(n_cells, np.float64)
    columns, classes = np.ascontiguousarray(batch.codes.T), batch.class_codes.astype(np.uint32)
    n_states, n_shares = np.array(batch.n_states, np.int64), 4 * count_threads()
    map_threads(
        lambda first: count_all_triples(first, n_shares, columns, classes, units, n_states, starts, counts),
        range(n_shares),
    )
    return TripleTables(batch.n_states, counts, starts)
