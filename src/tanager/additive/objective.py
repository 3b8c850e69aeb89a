"""The objective of several fits side by side: penalised conditional likelihood, its value and its gradient.

    sum over rows of w_t * -log P(c_t | x_t)  +  1/2 sum over effects of lambda_e (u_e - centre_e)^2

The fits differ in the weights of their rows (folds: zero where a row validates), in lambda and in the centre, and share
the rows, so that one pass over the rows serves them all. Rows are a sparse matrix of ones, a cell for each term, so the
passes are two products: scores = X (bases u), gradient = bases' (X' residuals).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.additive.bases import Term, Terms
from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.resources import map_threads

Matrices = tuple[sparse.csr_array, sparse.csc_array]
Block = tuple[slice, list[Matrices] | None]
"""Rows, and their cells in the terms of each tile; None where there is no room to keep them."""

# Entries of a sparse matrix, 64 MB with indices and values, and of all that are kept: above, passes make them again.
MAX_ENTRIES, MAX_KEPT = 1 << 22, 1 << 27
# Bytes of the tables that a product looks into: those of some terms at a time, so that they stay in the cache.
TILE_BYTES = 1 << 19
# What rows count in the scale of the steps: attributes repeat each other, so the root of the rows, not the rows.
ROWS_IN_SCALE = 0.25


class Objective:
    """The loss of several fits at effects (n_effects + 1, n_columns, n_fits), the last of them the intercept.

    Two classes have one column, the log odds of the second; otherwise there is a column for each class.

    codes    (n_rows, n_attributes) fine codes
    classes  (n_rows,) class codes
    weights  (n_rows, n_folds)
    """

    def __init__(
        self,
        terms: Terms,
        codes: Codes,
        classes: NDArray[np.intp],
        weights: Array,
        n_classes: int,
        single: bool = False,
    ) -> None:
        self.dtype: type[np.floating[Any]] = np.float32 if single else np.float64
        self.terms, self.codes, self.classes, self.n_classes = terms, codes, classes, n_classes
        self.weights = cast(Array, weights.astype(self.dtype))
        self.n_columns = 1 if n_classes == 2 else n_classes
        self._tiles = self._cut_tiles()
        widest = max((last - first for _, first, last in self._tiles), default=1)
        size = max(1, MAX_ENTRIES // widest)
        self._ones: NDArray[Any] = np.ones(min(size, len(codes)) * widest, self.dtype)
        keep = len(codes) * len(terms.terms) <= MAX_KEPT
        self._blocks: list[Block] = []
        for first in range(0, len(codes), size):
            rows = slice(first, min(first + size, len(codes)))
            self._blocks.append((rows, self._matrices(rows) if keep else None))
        counted = np.zeros(int(terms.first_cell[-1]))
        for block in self._blocks:
            self._collect(block, self.weights[block[0]].mean(axis=1), counted)
        self.shares = counted / weights.mean(axis=1).sum()
        self.rows_moved = np.append(terms.squared().collect(counted[:, np.newaxis])[:, 0], weights.mean(axis=1).sum())

    def _cut_tiles(self) -> list[tuple[slice, int, int]]:
        """Cells, first and last term of neighbouring terms whose tables together stay in the cache."""
        ends = self.terms.first_cell
        most = TILE_BYTES // (self.n_columns * self.n_folds * self.dtype().itemsize)
        tiles, first = [], 0
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
            tiles.append((slice(ends[first], ends[last]), first, last))
            first = last
        return tiles

    def _matrices(self, rows: slice) -> list[Matrices]:
        """Rows by the cells of the terms of each tile, and the transpose."""
        found = []
        for own, first, last in self._tiles:
            cells = self.terms.cells(self.codes[rows], first, last)
            starts = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(last - first)
            entries = (self._ones[: cells.size], cells.reshape(-1), starts)
            matrix = sparse.csr_array(entries, shape=(len(cells), own.stop - own.start))
            found.append((matrix, matrix.T))
        return found

    def only(self, terms: Iterable[Term]) -> Objective:
        """The same rows with other terms."""
        single = self.dtype == np.float32
        return Objective(self.terms.only(terms), self.codes, self.classes, self.weights, self.n_classes, single)

    @property
    def class_counts(self) -> Array:
        """(n_cells, n_classes, n_folds) weight of the training rows in each cell."""
        of_class = np.eye(max(2, self.n_columns))[self.classes][:, :, np.newaxis] * self.weights[:, np.newaxis]
        counted = np.zeros((self.terms.first_cell[-1], self.n_classes * self.n_folds))
        for block in self._blocks:
            self._collect(block, of_class[block[0]].reshape(-1, counted.shape[1]), counted)
        return counted.reshape(-1, *of_class.shape[1:])

    def _collect(self, block: Block, values: Array, by_cell: Array) -> None:
        """Add the values (n_rows, ...) of a block to their cells."""
        for (own, _, _), (_, transposed) in zip(self._tiles, block[1] or self._matrices(block[0]), strict=True):
            by_cell[own] += transposed @ values

    def _scores(self, block: Block, tables: Array, intercept: Array) -> Array:
        """(n_rows, n_columns, n_fits) of a block; intercept (n_columns, n_fits)."""
        total = np.tile(intercept.reshape(-1), (block[0].stop - block[0].start, 1))
        for (own, _, _), (matrix, _) in zip(self._tiles, block[1] or self._matrices(block[0]), strict=True):
            total += matrix @ tables[own]
        return total.reshape(-1, *intercept.shape)

    @property
    def n_folds(self) -> int:
        return self.weights.shape[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the effects of one fit for each fold."""
        return len(self.rows_moved), self.n_columns, self.n_folds

    def start(self) -> Array:
        """No effect, and the class frequencies; a class without rows counts as half a row."""
        effects = np.zeros(self.shape)
        n_classes = max(2, self.n_columns)
        by_class = np.stack([np.bincount(self.classes, w, minlength=n_classes) for w in self.weights.T], axis=1)
        logs = np.log(np.maximum(by_class, 1 / 2))
        effects[-1] = logs[1:] - logs[:1] if self.n_columns == 1 else logs - logs.mean(axis=0)
        return effects

    def tables(self, effects: Array) -> Array:
        """(n_cells, n_columns * n_fits)."""
        return self.terms.expand(effects[:-1].reshape(len(effects) - 1, -1).astype(self.dtype, copy=False))

    def scores(self, effects: Array) -> Array:
        """(n_rows, n_columns, n_fits) log odds."""
        tables, intercept = self.tables(effects), effects[-1].astype(self.dtype)
        found = np.empty((len(self.classes), *effects.shape[1:]), self.dtype)

        def fill(block: Block) -> None:
            found[block[0]] = self._scores(block, tables, intercept)

        map_threads(fill, self._blocks)
        return found

    def loss(self, effects: Array, weights: Array) -> tuple[Array, Array]:
        """(n_fits,) sums of losses with weights (n_rows, n_fits), and their gradient."""
        tables, level = self.tables(effects), effects[-1].astype(self.dtype)

        def add(block: Block) -> tuple[Array, Array, Array]:
            scores, rows = self._scores(block, tables, level), block[0]
            losses, residuals = loss_and_residuals(scores, self.classes[rows], weights[rows])
            by_cell = np.zeros_like(tables)
            self._collect(block, residuals.reshape(len(residuals), -1), by_cell)
            return losses, by_cell, residuals.sum(axis=0, dtype=np.float64)

        parts = zip(*map_threads(add, self._blocks), strict=True)
        values, by_cell, intercept = (cast(Array, sum(part)) for part in parts)
        gradient = np.empty(effects.shape, self.dtype)
        gradient[:-1] = self.terms.collect(by_cell).reshape(-1, *effects.shape[1:])
        gradient[-1] = intercept
        return values, gradient


