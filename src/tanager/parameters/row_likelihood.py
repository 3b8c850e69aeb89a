"""RowLikelihood: the conditional log likelihood of a structure with frequency tables, for searches that ask often."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial

import numpy as np

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.parameters.block_addends import BlockAddends, bytes_to_keep, cut_rows
from tanager.parameters.fractions import Fractions
from tanager.parameters.frequency import Frequency
from tanager.parameters.judge_plan import JudgePlan, is_compiled
from tanager.parameters.mixture_weights import choose_weights, make_joints, mixture_likelihood
from tanager.runtime.resources import map_threads
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch
from tanager.table.rows import Prepared

MAX_FRACTIONS = 1_024
PART_ROWS = 8_192  # their log joints stay in the cache of a core


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
        found: Array = self._rows.sum(_log_likelihoods, self._structures(dags))
        return found.tolist()

    def weigh(self, dags: Sequence[Dag]) -> list[float]:
        """Weights of the mixture of these structures (`choose_weights`); every attribute has the class in each."""
        make = partial(make_joints, leave_one_out=self._leave_one_out, structures=self._structures(dags))
        joints = self._counts.rows.kept().prepare(make)
        return choose_weights(len(dags), lambda weights: joints.sum(mixture_likelihood, weights)).tolist()

    def _structures(self, dags: Sequence[Dag]) -> list[list[Fractions]]:
        """The families of each, all of them counted in one pass."""
        families = [self._families(dag) for dag in dags]
        wanted = list(dict.fromkeys(family for each in families for family in each))
        self._counts.tables(wanted)
        fractions = {family: self._smoothed_fractions(family) for family in wanted}
        return [[fractions[family] for family in each] for each in families]

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


def _make_addends(blocks: list[EncodedBatch], leave_one_out: bool) -> list[BlockAddends]:
    n_bytes = 8 * sum(block.n_rows * block.n_classes for block in blocks)
    n_kept = bytes_to_keep() // max(1, n_bytes)
    return [BlockAddends(part, leave_one_out, n_kept) for part in cut_rows(blocks, PART_ROWS)]


def _count_right(blocks: Sequence[BlockAddends], fractions: Sequence[Fractions]) -> float:
    return float(sum(map_threads(lambda block: block.count_right(fractions), blocks)))


def _log_likelihood(blocks: Sequence[BlockAddends], fractions: Sequence[Fractions]) -> float:
    return float(_log_likelihoods(blocks, [fractions])[0])


def _log_likelihoods(blocks: Sequence[BlockAddends], structures: Sequence[Sequence[Fractions]]) -> Array:
    if is_compiled(structures, blocks):
        plan = JudgePlan.of(structures, blocks[0].leave_one_out)
        found = map_threads(lambda block: plan.judge(block.rows), blocks)
    else:
        found = map_threads(lambda block: block.log_likelihoods(structures), blocks)
    return np.sum(found, axis=0) if found else np.zeros(len(structures))
