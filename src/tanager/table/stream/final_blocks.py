"""FinalBlocks: the chunks of a spool as blocks of final codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes, EncodedBatch, code_dtype
from tanager.table.granularity import fine_places, states_of_both, write_coarse
from tanager.table.schema import ColumnSchema
from tanager.table.stream.final_codes import FinalCodes
from tanager.table.stream.spool import Chunk, Spool
from tanager.threads import map_threads


@dataclass(frozen=True)
class FinalBlocks:
    """The chunks of a spool as blocks of final codes, at both granularities where columns have two.

    spool       the attributes in their order in the table, the class if rows have one, their weights if they have any
    attributes  of the table
    order       the attribute that each column of the rows is
    target      the class; every class is missing if not `labelled`
    """

    spool: Spool
    attributes: Sequence[FinalCodes]
    order: tuple[int, ...]
    target: FinalCodes
    labelled: bool
    weighted: bool

    @cached_property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """What each attribute of the rows holds."""
        return tuple(self.attributes[position].schema for position in self.order)

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        return states_of_both(self.columns, self.target.schema.n_states)

    @cached_property
    def incomplete(self) -> NDArray[np.bool_]:
        incomplete = [self.attributes[position].incomplete for position in self.order]
        fine = [gap for gap, column in zip(incomplete, self.columns, strict=True) if column.groups]
        return np.array([*incomplete, *fine], dtype=bool)

    def __call__(self) -> Iterator[EncodedBatch]:
        for chunk in self.spool.chunks:
            data = self.spool.read(chunk)
            rest = chunk.columns(data)[len(self.attributes) :]
            n_classes = self.target.schema.n_states
            classes: Codes = np.full(chunk.n_rows, n_classes, dtype=code_dtype(n_classes))
            if self.labelled:
                self.target.write(rest[0], classes)
            weights = rest[-1].astype(np.float64) if self.weighted else None
            yield EncodedBatch(self._codes(chunk, data), classes, self.n_states, self.incomplete, weights)

    def _codes(self, chunk: Chunk, data: NDArray[np.uint8]) -> Codes:
        n_attributes = len(self.attributes)
        if self._is_unchanged and set(chunk.dtypes[:n_attributes]) == {np.dtype(np.uint8)}:
            return data[: chunk.n_rows * n_attributes].reshape(n_attributes, chunk.n_rows).T
        codes = np.empty((chunk.n_rows, len(self.n_states) - 1), dtype=code_dtype(max(self.n_states)), order="F")
        cells, places = chunk.columns(data), fine_places(self.columns).tolist()

        def write(node: int) -> None:
            position = self.order[node]
            self.attributes[position].write(cells[position], codes[:, places[node]])

        map_threads(write, range(n_attributes))
        write_coarse(codes, self.columns)
        return codes

    @cached_property
    def _is_unchanged(self) -> bool:
        """Whether the bytes of the spool are the codes."""
        in_order = self.order == tuple(range(len(self.attributes)))
        same = all(column.is_unchanged and not column.schema.groups for column in self.attributes)
        return in_order and same and code_dtype(max(self.n_states)) == np.uint8
