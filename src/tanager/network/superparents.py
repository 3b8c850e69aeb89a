"""SuperparentNetworks: many networks of one kind, their tables in one array, looked up for all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.network.log_joint import WORK_WORTH_COMPILING
from tanager.network.network import Network
from tanager.runtime.resources import map_threads
from tanager.structure.averaged import superparents_of
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

Int64s = NDArray[np.int64]

BLOCK_ROWS = 512
ROWS_OF_A_NETWORK = 100
"""To make a network of its own out of the array takes as long as to look up so many rows."""


@dataclass(frozen=True, eq=False)
class SuperparentNetworks(Sequence[Network]):
    """Networks in which the class and a few attributes, the superparents, are parents of all other attributes.

    A sequence of `Network`, each made when it is asked for.

    columns       of every network, the class last
    superparents  (n_networks, n) of each network, a parent of those after it
    tables        of all, flat. That of an attribute is (states of each superparent, classes, states); of a superparent
                  only those before it count
    starts        (n_networks, n_nodes) where each begins
    """

    columns: tuple[ColumnSchema, ...]
    superparents: Int64s
    tables: Array
    starts: Int64s

    @classmethod
    def of(cls, networks: Sequence[Network]) -> SuperparentNetworks | None:
        """The same networks, or None if some are of another kind, or have more superparents than others."""
        if isinstance(networks, SuperparentNetworks):
            return networks
        chains = [superparents_of(network.dag) for network in networks]
        if None in chains or len(set(map(len, filter(None, chains)))) > 1 or networks[0].target is None:
            return None
        columns, superparents = networks[0].columns, np.array(chains, dtype=np.int64)
        starts = table_starts(superparents, networks[0].n_states)
        tables = [
            _arranged(network, node, chain)
            for network, chain in zip(networks, superparents.tolist(), strict=True)
            for node in range(len(columns))
        ]
        return cls(columns, superparents, np.concatenate(tables), starts)

    @overload
    def __getitem__(self, place: int) -> Network: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Network]: ...

    def __getitem__(self, place: int | slice) -> Network | Sequence[Network]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(len(self))[place])
        chain, n_states, target = self.superparents[place].tolist(), self.n_states, len(self.columns) - 1
        parents, tables = [], []
        for node, start in enumerate(self.starts[place].tolist()):
            before = chain[: chain.index(node)] if node in chain else chain
            shape = [n_states[parent] for parent in before]
            cells = self.tables[start : start + int(np.prod(shape)) * n_states[target] * n_states[node]]
            if node == target:
                before, cells = [], self.tables[start : start + n_states[target]]
            else:
                axes = np.argsort(before, kind="stable").tolist()
                cells = cells.reshape(*shape, n_states[target], -1).transpose(*axes, len(before), len(before) + 1)
            parents.append(sorted(before))
            tables.append(cells.reshape(-1, n_states[node]))
        return Network(self.columns, Dag.augmented_naive_bayes(parents[:-1]), tuple(tables), self.columns[-1].name)

    def __len__(self) -> int:
        return len(self.superparents)

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        return tuple(column.n_states for column in self.columns)

    @property
    def have_common_superparent(self) -> bool:
        """Whether an attribute is a superparent in all networks."""
        return bool(set[int]().union(self.superparents[0].tolist()).intersection(*self.superparents.tolist()))

    def reordered(self, order: Sequence[int]) -> SuperparentNetworks:
        """The same networks with their nodes in another order: `Network.reordered`."""
        place = np.argsort(np.asarray(order, dtype=np.intp))
        columns = tuple(self.columns[node] for node in order)
        return SuperparentNetworks(columns, place[self.superparents], self.tables, self.starts[:, list(order)])

    @cached_property
    def _n_unchecked(self) -> int:
        """Probabilities whose product is surely above 2 ** -600, at least one."""
        bits = -np.log2(self.tables.min(where=self.tables > 0, initial=1.0))
        return max(1, int(600 / max(bits, 1.0)))

    def worth_compiling(self, n_rows: int) -> bool:
        """Whether so many rows are faster looked up here than network by network."""
        return (n_rows + ROWS_OF_A_NETWORK) * self.starts.size >= WORK_WORTH_COMPILING

    def log_mixture(self, codes: Codes, weights: Array, left_out: NDArray[np.bool_] | None = None) -> Array:
        """(n_rows, n_classes) log sum_m weight_m P_m(class, cells present), the missing cells summed out.

        `left_out` (n_networks, n_rows) says which networks have no say in a row.
        """
        from tanager.network.superparent_kernels import mix_superparents

        n_states, out = np.array(self.n_states, dtype=np.int64), np.empty((len(codes), self.n_states[-1]))
        nobody = np.empty((0, 0), dtype=bool)

        def fill(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            columns = np.ascontiguousarray(codes[rows].T, dtype=np.int32)
            complete = np.asarray((columns < n_states[:-1, np.newaxis]).all(axis=1))
            without = nobody if left_out is None else np.ascontiguousarray(left_out[:, rows])
            mix_superparents(
                columns,
                complete,
                n_states,
                self.superparents,
                self.starts,
                self.tables,
                weights,
                without,
                self._n_unchecked,
                out[rows],
            )

        map_threads(fill, range(0, len(codes), BLOCK_ROWS))
        return out


def table_starts(superparents: Int64s, n_states: Sequence[int]) -> Int64s:
    """(n_networks, n_nodes) where the table of each node begins, one after the other, and the networks too."""
    *attributes, n_classes = n_states
    states = np.array(attributes, dtype=np.int64)
    configurations = np.ones((len(superparents), len(states)), dtype=np.int64)
    before = np.ones(len(superparents), dtype=np.int64)
    for chosen in superparents.T:
        # Of a superparent only those before it count, which is what `before` is when its turn comes.
        configurations *= states[chosen][:, np.newaxis]
    networks = np.arange(len(superparents))
    for chosen in superparents.T:
        configurations[networks, chosen] = before
        before = before * states[chosen]
    sizes = np.column_stack([configurations * states * n_classes, np.full(len(superparents), n_classes)])
    starts: Int64s = (sizes.cumsum() - sizes.reshape(-1)).reshape(sizes.shape)
    return starts


def _arranged(network: Network, node: int, chain: Sequence[int]) -> Array:
    """A table, flat, its superparents in the order of the chain."""
    table, target = network.tables[node], len(network.columns) - 1
    before = chain[: chain.index(node)] if node in chain else chain
    if node == target or len(before) < 2:
        return table.reshape(-1)
    held = sorted(before)
    cells = table.reshape(*(network.n_states[parent] for parent in held), network.n_states[target], -1)
    return cells.transpose(*map(held.index, before), len(before), len(before) + 1).reshape(-1)
