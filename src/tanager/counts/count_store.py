"""CountStore: the counts of one table, wherever its rows are, asked for by family; each set of nodes counted once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import islice
from math import prod
from types import MappingProxyType
from typing import NoReturn, cast

import numpy as np

from tanager.counts.engine import CountEngine, engine_for
from tanager.counts.family import CountTable, Family, PairTables, pair_cells
from tanager.errors import MemoryLimitError
from tanager.runtime.resources import physical_memory
from tanager.table.rows import EncodedBatch, Rows

BYTES_PER_CELL = 8
NUMBERS_PER_PAIR = 8
"""Of two attributes in their order, beside their table: where it begins, and the terms, gains and ranks made of it."""
MEMORY_LIMIT = physical_memory() // 2
# Cells of a table up to which it is worth a copy to be arranged together with others.
SMALL_TABLE = 1 << 10
NodeSet = tuple[int, ...]


class CountStore:
    """Counts of rows, cached by set of nodes; a set inside a counted one is summed from it.

    `names` are the columns' names, the class last, for messages only. `memory_limit` in bytes bounds a request and
    the cache; the default is half of the machine's memory. `known` are tables counted elsewhere: ascending node
    numbers to flat counts, the last node changing fastest.
    """

    def __init__(
        self,
        rows: Rows,
        engine: CountEngine,
        names: Sequence[str],
        memory_limit: int | None = None,
        known: Mapping[NodeSet, CountTable] = MappingProxyType({}),
    ) -> None:
        self.rows = rows
        self.n_rows = rows.n_rows
        self.n_states, self.n_attributes, self.n_classes = rows.n_states, rows.n_attributes, rows.n_classes
        self.names = tuple(names)
        self.memory_limit = MEMORY_LIMIT if memory_limit is None else memory_limit
        self.engine = engine if rows.place == "memory" else engine_for(engine, rows.n_rows)
        self._tables: dict[NodeSet, CountTable] = {}
        self._sets_with: defaultdict[int, set[NodeSet]] = defaultdict(set)
        self._cells = 0
        self._pairs: PairTables | None = None
        for nodes, table in known.items():
            self._keep(nodes, table)

    @classmethod
    def coarse(
        cls,
        rows: Rows,
        engine: CountEngine,
        names: Sequence[str],
        known: Mapping[NodeSet, CountTable] = MappingProxyType({}),
    ) -> CountStore:
        """Counts of the first attributes of rows at both granularities (`table.binning`), which `names` name."""
        n_attributes = len(names) - 1
        if rows.n_attributes > n_attributes:
            rows = rows.map(partial(EncodedBatch.select, attributes=slice(n_attributes)), "coarse")
        return cls(rows, engine, names, known=known)

    def table(self, family: Family) -> CountTable:
        """Counts of one family, (attribute-parent configurations, classes or 1, states): `Family.class_shape`."""
        return self.tables([family])[0]

    def tables(self, families: Iterable[Family], keep: bool = True) -> list[CountTable]:
        """Counts of several families; those not yet known are counted in one call of the engine.

        `keep=False` leaves the cache as it is, for tables that are looked at once.
        """
        wanted = [(family, tuple(sorted(family.nodes))) for family in families]
        known = {nodes: self._known(nodes) for _, nodes in wanted}
        found = {nodes: table for nodes, table in known.items() if table is not None}
        unknown = {nodes: family for family, nodes in wanted if nodes not in found}
        self._make_room(unknown)
        for nodes, counted in zip(unknown, self._count(list(unknown)), strict=True):
            found[nodes] = counted
            if keep:
                self._keep(nodes, counted)
        return self._arrange(wanted, found)

    def flat(self, nodes: NodeSet) -> CountTable:
        """Counts of ascending nodes, flat, the last changing fastest: what `known` takes."""
        family = Family(nodes[-1], nodes[:-1])
        return self.table(family).reshape(-1)

    def pairs(self) -> PairTables:
        """The class-conditional tables of all pairs of attributes."""
        if self._pairs is None:
            cells = pair_cells(self.n_states) + NUMBERS_PER_PAIR * self.n_attributes**2
            if cells * BYTES_PER_CELL > self.memory_limit:
                widest = int(np.argmax(self.n_states[:-1]))
                self._refuse(f"the tables of all pairs of {self.n_attributes:,} attributes", cells, widest)
            self._pairs = self.rows.sum(self.engine.count_pairs, "count")
        return self._pairs

    def of_rows(self, rows: Rows) -> CountStore:
        """The same counts, of the same rows in another order."""
        other = copy(self)
        other.rows = rows
        return other

    def of_attributes(self, attributes: Sequence[int]) -> CountStore:
        """Counts of the same rows with these attributes only, in this order."""
        rows = self.rows.map(partial(EncodedBatch.select, attributes=list(attributes)), "attributes")
        names = [*(self.names[attribute] for attribute in attributes), self.names[-1]]
        return CountStore(rows, self.engine, names, self.memory_limit)

    def _count(self, node_sets: list[NodeSet]) -> list[CountTable]:
        return self.rows.sum(partial(self.engine.count, node_sets=node_sets), "count") if node_sets else []

    def _known(self, nodes: NodeSet) -> CountTable | None:
        """Counts of a set that need no pass over the rows, flat, or None."""
        if nodes in self._tables:
            return self._tables[nodes]
        if self._sets_with[nodes[0]]:
            holders = set.intersection(*(self._sets_with[node] for node in nodes))
            # A row counts for a set only if all its nodes are present, so the nodes summed out must have no gap.
            usable = [holder for holder in holders if self._complete(set(holder) - set(nodes))]
            if usable:
                holder = min(usable, key=lambda other: self._tables[other].size)
                return self._sum_out(self._tables[holder], holder, nodes)
        return None if self._pairs is None else self._from_pairs(self._pairs, nodes)

    def _from_pairs(self, pairs: PairTables, nodes: NodeSet) -> CountTable | None:
        target = self.n_attributes
        attributes = [node for node in nodes if node != target]
        if len(attributes) == 1:
            others = (node for node in range(target) if node != attributes[0] and self._complete({node}))
            attributes = sorted([*attributes, *islice(others, 1)])
        if len(attributes) != 2 or not self._complete({*attributes, target} - set(nodes)):
            return None
        by_parent = pairs.table(parent=attributes[0], child=attributes[1]).transpose(0, 2, 1)
        return self._sum_out(by_parent.reshape(-1), (*attributes, target), nodes)

    def _complete(self, nodes: set[int]) -> bool:
        return not any(node < self.n_attributes and self.rows.incomplete[node] for node in nodes)

    def _sum_out(self, table: CountTable, holder: NodeSet, nodes: NodeSet) -> CountTable:
        axes = tuple(axis for axis, node in enumerate(holder) if node not in nodes)
        return table.reshape([self.n_states[node] for node in holder]).sum(axis=axes).reshape(-1)

    def _arrange(
        self, wanted: Sequence[tuple[Family, NodeSet]], flat: Mapping[NodeSet, CountTable]
    ) -> list[CountTable]:
        """Flat counts of ascending nodes as families have them, thousands of small tables of one layout together."""
        alike: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        n_states, target = self.n_states, self.n_attributes
        for position, (family, nodes) in enumerate(wanted):
            shape = tuple([n_states[node] for node in nodes])
            alone = position if flat[nodes].size > SMALL_TABLE else None
            alike[shape, nodes.index(family.child), nodes[-1] == target, alone].append(position)
        result: list[CountTable] = [np.empty(0)] * len(wanted)
        for positions in alike.values():
            family, nodes = wanted[positions[0]]
            tables = [flat[wanted[position][1]] for position in positions]
            child = 1 + nodes.index(family.child)
            axes = (*range(child), *range(child + 1, 1 + len(nodes)), child)
            cells = np.stack(tables) if len(tables) > 1 else tables[0]
            cells = cells.reshape(len(tables), *(self.n_states[node] for node in nodes)).transpose(axes)
            arranged = cast(Sequence[CountTable], cells.reshape(len(tables), *family.class_shape(self.n_states)))
            for position, table in zip(positions, arranged, strict=True):
                result[position] = table
        return result

    def _make_room(self, asked: Mapping[NodeSet, Family]) -> None:
        """Refuse what would not fit before it is allocated; forget the cache if only both together would not."""
        n_states = self.n_states
        sizes = [prod([n_states[node] for node in nodes]) for nodes in asked]
        total = sum(sizes)
        if total * BYTES_PER_CELL > self.memory_limit:
            largest = list(asked.values())[sizes.index(max(sizes))]
            what = f"the count table of {self.names[largest.child]!r} given its parents"
            if len(asked) > 1:
                what = f"{len(asked):,} count tables at once, the largest that of {self.names[largest.child]!r},"
            self._refuse(what, total, max(largest.nodes, key=self.n_states.__getitem__))
        if (self._cells + total) * BYTES_PER_CELL > self.memory_limit:
            self._tables.clear()
            self._sets_with.clear()
            self._cells = 0

    def _keep(self, nodes: NodeSet, counted: CountTable) -> None:
        self._tables[nodes] = counted
        self._cells += counted.size
        for node in nodes:
            self._sets_with[node].add(nodes)

    def _refuse(self, what: str, cells: int, widest: int) -> NoReturn:
        raise MemoryLimitError(
            f"{what} would take {cells * BYTES_PER_CELL / 2**30:.3g} GiB, more than the "
            f"{self.memory_limit / 2**30:.3g} GiB allowed; "
            f"attribute {self.names[widest]!r} alone has {self.n_states[widest]:,} states.",
            hint=f"drop {self.names[widest]!r}, group its values, or treat it as numeric.",
        )
