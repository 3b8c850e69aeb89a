"""Rows dealt at random to parts, by what they hold and not by where they stand.

Rows that hold the same are one kind, and its weight is dealt unit by unit. So the order of the rows does not matter,
and a row of weight w is dealt as w rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]
Sizes = NDArray[np.integer]

KEY_SEED = 0
# What NumPy can draw from. A stratum of more weight is dealt in larger units.
MAX_UNITS = 10**9 - 1
UNITS_PER_KIND = 16
# What sums of weights, which depend on the order of the rows, may fall short of a whole number.
SLACK = 1e-9


def row_keys(codes: Codes, strata: Codes) -> Keys:
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

    keys: Keys
    strata: NDArray[np.integer]
    weights: Array

    @classmethod
    def of(cls, keys: Keys, strata: NDArray[np.integer], weights: Array | None) -> RowKinds:
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
