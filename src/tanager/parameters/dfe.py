"""DFE: discriminative frequency estimates, counts in which a row weighs as much as the tables so far got it wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.special import softmax

from tanager.arrays import Array
from tanager.parameters.class_cells import ClassCells, choose_equal_network
from tanager.parameters.frequency import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask, ParameterTrace
from tanager.structure.constraints import check_count
from tanager.table.rows import EncodedBatch, LocalRows, add

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
        rows, n_states, families = cast(LocalRows, task.counts.rows), task.counts.n_states, task.dag.families
        # A class without parents has pseudo-rows too, as its table starts empty.
        smoothing = Frequency(self.smoothing, self.alpha)
        pseudo = [smoothing.pseudo_rows(task.counts, family, smooth_class=True) for family in families]
        starts = [np.broadcast_to(n, family.shape(n_states)) for n, family in zip(pseudo, families, strict=True)]
        running = RunningTables(ClassCells.of(task.dag, n_states), starts)
        # The rows weighted by their losses are counted block by block, with the families that hold no class.
        counted = [np.zeros(family.size(n_states)) for family in families]
        mean_loss = []
        for _ in range(self.passes):
            total = 0.0
            for block in rows.blocks():
                losses = running.add_rows(block)
                total += float(losses.sum())
                weighted = replace(block, weights=losses * block.row_weights)
                add(counted, task.counts.engine.count(weighted, [family.nodes for family in families]))
            mean_loss.append(total / rows.n_rows)
        smoothed = [cells.reshape(start.shape) + start for cells, start in zip(counted, starts, strict=True)]
        return [cells / cells.sum(axis=1, keepdims=True) for cells in smoothed], tuple(mean_loss)


class RunningTables:
    """Frequencies of the families with the class while rows come in, some 30 microseconds for each.

    cells           where the entries lie; the family of the class is the last
    counted         (n_cells, n_classes) F plus pseudo-rows
    configurations  (n_cells,) the parent configuration of each cell; that of the class's own cells, whose total is the
                    same for every class and cancels in P(c | x), is the last
    totals          (n_configurations + 1, n_classes) the sums of `counted` over the child's states
    """

    def __init__(self, cells: ClassCells, tables: list[Array]) -> None:
        self.cells = cells
        self.counted = cells.pack(tables)
        n_own = cells.n_cells - cells.first_class_cell
        self.configurations = np.repeat(np.arange(len(cells.widths) + 1), [*cells.widths, n_own])
        self.totals = np.zeros((len(cells.widths) + 1, cells.n_classes))
        np.add.at(self.totals, self.configurations, self.counted)
        self.totals[-1] = 1.0

    def add_rows(self, batch: EncodedBatch) -> Array:
        """Take in the rows one after the other; 1 - P(c_t | x_t) of each, before it came in."""
        losses = np.empty(batch.n_rows)
        size = max(1, BLOCK_PLACES // len(self.cells.families))
        for first in range(0, batch.n_rows, size):
            block = batch.take(slice(first, first + size))
            places, observed = self.cells.places(block)
            for t, (true, weight) in enumerate(zip(block.class_codes.tolist(), block.row_weights, strict=True)):
                at = places[t][observed[t]]
                above = self.configurations[at]
                p = softmax(np.log(self.counted[at] / self.totals[above]).sum(axis=0))
                losses[first + t] = p.sum() - p[true]
                self.counted[at, true] += weight * losses[first + t]
                self.totals[above, true] += weight * losses[first + t]
                self.totals[-1] = 1.0
        return losses
