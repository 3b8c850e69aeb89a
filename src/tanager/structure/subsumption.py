"""Subsumption: cells of a row that follow from other cells of it, and would be counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore

NOTHING = -1


@dataclass(frozen=True, eq=False)
class Subsumption:
    """By attribute i (states of i, n_attributes) codes: with i in state a, attribute j is in state said[i][a, j].

    `NOTHING` where a says nothing of j. Of two cells that say each other only the second is listed (Zheng et al. 2012).
    """

    said: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, counts: CountStore, least: int) -> Subsumption:
        """What held in all training rows that have both cells, of which there are at least so many."""
        n_attributes, pairs = counts.n_attributes, counts.pairs()
        said = [np.full((counts.n_states[i], n_attributes), NOTHING) for i in range(n_attributes)]
        for i in range(n_attributes):
            for j in range(n_attributes):
                if i != j and counts.n_states[j]:
                    cells = pairs.table(i, j).sum(axis=1)
                    sure = (np.count_nonzero(cells, axis=1) == 1) & (cells.sum(axis=1) >= least)
                    said[i][sure, j] = cells.argmax(axis=1)[sure]
        for i in range(n_attributes):
            for j in range(i):
                there = said[i][:, j]
                states = np.flatnonzero(there != NOTHING)
                said[i][states[said[j][there[states], i] == states], j] = NOTHING
        return cls(tuple(said))

    def follows(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """(n_rows, n_attributes) cells that follow from another cell of the row; a missing cell says nothing."""
        found = np.zeros(codes.shape, dtype=bool)
        for i, said in enumerate(self.said):
            with_missing = np.vstack([said, np.full((1, codes.shape[1]), NOTHING)])
            found |= with_missing[codes[:, i]] == codes
        return found

    def reordered(self, order: Sequence[int]) -> Subsumption:
        """The same with the attributes in another order: attribute k of the new one is order[k] of this one."""
        places = list(order[: len(self.said)])
        return Subsumption(tuple(self.said[i][:, places] for i in places))
