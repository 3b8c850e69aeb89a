"""ClassCells: the tables of all families with the class as one array, and the network that classifies as they do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Flags, Ints
from tanager.counts.family import CountTable, Family, strides
from tanager.network.network import Network
from tanager.network.normalize import most_likely_tables
from tanager.parameters.expected_counts import MAX_ROWS_TO_INFER, IncompleteRows
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import ParameterTask
from tanager.structure.dag import Dag, is_perfect_for
from tanager.table.rows import EncodedBatch

PSEUDO_ROWS = 1.0  # spread over the cells of every family, where counts choose among networks


class ClassCells:
    """Where the entries of a structure's tables lie in an array beta, (n_cells, n_classes).

    Only families with the class count: the others are the same for every class and cancel in P(class | attributes).
    A cell is one combination of states of the family's attributes (parents ascending, then the child, which changes
    fastest); family f owns the cells offsets[f] .. offsets[f + 1]. The family of the class itself is the last one.

    attributes        of each family: the digits of a cell's position in it, slowest first
    strides           the weight of each of `attributes` in that position
    first_class_cell  where the family of the class begins: one cell for each configuration of its attribute parents
    """

    def __init__(self, families: Sequence[Family], n_states: Sequence[int]) -> None:
        self.families, self.n_states = tuple(families), tuple(n_states)
        target = len(self.n_states) - 1
        self.attributes = tuple(tuple(node for node in family.nodes if node != target) for family in self.families)
        self.strides = tuple(strides(nodes, self.n_states) for nodes in self.attributes)
        sizes = [prod(self.n_states[node] for node in nodes) for nodes in self.attributes]
        self.offsets: Ints = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_classes = self.n_states[-1]
        self.n_cells = int(self.offsets[-1])
        self.first_class_cell = int(self.offsets[-2])

    @classmethod
    def of(cls, dag: Dag, n_states: Sequence[int]) -> ClassCells:
        target = dag.n_nodes - 1
        return cls([family for family in dag.families if target in family.nodes], n_states)

    def is_like(self, other: ClassCells) -> bool:
        """Whether the entries of the same tables lie in the same places."""
        return (self.families, self.n_states) == (other.families, other.n_states)

    def pack(self, tables: Sequence[NDArray[np.number]]) -> Array:
        """beta (n_cells, n_classes) from one array per node, shaped `Family.shape` or `Family.class_shape`."""
        parts = []
        for family in self.families:
            table = np.asarray(tables[family.child], dtype=np.float64)
            if family.child < len(self.n_states) - 1:
                table = table.reshape(family.class_shape(self.n_states)).swapaxes(1, 2)
            parts.append(table.reshape(-1, self.n_classes))
        return np.concatenate(parts)

    def unpack(self, beta: Array, tables: Sequence[Array]) -> tuple[Array, ...]:
        """One `Family.shape` array per node: from beta, or from `tables` for a family without the class."""
        result = list(tables)
        for family, first, last in zip(self.families, self.offsets[:-1], self.offsets[1:], strict=True):
            part = beta[first:last]
            if family.child < len(self.n_states) - 1:
                by_state = part.reshape(-1, self.n_states[family.child], self.n_classes)
                part = by_state.swapaxes(1, 2)
            result[family.child] = np.ascontiguousarray(part).reshape(family.shape(self.n_states))
        return tuple(result)

    def places(self, batch: EncodedBatch) -> tuple[NDArray[np.int32], Flags]:
        """(n_rows, n_families) the cell of each row in each family, and whether all its attributes are observed."""
        cells = np.empty((batch.n_rows, len(self.families)), dtype=np.int32)
        observed = np.ones(cells.shape, dtype=bool)
        for f in range(len(self.families)):
            cells[:, f] = self.offsets[f]
            for node, stride in zip(self.attributes[f], self.strides[f], strict=True):
                column = batch.column(node)
                if batch.incomplete[node]:
                    observed[:, f] &= column < batch.n_states[node]
                cells[:, f] += stride * column.astype(np.int32)
        return cells, observed

    def log_normalize(self, beta: Array) -> Array:
        """log theta: beta less the log of the sum of its exponentials over the child's states (Zhou 3.2.2)."""
        of_attributes, of_class = self._split(beta)
        sums = of_attributes
        if len(of_attributes):
            top = np.maximum.reduceat(of_attributes, self._firsts, axis=0)
            relative = np.exp(of_attributes - np.repeat(top, self.widths, axis=0))
            sums = top + np.log(np.add.reduceat(relative, self._firsts, axis=0))
        top = of_class.max(axis=1, keepdims=True)
        return beta - self._spread(sums, top + np.log(np.exp(of_class - top).sum(axis=1, keepdims=True)))

    def sum_states(self, values: Array) -> Array:
        """Sums over the child's states, spread back over them; (n_cells, n_classes)."""
        of_attributes, of_class = self._split(values)
        sums = np.add.reduceat(of_attributes, self._firsts, axis=0) if len(of_attributes) else of_attributes
        return self._spread(sums, of_class.sum(axis=1, keepdims=True))

    def _split(self, values: Array) -> tuple[Array, Array]:
        """The cells of attributes, normalised down the states of the child, and those of the class, across."""
        return values[: self.first_class_cell], values[self.first_class_cell :]

    def _spread(self, of_attributes: Array, of_class: Array) -> Array:
        """Sums of `_split` values back over the cells they are of."""
        return np.concatenate([np.repeat(of_attributes, self.widths, axis=0), of_class.repeat(self.n_classes, axis=1)])

    @cached_property
    def widths(self) -> Ints:
        """Child states of every (family, configuration of attribute parents), in the order of the cells."""
        widths = [np.empty(0, dtype=np.int64)]
        for f, family in enumerate(self.families[:-1]):
            n_child = self.n_states[family.child]
            widths.append(np.full((self.offsets[f + 1] - self.offsets[f]) // n_child, n_child))
        return np.concatenate(widths)

    @cached_property
    def _firsts(self) -> Ints:
        """The first cell of each of these."""
        return np.cumsum(self.widths) - self.widths


def choose_equal_network(task: ParameterTask, log_tables: Sequence[Array]) -> tuple[Network, float | None]:
    """A network with the P(class | attributes) of `log_tables`: the most likely one if the canonical form is perfect.

    With it comes the largest difference of a family's class-free marginal from that of the rows. If the form is not
    perfect, `log_tables` must be those of tables that sum to one; these are kept, and the difference is None.
    """
    if not is_perfect_for(task.dag, task.dag.n_nodes - 1):
        return task.network([np.exp(table) for table in log_tables]), None
    chosen = most_likely_tables(task.dag, log_tables, task.counts.n_states, smoothed_counts(task))
    return task.network(chosen.tables), chosen.difference


def smoothed_counts(task: ParameterTask) -> list[Array]:
    """Counts of every family plus one row spread evenly over its cells, (parent configurations, states) by node.

    Pseudo-rows of one distribution keep the counts of two families in agreement on the attributes they share.

    A missing cell is shared out over its states, given the observed cells, as the frequencies of the same structure
    have it: a fitted network knows of P(class | attributes) only. Friedman's smoothing spares the states' marginals.
    Where too many rows have missing cells, a family counts those of which it has every cell.
    """
    families, n_states, rows = task.dag.families, task.counts.n_states, task.counts.rows
    counts: Sequence[CountTable] = task.counts.tables(families)
    if rows.incomplete.any():
        completed = IncompleteRows(task.dag, [rows], task.counts.names)
        if completed.n_incomplete <= MAX_ROWS_TO_INFER:
            counts, _ = completed.expect(Frequency("friedman").tables(task))
    return [
        counted.reshape(family.shape(n_states)).astype(np.float64) + PSEUDO_ROWS / family.size(n_states)
        for counted, family in zip(counts, families, strict=True)
    ]
