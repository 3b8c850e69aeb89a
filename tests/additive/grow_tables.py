"""Random rows with gradients to grow trees on, and every split of a node by brute force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tanager.additive.grow import UNIT_BITS, Codebook

ORDERED = (5, 0, 3, 0, 7)  # how many codes have an order; 0 for categories
N_CODES = (7, 5, 4, 3, 8)  # with a missing state or an unknown one


@dataclass
class GrowTable:
    """codes (n_rows, n_attributes); gradients and Hessians (n_trees, n_rows) in whole units."""

    codes: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray
    ordered: tuple[int, ...] = ORDERED
    n_codes: tuple[int, ...] = N_CODES

    @classmethod
    def random(cls, seed, n_rows=80, n_trees=3, size=1_000, trimmed=0.2):
        """The smaller the size, the more ties; rows that are trimmed have no influence in a tree."""
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, n, n_rows) for n in N_CODES]).astype(np.uint8)
        gradients = rng.integers(-size, size + 1, (n_trees, n_rows))
        gradients += (size * (codes[:, 0] > 2) * (codes[:, 1] % 2)).astype(np.int64)
        used = rng.random((n_trees, n_rows)) >= trimmed
        return cls(codes, gradients * used, rng.integers(1, size + 1, (n_trees, n_rows)) * used)

    @property
    def book(self):
        return Codebook.of(np.array(self.n_codes), np.array(self.ordered))

    @property
    def packed(self):
        return (self.gradients << UNIT_BITS) + self.hessians


def all_splits(table: GrowTable, tree: int, attribute: int, least: float, penalty: float):
    """(gain, codes that go left) of every split of all rows of a tree; of categories every subset is one."""
    n, n_ordered = table.n_codes[attribute], table.ordered[attribute]
    if n_ordered:
        apart = set(range(n_ordered, n))
        sides = [set(range(k)) | more for k in range(n_ordered + 1) for more in (set(), apart)]
    else:
        sides = [set(some) for k in range(n + 1) for some in combinations(range(n), k)]
    g, h = table.gradients[tree].astype(float), table.hessians[tree].astype(float)

    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + penalty)

    for side in sides:
        left = np.isin(table.codes[:, attribute], list(side))
        if h[left].sum() >= least and h[~left].sum() >= least:
            yield score(left) + score(~left) - g.sum() ** 2 / (h.sum() + penalty), side
