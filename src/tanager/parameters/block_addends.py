"""BlockAddends: what families add to the log joint of some rows, each row judged by tables with it or without."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import Family, strides
from tanager.parameters.fractions import Fractions
from tanager.runtime.resources import available_memory
from tanager.table.batch import EncodedBatch

# What a place keeps of its rows, at most and as a share of the memory it has left.
CACHE_BYTES = 2**30
CACHE_SHARE = 4
TIE = 1e-9  # log joints that differ by less are taken for equal: sums in another order may


class BlockAddends:
    """What families add to the log joint of some rows; those of the last `n_kept` families asked are kept."""

    def __init__(self, block: EncodedBatch, leave_one_out: bool, n_kept: int) -> None:
        self.rows = block
        self.leave_one_out = leave_one_out
        self._n_kept = n_kept
        self._known: OrderedDict[Family, Array] = OrderedDict()

    def log_likelihoods(self, structures: Sequence[Sequence[Fractions]]) -> Array:
        """sum_t w_t log P(c_t | x_t) of structures whose families with the class are these."""
        log_joint = np.zeros((self.rows.n_classes, self.rows.n_rows))
        classes, rows = self.rows.class_codes, np.arange(self.rows.n_rows)
        added: set[Family] = set()
        found = np.empty(len(structures))
        for place, structure in enumerate(structures):
            families = {fractions.family for fractions in structure}
            if not added <= families:
                log_joint[:], added = 0.0, set()
            for fractions in structure:
                if fractions.family not in added:
                    log_joint += self._addend(fractions)
            added = families
            of_class = log_joint[classes, rows] - np.logaddexp.reduce(log_joint, axis=0)
            found[place] = of_class.sum() if self.rows.weights is None else of_class @ self.rows.weights
        return found

    def log_joint(self, structure: Sequence[Fractions]) -> Array:
        """(n_classes, n_rows), but for the families without the class."""
        log_joint = np.zeros((self.rows.n_classes, self.rows.n_rows))
        for fractions in structure:
            log_joint += self._addend(fractions)
        return log_joint

    def count_right(self, structure: Sequence[Fractions]) -> float:
        """sum_t w_t [c_t is the most probable class] of a structure whose families with the class are these."""
        log_joint = self.log_joint(structure)
        at_top = log_joint >= log_joint.max(axis=0) - TIE
        right = at_top[self.rows.class_codes, np.arange(self.rows.n_rows)] / at_top.sum(axis=0)
        return float(right @ self.rows.row_weights)

    def _addend(self, fractions: Fractions) -> Array:
        """(n_classes, n_rows) log P(child | parents), the class in every state."""
        family = fractions.family
        if family in self._known:
            self._known.move_to_end(family)
            return self._known[family]
        addend = self._compute(fractions)
        self._known[family] = addend
        if len(self._known) > self._n_kept:
            self._known.popitem(last=False)
        return addend

    @property
    def is_light(self) -> bool:
        """Whether rows of less weight than one are left out: each takes its own share out of its cells."""
        weights = self.rows.weights
        return self.leave_one_out and weights is not None and bool((weights < 1.0).any())

    def _compute(self, fractions: Fractions) -> Array:
        block, above, below = self.rows, fractions.above, fractions.below
        attributes = tuple(node for node in fractions.family.nodes if node != block.n_attributes)
        cells = np.zeros(block.n_rows, dtype=np.int64)
        complete = np.ones(block.n_rows, dtype=bool)
        for node, stride in zip(attributes, strides(attributes, block.n_states), strict=True):
            cells += block.column(node).astype(np.int64) * stride
            complete &= block.column(node) < block.n_states[node]
        n_cells = above.shape[1]
        cells[~complete] = n_cells
        result: Array = fractions.logs.take(cells, axis=1)
        if self.leave_one_out:
            present = np.flatnonzero(cells < n_cells)
            at, classes = cells[present], block.class_codes[present]
            # Of a row of weight one, or of more, one row is taken out: the same number for all rows of a cell.
            light = self.is_light
            weight = np.minimum(1.0, block.row_weights)[present] if light else np.ones(1)
            if fractions.of_class:
                result[:, present] = np.log(above[:, at] / (below[:, at] - weight))
            if light:
                result[classes, present] = np.log((above[classes, at] - weight) / (below[classes, at] - weight))
            else:
                result[classes, present] = fractions.logs_without_one[classes, at]
        return result


def cut_rows(blocks: Iterable[EncodedBatch], size: int) -> Iterator[EncodedBatch]:
    """The rows in parts of at most so many."""
    for block in blocks:
        for first in range(0, block.n_rows, size):
            yield block.take(slice(first, first + size))


def bytes_to_keep() -> int:
    return min(CACHE_BYTES, available_memory() // CACHE_SHARE)
