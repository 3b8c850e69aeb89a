"""PairTables: the class-conditional counts of every pair of attributes, in one flat array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import CountTable


@dataclass(frozen=True)
class PairTables:
    """Pair (i, j), i < j, takes `offsets[p] : offsets[p + 1]` of `counts`, shaped (n_classes, r_i, r_j).

    Pairs are numbered row by row of the upper triangle: p = (0,1), (0,2), ..., (1,2), ...
    """

    n_states: tuple[int, ...]
    counts: CountTable
    offsets: NDArray[np.int64]

    def __iadd__(self, other: PairTables) -> PairTables:
        """The counts of the rows of both, in place."""
        self.counts[:] += other.counts
        return self

    def index(self, i: int, j: int) -> int:
        """Number of the pair (i, j), i < j."""
        n_attributes = len(self.n_states) - 1
        return i * n_attributes - i * (i + 1) // 2 + (j - i - 1)

    def table(self, parent: int, child: int) -> CountTable:
        """A view (r_parent, n_classes, r_child): the family of `child` with parents `parent` and the class."""
        i, j = min(parent, child), max(parent, child)
        p = self.index(i, j)
        stored = self.counts[self.offsets[p] : self.offsets[p + 1]]
        by_class = stored.reshape(self.n_states[-1], self.n_states[i], self.n_states[j])
        return by_class.transpose(1, 0, 2) if parent == i else by_class.transpose(2, 0, 1)


def pair_offsets(n_states: Sequence[int]) -> NDArray[np.int64]:
    """Where each pair's table begins; the last entry is the size of all. `n_states` ends with the class."""
    states = np.asarray(n_states[:-1], dtype=np.int64)
    sizes = [n_states[-1] * states[i] * states[i + 1 :] for i in range(len(states))]
    return np.concatenate([np.zeros(1, dtype=np.int64), *sizes]).cumsum()
