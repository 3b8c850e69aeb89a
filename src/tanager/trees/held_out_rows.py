"""Rows that trees have not grown on: how well the trees of each round know them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.categories import Codes
from tanager.trees.boost import Boosting, Ints, bins_of, losses, starts_of

Array = NDArray[np.float64]


class HeldOutRows:
    """Rows that trees have not grown on, and their mean loss after each round.

    scores  (n_classes, n_rows) log odds by all rounds followed so far
    losses  before the first round, and after each
    """

    def __init__(self, boosting: Boosting, codes: Codes, classes: Codes, weights: Array, n_codes: Ints) -> None:
        self._boosting = boosting
        self._starts = starts_of(n_codes)
        self._rows = bins_of(codes, n_codes), classes.astype(np.int64), weights
        start = boosting.start
        self.scores = np.repeat(start[:, np.newaxis], len(weights), axis=1)
        self.losses = [float(np.average(losses(self.scores, self._rows[1]), weights=weights))]

    def follow(self) -> None:
        """The rounds that the trees have grown since."""
        self.losses += self._follow(self.scores, len(self.losses) - 1, self._boosting.n_rounds)

    def scores_after(self, n_rounds: int) -> Array:
        """By the first rounds alone: what came after them is taken back, since it is less."""
        scores = self.scores.copy()
        self._follow(scores, n_rounds, self._boosting.n_rounds, -1.0)
        return scores

    def _follow(self, scores: Array, first: int, last: int, times: float = 1.0) -> list[float]:
        """Add so many times the rounds first ... last - 1 to `scores`; the losses after each."""
        from tanager.trees.round_kernels import follow_rounds

        bins, classes, weights = self._rows
        found: list[float] = []
        for rounds in self._boosting.rounds:
            n_rounds = len(rounds.n_splits)
            if first < n_rounds and last > 0:
                part = slice(max(first, 0), last)
                arrays = rounds.nodes[part], rounds.left[part], times * rounds.values[part], rounds.n_splits[part]
                after = np.empty(len(arrays[0]))
                follow_rounds(bins, classes, weights, scores, self._boosting.first_class, self._starts, *arrays, after)
                found += after.tolist()
            first, last = first - n_rounds, last - n_rounds
        return found
