"""Rows dealt at random to parts, such as folds, by what they hold and not by where they stand.

Rows that hold the same are one kind, and its weight is dealt unit by unit. So the order of the rows does not matter,
and a row of weight w is dealt as w rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Words
from tanager.table.rows import EncodedBatch, Rows, Value, join_blocks

Sizes = NDArray[np.integer]

KEY_SEED = 0
# What NumPy can draw from. A stratum of more weight is dealt in larger units.
MAX_UNITS = 10**9 - 1
UNITS_PER_KIND = 16
# What sums of weights, which depend on the order of the rows, may fall short of a whole number.
SLACK = 1e-9
N_FOLDS = 3
ONE_FOLD_ROWS = 3_000
# With more rows than this, folds are drawn from half of the kinds of rows, a third, ...: what is drawn from takes up to
# 25 bytes for each.
MAX_ROWS_TO_DRAW_FROM = 1 << 26


def split_rows(rows: Rows, most_rows: int, seed: int) -> Iterator[tuple[EncodedBatch, EncodedBatch]]:
    """(rows to fit on, rows held out) of each fold, in memory, dealt at random within each class.

    Three folds; above `ONE_FOLD_ROWS`, where a third of the rows is many, the first of them; and where there are twice
    `most_rows`, so many rows to fit on and so many others: more would hardly say more. A class of one row is only
    learnt from. Equal rows are one row of their weight.
    """
    parts = max(1, -(-rows.n_rows // MAX_ROWS_TO_DRAW_FROM))
    kinds = RowKinds.join(rows.sum(partial(_count_kinds, parts=parts), "kinds").values)
    if kinds.n_units > 2 * most_rows:
        kept, held_out = kinds.draw(most_rows, seed).T
        shares = [(kept, held_out)]
    else:
        dealt = kinds.deal(N_FOLDS, seed).T
        dealt[:, np.bincount(kinds.strata, kinds.weights)[kinds.strata] <= 1.0 + SLACK] = 0.0
        shares = [(kinds.weights - own, own) for own in dealt[: N_FOLDS if kinds.n_units <= ONE_FOLD_ROWS else 1]]
    used = np.any([share > 0 for fold in shares for share in fold], axis=0)
    batch = _find_rows(rows, kinds.keys[used])
    for kept, held_out in shares:
        yield _weighted(batch, kept[used]), _weighted(batch, held_out[used])


@dataclass(frozen=True)
class Blocks(Generic[Value]):
    """A value of each block, side by side: what a sum over blocks is of values that do not add up."""

    values: tuple[Value, ...]

    def __add__(self, other: Blocks[Value]) -> Blocks[Value]:
        return Blocks((*self.values, *other.values))


def _count_kinds(batch: EncodedBatch, parts: int) -> Blocks[RowKinds]:
    """The kinds of rows with the lowest of all keys: one of so many parts."""
    keys = row_keys(batch.codes, batch.class_codes)
    low = keys <= np.iinfo(np.uint64).max // parts
    return Blocks((RowKinds.of(keys[low], batch.class_codes[low], batch.row_weights[low]),))


def _find_rows(rows: Rows, wanted: Words) -> EncodedBatch:
    """A row of each kind, by ascending key."""
    found = rows.sum(partial(_take_kinds, wanted=wanted), "take").values
    batch = join_blocks(found, rows.n_states)
    return batch.take(np.unique(row_keys(batch.codes, batch.class_codes), return_index=True)[1])


def _take_kinds(batch: EncodedBatch, wanted: Words) -> Blocks[EncodedBatch]:
    keys = row_keys(batch.codes, batch.class_codes)
    found = np.flatnonzero(wanted[np.searchsorted(wanted[:-1], keys)] == keys)
    first = np.unique(keys[found], return_index=True)[1]
    return Blocks((replace(batch.take(found[first]), weights=None),))


def _weighted(batch: EncodedBatch, weights: Array) -> EncodedBatch:
    """The rows with these weights, less those of weight zero."""
    weights = np.where(weights > SLACK, weights, 0.0)
    plain = weights[weights > 0]
    return replace(batch.take(weights > 0), weights=None if (plain == 1.0).all() else plain)


def row_keys(codes: Codes, strata: Codes) -> Words:
    """(n_rows,) a number for what a row holds, its stratum included: equal for equal rows, else different but by luck.

    sum_j code_j r_j modulo 2^64 with random odd r_j, by which two rows collide with a chance of about 2^-60, and then
    mixed, so that the lowest keys are those of random kinds.
    """
    factors = np.random.default_rng(KEY_SEED).integers(2**64, size=codes.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    keys = np.multiply(strata, factors[0], dtype=np.uint64)
    for column, factor in zip(codes.T, factors[1:], strict=True):
        keys += np.multiply(column, factor, dtype=np.uint64)
    keys ^= keys >> np.uint64(32)
    keys *= factors[0]
    keys ^= keys >> np.uint64(32)
    return keys


@dataclass(frozen=True)
class RowKinds:
    """The kinds of rows by ascending key: their strata, such as classes, and their weights."""

    keys: Words
    strata: NDArray[np.integer]
    weights: Array

    @classmethod
    def of(cls, keys: Words, strata: NDArray[np.integer], weights: Array | None) -> RowKinds:
        """Rows that hold the same taken together; every one weighs one where weights are None."""
        distinct, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        return cls(distinct, strata[first], np.bincount(kind, weights, minlength=len(first)).astype(np.float64))

    @classmethod
    def join(cls, parts: Sequence[RowKinds]) -> RowKinds:
        """The kinds of the rows of all parts."""
        keys, strata, weights = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("keys", "strata", "weights")
        )
        return cls.of(keys, strata, weights)

    @property
    def n_units(self) -> int:
        """Whole units, and a fraction as one more."""
        return int(np.ceil(self.weights - SLACK).sum())

    def deal(self, n_parts: int, seed: int) -> Array:
        """(n_kinds, n_parts) the weight of each kind in each part: in turn, stratum after stratum, in random order."""
        strata = self._by_stratum()
        ends = np.cumsum([0, *(units.total for _, units in strata)])
        # Of the first t units, part k has those at k, k + n_parts, ...
        sizes = np.diff((ends[:, np.newaxis] + n_parts - 1 - np.arange(n_parts)) // n_parts, axis=0)
        return self._draw(strata, sizes, seed)

    def draw(self, size: int, seed: int) -> Array:
        """(n_kinds, 2) the weight of each kind in two parts of `size` units, strata as frequent as among all."""
        strata = self._by_stratum()
        ends = np.cumsum([0, *(units.total for _, units in strata)])
        ends = np.rint(2 * size * ends / ends[-1]).astype(np.int64)
        return self._draw(strata, np.diff(np.stack([(ends + 1) // 2, ends // 2], axis=1), axis=0), seed)

    def _by_stratum(self) -> list[tuple[NDArray[np.intp], _Units]]:
        """The numbers of the kinds of each stratum, and their units."""
        order = np.argsort(self.strata, kind="stable")
        _, firsts = np.unique(self.strata[order], return_index=True)
        return [(members, _Units.of(self.weights[members])) for members in np.split(order, firsts[1:])]

    def _draw(self, strata: list[tuple[NDArray[np.intp], _Units]], sizes: Sizes, seed: int) -> Array:
        """(n_kinds, n_parts) the weight of each kind in each part, (n_strata, n_parts) units large."""
        found = np.zeros((len(self.keys), sizes.shape[1]))
        generator = np.random.default_rng(seed)
        for (members, units), wanted in zip(strata, sizes.tolist(), strict=True):
            found[members] = units.draw(wanted, generator)
        return found


@dataclass(frozen=True)
class _Units:
    """What is dealt of kinds: `whole` units of one weight of each, then the fraction left, if any, as one more."""

    whole: NDArray[np.int64]
    fraction: Array
    weight: float

    @classmethod
    def of(cls, weights: Array) -> _Units:
        weight = max(1.0, np.ceil(weights.sum() / (MAX_UNITS - len(weights))))
        whole = np.floor(weights / weight + SLACK)
        return cls(whole.astype(np.int64), np.maximum(weights - whole * weight, 0.0), weight)

    @property
    def total(self) -> int:
        return int(self.whole.sum() + np.count_nonzero(self.fraction > SLACK))

    def draw(self, sizes: list[int], generator: np.random.Generator) -> Array:
        """(n_kinds, n_parts) the weight of each kind in parts of so many units: they are drawn without replacement."""
        left = np.concatenate([self.whole, (self.fraction > SLACK).astype(np.int64)])
        # Shuffling units is ten times as fast as a draw for each kind, as long as they are not many more than kinds.
        method: Literal["count", "marginals"] = "count" if self.total <= UNITS_PER_KIND * len(left) else "marginals"
        found = []
        for size in sizes:
            drawn = generator.multivariate_hypergeometric(left, size, method=method)
            left = left - drawn
            whole, fraction = np.split(drawn, 2)
            found.append(whole * self.weight + fraction * self.fraction)
        return np.stack(found, axis=1)
