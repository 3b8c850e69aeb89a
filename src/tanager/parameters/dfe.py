"""DFE: discriminative frequency estimates, counts in which a row weighs as much as the tables so far got it wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Ints
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.structure.constraints import check_count
from tanager.table.rows import EncodedBatch, LocalRows, add

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
        passes = check_count("passes", self.passes, at_least=1)
        tables, mean_loss = self.tables(task)
        network, marginal_difference = choose_equal_network(task, [np.log(table) for table in tables])
        return LearntNetwork(network, DFETrace(passes, mean_loss, marginal_difference))

    def tables(self, task: ParameterTask) -> tuple[list[Array], tuple[float, ...]]:
        """The estimates themselves, (parent configurations, states) by node, and the mean loss in each pass."""
        rows, n_states = cast(LocalRows, task.counts.rows), task.counts.n_states
        # A class without parents has pseudo-rows too, as its table starts empty.
        smoothing = Frequency(self.smoothing, self.alpha)
        pseudo = [smoothing.pseudo_rows(task.counts, family, smooth_class=True) for family in task.dag.families]
        running = RunningTables(ClassCells.of(task.dag, n_states), pseudo)
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


class RunningTables:
    """Frequencies of the families with the class while rows come in: sums and their logarithms, by cell and class.

    cells           where the entries lie; the family of the class is the last
    counted         (n_cells, n_classes) F plus pseudo-rows
    configurations  (n_cells,) the parent configuration of each cell, attribute families only, else -1: the total of the
                    class's own table is the same for every class and cancels in P(c | x)
    totals          (n_configurations, n_classes) the sums of `counted` over the child's states
    """

    def __init__(self, cells: ClassCells, pseudo: Sequence[Array]) -> None:
        shapes = {family.child: family.shape(cells.n_states) for family in cells.families}
        self.cells = cells
        self.counted = cells.pack(
            [np.broadcast_to(rows, shapes.get(node, rows.shape)) for node, rows in enumerate(pseudo)]
        )
        self.configurations = np.full(cells.n_cells, -1)
        of_attributes = np.repeat(np.arange(len(cells.widths)), cells.widths)
        self.configurations[: len(of_attributes)] = of_attributes
        self.totals = np.zeros((len(cells.widths), cells.n_classes))
        np.add.at(self.totals, of_attributes, self.counted[: len(of_attributes)])
        self._logs = np.log(self.counted), np.log(self.totals)

    def add_rows(self, batch: EncodedBatch, compiled: bool) -> Array:
        """Take in the rows one after the other; 1 - P(c_t | x_t) of each, before it came in."""
        add_rows = _add_rows
        if compiled:
            from tanager.parameters.kernels import add_rows
        losses = np.empty(batch.n_rows)
        size = max(1, BLOCK_PLACES // len(self.cells.families))
        for first in range(0, batch.n_rows, size):
            rows = slice(first, first + size)
            block = batch.take(rows)
            places, observed = self.cells.places(block)
            places[~observed] = -1
            tables = self.configurations, self.counted, self.totals, *self._logs
            add_rows(places, block.class_codes, block.row_weights, *tables, losses[rows])
        return losses


def _add_rows(
    cells: NDArray[np.int32],
    classes: Codes,
    weights: Array,
    configurations: Ints,
    counted: Array,
    totals: Array,
    log_counted: Array,
    log_totals: Array,
    losses: Array,
) -> None:
    """What the kernel of the same name does, for small data."""
    for t, true in enumerate(classes.tolist()):
        at = cells[t][cells[t] >= 0]
        above = configurations[at]
        above = above[above >= 0]
        scores = log_counted[at].sum(axis=0) - log_totals[above].sum(axis=0)
        shares = np.exp(scores - scores.max())
        losses[t] = (shares.sum() - shares[true]) / shares.sum()
        counted[at, true] += weights[t] * losses[t]
        totals[above, true] += weights[t] * losses[t]
        log_counted[at, true] = np.log(counted[at, true])
        log_totals[above, true] = np.log(totals[above, true])
