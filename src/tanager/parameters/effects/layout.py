"""EffectLayout: where main and pair effects lie, and the table that has a column for each of their granularities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import Family
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.structure.pairwise import Pairs
from tanager.table.batch import EncodedBatch, code_dtype
from tanager.table.schema import ColumnSchema
from tanager.table.stream.spool import codes_like

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EffectLayout:
    """A model of effects as `ClassCells` of another table.

    That table has the attributes' own columns, then the coarse column of each attribute with two granularities, then
    the class. In it a missing cell is one more state of every attribute: an effect has an entry for it like any other.
    The families are those of the main effects, of the pairs, and of the class, in that order.

    columns  the attributes
    pairs    (parent, child) attributes of the pair effects
    """

    columns: tuple[ColumnSchema, ...]
    n_classes: int
    pairs: Pairs

    @cached_property
    def cells(self) -> ClassCells:
        target = len(self._n_states) - 1
        mains = [Family(attribute, (target,)) for attribute in range(len(self.columns))]
        pairs = [Family(self._coarse[child], (self._coarse[parent], target)) for parent, child in self.pairs]
        return ClassCells((*mains, *pairs, Family(target, ())), self._n_states)

    def expand(self, batch: EncodedBatch) -> EncodedBatch:
        """The rows as this table has them."""
        dtype = code_dtype(max(self._n_states))
        codes = codes_like(batch.codes, batch.n_rows, len(self._n_states) - 1, dtype)
        codes[:, : batch.n_attributes] = batch.codes
        for attribute in self._grouped:
            lookup = self.columns[attribute].coarse_codes.astype(dtype)
            np.take(lookup, batch.column(attribute), out=codes[:, self._coarse[attribute]])
        complete = np.zeros(codes.shape[1], dtype=bool)
        return EncodedBatch(codes, batch.class_codes, self._n_states, complete, batch.weights)

    def counts(self, expanded: EncodedBatch, engine: CountEngine) -> CountStore:
        """Counts of rows that are already as this table has them."""
        return CountStore(expanded, engine, [str(node) for node in range(len(self._n_states))])

    def split(self, beta: Array) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
        """Main effects (states + 1, classes), pair effects (parent's states + 1, child's + 1, classes), intercept."""
        parts = np.split(beta, self.cells.offsets[1:-1])
        shapes = [(self._n_states[self._coarse[p]], self._n_states[self._coarse[c]], -1) for p, c in self.pairs]
        n_mains = len(self.columns)
        pairs = [part.reshape(shape) for part, shape in zip(parts[n_mains:-1], shapes, strict=True)]
        return tuple(parts[:n_mains]), tuple(pairs), parts[-1][0]

    @cached_property
    def _grouped(self) -> list[int]:
        return [attribute for attribute, column in enumerate(self.columns) if column.groups]

    @cached_property
    def _coarse(self) -> list[int]:
        """The column that holds the coarse codes of each attribute."""
        position = list(range(len(self.columns)))
        for number, attribute in enumerate(self._grouped):
            position[attribute] = len(self.columns) + number
        return position

    @cached_property
    def _n_states(self) -> tuple[int, ...]:
        coarse = [self.columns[attribute].coarse for attribute in self._grouped]
        return (*(column.n_states + 1 for column in (*self.columns, *coarse)), self.n_classes)


def coarse_batch(batch: EncodedBatch, columns: Sequence[ColumnSchema]) -> EncodedBatch:
    """The rows with every attribute at its coarse granularity."""
    if not any(column.groups for column in columns):
        return batch
    codes = codes_like(batch.codes, batch.n_rows, batch.n_attributes, batch.codes.dtype)
    codes[:] = batch.codes
    for attribute, column in enumerate(columns):
        if column.groups:
            np.take(column.coarse_codes.astype(codes.dtype), batch.column(attribute), out=codes[:, attribute])
    n_states = (*(column.coarse.n_states for column in columns), batch.n_classes)
    return EncodedBatch(codes, batch.class_codes, n_states, batch.incomplete, batch.weights)
