"""RowLikelihood: the conditional log likelihood of a structure with frequency tables, for searches that ask often."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tanager.arrays import Array, Codes
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family, strides
from tanager.parameters.frequency import Frequency
from tanager.runtime.resources import available_memory, map_threads
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch, Prepared, add

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

    def each(self, dags: Sequence[Dag], squared: bool = False) -> list[float]:
        """The same of several structures, or minus sum_t w_t (1 - P(c_t | x_t))^2, in one pass over the rows.

        It is cheapest if each structure has the families of the one before it and a few more.
        """
        found: Array = self._rows.sum(partial(_judge, squared=squared), self._structures(dags))
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
    return float(_judge(blocks, [fractions])[0])


def _judge(blocks: Sequence[BlockAddends], structures: Sequence[Sequence[Fractions]], squared: bool = False) -> Array:
    if is_compiled(structures, blocks):
        plan = JudgePlan.of(structures, blocks[0].leave_one_out)
        found = map_threads(lambda block: plan.judge(block.rows, squared), blocks)
    else:
        found = map_threads(lambda block: block.judge(structures, squared), blocks)
    return np.sum(found, axis=0) if found else np.zeros(len(structures))


@dataclass(frozen=True, eq=False)
class Fractions:
    """The table of a family as numerators and denominators, (classes, attribute cells).

    of_class  whether the class is the child, so that the classes share their denominators
    """

    family: Family
    above: Array
    below: Array
    of_class: bool

    @cached_property
    def logs(self) -> Array:
        """One cell more, whose log is 0: a family with a gap is left out of its row."""
        with np.errstate(divide="ignore"):
            return np.hstack([np.log(self.above / self.below), np.zeros((len(self.above), 1))])

    @cached_property
    def logs_without_one(self) -> Array:
        """Of a row of each cell and class, when it is itself taken out; nothing of cells without a row."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.log((self.above - 1.0) / (self.below - 1.0)))

    def judging(self, leave_one_out: bool) -> tuple[Array, Array]:
        """(cells + 1, n_classes) logs that judge a row of the cell: of the other classes, and of the row's own."""
        nothing = np.zeros((len(self.above), 1))
        others = own = self.logs
        if leave_one_out:
            own = np.hstack([self.logs_without_one, nothing])
            if self.of_class:
                with np.errstate(invalid="ignore", divide="ignore"):
                    others = np.hstack([np.log(self.above / (self.below - 1.0)), nothing])
        return others.T, own.T


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

    def judge(self, structures: Sequence[Sequence[Fractions]], squared: bool) -> Array:
        """`RowLikelihood.each` of structures whose families with the class are these."""
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
            gains = -(np.expm1(of_class) ** 2) if squared else of_class
            found[place] = gains.sum() if self.rows.weights is None else gains @ self.rows.weights
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

    def judge(self, block: EncodedBatch, squared: bool) -> Array:
        """`RowLikelihood.each` of these rows."""
        from tanager.parameters.kernels import BLOCK, judge

        weights = np.empty(0) if block.weights is None else np.ascontiguousarray(block.weights)
        scratch, found = np.empty((BLOCK, block.n_classes)), np.zeros(len(self.resets))
        judge(*self._arguments(block), self.adds, self.add_ends, self.resets, weights, squared, scratch, found)
        return found

    def log_joints(self, block: EncodedBatch) -> Array:
        """(n_structures, n_rows, n_classes) log P(c, x_t), where no structure adds to the one before it."""
        from tanager.parameters.kernels import join

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
