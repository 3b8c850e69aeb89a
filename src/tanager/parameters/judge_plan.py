"""JudgePlan: several structures laid out for the kernel that judges them in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.counts.family import Family, strides
from tanager.parameters.block_addends import BlockAddends
from tanager.parameters.fractions import Fractions
from tanager.table.batch import EncodedBatch

Int64s = NDArray[np.int64]
Arguments = tuple[Codes, Codes, Int64s, Int64s, Int64s, Array, Array, Int64s]

MIN_COMPILED = 1 << 22  # rows times structures from which it pays to load the kernels


@dataclass(frozen=True, eq=False)
class JudgePlan:
    """The arguments of the kernels of `judge_kernels` that are the same for all rows."""

    attributes: tuple[tuple[int, ...], ...]
    others: Array
    own: Array
    table_starts: Int64s
    adds: Int64s
    add_ends: Int64s
    resets: NDArray[np.bool_]

    @classmethod
    def of(cls, structures: Sequence[Sequence[Fractions]], leave_one_out: bool, apart: bool = False) -> JudgePlan:
        """Structures whose families with the class are these; `apart`: none adds to the one before it."""
        fractions = {each.family: each for structure in structures for each in structure}
        numbers = {family: number for number, family in enumerate(fractions)}
        tables = [each.judging(leave_one_out) for each in fractions.values()]
        adds: list[int] = []
        add_ends: list[int] = []
        resets: list[bool] = []
        added: set[Family] = set()
        for structure in structures:
            families = {each.family for each in structure}
            resets.append(apart or not added <= families or not add_ends)
            before: set[Family] = set() if resets[-1] else added
            adds += [numbers[each.family] for each in structure if each.family not in before]
            add_ends.append(len(adds))
            added = families
        target = max(node for family in fractions for node in family.nodes)
        return cls(
            tuple(tuple(node for node in family.nodes if node != target) for family in fractions),
            np.concatenate([others for others, _ in tables]),
            np.concatenate([own for _, own in tables]),
            np.cumsum([0, *(len(own) for _, own in tables)]),
            np.array(adds, np.int64),
            np.array(add_ends, np.int64),
            np.array(resets),
        )

    def judge(self, block: EncodedBatch) -> Array:
        """sum_t w_t log P(c_t | x_t) of each structure."""
        from tanager.parameters.judge_kernels import BLOCK, judge

        weights = np.empty(0) if block.weights is None else np.ascontiguousarray(block.weights)
        scratch, found = np.empty((BLOCK, block.n_classes)), np.zeros(len(self.resets))
        judge(*self._arguments(block), self.adds, self.add_ends, self.resets, weights, scratch, found)
        return found

    def log_joints(self, block: EncodedBatch) -> Array:
        """(n_structures, n_rows, n_classes) log P(c, x_t), where no structure adds to the one before it."""
        from tanager.parameters.judge_kernels import join

        found = np.zeros((len(self.resets), block.n_rows, block.n_classes))
        join(*self._arguments(block), self.adds, self.add_ends, found)
        return found

    def _arguments(self, block: EncodedBatch) -> Arguments:
        """What both kernels are told of the rows and of the tables."""
        digits = [pair for nodes in self.attributes for pair in zip(nodes, strides(nodes, block.n_states), strict=True)]
        return (
            np.ascontiguousarray(block.codes.T),
            np.ascontiguousarray(block.class_codes),
            np.where(block.incomplete, block.n_states[:-1], -1),
            np.array(digits, np.int64).reshape(-1, 2),
            np.cumsum([len(nodes) for nodes in self.attributes]),
            self.others,
            self.own,
            self.table_starts,
        )


def is_compiled(structures: Sequence[object], parts: Sequence[BlockAddends]) -> bool:
    """Whether the kernels judge so many structures on these rows; rows lighter than one they do not leave out."""
    many = len(structures) * sum(part.rows.n_rows for part in parts) >= MIN_COMPILED
    return many and not any(part.is_light for part in parts)
