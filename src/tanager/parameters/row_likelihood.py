"""RowLikelihood: the conditional log likelihood of a structure with frequency tables, for searches that ask often."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family, strides
from tanager.parameters.frequency import Frequency
from tanager.runtime.resources import available_memory, map_threads
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch, Prepared, add

MAX_FAMILIES = 1_024  # whose tables are kept
PART_ROWS = 8_192  # their log joints stay in the cache of a core
# What a place keeps of its rows, at most and as a share of the memory it has left.
CACHE_BYTES = 2**30
CACHE_SHARE = 4
PART_BYTES = 1 << 23  # of the joints of some rows with all members of a mixture, which are worked on together
MAX_ITERATIONS = 500
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
        self._cached_logs = lru_cache(MAX_FAMILIES)(self._family_logs)

    def __call__(self, dag: Dag) -> float:
        structure = [self._cached_logs(family) for family in self._families(dag)]
        return float(self._rows.sum(_judge, [structure])[0])

    def count_right(self, dag: Dag) -> float:
        """sum_t w_t [c_t is the most probable class]; of m classes that are most probable alike each counts 1/m."""
        return self._rows.sum(_count_right, [self._cached_logs(family) for family in self._families(dag)])

    def each(self, dags: Sequence[Dag]) -> list[float]:
        """The same of several structures in one pass over the rows.

        It is cheapest if each structure has the families of the one before it and a few more.
        """
        values: Array = self._rows.sum(_judge, self._structures(dags))
        return values.tolist()

    def weigh(self, dags: Sequence[Dag]) -> list[float]:
        """Weights of the mixture of these structures (`choose_weights`); every attribute has the class in each."""
        make = partial(_make_joints, leave_one_out=self._leave_one_out, structures=self._structures(dags))
        joints = self._counts.rows.kept().prepare(make)
        return choose_weights(len(dags), lambda weights: joints.sum(_mixture_likelihood, weights)).tolist()

    def _structures(self, dags: Sequence[Dag]) -> list[Structure]:
        """The families of each, all of them counted in one pass."""
        families = [self._families(dag) for dag in dags]
        wanted = list(dict.fromkeys(family for each in families for family in each))
        self._counts.tables(wanted)
        logs = {family: self._family_logs(family) for family in wanted}
        return [[logs[family] for family in each] for each in families]

    def _families(self, dag: Dag) -> list[Family]:
        """A family without the class is the same for every class and cancels in P(c | x)."""
        return [family for family in dag.families if self._counts.n_attributes in family.nodes]

    @cached_property
    def _rows(self) -> Prepared[list[BlockAddends]]:
        """Made when they are first asked: most structures are learnt from counts alone."""
        return self._counts.rows.kept().prepare(partial(_make_addends, leave_one_out=self._leave_one_out))

    def _family_logs(self, family: Family) -> FamilyLogs:
        n_classes, of_class = self._counts.n_classes, family.child == self._counts.n_attributes
        prior = self._smoothing.pseudo_rows(self._counts, family)
        if self._leave_one_out and of_class:
            prior = prior + 1.0  # a class of one row is not impossible to the others
        above = self._counts.table(family) + prior
        below = np.broadcast_to(above.sum(axis=-1, keepdims=True), above.shape)
        if of_class:
            above, below = above[:, 0].T, below[:, 0].T
        else:
            above, below = (part.swapaxes(0, 1).reshape(n_classes, -1) for part in (above, below))
        return FamilyLogs.of(family, above, below, of_class, self._leave_one_out)


@dataclass(frozen=True, eq=False)
class FamilyLogs:
    """log P(child | parents) of a family with the class, (classes, attribute cells + 1), as it judges rows.

    The last cell is that of a row in which one of the attributes is missing; its log is 0, which leaves the family out.

    above, below  numerators and denominators of the table, (classes, attribute cells)
    of_class      whether the class is the child, so that the classes share their denominators
    others        logs of the classes that are not the row's
    true          those of the row's class; where a row is left out, without a row of weight one
    """

    family: Family
    above: Array
    below: Array
    of_class: bool
    others: Array
    true: Array

    @classmethod
    def of(cls, family: Family, above: Array, below: Array, of_class: bool, leave_one_out: bool) -> FamilyLogs:
        def logs(numerators: Array, denominators: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore"):  # cells without a row judge none
                return np.hstack([np.log(numerators / denominators), np.zeros((len(above), 1))])

        if not leave_one_out:
            plain = logs(above, below)
            return cls(family, above, below, of_class, plain, plain)
        others = logs(above, below - 1.0) if of_class else logs(above, below)
        return cls(family, above, below, of_class, others, logs(above - 1.0, below - 1.0))


Structure = Sequence[FamilyLogs]
"""The families of a structure that hold the class."""


class BlockAddends:
    """What families add to the log joint of some rows; those of the last `n_kept` families asked are kept."""

    def __init__(self, block: EncodedBatch, leave_one_out: bool, n_kept: int) -> None:
        self.rows = block
        # Rows of less weight than one each take their own share out of their cells.
        self.is_light = leave_one_out and block.weights is not None and bool((block.weights < 1.0).any())
        self._n_kept = n_kept
        self._kept: OrderedDict[Family, Array] = OrderedDict()

    def judge(self, structures: Sequence[Structure]) -> Array:
        """`RowLikelihood.each` of these rows."""
        log_joint = np.zeros((self.rows.n_classes, self.rows.n_rows))
        classes, rows = self.rows.class_codes, np.arange(self.rows.n_rows)
        added: set[Family] = set()
        values = np.empty(len(structures))
        for place, structure in enumerate(structures):
            families = {logs.family for logs in structure}
            if not added <= families:
                log_joint[:], added = 0.0, set()
            for logs in structure:
                if logs.family not in added:
                    log_joint += self._addend(logs)
            added = families
            log_p = log_joint[classes, rows] - np.logaddexp.reduce(log_joint, axis=0)
            values[place] = log_p.sum() if self.rows.weights is None else log_p @ self.rows.weights
        return values

    def log_joint(self, structure: Structure) -> Array:
        """(n_classes, n_rows), but for the families without the class."""
        log_joint = np.zeros((self.rows.n_classes, self.rows.n_rows))
        for logs in structure:
            log_joint += self._addend(logs)
        return log_joint

    def count_right(self, structure: Structure) -> float:
        """sum_t w_t [c_t is the most probable class] of a structure."""
        log_joint = self.log_joint(structure)
        at_top = log_joint >= log_joint.max(axis=0) - TIE
        right = at_top[self.rows.class_codes, np.arange(self.rows.n_rows)] / at_top.sum(axis=0)
        return float(right @ self.rows.row_weights)

    def _addend(self, logs: FamilyLogs) -> Array:
        """(n_classes, n_rows) log P(child | parents), the class in every state."""
        family = logs.family
        if family in self._kept:
            self._kept.move_to_end(family)
            return self._kept[family]
        addend = self._compute(logs)
        self._kept[family] = addend
        if len(self._kept) > self._n_kept:
            self._kept.popitem(last=False)
        return addend

    def _compute(self, logs: FamilyLogs) -> Array:
        block, above, below = self.rows, logs.above, logs.below
        attributes = tuple(node for node in logs.family.nodes if node != block.n_attributes)
        cells = np.zeros(block.n_rows, dtype=np.int64)
        complete = np.ones(block.n_rows, dtype=bool)
        for node, stride in zip(attributes, strides(attributes, block.n_states), strict=True):
            cells += block.column(node).astype(np.int64) * stride
            complete &= block.column(node) < block.n_states[node]
        cells[~complete] = above.shape[1]
        result: Array = logs.others.take(cells, axis=1)
        result[block.class_codes, np.arange(block.n_rows)] = logs.true[block.class_codes, cells]
        if self.is_light:
            rows = np.flatnonzero(complete)
            at, classes, weights = cells[rows], block.class_codes[rows], np.minimum(1.0, block.row_weights)[rows]
            if logs.of_class:
                result[:, rows] = np.log(above[:, at] / (below[:, at] - weights))
            result[classes, rows] = np.log((above[classes, at] - weights) / (below[classes, at] - weights))
        return result


def _make_addends(blocks: list[EncodedBatch], leave_one_out: bool) -> list[BlockAddends]:
    n_bytes = 8 * sum(block.n_rows * block.n_classes for block in blocks)
    n_kept = _bytes_to_keep() // max(1, n_bytes)
    return [BlockAddends(part, leave_one_out, n_kept) for part in _cut_rows(blocks, PART_ROWS)]


def _cut_rows(blocks: Iterable[EncodedBatch], size: int) -> Iterator[EncodedBatch]:
    """The rows in parts of at most so many."""
    for block in blocks:
        for first in range(0, block.n_rows, size):
            yield block.take(slice(first, first + size))


def _bytes_to_keep() -> int:
    return min(CACHE_BYTES, available_memory() // CACHE_SHARE)


def _count_right(blocks: Sequence[BlockAddends], structure: Structure) -> float:
    return float(sum(map_threads(lambda block: block.count_right(structure), blocks)))


def _judge(blocks: Sequence[BlockAddends], structures: Sequence[Structure]) -> Array:
    parts = map_threads(lambda block: block.judge(structures), blocks)
    return np.sum(parts, axis=0) if parts else np.zeros(len(structures))


class MemberJoints:
    """P_m(c, x_t) of some rows and all members of a mixture."""

    def __init__(self, block: BlockAddends, structures: Sequence[Structure], kept: bool) -> None:
        """Not `kept`, they are computed anew in every pass."""
        self._block = block
        self._structures = structures
        self._kept = self._compute() if kept else None

    def _compute(self) -> tuple[Array, Array]:
        """(n_members, n_rows * n_classes) each relative to the largest of m, whose log is (n_rows, n_classes)."""
        log_joints = np.array([self._block.log_joint(structure).T for structure in self._structures])
        largest = log_joints.max(axis=0)
        log_joints -= largest
        return np.exp(log_joints, out=log_joints).reshape(len(log_joints), -1), largest

    def log_likelihood(self, weights: Array) -> tuple[float, Array]:
        """sum_t u_t log P(c_t | x_t) with row weights u, and its gradient by the (n_members,) weights."""
        relative, largest = self._compute() if self._kept is None else self._kept
        rows = self._block.rows
        mixed = (weights @ relative).reshape(largest.shape)
        logs = np.log(mixed) + largest
        log_evidence = np.logaddexp.reduce(logs, axis=1)
        true = np.arange(rows.n_rows), rows.class_codes
        # The derivative by w_m: P_m(c_t, x_t) / P(c_t, x_t) - P_m(x_t) / P(x_t)
        slopes = -np.exp(logs - log_evidence[:, np.newaxis])
        slopes[true] += 1.0
        slopes *= rows.row_weights[:, np.newaxis] / mixed
        return float((logs[true] - log_evidence) @ rows.row_weights), relative @ slopes.ravel()


def _make_joints(
    blocks: list[EncodedBatch], leave_one_out: bool, structures: Sequence[Structure]
) -> list[MemberJoints]:
    """The rows in parts, ready for passes with any weights."""
    row_bytes = 8 * len(structures) * blocks[0].n_classes
    parts = [BlockAddends(part, leave_one_out, 0) for part in _cut_rows(blocks, max(1, PART_BYTES // row_bytes))]
    kept = row_bytes * sum(block.n_rows for block in blocks) <= _bytes_to_keep()
    return map_threads(lambda part: MemberJoints(part, structures, kept), parts)


def _mixture_likelihood(parts: Sequence[MemberJoints], weights: Array) -> tuple[float, Array]:
    likelihoods = map_threads(lambda part: part.log_likelihood(weights), parts)
    return reduce(add, likelihoods, (0.0, np.zeros(len(weights))))


def choose_weights(n_members: int, log_likelihood: Callable[[Array], tuple[float, Array]]) -> Array:
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

    end = minimize(
        loss,
        np.zeros(n_members),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-14, "gtol": 1e-6},
    )
    weights: Array = softmax(end.x)
    return weights
