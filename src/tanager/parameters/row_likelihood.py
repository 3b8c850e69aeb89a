"""RowLikelihood: the conditional log likelihood of a structure with frequency tables, for searches that ask often."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.family import Family, strides
from tanager.memory import available_memory
from tanager.parameters.fractions import Fractions
from tanager.parameters.frequency import Frequency
from tanager.parameters.judge_plan import JudgePlan
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch
from tanager.table.rows import Prepared
from tanager.threads import map_threads

Array = NDArray[np.float64]

# What a place keeps of its rows, at most and as a share of the memory it has left.
CACHE_BYTES = 2**30
CACHE_SHARE = 4
MAX_FRACTIONS = 1_024
PART_ROWS = 8_192  # their log joints stay in the cache of a core
MIN_COMPILED = 1 << 22  # rows times structures from which it pays to load the kernels
TIE = 1e-9  # log joints that differ by less are taken for equal: sums in another order may


class RowLikelihood:
    """sum_t w_t log P(c_t | x_t), the tables being smoothed frequencies of the same rows.

    With `leave_one_out` the tables that judge row t are those of the other rows: its own count, 1 (or its weight, if
    less), is taken from the cells of its class. What a family adds to the log joint of every row and class is kept
    where the rows are, so a structure that differs in one family costs one more pass.
    """

    def __init__(self, counts: CountStore, smoothing: Frequency, leave_one_out: bool = False) -> None:
        self._counts = counts
        self._smoothing = smoothing
        self._leave_one_out = leave_one_out
        self._fractions = lru_cache(MAX_FRACTIONS)(self._smoothed_fractions)

    def __call__(self, dag: Dag) -> float:
        return self._rows.sum(_log_likelihood, [self._fractions(family) for family in self._families(dag)])

    def count_right(self, dag: Dag) -> float:
        """sum_t w_t [c_t is the most probable class]; of m classes that are most probable alike each counts 1/m."""
        return self._rows.sum(_count_right, [self._fractions(family) for family in self._families(dag)])

    def each(self, dags: Sequence[Dag]) -> list[float]:
        """The same of several structures, in one pass over the rows and one for all counts.

        It is cheapest if each structure has the families of the one before it and a few more.
        """
        families = [self._families(dag) for dag in dags]
        wanted = list(dict.fromkeys(family for each in families for family in each))
        self._counts.tables(wanted)
        fractions = {family: self._smoothed_fractions(family) for family in wanted}
        found: Array = self._rows.sum(_log_likelihoods, [[fractions[family] for family in each] for each in families])
        return found.tolist()

    def _families(self, dag: Dag) -> list[Family]:
        """A family without the class is the same for every class and cancels in P(c | x)."""
        return [family for family in dag.families if self._counts.n_attributes in family.nodes]

    @cached_property
    def _rows(self) -> Prepared[list[BlockAddends]]:
        """Made when they are first asked: most structures are learnt from counts alone."""
        return self._counts.rows.kept().prepare(partial(_make_addends, leave_one_out=self._leave_one_out))

    def _smoothed_fractions(self, family: Family) -> Fractions:
        n_states, target = self._counts.n_states, self._counts.n_attributes
        counted = self._counts.table(family)
        prior = self._smoothing.pseudo_rows(self._counts, family)
        if self._leave_one_out and family.child == target:
            prior = prior + 1.0  # a class of one row is not impossible to the others
        above = counted + prior
        below = np.broadcast_to(above.sum(axis=-1, keepdims=True), above.shape)
        if family.child == target:
            return Fractions(family, above[:, 0].T, below[:, 0].T, of_class=True)
        above, below = (part.swapaxes(0, 1).reshape(n_states[target], -1) for part in (above, below))
        return Fractions(family, above, below, of_class=False)


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

    def count_right(self, structure: Sequence[Fractions]) -> float:
        """sum_t w_t [c_t is the most probable class] of a structure whose families with the class are these."""
        log_joint = np.zeros((self.rows.n_classes, self.rows.n_rows))
        for fractions in structure:
            log_joint += self._addend(fractions)
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


def _make_addends(blocks: list[EncodedBatch], leave_one_out: bool) -> list[BlockAddends]:
    n_bytes = 8 * sum(block.n_rows * block.n_classes for block in blocks)
    n_kept = min(CACHE_BYTES, available_memory() // CACHE_SHARE) // max(1, n_bytes)
    parts = (
        block.take(slice(first, first + PART_ROWS)) for block in blocks for first in range(0, block.n_rows, PART_ROWS)
    )
    return [BlockAddends(part, leave_one_out, n_kept) for part in parts]


def _count_right(blocks: Sequence[BlockAddends], fractions: Sequence[Fractions]) -> float:
    return float(sum(map_threads(lambda block: block.count_right(fractions), blocks)))


def _log_likelihood(blocks: Sequence[BlockAddends], fractions: Sequence[Fractions]) -> float:
    return float(_log_likelihoods(blocks, [fractions])[0])


def _log_likelihoods(blocks: Sequence[BlockAddends], structures: Sequence[Sequence[Fractions]]) -> Array:
    compiled = len(structures) * sum(block.rows.n_rows for block in blocks) >= MIN_COMPILED
    if compiled and not any(block.is_light for block in blocks):
        plan = JudgePlan.of(structures, blocks[0].leave_one_out)
        found = map_threads(lambda block: plan.judge(block.rows), blocks)
    else:
        found = map_threads(lambda block: block.log_likelihoods(structures), blocks)
    return np.sum(found, axis=0) if found else np.zeros(len(structures))
