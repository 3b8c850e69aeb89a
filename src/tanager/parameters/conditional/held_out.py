"""Folds of the training rows: what is fitted on the others, and the loss of the rows held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.descent import Descent
from tanager.parameters.conditional.losses import POWERS, losses_and_slopes
from tanager.parameters.conditional.objectives import indicators
from tanager.parameters.conditional.optimize import Penalized
from tanager.parameters.protocol import ParameterTask
from tanager.table.batch import EncodedBatch, join_blocks
from tanager.table.deal import SLACK, Keys, RowKinds, row_keys
from tanager.table.rows import Rows, Value

Array = NDArray[np.float64]
Places = NDArray[np.integer]

N_FOLDS = 3
ONE_FOLD_ROWS = 3_000
# With more rows than this, folds are drawn from half of the kinds of rows, a third, ...: what is drawn from takes up to
# 25 bytes for each.
MAX_ROWS_TO_DRAW_FROM = 1 << 26


class HeldOut:
    """Rows that a fit has not seen, judged by the objective that it makes small (`conditional.objectives`)."""

    def __init__(
        self, cells: ClassCells, batch: EncodedBatch, normalized: bool, objective: str = "cll", alpha: float = 0.0
    ) -> None:
        self.cells = cells
        self._normalized = normalized
        self._power = POWERS[objective]
        self._alpha = alpha
        self._indicators: sparse.csr_array = indicators(cells, batch)
        self._classes = batch.class_codes.astype(np.intp)
        self.weights = batch.row_weights

    def losses(self, beta: Array) -> Array:
        """What every row adds to the objective, (n_rows,), less what is the same for every beta."""
        logs = self.cells.log_normalize(beta) if self._normalized else beta
        scores = np.ascontiguousarray((self._indicators @ logs).T)
        own = scores[self._classes, np.arange(len(self._classes))]
        log_p = own - logsumexp(scores, axis=0)
        losses: Array = (1.0 - self._alpha) * losses_and_slopes(log_p, self._power)[0] - self._alpha * own
        return losses


class TunedProblem(Protocol):
    """What a choice of strengths asks of a problem."""

    @property
    def n_levels(self) -> int: ...
    @property
    def n_passes(self) -> int: ...
    def set_strengths(self, strengths: Sequence[float]) -> None: ...
    def descend(self, u: Array, max_iter: int, tolerance: float) -> Descent: ...
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
    """(what to fit on, rows held out) of each fold of `split_rows`.

    Cut points that have seen the class, and the structure, are learnt again from the rows to fit on.
    """
    values = task.values
    for kept, held_out in split_rows(task.counts.rows if values is None else values.rows, most_rows, seed):
        if values is not None:
            kept, held_out = values.cut(kept, held_out)
        counts = CountStore(kept, choose_engine("auto"), task.counts.names)
        yield ParameterTask(task.dag if task.relearn is None else task.relearn(counts), counts), held_out


def split_rows(
    rows: Rows, most_rows: int, seed: int, key: Places | None = None, one_fold_rows: int = ONE_FOLD_ROWS
) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    """(rows to fit on, rows held out) of each fold, in memory, dealt at random within each class (`table.deal`).

    Three folds; above `one_fold_rows`, where a third of the rows is many, the first of them; and where there are twice
    `most_rows`, so many rows to fit on and so many others: more would hardly say more. `key` are the columns that tell
    rows apart, all by default. A class of one row is only learnt from. Equal rows are one row of their weight.
    """
    parts = max(1, -(-rows.n_rows // MAX_ROWS_TO_DRAW_FROM))
    kinds = RowKinds.join(rows.sum(partial(_count_kinds, key=key, parts=parts), "kinds").values)
    if kinds.n_units > 2 * most_rows:
        kept, held_out = kinds.draw(most_rows, seed).T
        shares = [(kept, held_out)]
    else:
        dealt = kinds.deal(N_FOLDS, seed).T
        dealt[:, np.bincount(kinds.strata, kinds.weights)[kinds.strata] <= 1.0 + SLACK] = 0.0
        shares = [(kinds.weights - own, own) for own in dealt[: N_FOLDS if kinds.n_units <= one_fold_rows else 1]]
    used = np.any([share > 0 for fold in shares for share in fold], axis=0)
    batch = _find_rows(rows, kinds.keys[used], key)
    for kept, held_out in shares:
        yield _weighted(batch, kept[used]), _weighted(batch, held_out[used])


@dataclass(frozen=True)
class _Blocks(Generic[Value]):
    """A value of each block, side by side: what a sum over blocks is of values that do not add up."""

    values: tuple[Value, ...]

    def __add__(self, other: _Blocks[Value]) -> _Blocks[Value]:
        return _Blocks((*self.values, *other.values))


def _keys(batch: EncodedBatch, key: Places | None) -> Keys:
    return row_keys(batch.codes if key is None else batch.codes[:, key], batch.class_codes)


def _count_kinds(batch: EncodedBatch, key: Places | None, parts: int) -> _Blocks[RowKinds]:
    """The kinds of rows with the lowest of all keys: one of so many parts."""
    keys = _keys(batch, key)
    low = keys <= np.iinfo(np.uint64).max // parts
    return _Blocks((RowKinds.of(keys[low], batch.class_codes[low], batch.row_weights[low]),))


def _find_rows(rows: Rows, wanted: Keys, key: Places | None) -> EncodedBatch:
    """A row of each kind, by ascending key."""
    found = rows.sum(partial(_take_kinds, wanted=wanted, key=key), "take").values
    batch = join_blocks(found, rows.n_states)
    return batch.take(np.unique(_keys(batch, key), return_index=True)[1])


def _take_kinds(batch: EncodedBatch, wanted: Keys, key: Places | None) -> _Blocks[EncodedBatch]:
    keys = _keys(batch, key)
    found = np.flatnonzero(wanted[np.searchsorted(wanted[:-1], keys)] == keys)
    first = np.unique(keys[found], return_index=True)[1]
    return _Blocks((replace(batch.take(found[first]), weights=None),))


def _weighted(batch: EncodedBatch, weights: Array) -> EncodedBatch:
    """The rows with these weights, less those of weight zero."""
    weights = np.where(weights > SLACK, weights, 0.0)
    plain = weights[weights > 0]
    return replace(batch.take(weights > 0), weights=None if (plain == 1.0).all() else plain)
