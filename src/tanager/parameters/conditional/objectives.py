"""Objectives of a discriminative fit: value and gradient of one pass over the rows; no optimiser.

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
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.arrays import Array
from tanager.counts.engine import CountEngine
from tanager.parameters.class_cells import ClassCells
from tanager.parameters.conditional.compiled_pass import CompiledPass
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
