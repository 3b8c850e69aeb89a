"""JudgePlan: several structures laid out for the kernel that judges them in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family, strides
from tanager.parameters.fractions import Fractions
from tanager.table.batch import EncodedBatch

Array = NDArray[np.float64]
Int64s = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JudgePlan:
    """The arguments of `judge_kernels.judge` that are the same for all rows."""

    attributes: tuple[tuple[int, ...], ...]
    others: Array
    own: Array
    table_starts: Int64s
    adds: Int64s
    add_ends: Int64s
    resets: NDArray[np.bool_]

    @classmethod
    def of(cls, structures: Sequence[Sequence[Fractions]], leave_one_out: bool) -> JudgePlan:
        """Structures whose families with the class are these."""
        fractions = {each.family: each for structure in structures for each in structure}
        numbers = {family: number for number, family in enumerate(fractions)}
        tables = [each.judging(leave_one_out) for each in fractions.values()]
        adds: list[int] = []
        add_ends: list[int] = []
        resets: list[bool] = []
        added: set[Family] = set()
        for structure in structures:
            families = {each.family for each in structure}
            resets.append(not added <= families or not add_ends)
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

        digits = [pair for nodes in self.attributes for pair in zip(nodes, strides(nodes, block.n_states), strict=True)]
        found = np.zeros(len(self.resets))
        judge(
            np.ascontiguousarray(block.codes.T),
            np.ascontiguousarray(block.class_codes),
            np.empty(0) if block.weights is None else np.ascontiguousarray(block.weights),
            np.where(block.incomplete, block.n_states[:-1], -1),
            np.array(digits, np.int64).reshape(-1, 2),
            np.cumsum([len(nodes) for nodes in self.attributes]),
            self.others,
            self.own,
            self.table_starts,
            self.adds,
            self.add_ends,
            self.resets,
            np.empty((BLOCK, block.n_classes)),
            found,
        )
        return found
