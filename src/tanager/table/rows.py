"""Coded rows wherever they are: in memory (`EncodedBatch`), on disk or on a cluster; and what parts need of them.

Code that passes over rows is written once, against what all `Rows` can do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, RowNumbers, Words
from tanager.errors import MemoryLimitError, OptionError
from tanager.runtime.resources import physical_memory
from tanager.table.columns import code_dtype

Value = TypeVar("Value")
Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)
Options = ParamSpec("Options")
Weights = NDArray[np.float64]

LARGEST_KEY = np.iinfo(np.uint64).max

Needs = Literal["families", "pairs", "counts", "passes", "order", "memory"]
"""From little to much:

families  counts of the structure's own families
pairs     counts of two attributes with the class
counts    counts of any families
passes    sums over the rows, as often as it likes (`Rows.sum`, `Rows.prepare`)
order     the rows one after the other, in their order
memory    all rows in memory at once
"""
Place = Literal["memory", "disk", "cluster"]

LEVELS: tuple[Needs, ...] = ("families", "pairs", "counts", "passes", "order", "memory")
GIVES: dict[Place, Needs] = {"memory": "memory", "disk": "order", "cluster": "passes"}
TABLE: dict[Place, str] = {
    "memory": "the table is in memory",
    "disk": "the table comes batch by batch",
    "cluster": "the table is spread over the workers of a cluster",
}
WANTS: dict[Needs, str] = {
    "order": "goes through the rows one after the other, in their order",
    "memory": "needs all rows in memory at once",
}


def most_needed(*needs: Needs) -> Needs:
    return max(needs, key=LEVELS.index)


def exceeds(needs: Needs, other: Needs) -> bool:
    return LEVELS.index(needs) > LEVELS.index(other)


def check_needs(part: str, needs: Needs, place: Place) -> None:
    """Refuse a part, as the user wrote it, that needs more than rows can give where they are."""
    if exceeds(needs, GIVES[place]):
        raise OptionError(
            f"{part} {WANTS[needs]}, and {TABLE[place]}.",
            hint="read the table, or a sample of it, into memory, or use parameters='conditional'.",
        )


@dataclass(frozen=True)
class Outline:
    """What is known of rows without looking at one; outlines of parts add up to that of the whole.

    n_states      states of each node, the class last; the code of a missing cell is the node's number of states
    incomplete    (n_attributes,) booleans: whether a cell of the column may be missing
    n_rows        how many rows there are
    least_weight  the smallest weight of a row; None where every row weighs one
    """

    n_states: tuple[int, ...]
    incomplete: NDArray[np.bool_]
    n_rows: int
    least_weight: float | None = None

    def __add__(self, other: Outline) -> Outline:
        weights = [weight for weight in (self.least_weight, other.least_weight) if weight is not None]
        return Outline(
            self.n_states, self.incomplete | other.incomplete, self.n_rows + other.n_rows, min(weights, default=None)
        )


class Outlined(ABC):
    """What rows that are not in memory say of themselves by their outline."""

    n_states: tuple[int, ...]

    @property
    @abstractmethod
    def outline(self) -> Outline: ...

    @property
    def incomplete(self) -> NDArray[np.bool_]:
        return self.outline.incomplete

    @property
    def n_rows(self) -> int:
        return self.outline.n_rows

    @property
    def n_attributes(self) -> int:
        return len(self.n_states) - 1

    @property
    def n_classes(self) -> int:
        return self.n_states[-1]


class Rows(Protocol):
    """Rows of one table as blocks, each an `EncodedBatch`: in memory (one block), on disk, or on a cluster.

    Functions given to `map`, `sum` and `prepare` go where a block is: on a cluster they are sent there, so
    they hold no more than they need, and `name` is what a dashboard shows of them.
    """

    @property
    def place(self) -> Place: ...

    @property
    def outline(self) -> Outline: ...

    @property
    def n_states(self) -> tuple[int, ...]: ...

    @property
    def incomplete(self) -> NDArray[np.bool_]: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_attributes(self) -> int: ...

    @property
    def n_classes(self) -> int: ...

    def map(self, function: Callable[[EncodedBatch], EncodedBatch], name: str = "map") -> Rows:
        """The rows `function(block)` of every block."""
        ...

    def sum(self, function: Callable[[EncodedBatch], Value], name: str = "sum") -> Value:
        """`function(block)` added up over the blocks (`add`); the function gives up its value, which is added to."""
        ...

    def prepare(self, make: Callable[[list[EncodedBatch]], Made], name: str = "prepare") -> Prepared[Made]:
        """What `make` makes of blocks that are in one place, kept there: for passes made again and again."""
        ...

    def take(self, numbers: RowNumbers) -> EncodedBatch:
        """Some rows, by ascending number, in memory."""
        ...

    def kept(self) -> Rows:
        """The same rows, ready for many passes: none is computed again in each."""
        ...


class LocalRows(Rows, Protocol):
    """Rows on this machine, in memory or on disk: these can also be gone through in their order."""

    def blocks(self) -> Iterable[EncodedBatch]:
        """The rows in their order, block by block."""
        ...


class Prepared(Protocol[Made_co]):
    """Something made of the rows of each place where rows are."""

    def sum(
        self, function: Callable[Concatenate[Made_co, Options], Value], *args: Options.args, **kwargs: Options.kwargs
    ) -> Value:
        """`function(made, ...)` added up over the places."""
        ...


def gather(rows: Rows) -> EncodedBatch:
    """All rows, in memory; those that are there already are not copied."""
    return cast("EncodedBatch", rows) if rows.place == "memory" else rows.take(np.arange(rows.n_rows))


def add(total: Value, more: Value) -> Value:
    """The sum of two values of one shape: numbers, arrays, objects with `+`, and tuples or lists of these.

    Arrays are added in place, as a sum over many blocks needs no copy of its total.
    """
    if isinstance(total, tuple | list):
        parts = [add(one, other) for one, other in zip(total, cast(Any, more), strict=True)]
        return cast(Value, parts if isinstance(total, list) else tuple(parts))
    total += more  # type: ignore[operator]
    return total


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
        return self.class_codes if node == self.n_attributes else self.codes[:, node]

    def take(self, rows: slice | NDArray[np.bool_] | NDArray[np.integer]) -> EncodedBatch:
        """Some rows, in the order given; a slice of them is a view."""
        codes = self.codes[rows] if isinstance(rows, slice) else np.asfortranarray(self.codes[rows])
        incomplete = self.incomplete.copy()
        for node in np.flatnonzero(incomplete).tolist():
            incomplete[node] = (codes[:, node] == self.n_states[node]).any()
        weights = None if self.weights is None else self.weights[rows]
        return EncodedBatch(codes, self.class_codes[rows], self.n_states, incomplete, weights)

    def select(self, attributes: slice | list[int]) -> EncodedBatch:
        """The rows with these attributes only, in this order; a slice of them is a view."""
        nodes = range(self.n_attributes)[attributes] if isinstance(attributes, slice) else attributes
        n_states = (*(self.n_states[node] for node in nodes), self.n_classes)
        codes = np.asfortranarray(self.codes[:, attributes])
        return replace(self, codes=codes, n_states=n_states, incomplete=self.incomplete[attributes])

    def weighed(self, factors: Weights) -> EncodedBatch:
        return replace(self, weights=self.row_weights * factors[self.class_codes])

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


@dataclass(frozen=True)
class Blocks(Generic[Value]):
    """A value of each block, side by side: what a sum over blocks is of values that do not add up."""

    values: tuple[Value, ...]

    def __add__(self, other: Blocks[Value]) -> Blocks[Value]:
        return Blocks((*self.values, *other.values))


def row_keys(codes: Codes, classes: Codes, weights: Array) -> Words:
    """(n_rows,) a number for what a row holds: equal for equal rows, else different but with a chance of about 2^-60.

    A sum of codes times random odd numbers modulo 2^64, mixed so that the order of the keys is random. Take weights
    from `relative_weights`.
    """
    factors = np.random.default_rng(0).integers(0, LARGEST_KEY, codes.shape[1] + 2, dtype=np.uint64) | np.uint64(1)
    keys = np.multiply(classes, factors[0], dtype=np.uint64)
    keys += np.ascontiguousarray(weights).view(np.uint64) * factors[1]
    for column, factor in zip(codes.T, factors[2:], strict=True):
        keys += np.multiply(column, factor, dtype=np.uint64)
    half = np.uint64(32)
    keys ^= keys >> half
    keys *= factors[0]
    keys ^= keys >> half
    return keys


def relative_weights(weights: Array, unit: float) -> Array:
    """Weights over the least of them, to seven digits: the same numbers whatever unit weights are measured in."""
    return (weights / unit).astype(np.float32).astype(np.float64)


def weigh(rows: Rows, factors: Weights | None) -> Rows:
    """The rows with their weights times the factor of their class, if there are factors."""
    return rows if factors is None else rows.map(partial(EncodedBatch.weighed, factors=factors), "weigh")


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
