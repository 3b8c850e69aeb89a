"""Rows: coded rows wherever they live. Code that passes over rows is written once, against what all rows can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tanager.table.needs import Place

if TYPE_CHECKING:
    from tanager.table.batch import EncodedBatch

Value = TypeVar("Value")
Made = TypeVar("Made")
Made_co = TypeVar("Made_co", covariant=True)
Options = ParamSpec("Options")
RowNumbers = NDArray[np.integer]


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
