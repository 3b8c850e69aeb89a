"""ByShape: a score written once for a whole stack of tables of one shape, instead of table by table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np

from tanager.arrays import Array, Ints
from tanager.counts.family import CountTable, Family, PairTables
from tanager.runtime.resources import count_threads, map_threads

# Above this many cells in the pair tables the compiled kernels repay their start; NumPy does about 3e7 a second.
CELLS_WORTH_COMPILING = 3_000_000
# Kernels hold many tables side by side; a larger one than this NumPy handles as well, and without the memory.
LARGEST_KERNEL_TABLE = 1 << 12
# A stack of pair tables is cut into blocks of about this many cells, so that its margins stay in the cache.
CELLS_PER_BLOCK = 1 << 18

StackTerms = Callable[[CountTable, Family, Sequence[int]], Array]


class ByShape(ABC):
    """Mixin before `FamilyScore`, for a score that depends on a family's table and shape but not on its names."""

    @abstractmethod
    def stack_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        """The terms of tables (..., attribute-parent configurations, classes or 1, states): one per leading index.

        `family` is one of the families the tables belong to; the others have as many states, node by node.
        """

    def check_options(self) -> None:  # noqa: B027 - a score without options has nothing to check
        """See `FamilyScore.check_options`."""

    def local(self, table: CountTable, family: Family, n_states: Sequence[int]) -> float:
        """See `FamilyScore.local`."""
        return float(self.terms([table], [family], n_states)[0])

    def terms(self, tables: Sequence[CountTable], families: Sequence[Family], n_states: Sequence[int]) -> Array:
        """See `FamilyScore.terms`."""
        self.check_options()
        result = np.zeros(len(families))
        alike: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for position, (table, family) in enumerate(zip(tables, families, strict=True)):
            if table.size:  # an attribute without a state has nothing to score
                is_class = family.child == len(n_states) - 1
                alike[(*(n_states[node] for node in family.nodes), is_class, table.shape)].append(position)
        for positions in alike.values():
            stack = np.stack([tables[position] for position in positions])
            result[positions] = self.stack_terms(cast(CountTable, stack), families[positions[0]], n_states)
        return result

    def pair_scores(self, pairs: PairTables) -> Array:
        """See `FamilyScore.pair_scores`."""
        self.check_options()
        n_attributes = len(pairs.n_states) - 1
        result = np.zeros((n_attributes, n_attributes))
        for group in pair_groups(pairs):
            score_group(self.stack_terms, group, pairs, result)
        return result


@dataclass(frozen=True)
class PairGroup:
    """The pairs (i, j), i < j, with i among `rows` and j among `columns`; all tables have shape (classes, r_i, r_j)."""

    rows: Ints
    columns: Ints
    shape: tuple[int, int, int]
    n_pairs: int

    @property
    def fits_kernels(self) -> bool:
        return prod(self.shape) <= LARGEST_KERNEL_TABLE

    def on_threads(self, score_rows: Callable[[Ints], None]) -> None:
        """Call a kernel on shares of the rows, interleaved because the triangle is uneven."""
        n_threads = count_threads()
        map_threads(score_rows, [self.rows[thread::n_threads] for thread in range(n_threads)])


def pair_groups(pairs: PairTables) -> list[PairGroup]:
    """All pairs whose tables have cells, grouped by the numbers of states of their first and second attribute."""
    states = np.asarray(pairs.n_states[:-1])
    alike = {number: np.flatnonzero(states == number) for number in np.unique(states[states > 0]).tolist()}
    groups = []
    for r_i, rows in alike.items():
        for r_j, columns in alike.items():
            n_pairs = int((len(columns) - np.searchsorted(columns, rows, side="right")).sum())
            if n_pairs:
                groups.append(PairGroup(rows, columns, (pairs.n_states[-1], r_i, r_j), n_pairs))
    return groups


def pair_totals(pairs: PairTables) -> CountTable:
    """(n_pairs,) rows counted for each pair."""
    filled = np.diff(pairs.offsets) > 0
    totals = np.zeros(len(filled), dtype=pairs.counts.dtype)
    totals[filled] = np.add.reduceat(pairs.counts, pairs.offsets[:-1][filled])
    return cast(CountTable, totals)


def worth_compiling(pairs: PairTables) -> bool:
    """Whether there are so many pairs that a kernel saves more time than its start takes."""
    return pairs.counts.size > CELLS_WORTH_COMPILING


def score_group(terms: StackTerms, group: PairGroup, pairs: PairTables, result: Array) -> None:
    """Write the terms of both directions of every pair of a group at [parent, child] of `result`."""
    target = len(pairs.n_states) - 1
    for i, j, tables in _blocks(group, pairs):
        forward, backward = Family(int(j[0]), (int(i[0]), target)), Family(int(i[0]), (int(j[0]), target))
        result[i, j] = terms(tables.transpose(0, 2, 1, 3), forward, pairs.n_states)
        result[j, i] = terms(tables.transpose(0, 3, 1, 2), backward, pairs.n_states)


def _blocks(group: PairGroup, pairs: PairTables) -> Iterator[tuple[Ints, Ints, CountTable]]:
    """First attributes, second attributes and tables (pairs, classes, r_i, r_j), a block at a time."""
    n_attributes = len(pairs.n_states) - 1
    cells = np.arange(prod(group.shape))
    rows, columns = np.nonzero(group.rows[:, None] < group.columns[None, :])
    per_block = max(1, CELLS_PER_BLOCK // len(cells))
    for start in range(0, len(rows), per_block):
        i, j = group.rows[rows[start : start + per_block]], group.columns[columns[start : start + per_block]]
        number = i * n_attributes - i * (i + 1) // 2 + (j - i - 1)
        yield i, j, pairs.counts[pairs.offsets[number][:, None] + cells].reshape(-1, *group.shape)
