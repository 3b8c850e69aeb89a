"""Family: a node and its parents, the currency of counts, scores, cache and tables; and how counts lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tanager.arrays import Array, Ints

CountTable = Ints | Array


@dataclass(frozen=True, slots=True, order=True)
class Family:
    """Node `child` with its `parents`, ascending. The class has the largest number, so it is the last parent.

    A table of the family is a flat array (n_configurations, n_states of the child): the configuration of the parents
    is a mixed-radix number whose last digit, the class where it is a parent, changes fastest. So reshaping to
    (attribute configurations, classes, child states) is free.
    """

    child: int
    parents: tuple[int, ...]

    @classmethod
    def of(cls, child: int, parents: Iterable[int]) -> Family:
        return cls(child, tuple(sorted(parents)))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Parents, then child: the digits of a cell's position, slowest first."""
        return (*self.parents, self.child)

    def shape(self, n_states: Sequence[int]) -> tuple[int, int]:
        """(configurations of all parents, states of the child)."""
        return prod(n_states[node] for node in self.parents), n_states[self.child]

    def class_shape(self, n_states: Sequence[int]) -> tuple[int, int, int]:
        """(configurations of the attribute parents, classes or 1 without the class, states of the child)."""
        target = len(n_states) - 1
        attributes = prod(n_states[node] for node in self.parents if node != target)
        return attributes, n_states[target] if target in self.parents else 1, n_states[self.child]

    def size(self, n_states: Sequence[int]) -> int:
        return prod(self.shape(n_states))


def strides(nodes: Sequence[int], n_states: Sequence[int]) -> tuple[int, ...]:
    """Weight of each node's code in the mixed-radix position of a cell, the last node changing fastest."""
    result = [1] * len(nodes)
    for position in range(len(nodes) - 2, -1, -1):
        result[position] = result[position + 1] * n_states[nodes[position + 1]]
    return tuple(result)


@dataclass(frozen=True)
class PairTables:
    """Pair (i, j), i < j, takes `offsets[p] : offsets[p + 1]` of `counts`, shaped (n_classes, r_i, r_j).

    Pairs are numbered row by row of the upper triangle: p = (0,1), (0,2), ..., (1,2), ...
    """

    n_states: tuple[int, ...]
    counts: CountTable
    offsets: Ints

    def __iadd__(self, other: PairTables) -> PairTables:
        self.counts[:] += other.counts
        return self

    def index(self, i: int, j: int) -> int:
        """Number of the pair (i, j), i < j."""
        n_attributes = len(self.n_states) - 1
        return i * n_attributes - i * (i + 1) // 2 + (j - i - 1)

    def table(self, parent: int, child: int) -> CountTable:
        """A view (r_parent, n_classes, r_child): the family of `child` with parents `parent` and the class."""
        i, j = min(parent, child), max(parent, child)
        p = self.index(i, j)
        stored = self.counts[self.offsets[p] : self.offsets[p + 1]]
        by_class = stored.reshape(self.n_states[-1], self.n_states[i], self.n_states[j])
        return by_class.transpose(1, 0, 2) if parent == i else by_class.transpose(2, 0, 1)


def pair_cells(n_states: Sequence[int]) -> int:
    """Cells of the tables of all pairs, without a number for each pair: thousands of attributes have millions."""
    states = n_states[:-1]
    return n_states[-1] * (sum(states) ** 2 - sum(each**2 for each in states)) // 2


def pair_offsets(n_states: Sequence[int]) -> Ints:
    """Where each pair's table begins; the last entry is the size of all. `n_states` ends with the class."""
    states = np.asarray(n_states[:-1], dtype=np.int64)
    sizes = [n_states[-1] * states[i] * states[i + 1 :] for i in range(len(states))]
    return np.concatenate([np.zeros(1, dtype=np.int64), *sizes]).cumsum()
