"""CompiledPass: loss and gradient of many rows by look-ups in tables of several families at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.arrays import Array
from tanager.counts.family import Family
from tanager.parameters.class_cells import ClassCells
from tanager.runtime.resources import map_threads
from tanager.table.rows import EncodedBatch, add

# A group's table and its gradient stay in the second-level cache, and are filled by many rows a cell. Fewer and larger
# tables beat those that fit the first level: 0.19 s a pass over covtype instead of 0.32 s.
GROUP_BYTES = 1 << 17
ROWS_PER_CELL = 16
# Groups are built along the structure, so only the latest can share attributes with the next family.
OPEN_GROUPS = 8
# A part of the rows is worth a thread from this many look-ups, and from a few for each entry it has to add up.
PART_LOOK_UPS = 1 << 19
LOOK_UPS_PER_ENTRY = 24
MAX_PARTS = 64

# Attributes, ascending, and the positions in `ClassCells.families` of families that hold no others.
Group = tuple[tuple[int, ...], list[int]]
# The rows first .. last - 1 of a batch.
Run = tuple[EncodedBatch, int, int]


class CompiledPass:
    """One pass over the rows in threads, in memory that does not grow with the rows.

    Families are put in groups whose union of attributes has few combinations: the group's table is the sum of its
    families' tables, so a look-up and an addition serve several of them (50 attributes in a tree need about 20).
    The rows are cut into parts by their number alone, and parts are summed in order: threads change no digit.
    """

    def __init__(self, cells: ClassCells, batches: Sequence[EncodedBatch], power: int) -> None:
        """The rows are those of one or several batches of a table."""
        self._power = power
        self._layout = Layout.of(cells, batches)
        self._members = self._layout.members
        self._transposed = self._members.T
        self._parts = [_runs(batches, first, last) for first, last in pairwise(self._edges(batches))]

    def _edges(self, batches: Sequence[EncodedBatch]) -> list[int]:
        """The rows, numbered through all batches, at which parts begin, and their end."""
        n_rows, n_odds = sum(batch.n_rows for batch in batches), batches[0].n_classes - 1
        look_ups = n_rows * len(self._layout.offsets) * n_odds
        n_parts = look_ups // max(PART_LOOK_UPS, LOOK_UPS_PER_ENTRY * self._members.shape[0] * n_odds)
        edges: list[int] = np.linspace(0, n_rows, 1 + max(1, min(MAX_PARTS, n_parts))).astype(int).tolist()
        return edges

    def __call__(self, odds: Array) -> tuple[float, Array]:
        """Loss and its gradient at log odds against the last class; both (n_cells, n_classes - 1)."""
        from tanager.parameters.conditional.pass_kernels import pass_many_classes, pass_two_classes

        two = odds.shape[1] == 1
        tables = self._members @ (odds[:, 0] if two else odds)
        kernel = pass_two_classes if two else pass_many_classes

        def run(part: list[Run]) -> tuple[float, Array]:
            loss, gradient = 0.0, np.zeros_like(tables)
            for batch, first, last in part:
                loss += kernel(
                    batch.codes,
                    batch.class_codes,
                    np.empty(0) if batch.weights is None else batch.weights,
                    self._layout.nodes,
                    self._layout.strides,
                    self._layout.offsets,
                    tables,
                    gradient,
                    first,
                    last,
                    self._power,
                )
            return loss, gradient

        loss, gradient = reduce(add, map_threads(run, self._parts))
        return loss, (self._transposed @ gradient).reshape(odds.shape)


def _runs(batches: Sequence[EncodedBatch], first: int, last: int) -> list[Run]:
    """The rows first .. last - 1, numbered through all batches."""
    runs = []
    for batch in batches:
        low, high = max(first, 0), min(last, batch.n_rows)
        if low < high:
            runs.append((batch, low, high))
        first, last = first - batch.n_rows, last - batch.n_rows
    return runs


@dataclass(frozen=True)
class Layout:
    """Where a row's entries lie in the tables of all groups: group g at offsets[g] + sum_m strides[g, m] * its code.

    A stride of zero ends the attributes `nodes[g]` of a group. `members` is that of `member_cells`.
    """

    nodes: NDArray[np.uint32]
    strides: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    members: sparse.csr_array

    @classmethod
    def of(cls, cells: ClassCells, batches: Sequence[EncodedBatch]) -> Layout:
        """Of the table whose rows the batches are."""
        incomplete = np.any([batch.incomplete for batch in batches], axis=0)
        # A column with missing cells has one state more, for their code.
        n_states = (*(np.array(cells.n_states[:-1], dtype=int) + incomplete).tolist(), cells.n_classes)
        groups = group_families(cells, n_states, sum(batch.n_rows for batch in batches))
        # The table of a group is as that of a family of its attributes.
        target = len(n_states) - 1
        families = [Family(nodes[-1], nodes[:-1]) if nodes else Family(target, ()) for nodes, _ in groups]
        tables = ClassCells(tuple(families), n_states)
        width = max(1, *map(len, tables.attributes))
        nodes = np.zeros((len(groups), width), dtype=np.uint32)
        steps = np.zeros((len(groups), width), dtype=np.uint32)
        for g, attributes in enumerate(tables.attributes):
            nodes[g, : len(attributes)] = attributes
            steps[g, : len(attributes)] = tables.strides[g]
        return cls(nodes, steps, tables.offsets[:-1].astype(np.uint32), member_cells(cells, tables, groups))


def group_families(cells: ClassCells, n_states: Sequence[int], n_rows: int) -> list[Group]:
    """Greedily along the structure: a family joins the group that grows least by it, if that stays small."""
    most = min(GROUP_BYTES // (8 * (cells.n_classes - 1)), n_rows // ROWS_PER_CELL)
    groups: list[tuple[frozenset[int], list[int]]] = []

    def size(attributes: frozenset[int]) -> int:
        return prod(n_states[node] for node in attributes)

    for f in _along_structure(cells):
        attributes = frozenset(cells.attributes[f])
        growth = {}
        for g in range(max(0, len(groups) - OPEN_GROUPS), len(groups)):
            united = size(groups[g][0] | attributes)
            if united <= most:
                growth[g] = united / size(groups[g][0])
        if growth:
            g = min(growth, key=growth.__getitem__)
            groups[g] = (groups[g][0] | attributes, [*groups[g][1], f])
        else:
            groups.append((attributes, [f]))
    return [(tuple(sorted(attributes)), families) for attributes, families in groups]


def _along_structure(cells: ClassCells) -> list[int]:
    """Positions of the families, each soon after one whose child is its first parent: neighbours share attributes."""
    children = {family.child for family in cells.families}
    below: dict[int, list[int]] = {child: [] for child in children}
    roots: list[int] = []
    for f, family in enumerate(cells.families):
        above = [node for node in cells.attributes[f] if node != family.child and node in children]
        (below[above[0]] if above else roots).append(f)
    order = []
    stack = roots[::-1]
    while stack:
        f = stack.pop()
        order.append(f)
        stack.extend(reversed(below[cells.families[f].child]))
    return order


def member_cells(cells: ClassCells, tables: ClassCells, groups: Sequence[Group]) -> sparse.csr_array:
    """(cells of groups, n_cells) ones: the entries of families that an entry of its group's table is the sum of.

    A family takes no part in the cells of its group where one of its attributes is missing.
    """
    rows, columns = [], []
    for g, (attributes, families) in enumerate(groups):
        first, last = tables.offsets[g : g + 2].tolist()
        digits = {}
        for node, stride in zip(attributes, tables.strides[g], strict=True):
            digits[node] = np.arange(last - first) // stride % tables.n_states[node]
        for f in families:
            position = np.full(last - first, cells.offsets[f])
            present = np.ones(last - first, dtype=bool)
            for node, stride in zip(cells.attributes[f], cells.strides[f], strict=True):
                position += stride * digits[node]
                present &= digits[node] < cells.n_states[node]
            rows.append(first + np.flatnonzero(present))
            columns.append(position[present])
    at = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.ones(len(at[0])), at), shape=(tables.n_cells, cells.n_cells))
