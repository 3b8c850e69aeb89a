"""Rows assigned to folds at random, by what they hold and not by where they stand.

A row is assigned to one fold, whatever its weight. Equal rows are assigned one by one. So the folds depend neither on
the order of the rows nor on the unit of their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Ints, Words
from tanager.table.rows import LARGEST_KEY, Blocks, EncodedBatch, Rows, join_blocks, relative_weights, row_keys

N_FOLDS = 3
ONE_FOLD_ROWS = 3_000
# With more rows than this, folds are drawn from half of the kinds of rows, a third, ...: what is drawn from takes up to
# 32 bytes for each.
MAX_ROWS_TO_DRAW_FROM = 1 << 26
# What NumPy can draw from.
MAX_ROWS_DRAWN_FROM = 10**9 - 1
# Up to so many rows of a kind, in the mean, shuffling rows is ten times as fast as a draw for each kind.
ROWS_PER_KIND = 16


def split_rows(rows: Rows, most_rows: int, seed: int) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    """(training rows, validation rows) of each fold, in memory, assigned at random within each class.

    Three folds; above `ONE_FOLD_ROWS`, where a third of the rows is many, the first of them; and where there are twice
    `most_rows`, so many training rows and so many others: more would hardly change the choice. A class of one row is
    only learnt from. Equal training rows are one row of their weight; validation rows are single, for standard errors.
    """
    parts = max(1, -(-rows.n_rows // MAX_ROWS_TO_DRAW_FROM))
    unit = rows.outline.least_weight or 1.0
    kinds = RowKinds.join(rows.sum(partial(_find_kinds, parts=parts, unit=unit), "kinds").values)
    if kinds.n_rows > 2 * most_rows:
        training, held_out = kinds.draw(most_rows, seed).T
        folds = [(training, held_out)]
    else:
        assigned = kinds.assign(N_FOLDS, seed).T
        assigned[:, np.bincount(kinds.strata, kinds.counts)[kinds.strata] == 1] = 0
        n_folds = N_FOLDS if kinds.n_rows <= ONE_FOLD_ROWS else 1
        folds = [(kinds.counts - held_out, held_out) for held_out in assigned[:n_folds]]
    used = np.any([counts > 0 for fold in folds for counts in fold], axis=0)
    batch, weights = _find_rows(rows, kinds.keys[used], unit), kinds.weights[used]
    for training, held_out in folds:
        single = np.repeat(np.arange(batch.n_rows), held_out[used])
        yield _weighted(batch, training[used] * weights), _weighted(batch.take(single), weights[single])


def in_canonical_order(batch: EncodedBatch) -> EncodedBatch:
    """The same rows, ordered by what they hold: sums over them are then the same to the last digit."""
    return batch.take(np.argsort(_keys(batch, batch.outline.least_weight or 1.0), kind="stable"))


@dataclass(frozen=True)
class RowKinds:
    """Rows that are equal, weights included, are a kind. All arrays are (n_kinds,), by ascending key.

    strata   what is as frequent in every fold as among all rows: the class
    counts   how many rows there are of each kind
    weights  the weight of each of these
    """

    keys: Words
    strata: NDArray[np.integer]
    counts: Ints
    weights: Array

    @classmethod
    def of(cls, codes: Codes, strata: Codes, weights: Array, unit: float) -> RowKinds:
        """The kinds of some rows; `unit` is the least weight of all rows."""
        keys = row_keys(codes, strata, relative_weights(weights, unit))
        return cls.join([cls(keys, strata, np.ones(len(keys), dtype=np.int64), weights)])

    @classmethod
    def join(cls, parts: Sequence[RowKinds]) -> RowKinds:
        keys, strata, counts, weights = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "strata", "counts", "weights")
        )
        order = np.argsort(keys, kind="stable")
        distinct, first = np.unique(keys[order], return_index=True)
        if not len(first):
            return cls(keys, strata, counts, weights)
        counts, weights = np.add.reduceat(counts[order], first), np.minimum.reduceat(weights[order], first)
        return cls(distinct, strata[order[first]], counts, weights)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def assign(self, n_folds: int, seed: int) -> Ints:
        """(n_kinds, n_folds) how many rows of each kind a fold holds out: in turn, stratum after stratum."""
        ends = np.cumsum([0, *(self.counts[members].sum() for members in self._members())])
        # Of the first t rows, fold k has those at k, k + n_folds, ...
        sizes = np.diff((ends[:, np.newaxis] + n_folds - 1 - np.arange(n_folds)) // n_folds, axis=0)
        return self._draw(sizes, seed)

    def draw(self, size: int, seed: int) -> Ints:
        """(n_kinds, 2) how many rows of each kind two parts of `size` rows have, strata as frequent as among all."""
        unit = -(-self.n_rows // MAX_ROWS_DRAWN_FROM)
        if unit > 1:
            return replace(self, counts=-(-self.counts // unit)).draw(size, seed)
        ends = np.cumsum([0, *(self.counts[members].sum() for members in self._members())])
        ends = np.rint(2 * size * ends / ends[-1]).astype(np.int64)
        return self._draw(np.diff(np.stack([(ends + 1) // 2, ends // 2], axis=1), axis=0), seed)

    def _members(self) -> list[NDArray[np.intp]]:
        order = np.argsort(self.strata, kind="stable")
        return np.split(order, np.unique(self.strata[order], return_index=True)[1][1:])

    def _draw(self, sizes: Ints, seed: int) -> Ints:
        """(n_kinds, n_parts) rows of each kind in each part, drawn without replacement; sizes (n_strata, n_parts)."""
        drawn = np.zeros((len(self.keys), sizes.shape[1]), dtype=np.int64)
        generator = np.random.default_rng(seed)
        for members, wanted in zip(self._members(), sizes.tolist(), strict=True):
            left = self.counts[members]
            few = left.sum() <= ROWS_PER_KIND * len(left)
            method: Literal["count", "marginals"] = "count" if few else "marginals"
            for part, size in enumerate(wanted):
                drawn[members, part] = generator.multivariate_hypergeometric(left, size, method=method)
                left = left - drawn[members, part]
        return drawn


def _find_kinds(batch: EncodedBatch, parts: int, unit: float) -> Blocks[RowKinds]:
    """The kinds of rows with the lowest of all keys: one of so many parts."""
    kinds = RowKinds.of(_told_apart(batch), batch.class_codes, batch.row_weights, unit)
    low = kinds.keys <= LARGEST_KEY // parts
    return Blocks((RowKinds(kinds.keys[low], kinds.strata[low], kinds.counts[low], kinds.weights[low]),))


def _find_rows(rows: Rows, wanted: Words, unit: float) -> EncodedBatch:
    """A row of each kind, by ascending key."""
    blocks = rows.sum(partial(_take_kinds, wanted=wanted, unit=unit), "take").values
    batch = join_blocks(blocks, rows.n_states)
    first = np.unique(_keys(batch, unit), return_index=True)[1]
    return replace(batch.take(first), weights=None)


def _take_kinds(batch: EncodedBatch, wanted: Words, unit: float) -> Blocks[EncodedBatch]:
    keys = _keys(batch, unit)
    places = np.flatnonzero(wanted[np.searchsorted(wanted[:-1], keys)] == keys)
    first = np.unique(keys[places], return_index=True)[1]
    return Blocks((batch.take(places[first]),))


def _keys(batch: EncodedBatch, unit: float) -> Words:
    return row_keys(_told_apart(batch), batch.class_codes, relative_weights(batch.row_weights, unit))


def _told_apart(batch: EncodedBatch) -> Codes:
    """The codes of the attributes that have several states: the others are no part of what a row holds."""
    return batch.codes[:, np.array(batch.n_states[:-1]) > 1]


def _weighted(batch: EncodedBatch, weights: Array) -> EncodedBatch:
    """The rows with these weights, less those of weight zero."""
    positive = weights[weights > 0]
    return replace(batch.take(weights > 0), weights=None if (positive == 1.0).all() else positive)
