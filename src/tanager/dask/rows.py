"""ClusterRows: coded rows that stay on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add as plus
from operator import attrgetter
from typing import Any, ClassVar, Concatenate, Generic

import numpy as np
from dask.sizeof import sizeof
from distributed import Future

from tanager.dask.cluster import FAN_IN, Cluster, Group
from tanager.table.batch import EncodedBatch, check_fits, join_blocks
from tanager.table.needs import Place
from tanager.table.rows import Made, Options, Outline, Outlined, RowNumbers, Value, add


class ClusterRows(Outlined):
    """`Rows` in parts, each an `EncodedBatch` on a worker, in the order of the rows.

    Empty parts are left out, unless there is no row at all.
    """

    place: ClassVar[Place] = "cluster"

    def __init__(self, cluster: Cluster, parts: Sequence[Future]) -> None:
        outlines: list[Outline] = cluster.gather(cluster.map("outline", attrgetter("outline"), parts))
        filled = [number for number, outline in enumerate(outlines) if outline.n_rows] or [0]
        self.n_states = outlines[0].n_states
        self._cluster = cluster
        self._parts = [parts[number] for number in filled]
        self._outlines = [outlines[number] for number in filled]

    @cached_property
    def outline(self) -> Outline:
        return reduce(plus, self._outlines)

    @property
    def _lengths(self) -> list[int]:
        return [outline.n_rows for outline in self._outlines]

    def map(self, function: Callable[[EncodedBatch], EncodedBatch], name: str = "map") -> ClusterRows:
        return ClusterRows(self._cluster, self._cluster.map(name, function, self._parts))

    def sum(self, function: Callable[[EncodedBatch], Value], name: str = "sum") -> Value:
        groups = [group.parts for group in self._groups]
        return _sum(self._cluster, self._cluster.map(name, partial(_sum_blocks, function=function), groups))

    def prepare(self, make: Callable[[list[EncodedBatch]], Made], name: str = "prepare") -> PreparedOnWorkers[Made]:
        return PreparedOnWorkers(self._cluster, self._cluster.map_groups(name, make, self._groups))

    def take(self, numbers: RowNumbers) -> EncodedBatch:
        check_fits(len(numbers), self.n_states)
        ends = np.cumsum(self._lengths)
        by_part = np.split(numbers, np.searchsorted(numbers, ends[:-1]))
        wanted = [number for number, numbers_there in enumerate(by_part) if len(numbers_there)] or [0]
        parts = [self._parts[number] for number in wanted]
        places = [_as_slice(by_part[number] - (ends[number] - self._lengths[number])) for number in wanted]
        taken = self._cluster.gather(self._cluster.map("take", EncodedBatch.take, parts, places))
        return join_blocks(taken, self.n_states)

    def kept(self) -> ClusterRows:
        return self

    @cached_property
    def _groups(self) -> list[Group]:
        return self._cluster.group(self._parts, self._lengths)


@dataclass(frozen=True)
class PreparedOnWorkers(Generic[Made]):
    """`Prepared` on workers: something made of each group of parts. What a lost worker had, others make again."""

    cluster: Cluster
    made: list[Future]

    def sum(
        self, function: Callable[Concatenate[Made, Options], Value], *args: Options.args, **kwargs: Options.kwargs
    ) -> Value:
        values = self.cluster.map("pass", partial(_apply, function, args, kwargs), self.made)
        return _sum(self.cluster, values, most=FAN_IN)


@sizeof.register(EncodedBatch)
def _n_bytes(part: EncodedBatch) -> int:
    """For Dask, which would think a part as small as its outline, and moving it free."""
    arrays = (part.codes, part.class_codes, part.incomplete, part.weights)
    return sum(array.nbytes for array in arrays if array is not None)


def _sum(cluster: Cluster, values: Sequence[Future], most: int = 1) -> Any:
    """The sum of values on workers: in a tree there until so many are left, then here.

    Adding the last few here spares a step between workers, but brings as many of them over the network.
    """
    return _add_all(cluster.gather_merged("add", _add_all, values, most))


def _add_all(values: list[Any]) -> Any:
    """`add` writes into its first value; here that is a worker's, which is added up again if a worker is lost."""
    return reduce(add, values[1:], deepcopy(values[0]))


def _sum_blocks(blocks: list[EncodedBatch], function: Callable[[EncodedBatch], Value]) -> Value:
    total = function(blocks[0])
    for block in blocks[1:]:
        total = add(total, function(block))
    return total


def _apply(function: Callable[..., Value], args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Value:
    return function(made, *args, **kwargs)


def _as_slice(numbers: RowNumbers) -> slice | RowNumbers:
    """Evenly spaced numbers as the slice that they are: of all rows, they would be longer than a column."""
    steps = np.diff(numbers)
    if not len(steps) or (steps != steps[0]).any():
        return numbers
    return slice(int(numbers[0]), int(numbers[-1]) + 1, int(steps[0]))
