"""EncodedBatch: rows as small integers in memory, the only form in which later layers see data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Concatenate, Generic

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.errors import MemoryLimitError
from tanager.runtime.resources import physical_memory
from tanager.table.categories import code_dtype
from tanager.table.needs import Place
from tanager.table.rows import Made, Options, Outline, Value

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedBatch:
    """Rows of a table as codes: a block of `Rows`, and the `Rows` of a table that is in memory.

    Nodes are numbered as everywhere after this layer: the attributes 0 .. n-1, in the order of their names where they
    have some, then the class, n.

    codes        (n_rows, n_attributes), column-major, in the smallest unsigned dtype that holds every code
    class_codes  (n_rows,), unsigned
    n_states     states of each node, the class last; the code of a missing cell is the node's number of states
    incomplete   (n_attributes,) booleans: whether a cell of the column may be missing
    weights      (n_rows,) positive, or None for all ones
    """

    codes: Codes
    class_codes: Codes
    n_states: tuple[int, ...]
    incomplete: NDArray[np.bool_]
    weights: Weights | None = None
    n_rows: int = field(init=False)
    n_attributes: int = field(init=False)
    n_classes: int = field(init=False)

    place: ClassVar[Place] = "memory"

    def __post_init__(self) -> None:
        for name, value in zip(
            ("n_rows", "n_attributes", "n_classes"), (*self.codes.shape, self.n_states[-1]), strict=True
        ):
            object.__setattr__(self, name, int(value))

    @classmethod
    def empty(cls, n_states: tuple[int, ...]) -> EncodedBatch:
        """No rows of such a table."""
        n_attributes = len(n_states) - 1
        codes = np.empty((0, n_attributes), dtype=code_dtype(max(n_states)), order="F")
        return cls(codes, codes[:, :0].reshape(-1), n_states, np.zeros(n_attributes, dtype=bool))

    @property
    def outline(self) -> Outline:
        least = None if self.weights is None or not self.n_rows else float(self.weights.min())
        return Outline(self.n_states, self.incomplete, self.n_rows, least)

    @property
    def row_weights(self) -> Weights:
        """(n_rows,) the weights, ones where none are given."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def column(self, node: int) -> Codes:
        """The codes of one node, contiguous."""
        return self.class_codes if node == self.n_attributes else self.codes[:, node]

    def take(self, rows: slice | NDArray[np.bool_] | NDArray[np.integer]) -> EncodedBatch:
        """Some rows, in the order given; a slice of them is a view."""
        codes = self.codes[rows] if isinstance(rows, slice) else np.asfortranarray(self.codes[rows])
        incomplete = self.incomplete.copy()
        for node in np.flatnonzero(incomplete).tolist():
            incomplete[node] = (codes[:, node] == self.n_states[node]).any()
        weights = None if self.weights is None else self.weights[rows]
        return EncodedBatch(codes, self.class_codes[rows], self.n_states, incomplete, weights)

    def first_attributes(self, number: int) -> EncodedBatch:
        """The rows with so many attributes only: a view."""
        n_states, incomplete = (*self.n_states[:number], self.n_classes), self.incomplete[:number]
        return replace(self, codes=self.codes[:, :number], n_states=n_states, incomplete=incomplete)

    def some_attributes(self, attributes: Sequence[int]) -> EncodedBatch:
        """The rows with these attributes only, in this order."""
        places = list(attributes)
        n_states = (*(self.n_states[place] for place in places), self.n_classes)
        codes = np.asfortranarray(self.codes[:, places])
        return replace(self, codes=codes, n_states=n_states, incomplete=self.incomplete[places])

    def map(self, function: Callable[[EncodedBatch], EncodedBatch], name: str = "map") -> EncodedBatch:
        return function(self)

    def sum(self, function: Callable[[EncodedBatch], Value], name: str = "sum") -> Value:
        return function(self)

    def prepare(self, make: Callable[[list[EncodedBatch]], Made], name: str = "prepare") -> PreparedHere[Made]:
        return PreparedHere(make([self]))

    def kept(self) -> EncodedBatch:
        return self

    def blocks(self) -> tuple[EncodedBatch]:
        return (self,)


@dataclass(frozen=True)
class PreparedHere(Generic[Made]):
    """`Prepared` in this process."""

    made: Made

    def sum(
        self, function: Callable[Concatenate[Made, Options], Value], *args: Options.args, **kwargs: Options.kwargs
    ) -> Value:
        return function(self.made, *args, **kwargs)


def check_fits(n_rows: int, n_states: Sequence[int]) -> None:
    """Refuse rows that would take more than a quarter of the memory of this machine."""
    n_bytes = n_rows * len(n_states) * code_dtype(max(n_states)).itemsize
    if n_bytes > physical_memory() // 4:
        raise MemoryLimitError(
            f"{n_rows:,} rows are needed in memory at once, where they would take {n_bytes / 2**30:.3g} GiB.",
            hint="fit a sample of the rows, or use parameters='frequency'.",
        )


def join_blocks(blocks: Sequence[EncodedBatch], n_states: tuple[int, ...]) -> EncodedBatch:
    """The rows of all blocks in their order; all of them have weights, or none has."""
    if not blocks:
        return EncodedBatch.empty(n_states)
    weights = [block.weights for block in blocks if block.weights is not None]
    return EncodedBatch(
        np.asfortranarray(np.concatenate([block.codes for block in blocks])),
        np.concatenate([block.class_codes for block in blocks]),
        n_states,
        np.any([block.incomplete for block in blocks], axis=0),
        np.concatenate(weights) if weights else None,
    )
