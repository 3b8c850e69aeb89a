"""Scores of stacks of count tables of one shape: ByShape, and MarginSums, sums over the cells of a table's margins."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple, cast

import numpy as np

from tanager.arrays import Array, Ints
from tanager.counts.family import CountTable, Family, PairTables
from tanager.runtime.resources import map_threads
from tanager.scores.protocol import FamilyScore

# A stack of pair tables is cut into blocks of about this many cells, so that its margins stay in the cache.
CELLS_PER_BLOCK = 1 << 18
AXES = {"j": -3, "c": -2, "k": -1}

Function = Callable[[Array], Array]


class ByShape(FamilyScore):
    """A score that depends on a family's table and shape but not on its names, for a whole stack of tables at once."""

    @abstractmethod
    def stack_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        """The terms of tables (..., attribute-parent configurations, classes or 1, states): one per leading index.

        `family` is one of the families the tables belong to; the others have as many states, node by node.
        """

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

        def score(i: Ints, j: Ints, tables: CountTable) -> None:
            first, second = int(i[0]), int(j[0])
            given_i, given_j = Family(second, (first, n_attributes)), Family(first, (second, n_attributes))
            result[i, j] = self.stack_terms(tables.transpose(0, 2, 1, 3), given_i, pairs.n_states)
            result[j, i] = self.stack_terms(tables.transpose(0, 3, 1, 2), given_j, pairs.n_states)

        map_pairs(score, pairs)
        return result


class Term(NamedTuple):
    """coefficient * sum of function(N) over the cells of one margin of N_jck.

    `margin` names the axes kept: j attribute-parent configuration, c class, k state of the child; "" is the total.
    """

    coefficient: float
    margin: str
    function: Function


class MarginSums(ByShape):
    """A score whose subclass writes its formula as a list of `Term`s."""

    @abstractmethod
    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        """What to add up for a family of this shape."""

    def stack_terms(self, tables: CountTable, family: Family, n_states: Sequence[int]) -> Array:
        return sum_terms(self.formula(family, n_states), tables)


def sum_terms(formula: Sequence[Term], tables: CountTable) -> Array:
    """The formula's value for each of the tables (..., q, s, r)."""
    result = np.zeros(tables.shape[:-3])
    for coefficient, margin, function in formula:
        summed = tuple(axis for name, axis in AXES.items() if name not in margin)
        cells = tables.sum(axis=summed, keepdims=True) if summed else tables
        result += coefficient * evaluate(function, cells).sum(axis=(-3, -2, -1))
    return result


def xlogx(counts: Array) -> Array:
    """N log N, zero at zero."""
    return counts * np.log(np.maximum(counts, np.finfo(float).tiny))


def evaluate(function: Function, counts: CountTable) -> Array:
    """function(counts), by look-up where many small integers would repeat the work."""
    if counts.dtype.kind == "i" and counts.size > 1024:
        largest = int(counts.max())
        if largest < counts.size // 2:
            return function(np.arange(largest + 1, dtype=float))[counts]
    return function(counts.astype(float, copy=False))


def map_pairs(use: Callable[[Ints, Ints, CountTable], None], pairs: PairTables) -> None:
    """Call `use(i, j, tables)` on threads, with all pairs of attributes i < j that have cells.

    A call has pairs of one shape: tables (pairs, classes, states of i, states of j). The pairs change fastest in
    memory, so that sums over the cells of small tables run along it.
    """
    n_attributes, n_classes = len(pairs.n_states) - 1, pairs.n_states[-1]
    states = np.asarray(pairs.n_states[:-1])
    alike = {number: np.flatnonzero(states == number) for number in np.unique(states[states > 0]).tolist()}
    blocks = []
    for r_i, first in alike.items():
        for r_j, second in alike.items():
            rows, columns = np.nonzero(first[:, np.newaxis] < second)
            per_block = max(1, CELLS_PER_BLOCK // (n_classes * r_i * r_j))
            for start in range(0, len(rows), per_block):
                block = slice(start, start + per_block)
                blocks.append((first[rows[block]], second[columns[block]]))

    def take(block: tuple[Ints, Ints]) -> None:
        i, j = block
        shape = (n_classes, int(states[i[0]]), int(states[j[0]]))
        number = i * n_attributes - i * (i + 1) // 2 + (j - i - 1)
        cells = np.arange(prod(shape))[:, np.newaxis]
        tables = pairs.counts[pairs.offsets[number] + cells].reshape(*shape, len(i))
        use(i, j, cast(CountTable, np.moveaxis(tables, -1, 0)))

    map_threads(take, blocks)


def pair_totals(pairs: PairTables) -> CountTable:
    """(n_pairs,) rows counted for each pair."""
    filled = np.diff(pairs.offsets) > 0
    totals = np.zeros(len(filled), dtype=pairs.counts.dtype)
    totals[filled] = np.add.reduceat(pairs.counts, pairs.offsets[:-1][filled])
    return cast(CountTable, totals)
