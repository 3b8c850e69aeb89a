"""Weights of the networks of a mixture, chosen for P(class | attributes)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from tanager.arrays import Array
from tanager.parameters.block_addends import BlockAddends, bytes_to_keep, cut_rows
from tanager.parameters.fractions import Fractions
from tanager.parameters.judge_plan import JudgePlan, is_compiled
from tanager.runtime.resources import map_threads
from tanager.table.batch import EncodedBatch
from tanager.table.rows import add

Pass = Callable[[Array], tuple[float, Array]]
Structures = Sequence[Sequence[Fractions]]

MAX_ITERATIONS = 500
PART_BYTES = 1 << 23  # of the joints of some rows, which are worked on together


class MemberJoints:
    """P_m(c, x_t) of some rows and all members, (n_members, n_rows * n_classes), each relative to the largest of m.

    largest  (n_rows, n_classes) its logarithm
    """

    def __init__(self, rows: EncodedBatch, log_joints: Array) -> None:
        """`log_joints` (n_members, n_rows, n_classes) are given up."""
        self._rows = rows
        self.largest = log_joints.max(axis=0)
        log_joints -= self.largest
        self.relative = np.exp(log_joints, out=log_joints).reshape(len(log_joints), -1)

    def log_likelihood(self, weights: Array) -> tuple[float, Array]:
        """sum_t u_t log P(c_t | x_t) with row weights u, and its gradient by the (n_members,) weights."""
        rows = self._rows
        mixed = (weights @ self.relative).reshape(self.largest.shape)
        logs = np.log(mixed) + self.largest
        log_evidence = np.logaddexp.reduce(logs, axis=1)
        own = np.arange(rows.n_rows), rows.class_codes
        # The derivative by w_m: P_m(c_t, x_t) / P(c_t, x_t) - P_m(x_t) / P(x_t)
        slopes = -np.exp(logs - log_evidence[:, np.newaxis])
        slopes[own] += 1.0
        slopes *= rows.row_weights[:, np.newaxis] / mixed
        return float((logs[own] - log_evidence) @ rows.row_weights), self.relative @ slopes.ravel()


@dataclass(frozen=True)
class MixtureRows:
    """Some rows and the members that judge them; `kept` are their joints, if not made anew in every pass."""

    rows: BlockAddends
    structures: Structures
    plan: JudgePlan | None
    kept: MemberJoints | None = None

    def joints(self) -> MemberJoints:
        if self.kept is not None:
            return self.kept
        rows = self.rows.rows
        if self.plan is not None:
            return MemberJoints(rows, self.plan.log_joints(rows))
        return MemberJoints(rows, np.array([self.rows.log_joint(each).T for each in self.structures]))


def make_joints(blocks: list[EncodedBatch], leave_one_out: bool, structures: Structures) -> list[MixtureRows]:
    """The rows in parts, ready for passes with any weights."""
    row_bytes = 8 * len(structures) * blocks[0].n_classes
    parts = [BlockAddends(part, leave_one_out, 0) for part in cut_rows(blocks, max(1, PART_BYTES // row_bytes))]
    plan = JudgePlan.of(structures, leave_one_out, apart=True) if is_compiled(structures, parts) else None
    made = [MixtureRows(part, structures, plan) for part in parts]
    if row_bytes * sum(block.n_rows for block in blocks) > bytes_to_keep():
        return made
    return map_threads(lambda part: replace(part, kept=part.joints()), made)


def mixture_likelihood(parts: Sequence[MixtureRows], weights: Array) -> tuple[float, Array]:
    """`MemberJoints.log_likelihood` of all rows."""
    total = (0.0, np.zeros(len(weights)))
    for found in map_threads(lambda part: part.joints().log_likelihood(weights), parts):
        total = add(total, found)
    return total


def choose_weights(n_members: int, log_likelihood: Pass) -> Array:
    """(n_members,) weights that sum to one, at a maximum of the log likelihood + sum_m log w_m, from equal ones.

    The second term is a Dirichlet prior, a pseudo-row for each member, and keeps every weight above zero. As the first
    is a difference of two concave functions the maximum need not be the highest.
    """

    def loss(scores: Array) -> tuple[float, Array]:
        """At log weights, up to a constant."""
        weights = softmax(scores)
        value, slopes = log_likelihood(weights)
        gradient = weights * (slopes - weights @ slopes) + 1.0 - n_members * weights
        return -value - float(np.log(weights).sum()), -gradient

    found = minimize(
        loss,
        np.zeros(n_members),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-14, "gtol": 1e-6},
    )
    return softmax(found.x)


def softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max())
    result: Array = exponentials / exponentials.sum()
    return result