class PenalizedLoss:
    """The loss of several fits and the penalty on their effects, as `lbfgs` minimises it.

    strength  (n_effects, n_fits) lambda of every effect, infinite for effects that are zero
    centre    (n_effects, n_columns, n_fits) where the penalty pulls to, or 0.0
    fits      (n_fits,) their numbers: fit k has the weights of column k modulo n_folds; by default from zero
    """

    def __init__(
        self, objective: Objective, strength: Array, centre: Array | float = 0.0, fits: Ints | None = None
    ) -> None:
        self.objective, self.strength = objective, strength
        shape = len(strength), objective.n_columns, strength.shape[1]
        self.centre = np.broadcast_to(np.asarray(centre, objective.dtype), shape)
        self.fits = np.arange(strength.shape[1]) if fits is None else fits
        self._weights = objective.weights[:, self.fits % objective.n_folds]
        self._free = np.isfinite(strength)[:, np.newaxis]
        # The penalty on each of two classes is half of it on their log odds.
        self._halved = (strength / 2 if objective.n_columns == 1 else strength)[:, np.newaxis]
        self._pull = np.where(self._free, self._halved, 0.0).astype(objective.dtype)

    def __call__(self, effects: Array, /) -> tuple[Array, Array]:
        values, gradient = self.objective.loss(effects, self._weights)
        away = effects[:-1] - self.centre
        pull = self._pull * away
        gradient[:-1] += pull
        gradient[:-1] *= self._free
        return values + np.einsum("ijk,ijk->k", pull, away) / 2, gradient

    def only(self, kept: Flags, /) -> PenalizedLoss:
        return PenalizedLoss(self.objective, self.strength[:, kept], self.centre[..., kept], self.fits[kept])

    @property
    def scale(self) -> Array:
        """(n_effects + 1, 1, n_fits) about the inverse of the curvature; zero for effects that are fixed."""
        rows = ROWS_IN_SCALE * np.sqrt(np.maximum(self.objective.rows_moved, 1.0))[:, np.newaxis, np.newaxis]
        below = np.repeat(rows, len(self.fits), axis=2)
        below[:-1] += self._halved
        return 1.0 / below


