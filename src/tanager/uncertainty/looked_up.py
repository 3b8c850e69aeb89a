"""LookedUpPosterior: a normal posterior of what a network looks up; a row's log odds vary by a sum of look-ups too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tanager.additive.model import AnyModel
from tanager.arrays import Array, Codes, Ints
from tanager.missing.rule import GapRule
from tanager.network.columns import Term
from tanager.network.network import Network
from tanager.runtime.resources import map_threads
from tanager.uncertainty.interval import Interval, around, log_odds_of_each, reach

BLOCK_ROWS = 2_048


@dataclass(frozen=True)
class LookedUpPosterior:
    """The scores of a row are those of the network plus the sum of its cells' lines times a standard normal.

    factor  (n_cells, n_odds, rank), the cells as in the network's look-ups; n_odds = 1 is the second of two classes
            against the first, else every class
    """

    kind: ClassVar[str] = "laplace"

    network: Network
    factor: Array

    def interval(self, codes: Codes, logs: Array, level: float, rule: GapRule) -> Interval:
        """Of P(class | row); `logs` (n_rows, n_classes) are the classifier's own."""
        return around(log_odds_of_each(logs), self.deviations(codes, logs), reach(level))

    def deviations(self, codes: Codes, logs: Array) -> Array:
        """(n_rows, n_classes): the standard deviation of the log odds of each class against the others."""
        from tanager.uncertainty.kernels import log_odds_deviations

        found = np.empty(logs.shape)

        def fill(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            log_odds_deviations(self.cells(codes[rows]), self.factor, logs[rows], found[rows])

        map_threads(fill, range(0, len(codes), BLOCK_ROWS))
        return found

    def cells(self, codes: Codes) -> Ints:
        """(n_rows, n_terms) the cell that each term looks up; -1 where a cell is missing."""
        look_up, codes = self.network.look_ups(codes)
        own = codes[:, look_up.nodes].astype(np.int64)
        cells: Ints = look_up.offsets + (own * look_up.strides).sum(axis=2)
        gaps = (own == np.array(self.network.n_states)[look_up.nodes]) & (look_up.strides > 0)
        cells[gaps.any(axis=2)] = -1
        return cells

    def effect_deviations(self, network: AnyModel, term: Term) -> Array | None:
        """None: the terms of tables are no effects."""
        return None
