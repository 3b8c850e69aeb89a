"""EffectLayout: where main and pair effects lie in a table that has a column for each of their granularities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.structure.protocol import Pairs
from tanager.table.granularity import fine_places, states_of_both
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EffectLayout:
    """A model of effects as `ClassCells` of the rows at both granularities (`table.granularity`).

    A missing cell is one more state of every attribute: an effect has an entry for it like any other. The families are
    those of the main effects, of the pairs, and of the class, in that order.

    columns  the attributes
    pairs    (parent, child) attributes of the pair effects
    """

    columns: tuple[ColumnSchema, ...]
    n_classes: int
    pairs: Pairs

    @cached_property
    def cells(self) -> ClassCells:
        n_states = states_of_both(self.columns, self.n_classes)
        target = len(n_states) - 1
        mains = [Family(place, (target,)) for place in fine_places(self.columns).tolist()]
        pairs = [Family(child, (parent, target)) for parent, child in self.pairs]
        with_gaps = (*(n + 1 for n in n_states[:-1]), self.n_classes)
        return ClassCells((*mains, *pairs, Family(target, ())), with_gaps)

    def split(self, beta: Array) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
        """Main effects (states + 1, classes), pair effects (parent's states + 1, child's + 1, classes), intercept."""
        parts = np.split(beta, self.cells.offsets[1:-1])
        coarse = [column.coarse.n_states + 1 for column in self.columns]
        n_mains = len(self.columns)
        tables = zip(parts[n_mains:-1], self.pairs, strict=True)
        pairs = [part.reshape(coarse[parent], coarse[child], -1) for part, (parent, child) in tables]
        return tuple(parts[:n_mains]), tuple(pairs), parts[-1][0]
