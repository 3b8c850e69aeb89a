"""Family: a node and its parents, the currency of counts, scores, cache and tables; and how counts lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import cast

import numpy as np

from tanager.arrays import Array, Ints

CountTable = Ints | Array
NodeNumbers = Ints


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
        """Cells of the table."""
        return prod(self.shape(n_states))


def strides(nodes: Sequence[int], n_states: Sequence[int]) -> tuple[int, ...]:
    """Weight of each node's code in the mixed-radix position of a cell, the last node changing fastest."""
    result = [1] * len(nodes)
    for position in range(len(nodes) - 2, -1, -1):
        result[position] = result[position + 1] * n_states[nodes[position + 1]]
    return tuple(result)


@dataclass(frozen=True)
class TableStack:
    """Counts (n, attribute-parent configurations, classes or 1, states) of the families of `children`, (n,)."""

    children: NodeNumbers
    counts: CountTable

    @classmethod
    def of(cls, children: NodeNumbers, tables: Sequence[CountTable]) -> TableStack:
        """From tables of one shape, copied."""
        return cls(children, cast(CountTable, np.stack(tables)))


@dataclass(frozen=True)
class FamilyLayout:
    """What families of one layout share: the states of their ascending nodes, and which of these is the child.

    Thousands of small tables are worth one step of array code.

    children  (n,) ascending
    nodes     (n, width) the nodes of each family, ascending
    states    (width,)
    place     of the child among the nodes
    """

    children: NodeNumbers
    nodes: NodeNumbers
    states: tuple[int, ...]
    place: int
    has_class: bool

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return len(self.children) * prod(self.states)

    def arrange(self, flat: CountTable) -> TableStack:
        """From flat counts (n, cells), the last of the ascending nodes changing fastest."""
        child, width = self.place + 1, len(self.states)
        cells = flat.reshape(-1, *self.states).transpose(*range(child), *range(child + 1, width + 1), child)
        class_is_parent = self.has_class and child < width
        n_classes = self.states[-1] if class_is_parent else 1
        return TableStack(self.children, cells.reshape(len(flat), -1, n_classes, self.states[self.place]))


def family_layouts(parents: Sequence[tuple[int, ...]], n_states: Sequence[int]) -> Iterator[FamilyLayout]:
    """The layouts of the families of all nodes of a structure, given the ascending `parents` of each.

    The class, the last node, has a layout of its own.
    """
    target = len(n_states) - 1
    states = np.array(n_states, dtype=np.int64)
    n_parents = np.fromiter(map(len, parents), np.int64, len(parents))
    for own_parents in np.unique(n_parents).tolist():
        children = np.flatnonzero(n_parents == own_parents)
        n_families, width = len(children), own_parents + 1
        # Only here does a family cost a step of Python; NumPy takes much longer for a list of tuples.
        all_parents = chain.from_iterable(map(parents.__getitem__, children.tolist()))
        nodes = np.empty((n_families, width), dtype=np.int64)
        nodes[:, :-1] = np.fromiter(all_parents, np.int64, n_families * own_parents).reshape(n_families, own_parents)
        nodes[:, -1] = children
        nodes.sort(axis=1)
        place = (nodes < children[:, None]).sum(axis=1)
        has_class = nodes[:, -1] == target
        for alike in _equal_rows(np.column_stack([states[nodes], place, has_class])):
            first = int(alike[0])
            yield FamilyLayout(
                children[alike],
                nodes[alike],
                tuple(states[nodes[first]].tolist()),
                int(place[first]),
                bool(has_class[first]),
            )


def stack_tables(tables: Sequence[CountTable], target: int) -> Iterator[TableStack]:
    """The tables of nodes 0, 1, ..., those of one shape together; the class `target` has a stack of its own."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for child, table in enumerate(tables):
        alike.setdefault((table.shape, child == target), []).append(child)
    for children in alike.values():
        yield TableStack.of(np.array(children), [tables[child] for child in children])


@dataclass(frozen=True)
class PairTables:
    """Pair (i, j), i < j, takes `offsets[p] : offsets[p + 1]` of `counts`, shaped (n_classes, r_i, r_j).

    Pairs are numbered row by row of the upper triangle: p = (0,1), (0,2), ..., (1,2), ...
    """

    n_states: tuple[int, ...]
    counts: CountTable
    offsets: Ints

    def __iadd__(self, other: PairTables) -> PairTables:
        """The counts of the rows of both, in place."""
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


def families_of(parents: Sequence[tuple[int, ...]]) -> tuple[Family, ...]:
    """The family of each node."""
    return tuple(map(Family, range(len(parents)), parents))


def _equal_rows(rows: Ints) -> list[Ints]:
    """The positions of the rows of each kind, ascending."""
    kind = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        if (column != column[0]).any():
            _, value = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * (value.max() + 1) + value, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
