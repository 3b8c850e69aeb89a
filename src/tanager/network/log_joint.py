"""log P(class, attributes) of every row for every class: one table look-up per family and row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array, Codes, Ints
from tanager.counts.family import Family, strides
from tanager.runtime.resources import map_threads
from tanager.structure.dag import Dag

# Look-ups from which the compiled kernel repays its start.
WORK_WORTH_COMPILING = 200_000
COMPILED_BLOCK_ROWS = 4_096
NUMPY_BLOCK_CELLS = 1 << 16


@dataclass(frozen=True)
class LogJoint:
    """The logarithms of a network's tables, laid out for look-up.

    Family f adds to each class the row `offsets[f] + sum_m strides[f, m] * codes[row, nodes[f, m]]` of `tables`
    (cells, classes). Families of fewer attributes than the largest are filled up with stride 0. The cells of an
    attribute without attribute parents end with zeros: its missing code adds nothing, which is exact when no other
    family holds the attribute.
    """

    nodes: Ints
    strides: Ints
    offsets: Ints
    tables: Array

    @classmethod
    def of(cls, dag: Dag, tables: Sequence[Array], n_states: Sequence[int]) -> LogJoint:
        target = dag.n_nodes - 1
        width = max(1, *(len(set(family.nodes) - {target}) for family in dag.families))
        nodes = np.zeros((dag.n_nodes, width), dtype=np.int64)
        steps = np.zeros((dag.n_nodes, width), dtype=np.int64)
        offsets = np.zeros(dag.n_nodes, dtype=np.int64)
        cells: list[Array] = []
        n_cells = 0
        for family in dag.families:
            attributes = [node for node in family.nodes if node != target]
            nodes[family.child, : len(attributes)] = attributes
            steps[family.child, : len(attributes)] = strides(attributes, n_states)
            offsets[family.child] = n_cells
            cells.append(_log_cells(family, tables[family.child], n_states))
            n_cells += len(cells[-1])
        return cls(nodes, steps, offsets, np.concatenate(cells))

    def __call__(self, codes: Codes, normalized: bool = False) -> Array:
        """(n_rows, n_classes) natural logarithms: of the joint, or `normalized` of P(class | attributes)."""
        result = np.zeros((len(codes), self.tables.shape[1]))

        def add_block(rows: slice) -> None:
            self._add_compiled(codes[rows], result[rows])
            if normalized:
                normalize_log(result[rows])

        if self.worth_compiling(len(codes)):
            map_threads(add_block, _blocks(len(codes), COMPILED_BLOCK_ROWS))
            return result
        self.add(codes, result)
        return normalize_log(result) if normalized else result

    def add(self, codes: Codes, out: Array, compiled: bool = False) -> None:
        """Add those of the joint to `out` on this thread; `compiled` even if these rows, a block of many, are few."""
        if compiled or self.worth_compiling(len(codes)):
            for rows in _blocks(len(codes), COMPILED_BLOCK_ROWS):
                self._add_compiled(codes[rows], out[rows])
        else:
            for rows in _blocks(len(codes), max(1, NUMPY_BLOCK_CELLS // self.nodes.size)):
                self._add_numpy(codes[rows], out[rows])

    def worth_compiling(self, n_rows: int) -> bool:
        return n_rows * len(self.offsets) >= WORK_WORTH_COMPILING

    def family(self, family: int, codes: Codes) -> Array:
        """(n_rows, n_classes) what one family adds."""
        addends: Array = self.tables[self.offsets[family] + codes[:, self.nodes[family]] @ self.strides[family]]
        return addends

    def _add_numpy(self, codes: Codes, out: Array) -> None:
        cells = self.offsets + (codes[:, self.nodes] * self.strides).sum(axis=2)
        out += self.tables[cells].sum(axis=1)

    def _add_compiled(self, codes: Codes, out: Array) -> None:
        from tanager.network.look_up_kernels import add_log_tables

        add_log_tables(codes, self.nodes, self.strides, self.offsets, self.tables, out)


def _blocks(n_rows: int, size: int) -> list[slice]:
    return [slice(first, first + size) for first in range(0, n_rows, size)]


def _log_cells(family: Family, table: Array, n_states: Sequence[int]) -> Array:
    with np.errstate(divide="ignore"):
        return class_cells(family, np.log(table), n_states)


def class_cells(family: Family, values: Array, n_states: Sequence[int]) -> Array:
    """Of a table's shape -> (attribute cells, classes): the class axis last, repeated where the family has no class."""
    target = len(n_states) - 1
    if family.child == target:
        return values
    by_class = values.reshape(family.class_shape(n_states)).swapaxes(1, 2)
    cells = np.broadcast_to(by_class, (*by_class.shape[:2], n_states[target])).reshape(-1, n_states[target])
    if set(family.parents) <= {target}:
        cells = np.vstack([cells, np.zeros(n_states[target])])
    return cells


def normalize_log(log_joint: Array) -> Array:
    """log P(class | attributes) from log P(class, attributes), (n_rows, n_classes), in place."""
    by_class = log_joint.T  # reducing over the leading axis is many times faster than over a short last one
    by_class -= by_class.max(axis=0)
    by_class -= np.log(np.exp(by_class).sum(axis=0))
    return log_joint
