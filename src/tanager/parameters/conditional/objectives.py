"""Objectives of a discriminative fit: value and gradient of one pass over the rows, sparse or compiled; no optimiser.

Every objective is a loss, to be made small. With p_t the probability of the class of row t given its attributes, and
w_t the weight of the row (Zhou 2002, sections 3.2.2, 3.7, 3.8 and 5.2.1):

cll           - sum_t w_t log p_t
error         sum_t w_t (1 - p_t)
squared       sum_t w_t (1 - p_t)^2
margin        sum_t w_t h(log p_t / (1 - p_t)): a hinge on the log odds of the class against all others together
mixed         - sum_t w_t [log p_t + alpha log P(x_t)] = (1 - alpha) cll - alpha sum_t w_t log P(x_t, c_t)
mixed-margin  (1 - alpha) margin - alpha sum_t w_t log P(x_t, c_t)

h(y) = 1 - y up to 1/2, (3/2 - y)^2 / 2 up to 3/2, then 0 (Pernkopf, Wohlmayr and Tschiatschek 2012, with the softest of
their maxima).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from tanager.arrays import Array, Codes
from tanager.counts.engine import CountEngine
from tanager.counts.family import Family
from tanager.parameters.class_cells import ClassCells
from tanager.runtime.resources import map_threads
from tanager.table.rows import EncodedBatch, Rows, add

# (row, family, class) look-ups of a pass from which the compiled kernel repays its start.
WORK_WORTH_COMPILING = 4_000_000
# The number that passes over rows know a loss by: the power of (1 - p), 0 for the logarithm, or MARGIN.
MARGIN = -1
POWERS = {"cll": 0, "error": 1, "squared": 2, "margin": MARGIN, "mixed": 0, "mixed-margin": MARGIN}
MIXED = ("mixed", "mixed-margin")
CONVEX = ("cll", "margin")
"""In the log odds: the hinge falls, and log odds against a sum of classes are concave."""
LINEAR_TO, ZERO_FROM = 0.5, 1.5

# A group's table and its gradient stay in the second-level cache, and are filled by many rows a cell. Fewer and larger
# tables beat those that fit the first level: 0.19 s a pass over covtype instead of 0.32 s.
GROUP_BYTES = 1 << 17
ROWS_PER_CELL = 16
# Groups are built along the structure, so only the latest can share attributes with the next family.
OPEN_GROUPS = 8
# A part of the rows is worth a thread from this many look-ups, and from a few for each entry it has to add up.
PART_LOOK_UPS = 1 << 19
LOOK_UPS_PER_ENTRY = 24
MAX_PARTS = 64

# Attributes, ascending, and the positions in `ClassCells.families` of families that hold no others.
Group = tuple[tuple[int, ...], list[int]]
# The rows first .. last - 1 of a batch.
Run = tuple[EncodedBatch, int, int]


class Objective:
    """Loss and gradient at a beta (n_cells, n_classes) laid out as `ClassCells` says.

    unnormalised  log P(c | x) = sum_f beta[cell of x in f, c] - log sum_c' exp(...): beta are free numbers
    normalized    beta is first brought to logs of tables, log theta = beta - log sum_k exp(beta); by the chain rule
                  the gradient G of the log tables becomes G - theta sum_k G
    Mixed objectives are defined for normalized tables only. `counts` are the rows in each entry, laid out as beta; what
    families without the class add to log P(x, c) is the same for every beta and left out.
    """

    def __init__(
        self,
        cells: ClassCells,
        rows: Rows,
        name: str = "cll",
        normalized: bool = False,
        alpha: float = 0.0,
        counts: Array | None = None,
        compiled: bool | None = None,
        engine: CountEngine | None = None,
    ) -> None:
        """`compiled` says which pass to take, None leaves it to the number of rows; `engine` may have a device."""
        self._cells = cells
        if compiled is None:
            compiled = worth_compiling(cells, rows)
        # What a pass needs of the rows is made once, where they are, and kept there.
        make = partial(_make_passes, cells=cells, power=POWERS[name], compiled=compiled, engine=engine)
        self._passes = rows.kept().prepare(make)
        self._power = POWERS[name]
        self._normalized = normalized
        self._alpha = alpha
        self._counts = counts
        self._to_all_classes = np.hstack([np.eye(cells.n_classes - 1), np.full((cells.n_classes - 1, 1), -1.0)])
        self.convex = name in CONVEX and not normalized
        self.n_passes = 0

    def __call__(self, beta: Array) -> tuple[float, Array]:
        if not self._normalized:
            return self._conditional(beta)
        logs = self._cells.log_normalize(beta)
        value, gradient = self._conditional(logs)
        if self._alpha > 0.0:
            assert self._counts is not None
            value = (1.0 - self._alpha) * value - self._alpha * float(np.vdot(self._counts, logs))
            gradient = (1.0 - self._alpha) * gradient - self._alpha * self._counts
        return value, gradient - np.exp(logs) * self._cells.sum_states(gradient)

    def losses(self, beta: Array, indicators: sparse.csr_array, classes: Codes) -> Array:
        """What each of other rows adds to the objective, (n_rows,), less what is the same for every beta."""
        logs = self._cells.log_normalize(beta) if self._normalized else beta
        scores = np.ascontiguousarray((indicators @ logs).T)
        log_joint = scores[classes, np.arange(len(classes))]
        losses, _ = losses_and_slopes(log_joint - logsumexp(scores, axis=0), self._power)
        return (1.0 - self._alpha) * losses - self._alpha * log_joint

    def _conditional(self, logs: Array) -> tuple[float, Array]:
        self.n_passes += 1
        value, against_last = self._passes.sum(_run_passes, logs[:, :-1] - logs[:, -1:])
        # Residuals of a row sum to zero over the classes. A product is far faster than a sum along so short an axis.
        return value, against_last @ self._to_all_classes


Pass = Callable[[Array], tuple[float, Array]]
"""Loss of some rows and its gradient at log odds against the last class; both (n_cells, n_classes - 1)."""


def worth_compiling(cells: ClassCells, rows: Rows) -> bool:
    """Small data must not wait for a compiler."""
    return rows.n_rows * len(cells.families) * (rows.n_classes - 1) >= WORK_WORTH_COMPILING


def _make_passes(
    blocks: list[EncodedBatch], cells: ClassCells, power: int, compiled: bool, engine: CountEngine | None
) -> Sequence[Pass]:
    """On the device of an `engine` that has one, else by the compiled kernel or as sparse matrices."""
    if getattr(engine, "on_device", False):
        from tanager.torch.row_pass import passes_on_device

        on_device = passes_on_device(engine, cells, blocks, power)
        if on_device:
            return on_device
    if compiled:
        return [CompiledPass(cells, blocks, power)]
    return [IndicatorPass(cells, block, power) for block in blocks]


def _run_passes(passes: Sequence[Pass], odds: Array) -> tuple[float, Array]:
    return reduce(add, (each(odds) for each in passes), (0.0, np.zeros_like(odds)))


class IndicatorPass:
    """The pass as products with the sparse indicator matrix of the cells, (n_rows, n_cells)."""

    def __init__(self, cells: ClassCells, batch: EncodedBatch, power: int) -> None:
        self._indicators = indicators(cells, batch)
        self._transposed = self._indicators.T
        self._classes = batch.class_codes.astype(np.intp)
        self._weights = batch.weights
        self._power = power

    def __call__(self, odds: Array) -> tuple[float, Array]:
        scores = np.zeros((odds.shape[1] + 1, len(self._classes)))  # class by row; the last class is the reference
        scores[:-1] = (self._indicators @ odds).T
        value, residuals = loss_and_residuals(scores, self._classes, self._weights, self._power)
        return value, self._transposed @ residuals[:-1].T


def indicators(cells: ClassCells, batch: EncodedBatch) -> sparse.csr_array:
    """(n_rows, n_cells) ones: the cell of each family a row falls in; none where one of its attributes is missing."""
    position, present = cells.places(batch)
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    columns = position[present]
    return sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(batch.n_rows, cells.n_cells))


def loss_and_residuals(
    scores: Array, classes: NDArray[np.intp], weights: Array | None, power: int
) -> tuple[float, Array]:
    """Loss of the rows and its derivative by `scores`, the (n_classes, n_rows) log joints, which are used up."""
    rows = np.arange(scores.shape[1])
    scores -= scores.max(axis=0)
    class_scores = scores[classes, rows]
    p = np.exp(scores, out=scores)
    total = p.sum(axis=0)
    losses, slopes = losses_and_slopes(class_scores - np.log(total), power)
    if weights is not None:
        slopes = slopes * weights
    p *= slopes / total
    p[classes, rows] -= slopes
    return float(losses.sum() if weights is None else losses @ weights), p


def losses_and_slopes(log_p: Array, power: int) -> tuple[Array, Array]:
    """Of each row the loss, and minus its derivative by log p."""
    if power == 0:
        return -log_p, np.ones_like(log_p)
    p, wrong = np.exp(log_p), np.maximum(-np.expm1(log_p), 0.0)  # a certain row may be above one by rounding
    if power != MARGIN:
        return wrong**power, power * wrong ** (power - 1) * p
    with np.errstate(divide="ignore"):  # certainty has infinite odds, and no loss
        y = log_p - np.log(wrong)
    short = np.clip(ZERO_FROM - y, 0.0, ZERO_FROM - LINEAR_TO)
    losses = np.where(y < LINEAR_TO, 1.0 - y, 0.5 * short**2)
    return losses, short / np.maximum(wrong, np.finfo(np.float64).tiny)


class CompiledPass:
    """One pass over the rows in threads, in memory that does not grow with the rows.

    Families are put in groups whose union of attributes has few combinations: the group's table is the sum of its
    families' tables, so a look-up and an addition serve several of them (50 attributes in a tree need about 20).
    The rows are cut into parts by their number alone, and parts are summed in order: threads change no digit.
    """

    def __init__(self, cells: ClassCells, batches: Sequence[EncodedBatch], power: int) -> None:
        """The rows are those of one or several batches of a table."""
        self._power = power
        self._layout = Layout.of(cells, batches)
        self._members = self._layout.members
        self._transposed = self._members.T
        self._parts = [_runs(batches, first, last) for first, last in pairwise(self._edges(batches))]

    def _edges(self, batches: Sequence[EncodedBatch]) -> list[int]:
        """The rows, numbered through all batches, at which parts begin, and their end."""
        n_rows, n_odds = sum(batch.n_rows for batch in batches), batches[0].n_classes - 1
        look_ups = n_rows * len(self._layout.offsets) * n_odds
        n_parts = look_ups // max(PART_LOOK_UPS, LOOK_UPS_PER_ENTRY * self._members.shape[0] * n_odds)
        edges: list[int] = np.linspace(0, n_rows, 1 + max(1, min(MAX_PARTS, n_parts))).astype(int).tolist()
        return edges

    def __call__(self, odds: Array) -> tuple[float, Array]:
        """Loss and its gradient at log odds against the last class; both (n_cells, n_classes - 1)."""
        from tanager.parameters.conditional.pass_kernels import pass_many_classes, pass_two_classes

        two = odds.shape[1] == 1
        tables = self._members @ (odds[:, 0] if two else odds)
        kernel = pass_two_classes if two else pass_many_classes

        def run(part: list[Run]) -> tuple[float, Array]:
            loss, gradient = 0.0, np.zeros_like(tables)
            for batch, first, last in part:
                loss += kernel(
                    batch.codes,
                    batch.class_codes,
                    np.empty(0) if batch.weights is None else batch.weights,
                    self._layout.nodes,
                    self._layout.strides,
                    self._layout.offsets,
                    tables,
                    gradient,
                    first,
                    last,
                    self._power,
                )
            return loss, gradient

        loss, gradient = reduce(add, map_threads(run, self._parts))
        return loss, (self._transposed @ gradient).reshape(odds.shape)


def _runs(batches: Sequence[EncodedBatch], first: int, last: int) -> list[Run]:
    """The rows first .. last - 1, numbered through all batches."""
    runs = []
    for batch in batches:
        low, high = max(first, 0), min(last, batch.n_rows)
        if low < high:
            runs.append((batch, low, high))
        first, last = first - batch.n_rows, last - batch.n_rows
    return runs


@dataclass(frozen=True)
class Layout:
    """Where a row's entries lie in the tables of all groups: group g at offsets[g] + sum_m strides[g, m] * its code.

    A stride of zero ends the attributes `nodes[g]` of a group. `members` is that of `member_cells`.
    """

    nodes: NDArray[np.uint32]
    strides: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    members: sparse.csr_array

    @classmethod
    def of(cls, cells: ClassCells, batches: Sequence[EncodedBatch]) -> Layout:
        """Of the table whose rows the batches are."""
        incomplete = np.any([batch.incomplete for batch in batches], axis=0)
        # A column with missing cells has one state more, for their code.
        n_states = (*(np.array(cells.n_states[:-1], dtype=int) + incomplete).tolist(), cells.n_classes)
        groups = group_families(cells, n_states, sum(batch.n_rows for batch in batches))
        # The table of a group is as that of a family of its attributes.
        target = len(n_states) - 1
        families = [Family(nodes[-1], nodes[:-1]) if nodes else Family(target, ()) for nodes, _ in groups]
        tables = ClassCells(tuple(families), n_states)
        width = max(1, *map(len, tables.attributes))
        nodes = np.zeros((len(groups), width), dtype=np.uint32)
        steps = np.zeros((len(groups), width), dtype=np.uint32)
        for g, attributes in enumerate(tables.attributes):
            nodes[g, : len(attributes)] = attributes
            steps[g, : len(attributes)] = tables.strides[g]
        return cls(nodes, steps, tables.offsets[:-1].astype(np.uint32), member_cells(cells, tables, groups))


def group_families(cells: ClassCells, n_states: Sequence[int], n_rows: int) -> list[Group]:
    """Greedily along the structure: a family joins the group that grows least by it, if that stays small."""
    most = min(GROUP_BYTES // (8 * (cells.n_classes - 1)), n_rows // ROWS_PER_CELL)
    groups: list[tuple[frozenset[int], list[int]]] = []

    def size(attributes: frozenset[int]) -> int:
        return prod(n_states[node] for node in attributes)

    for f in _along_structure(cells):
        attributes = frozenset(cells.attributes[f])
        growth = {}
        for g in range(max(0, len(groups) - OPEN_GROUPS), len(groups)):
            united = size(groups[g][0] | attributes)
            if united <= most:
                growth[g] = united / size(groups[g][0])
        if growth:
            g = min(growth, key=growth.__getitem__)
            groups[g] = (groups[g][0] | attributes, [*groups[g][1], f])
        else:
            groups.append((attributes, [f]))
    return [(tuple(sorted(attributes)), families) for attributes, families in groups]


def _along_structure(cells: ClassCells) -> list[int]:
    """Positions of the families, each soon after one whose child is its first parent: neighbours share attributes."""
    children = {family.child for family in cells.families}
    below: dict[int, list[int]] = {child: [] for child in children}
    roots: list[int] = []
    for f, family in enumerate(cells.families):
        above = [node for node in cells.attributes[f] if node != family.child and node in children]
        (below[above[0]] if above else roots).append(f)
    order = []
    stack = roots[::-1]
    while stack:
        f = stack.pop()
        order.append(f)
        stack.extend(reversed(below[cells.families[f].child]))
    return order


def member_cells(cells: ClassCells, tables: ClassCells, groups: Sequence[Group]) -> sparse.csr_array:
    """(cells of groups, n_cells) ones: the entries of families that an entry of its group's table is the sum of.

    A family takes no part in the cells of its group where one of its attributes is missing.
    """
    rows, columns = [], []
    for g, (attributes, families) in enumerate(groups):
        first, last = tables.offsets[g : g + 2].tolist()
        digits = {}
        for node, stride in zip(attributes, tables.strides[g], strict=True):
            digits[node] = np.arange(last - first) // stride % tables.n_states[node]
        for f in families:
            position = np.full(last - first, cells.offsets[f])
            present = np.ones(last - first, dtype=bool)
            for node, stride in zip(cells.attributes[f], cells.strides[f], strict=True):
                position += stride * digits[node]
                present &= digits[node] < cells.n_states[node]
            rows.append(first + np.flatnonzero(present))
            columns.append(position[present])
    at = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.ones(len(at[0])), at), shape=(tables.n_cells, cells.n_cells))