def loss_and_residuals(scores: Array, classes: NDArray[np.intp], weights: Array) -> tuple[Array, Array]:
    """(n_fits,) sums of w * -log P, and their derivative (n_rows, n_columns, n_fits) by the scores."""
    if scores.shape[1] == 1:
        odds, second = scores[:, 0], (classes == 1)[:, np.newaxis]
        small = np.exp(-np.abs(odds))
        p = np.where(odds >= 0, 1, small) / (1 + small)
        losses = np.log1p(small) + np.maximum(odds, 0.0) - second * odds
        return (weights * losses).sum(axis=0, dtype=np.float64), (weights * (p - second))[:, np.newaxis]
    p = scores.transpose(1, 2, 0).copy()  # rows last: sums over classes run along memory
    p -= p.max(axis=0)
    rows = np.arange(len(classes))
    of_class = p[classes, :, rows]
    np.exp(p, out=p)
    total = p.sum(axis=0)
    losses = np.log(total).T - of_class
    p *= weights.T / total
    p[classes, :, rows] -= weights
    return (weights * losses).sum(axis=0, dtype=np.float64), p.transpose(2, 0, 1)


def probabilities(scores: Array) -> Array:
    """(n_rows, n_columns, ...): of the second class, or of every class."""
    if scores.shape[1] == 1:
        small = np.exp(-np.abs(scores))
        return np.where(scores >= 0, 1.0, small) / (1.0 + small)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def row_losses(scores: Array, classes: NDArray[np.intp], noise: float = 0.0) -> Array:
    """(n_rows,) of -log P(class | row) from scores (n_rows, n_columns).

    To it is added `noise` times what the loss would be in the mean over all classes.
    """
    if scores.shape[1] == 1:
        odds = scores[:, 0]
        lost = np.log1p(np.exp(-np.abs(odds))) + np.maximum(odds, 0.0)  # if the class is the first
        return lost - (classes == 1) * odds + noise * (lost - odds / 2)
    top = scores.max(axis=1)
    total = np.log(np.exp(scores - top[:, np.newaxis]).sum(axis=1)) + top
    return total - scores[np.arange(len(classes)), classes] + noise * (total - scores.mean(axis=1))
