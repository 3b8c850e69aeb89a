"""Rows that trees have not grown on: how well the trees of each round know them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes
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
        """By the first rounds alone."""
        scores = np.repeat(self._boosting.start[:, np.newaxis], self.scores.shape[1], axis=1)
        self._follow(scores, 0, n_rounds)
        return scores

    def _follow(self, scores: Array, first: int, last: int) -> list[float]:
        """Add the rounds first ... last - 1 to `scores`; the losses after each."""
        from tanager.trees.round_kernels import follow_rounds

        bins, classes, weights = self._rows
        found: list[float] = []
        for rounds in self._boosting.rounds:
            part = slice(max(first, 0), max(last, 0))
            arrays = rounds.nodes[part], rounds.left[part], rounds.values[part], rounds.n_splits[part]
            after = np.empty(len(arrays[0]))
            follow_rounds(bins, classes, weights, scores, self._boosting.first_class, self._starts, *arrays, after)
            found += after.tolist()
            first, last = first - len(rounds.n_splits), last - len(rounds.n_splits)
        return found
