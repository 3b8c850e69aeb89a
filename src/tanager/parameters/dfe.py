"""DFE: discriminative frequency estimates, counts in which a row weighs as much as the tables so far got it wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.table.rows import EncodedBatch, LocalRows, add

Places = NDArray[np.int64]

# Rows times passes from which the compiled loop repays its start; the plain one takes some 30 microseconds a row.
ROWS_WORTH_COMPILING = 30_000
BLOCK_PLACES = 1 << 20


@dataclass(frozen=True)
class DFETrace(ParameterTrace):
    """How wrong the tables were while rows came in.

    passes               over the rows
    mean_loss            the mean of 1 - P(c_t | x_t) over the rows, in each pass
    marginal_difference  of the tables' class-free marginals from those of the rows, the largest; None where they are
                         not made to agree
    """

    passes: int
    mean_loss: tuple[float, ...]
    marginal_difference: float | None


class DFE(ParameterLearner):
    """Start from empty tables; row by row, add 1 - P(c_t | x_t) of the tables so far to the row's families.

    (Su, Zhang, Ling and Matwin 2008.) The tables are the frequencies F so gathered, smoothed as by `Frequency`, the
    class's too; a row of weight w adds w (1 - P). The rows are taken in the order of the table, `passes` times: a
    table sorted by class should be shuffled first. A family with a missing cell is left out of its row. On a perfect
    structure the network is the most likely one that classifies as these tables do (`choose_equal_network`).
    """

    needs = "order"

    def __init__(self, passes: int = 1, smoothing: str = "laplace", alpha: float | None = None) -> None:
        self.passes = passes
        self.smoothing = smoothing
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntNetwork:
        _check_passes(self.passes)
        tables, mean_loss = self.tables(task)
        network, marginal_difference = choose_equal_network(task, [np.log(table) for table in tables])
        return LearntNetwork(network, DFETrace(int(self.passes), mean_loss, marginal_difference))

    def tables(self, task: ParameterTask) -> tuple[list[Array], tuple[float, ...]]:
        """The estimates themselves, (parent configurations, states) by node, and the mean loss in each pass."""
        rows, n_states = cast(LocalRows, task.counts.rows), task.counts.n_states
        pseudo = self._pseudo_rows(task)
        running = RunningTables.of(ClassCells.of(task.dag, n_states), pseudo)
        compiled = rows.n_rows * self.passes >= ROWS_WORTH_COMPILING
        # Families without the class say nothing of it: they are counted beside the running tables.
        others = [family for family in task.dag.families if family not in running.cells.families]
        counted = [np.zeros(family.size(n_states)) for family in others]
        mean_loss = []
        for _ in range(self.passes):
            total = 0.0
            for block in rows.blocks():
                losses = running.add_rows(block, compiled)
                total += float(losses.sum())
                weighted = replace(block, weights=losses * block.row_weights)
                add(counted, task.counts.engine.count(weighted, [family.nodes for family in others]))
            mean_loss.append(total / rows.n_rows)
        tables = [np.empty(0)] * len(n_states)
        for family, cells in zip(others, counted, strict=True):
            tables[family.child] = cells.reshape(family.shape(n_states)) + pseudo[family.child]
        smoothed = running.cells.unpack(running.counted, tables)
        return [cells / cells.sum(axis=1, keepdims=True) for cells in smoothed], tuple(mean_loss)

    def _pseudo_rows(self, task: ParameterTask) -> list[Array]:
        """(states,) pseudo-rows of each node; a class without parents has them too, as its table starts empty."""
        smoothing = Frequency(self.smoothing, self.alpha)
        return [smoothing.pseudo_rows(task.counts, family, smooth_class=True) for family in task.dag.families]


def _check_passes(passes: object) -> None:
    if not isinstance(passes, Integral) or int(passes) < 1:
        raise OptionError(f"passes={passes!r} of DFE must be a whole number above zero.")


@dataclass(frozen=True)
class RunningTables:
    """Frequencies of the families with the class while rows come in: sums and their logarithms, by cell and class.

    cells    where the entries lie; the family of the class is the last
    counted  (n_cells, n_classes) F plus pseudo-rows
    totals   (n_configurations, n_classes) its sums over the child's states, attribute families only: the total of the
             class's own table is the same for every class and cancels in P(c | x)
    firsts   first configuration of each attribute family
    """

    cells: ClassCells
    counted: Array
    totals: Array
    firsts: Places
    log_counted: Array
    log_totals: Array

    @classmethod
    def of(cls, cells: ClassCells, pseudo: Sequence[Array]) -> RunningTables:
        n_states = cells.n_states
        spread = [np.broadcast_to(pseudo[family.child], family.shape(n_states)) for family in cells.families]
        by_node = dict(zip((family.child for family in cells.families), spread, strict=True))
        counted = cells.pack([by_node.get(node, np.empty(0)) for node in range(len(n_states))])
        sizes = [family.class_shape(n_states)[0] for family in cells.families[:-1]]
        sums = [pseudo[family.child].sum() for family in cells.families[:-1]]
        totals = np.repeat(sums, sizes)[:, np.newaxis].repeat(cells.n_classes, axis=1)
        firsts = (np.cumsum(sizes) - sizes).astype(np.int64)
        return cls(cells, counted, totals, firsts, np.log(counted), np.log(totals))

    def add_rows(self, batch: EncodedBatch, compiled: bool) -> Array:
        """Take in the rows one after the other; 1 - P(c_t | x_t) of each, before it came in."""
        losses = np.empty(batch.n_rows)
        weights = batch.row_weights
        block = max(1, BLOCK_PLACES // len(self.cells.families))
        for first in range(0, batch.n_rows, block):
            rows = slice(first, first + block)
            places = self._places(batch, rows)
            state = (self.counted, self.totals, self.log_counted, self.log_totals)
            if compiled:
                from tanager.parameters.kernels import add_rows

                add_rows(*places, batch.class_codes[rows], weights[rows], *state, losses[rows])
            else:
                _add_rows(*places, batch.class_codes[rows], weights[rows], *state, losses[rows])
        return losses

    def _places(self, batch: EncodedBatch, rows: slice) -> tuple[Places, Places]:
        """Cell of each row in each family, and configuration in each attribute family; -1 for a missing cell."""
        families = self.cells.families
        n_rows = len(batch.codes[rows])
        cells = np.empty((n_rows, len(families)), dtype=np.int64)
        configurations = np.empty((n_rows, len(families) - 1), dtype=np.int64)
        for f, family in enumerate(families):
            position, present = self._position(batch, rows, f)
            cells[:, f] = np.where(present, self.cells.offsets[f] + position, -1)
            if f < len(self.firsts):
                configurations[:, f] = self.firsts[f] + position // batch.n_states[family.child]
        return cells, configurations

    def _position(self, batch: EncodedBatch, rows: slice, f: int) -> tuple[Places, NDArray[np.bool_]]:
        position = np.zeros(len(batch.codes[rows]), dtype=np.int64)
        present = np.ones(len(position), dtype=bool)
        for node, stride in zip(self.cells.attributes[f], self.cells.strides[f], strict=True):
            codes = batch.column(node)[rows]
            position += codes.astype(np.int64) * stride
            if batch.incomplete[node]:
                present &= codes < batch.n_states[node]
        return position, present


def _add_rows(
    cells: Places,
    configurations: Places,
    classes: NDArray[np.unsignedinteger],
    weights: Array,
    counted: Array,
    totals: Array,
    log_counted: Array,
    log_totals: Array,
    losses: Array,
) -> None:
    """What the kernel of the same name does, for small data."""
    for t, own in enumerate(classes.tolist()):
        seen = cells[t] >= 0
        at, below = cells[t][seen], configurations[t][seen[:-1]]
        scores = log_counted[at].sum(axis=0) - log_totals[below].sum(axis=0)
        shares = np.exp(scores - scores.max())
        losses[t] = (shares.sum() - shares[own]) / shares.sum()
        counted[at, own] += weights[t] * losses[t]
        totals[below, own] += weights[t] * losses[t]
        log_counted[at, own] = np.log(counted[at, own])
        log_totals[below, own] = np.log(totals[below, own])
