"""Folds of the training rows: what is fitted on the others, and the loss of the rows held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.objectives import indicators
from tanager.parameters.conditional.optimize import Descent, Penalized
from tanager.parameters.protocol import ParameterTask
from tanager.table.batch import EncodedBatch, Weights
from tanager.table.rows import Rows, gather

Array = NDArray[np.float64]
Places = NDArray[np.integer]

N_FOLDS = 3
ONE_FOLD_ROWS = 3_000
# With more rows than this, folds are drawn from every second of them, every third, ...: what is drawn from takes 25
# bytes for each row.
MAX_ROWS_TO_DRAW_FROM = 1 << 26


class HeldOut:
    """Rows that a fit has not seen."""

    def __init__(self, cells: ClassCells, batch: EncodedBatch, normalized: bool) -> None:
        self._cells = cells
        self._normalized = normalized
        self._indicators: sparse.csr_array = indicators(cells, batch)
        self._classes = batch.class_codes.astype(np.intp)
        self.weights = batch.row_weights

    def losses(self, beta: Array) -> Array:
        """- log P(class | attributes) of every row, (n_rows,)."""
        logs = self._cells.log_normalize(beta) if self._normalized else beta
        scores = np.ascontiguousarray((self._indicators @ logs).T)
        scores -= scores.max(axis=0)
        own = scores[self._classes, np.arange(len(self._classes))]
        losses: Array = np.log(np.exp(scores).sum(axis=0)) - own
        return losses


class TunedProblem(Protocol):
    """What a choice of strengths asks of a problem."""

    @property
    def n_levels(self) -> int: ...
    @property
    def n_passes(self) -> int: ...
    def set_strengths(self, strengths: Sequence[float]) -> None: ...
    def descend(self, u: Array, max_iter: int, tolerance: float, what: str = ...) -> Descent: ...
    def beta(self, u: Array) -> Array: ...
    def is_zero(self, u: Array, level: int) -> bool: ...


class HeldOutRows(Protocol):
    """Rows that a fit has not seen, and their losses at a beta."""

    weights: Array

    def losses(self, beta: Array) -> Array: ...


class TunedFold(Protocol):
    """What a choice of strengths asks of a fold."""

    u: Array

    @property
    def problem(self) -> TunedProblem: ...
    @property
    def held_out(self) -> HeldOutRows: ...


@dataclass
class Fold:
    """A problem on part of the rows, the effects reached so far, and the rows held out."""

    problem: Penalized
    u: Array
    held_out: HeldOut


def split_folds(task: ParameterTask, most_rows: int, seed: int) -> Iterator[tuple[ParameterTask, EncodedBatch]]:
    """(what to fit on, rows held out) of each fold of `split_rows`."""
    for kept, held_out in split_rows(task.counts.rows, most_rows, seed):
        yield ParameterTask(task.dag, CountStore(kept, choose_engine("auto"), task.counts.names)), held_out


def split_rows(
    rows: Rows, most_rows: int, seed: int, key: Places | None = None
) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    """(rows to fit on, rows held out) of each fold, in memory, every class spread evenly.

    Three folds; one of them where a third of the rows is a thousand; and where there are twice `most_rows`, so many
    rows to fit on and so many others: more would hardly say more. `key` are the columns that tell rows apart, all by
    default.
    """
    if rows.n_rows > 2 * most_rows:
        return _halves(rows, most_rows, seed)
    return islice(_folds(gather(rows), seed, key), None if rows.n_rows <= ONE_FOLD_ROWS else 1)


def _folds(batch: EncodedBatch, seed: int, key: Places | None) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    """Equal rows are taken together and their weight is dealt out unit by unit, class by class, to the folds in turn.

    So a row of weight w is dealt out as w rows are, and the order of the rows does not matter.
    """
    rows = np.column_stack([batch.class_codes, batch.codes if key is None else batch.codes[:, key]])
    distinct, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(kind.reshape(-1), batch.weights).astype(np.float64)
    order = np.random.default_rng(seed).permutation(len(first))
    order = order[np.argsort(distinct[order, 0], kind="stable")]
    first, weights, classes = first[order], weights[order], distinct[order, 0].astype(np.intp)
    of_class = np.bincount(classes, weights)
    end = np.cumsum(weights) - np.repeat(np.cumsum(of_class) - of_class, np.bincount(classes, minlength=len(of_class)))
    for number in range(N_FOLDS):
        share = _dealt(end, number) - _dealt(end - weights, number)
        share[of_class[classes] <= 1.0] = 0.0  # a class of one row can only be learnt from
        yield _weighted(batch, first, weights - share), _weighted(batch, first, share)


def _dealt(units: Array, number: int) -> Array:
    """How much of the units 0 .. `units` goes to a fold when unit t goes to fold t modulo N_FOLDS."""
    dealt: Array = np.floor(units / N_FOLDS) + np.clip(units % N_FOLDS - number, 0.0, 1.0)
    return dealt


def _halves(rows: Rows, most_rows: int, seed: int) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    step = -(-rows.n_rows // MAX_ROWS_TO_DRAW_FROM)
    drawn = rows.map(partial(EncodedBatch.first_attributes, number=0), "classes").take(np.arange(0, rows.n_rows, step))
    weights = drawn.row_weights
    order = np.random.default_rng(seed).permutation(drawn.n_rows)
    order = order[np.argsort(drawn.class_codes[order], kind="stable")]
    order = order[np.linspace(0, len(order) - 1, 2 * most_rows).astype(np.intp)]
    for_fit = np.arange(len(order)) % 2 == 0
    kept, held_out = np.sort(order[for_fit]), np.sort(order[~for_fit])
    fold = [replace(rows.take(own * step), weights=_plain(weights[own])) for own in (kept, held_out)]
    yield fold[0], fold[1]


def _weighted(batch: EncodedBatch, rows: Places, weights: Array) -> EncodedBatch:
    """The same table with these rows only, less those of weight zero."""
    return replace(batch.take(rows[weights > 0]), weights=_plain(weights[weights > 0]))


def _plain(weights: Array) -> Weights | None:
    """None for ones: counts of rows stay integers."""
    return None if (weights == 1.0).all() else weights
