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

    sum_j code_j r_j modulo 2^64 with random odd r_j: two rows collide with a chance of about 2^-60.
    """
    factors = np.random.default_rng(KEY_SEED).integers(2**64, size=codes.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    keys = np.multiply(strata, factors[0], dtype=np.uint64)
    for column, factor in zip(codes.T, factors[1:], strict=True):
        keys += np.multiply(column, factor, dtype=np.uint64)
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
        """(n_kinds, n_parts) the weight of each kind in each part: all units, every stratum spread evenly.

        A stratum of one unit is dealt to no part.
        """
        found = np.zeros((len(self.keys), n_parts))
        generator = np.random.default_rng(seed)
        for stratum in np.unique(self.strata):
            members = np.flatnonzero(self.strata == stratum)
            weights = self.weights[members]
            if weights.sum() > 1.0 + SLACK:
                units = _Units.of(weights)
                sizes = [len(range(part, units.total, n_parts)) for part in range(n_parts)]
                found[members] = units.draw(sizes, generator)
        return found

    def draw(self, size: int, seed: int) -> Array:
        """(n_kinds, 2) the weight of each kind in two parts of `size` units, strata as frequent as among all."""
        found = np.zeros((len(self.keys), 2))
        generator = np.random.default_rng(seed)
        strata = [np.flatnonzero(self.strata == stratum) for stratum in np.unique(self.strata)]
        units = [_Units.of(self.weights[members]) for members in strata]
        ends = np.cumsum([own.total for own in units])
        ends = np.rint(2 * size * ends / ends[-1]).astype(np.int64)
        sizes = np.diff([(ends + 1) // 2, ends // 2], prepend=0).T
        for members, own, wanted in zip(strata, units, sizes, strict=True):
            found[members] = own.draw(wanted.tolist(), generator)
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
