"""Fractions: a table of frequencies as numerators and denominators, so that a row can be taken out of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import Family


@dataclass(frozen=True, eq=False)
class Fractions:
    """The table of a family as numerators and denominators, (classes, attribute cells).

    of_class  whether the class is the child, so that the classes share their denominators
    """

    family: Family
    above: Array
    below: Array
    of_class: bool

    @cached_property
    def logs(self) -> Array:
        """One cell more, whose log is 0: a family with a gap is left out of its row."""
        with np.errstate(divide="ignore"):
            return np.hstack([np.log(self.above / self.below), np.zeros((len(self.above), 1))])

    @cached_property
    def logs_without_one(self) -> Array:
        """Of a row of each cell and class, when it is itself taken out; nothing of cells without a row."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.log((self.above - 1.0) / (self.below - 1.0)))

    def judging(self, leave_one_out: bool) -> tuple[Array, Array]:
        """(cells + 1, n_classes) logs that judge a row of the cell: of the other classes, and of the row's own."""
        nothing = np.zeros((len(self.above), 1))
        others = own = self.logs
        if leave_one_out:
            own = np.hstack([self.logs_without_one, nothing])
            if self.of_class:
                with np.errstate(invalid="ignore", divide="ignore"):
                    others = np.hstack([np.log(self.above / (self.below - 1.0)), nothing])
        return others.T, own.T
