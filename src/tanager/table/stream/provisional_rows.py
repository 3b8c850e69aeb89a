"""ProvisionalRows: the rows of batches as provisional codes, counted at once or put on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Codes
from tanager.runtime.resources import map_threads
from tanager.table.batch import EncodedBatch, Weights
from tanager.table.categories import code_dtype
from tanager.table.columns import RawTable
from tanager.table.encoder import choose_categorical
from tanager.table.granularity import fine_places, states_of_both, write_coarse
from tanager.table.rows import Outline
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.stream.coder import ColumnCoder
from tanager.table.stream.final_codes import FinalCodes, RawCells
from tanager.table.stream.numbers import BatchRows
from tanager.table.stream.rows import DiskRows
from tanager.table.stream.scratch_file import check_space
from tanager.table.stream.spool import Chunk, Spool

# Of a numeric column that is to be cut: from more values on fewer bins are counted faster later, by way of the disk.
MAX_VALUES_COUNTED_UNCUT = 8


class RowCounter(Protocol):
    """What counts rows as they are read, so that they need not be kept."""

    @property
    def n_rows(self) -> int: ...

    def has_room(self, n_states: Sequence[int]) -> bool:
        """Whether the tables of nodes with so many values, a gap being one of them, are small enough."""
        ...

    def add(
        self,
        codes: Codes,
        class_codes: Codes,
        weights: Weights | None,
        n_values: Sequence[int],
        has_gap: Sequence[bool],
    ) -> None:
        """Count the rows of a batch whose nodes have so many values so far; a gap has the code after their last."""
        ...


class ProvisionalRows:
    """Codes every column for itself; rows go to the `counter` as long as it takes them, then to a spool.

    names       of the attributes, in their order in the table; they are coded in the order of the names themselves
    n_expected  rows are known to come, or none is
    """

    def __init__(
        self,
        names: Sequence[str],
        categorical_features: ArrayLike | str | None,
        counter: RowCounter | None = None,
        n_expected: int = 0,
    ) -> None:
        self.names = tuple(names)
        self.coders = {name: ColumnCoder() for name in sorted(names)}
        self.spool = Spool()
        self._categorical_features = categorical_features
        self._counter = counter
        self._n_expected = n_expected
        self._least_weight: float | None = None
        self._codes: Codes = np.empty((0, 0), dtype=np.uint8)

    @property
    def n_rows(self) -> int:
        return self.spool.n_rows + self._n_counted

    @property
    def _n_counted(self) -> int:
        return 0 if self._counter is None else self._counter.n_rows

    def add(self, table: RawTable, rows: BatchRows, classes: Codes | None) -> None:
        """Add the rows of a batch; `classes` are written with them."""
        if rows.weights is not None:
            least = float(rows.weights.min())
            self._least_weight = least if self._least_weight is None else min(least, self._least_weight)
        cells = self._encode(table, rows)
        if classes is None or not self._count(cells, rows):
            self._keep([*cells, *(each for each in (classes, rows.weights) if each is not None)])

    def _encode(self, table: RawTable, rows: BatchRows) -> list[RawCells]:
        columns = {column.name: column for column in table.columns if column.name in self.coders}
        attributes = RawTable(self.names, named=True, n_rows=table.n_rows, read=tuple(columns.values()))
        features = choose_categorical(attributes, self._categorical_features).tolist()
        categorical = dict(zip(self.names, features, strict=True))
        coders = list(self.coders.items())
        if self._codes.shape != (len(columns), table.n_rows):
            self._codes = np.empty((len(columns), table.n_rows), dtype=np.uint8)
        out = self._codes

        def encode(node: int) -> RawCells:
            name, coder = coders[node]
            return coder.encode(columns[name], categorical[name], rows, out[node])

        return map_threads(encode, range(len(columns)))

    def _count(self, cells: list[RawCells], rows: BatchRows) -> bool:
        """Count the rows of a batch at once, if that is enough and worth it."""
        coders = list(self.coders.values())
        if self._counter is None or any(coder.is_cut and coder.n_values > MAX_VALUES_COUNTED_UNCUT for coder in coders):
            return False
        n_values = [*(coder.n_values for coder in coders), rows.n_classes]
        has_gap = [*(coder.incomplete for coder in coders), False]
        n_states = [n + gap for n, gap in zip(n_values, has_gap, strict=True)]
        if any(column.dtype != np.uint8 for column in cells) or not self._counter.has_room(n_states):
            return False
        for column, coder in zip(cells, coders, strict=True):
            if coder.incomplete:
                np.minimum(column, coder.n_values, out=column)
        self._counter.add(self._codes.T, rows.class_codes, rows.weights, n_values, has_gap)
        return True

    def _keep(self, columns: list[RawCells]) -> None:
        if self.spool.n_rows == 0:
            # A byte a cell, if columns have few values; more is refused when it comes to it.
            row_bytes = sum(8 if column.dtype == np.float64 else 1 for column in columns)
            check_space(max(self._n_expected - self._n_counted, 0) * row_bytes, "the codes, at a byte for each cell,")
        self.spool.append(columns)
        self._codes = np.empty((0, 0), dtype=np.uint8)  # they are the spool's now

    def final_codes(self, schema: TableSchema) -> list[FinalCodes]:
        """Of every column, by their schema in the order of their names."""
        dtype = code_dtype(max(schema.n_states))
        coded = zip(self.coders.values(), schema.attributes, strict=True)
        return [coder.final_codes(column, dtype) for coder, column in coded]

    def rows(self, attributes: Sequence[FinalCodes], target: FinalCodes, labelled: bool) -> DiskRows:
        """Those on disk; what may be missing there may also be missing in those counted."""
        self.spool.flush()
        weighted = self._least_weight is not None
        blocks = FinalBlocks(self.spool, attributes, target, labelled, weighted)
        outline = Outline(blocks.n_states, blocks.incomplete, self.spool.n_rows, self._least_weight)
        return DiskRows(blocks.n_states, blocks, known=outline)


@dataclass(frozen=True)
class FinalBlocks:
    """The chunks of a spool as blocks of final codes, at both granularities where columns have two.

    spool       the attributes, the class if rows have one, their weights if they have any
    attributes  of the rows
    target      the class; every class is missing if not `labelled`
    """

    spool: Spool
    attributes: Sequence[FinalCodes]
    target: FinalCodes
    labelled: bool
    weighted: bool

    @cached_property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """What each attribute of the rows holds."""
        return tuple(column.schema for column in self.attributes)

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        return states_of_both(self.columns, self.target.schema.n_states)

    @cached_property
    def incomplete(self) -> NDArray[np.bool_]:
        incomplete = [column.incomplete for column in self.attributes]
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
            self.attributes[node].write(cells[node], codes[:, places[node]])

        map_threads(write, range(n_attributes))
        write_coarse(codes, self.columns)
        return codes

    @cached_property
    def _is_unchanged(self) -> bool:
        """Whether the bytes of the spool are the codes."""
        same = all(column.is_unchanged and not column.schema.groups for column in self.attributes)
        return same and code_dtype(max(self.n_states)) == np.uint8
