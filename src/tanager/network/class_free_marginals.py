"""The families of the class and its children without their class: their marginals, in a network and in counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.arrays import Array
from tanager.counts.family import CountTable, strides
from tanager.structure.dag import Dag

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Level:
    """Families whose message goes to a family of the level before; the class's own family is before the first.

    A family lies in the level as its cells (attribute parents, child), the child's state changing fastest.

    children        the nodes whose families these are
    cells           where the cells of the level are among those of all levels
    firsts          the first cell of each configuration of attribute parents, counted within the level
    configurations  (cells,) the configuration each cell belongs to
    above           (cells of the level before, configurations): 1 where the cell holds the configuration
    below           its transpose
    """

    children: tuple[int, ...]
    cells: slice
    firsts: Places
    configurations: Places
    above: sparse.csr_array
    below: sparse.csr_array

    def sum(self, by_cell: Array) -> Array:
        """Sum over the states of the children: (cells, ...) to (configurations, ...)."""
        return np.add.reduceat(by_cell, self.firsts, axis=0)


class ClassFreeMarginals:
    """P(x_f) of every family f of the class and its children, x_f being its attributes, as a function of g.

    The joint is P(x, c; g) = Q(s) exp(sum_f phi_f(x_f, c) + g_f(x_f)) / Z(s), with log tables phi and numbers g for
    each cell of the children's families; s are the parents of the class, and Q their frequencies. Every clique holds
    the class, so messages are (configurations, classes). They go from each child to the family of the last of its
    parents, which holds all of them because the canonical form is perfect (Roos et al. 2005).

    log_tables, counts  (parent configurations, states) of each node
    """

    def __init__(
        self, dag: Dag, log_tables: Sequence[Array], n_states: Sequence[int], counts: Sequence[CountTable]
    ) -> None:
        target, n_classes, families = dag.n_nodes - 1, n_states[-1], dag.families
        self.levels = _levels(dag, n_states)
        self._class_logs = log_tables[target]
        by_class = counts[target].reshape(-1, n_classes).sum(axis=1)
        self._class_parents = by_class / by_class.sum()
        shapes = {child: families[child].class_shape(n_states) for level in self.levels for child in level.children}
        tables = [log_tables[child].reshape(shape).swapaxes(1, 2) for child, shape in shapes.items()]
        self._logs = np.concatenate([np.empty((0, n_classes)), *(table.reshape(-1, n_classes) for table in tables)])
        counted = [counts[child].reshape(shape).sum(axis=1).reshape(-1) for child, shape in shapes.items()]
        firsts = [level.cells.start + level.firsts for level in self.levels]
        self._firsts = np.concatenate([np.empty(0, dtype=np.intp), *firsts])
        self._lengths = np.diff(self._firsts, append=len(self._logs))
        self.wanted = self._chain(np.concatenate([np.empty(0), *counted]))

    def _chain(self, counted: Array) -> Array:
        """Marginals that agree with each other: P(parents), from the level before, times the counted P(k | parents)."""
        wanted = np.empty_like(counted)
        before = self._class_parents
        for level in self.levels:
            cells = counted[level.cells]
            scale = (level.below @ before) / level.sum(cells)
            before = wanted[level.cells] = cells * scale[level.configurations]
        return wanted

    def evaluate(self, g: Array) -> tuple[float, Array]:
        """sum_s Q(s) log Z(s) - sum_f <wanted_f, g_f>, and the marginals: its gradient is marginals - wanted.

        It is minus the mean log likelihood of rows with these marginals, but for what does not depend on g.
        """
        shares: list[Array] = []
        messages: Array | float = 0.0
        for level in reversed(self.levels):
            logs = self._logs[level.cells] + g[level.cells, np.newaxis] + messages
            highest = np.maximum.reduceat(logs, level.firsts, axis=0)
            weights = np.exp(logs - highest[level.configurations])
            totals = level.sum(weights)
            shares.append(weights / totals[level.configurations])
            messages = level.above @ (highest + np.log(totals))
        logs = self._class_logs + messages
        highest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - highest)
        totals = weights.sum(axis=1, keepdims=True)
        log_z = (highest + np.log(totals))[:, 0]
        joint = self._class_parents[:, np.newaxis] * (weights / totals)
        marginals = np.empty_like(g)
        for level, share in zip(self.levels, reversed(shares), strict=True):
            joint = (level.below @ joint)[level.configurations] * share
            marginals[level.cells] = joint.sum(axis=1)
        return float(self._class_parents @ log_z - self.wanted @ g), marginals

    def conditional(self, by_cell: Array, weights: Array) -> Array:
        """by_cell / weights less the same ratio of their sums over the child's states."""
        ratios = np.add.reduceat(by_cell, self._firsts) / np.add.reduceat(weights, self._firsts)
        return by_cell / weights - np.repeat(ratios, self._lengths)


def _levels(dag: Dag, n_states: Sequence[int]) -> tuple[Level, ...]:
    target = dag.n_nodes - 1
    position = {node: place for place, node in enumerate(dag.order)}
    receivers: dict[int, int] = {}
    depths = {target: 0}
    for child in dag.order:
        if target in dag.parents[child]:
            receivers[child] = max(dag.parents[child], key=position.__getitem__)
            depths[child] = depths[receivers[child]] + 1
    by_depth: list[dict[int, tuple[int, ...]]] = [{} for _ in range(max(depths.values()) + 1)]
    for node, depth in depths.items():
        attributes = tuple(member for member in (*dag.parents[node], node) if member != target)
        by_depth[depth][node] = attributes
    levels: list[Level] = []
    first = 0
    for before, families in pairwise(by_depth):
        levels.append(_level(families, before, receivers, n_states, first))
        first = levels[-1].cells.stop
    return tuple(levels)


def _level(
    families: Mapping[int, tuple[int, ...]],
    before: Mapping[int, tuple[int, ...]],
    receivers: Mapping[int, int],
    n_states: Sequence[int],
    first: int,
) -> Level:
    """The level of these families, each the attributes of a node, the node last; its cells begin at `first`."""
    sizes = [prod(n_states[member] for member in members) for members in before.values()]
    starts = dict(zip(before, accumulate(sizes, initial=0), strict=False))
    cells, configurations, lengths = [], [], []
    n_configurations = 0
    for child, (*parents, _) in families.items():
        receiver = receivers[child]
        held = _configurations(before[receiver], parents, n_states)
        cells.append(starts[receiver] + np.arange(len(held)))
        configurations.append(n_configurations + held)
        lengths.append(np.full(prod(n_states[parent] for parent in parents), n_states[child]))
        n_configurations += len(lengths[-1])
    rows, columns, repeats = np.concatenate(cells), np.concatenate(configurations), np.concatenate(lengths)
    above = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(sum(sizes), n_configurations))
    return Level(
        tuple(families),
        slice(first, first + int(repeats.sum())),
        np.cumsum(repeats) - repeats,
        np.repeat(np.arange(n_configurations), repeats),
        above,
        above.T.tocsr(),
    )


def _configurations(nodes: Sequence[int], held: Sequence[int], n_states: Sequence[int]) -> Places:
    """Of each cell over `nodes`, the last changing fastest, the mixed-radix number of the nodes it holds."""
    numbers = np.zeros([n_states[node] for node in nodes], dtype=np.intp)
    for node, stride in zip(held, strides(held, n_states), strict=True):
        shape = [n_states[node] if member == node else 1 for member in nodes]
        numbers += stride * np.arange(n_states[node]).reshape(shape)
    return numbers.reshape(-1)
