"""Work on the parts of a table where they are, on the workers of a cluster; and coded rows that stay there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add as plus
from operator import attrgetter
from typing import Any, ClassVar, Concatenate, Generic
from uuid import uuid4

import numpy as np
from dask import delayed
from dask.sizeof import sizeof
from distributed import Client, Future
from distributed.client import CancelledError, ClosedClientError, default_client

from tanager.arrays import RowNumbers
from tanager.errors import OptionError
from tanager.runtime.resources import thread_limit
from tanager.table.rows import (
    EncodedBatch,
    Made,
    Options,
    Outline,
    Outlined,
    Place,
    Value,
    add,
    check_fits,
    join_blocks,
)

# So many values are added at once: fewer make a deeper tree, more wait for the slowest.
FAN_IN = 8


@dataclass
class Group:
    """Parts for one thread of a worker: most are there already."""

    worker: str
    parts: list[Future] = field(default_factory=list)
    n_rows: int = 0


class Cluster:
    """The workers of a client.

    Futures hold the way to make them, back to the source of the table: what a lost worker held is made again by others.
    So nothing is scattered, and no worker keeps a state of its own.
    """

    def __init__(self, client: Client | None) -> None:
        try:
            self._client = default_client() if client is None else client
        except ValueError:
            hint = "make one first: from distributed import Client; Client()."
            raise OptionError("there is no Dask client to run on.", hint=hint) from None
        self._gathered: list[Future] = []

    def map_partitions(self, name: str, function: Callable[..., object], partitions: Sequence[Any]) -> list[Future]:
        """`function(partition, number)` of delayed partitions; the function is sent once."""
        prefix, run = new_name(name), delayed(run_task, pure=False, traverse=False)
        once = delayed(function, name=new_name("send"), traverse=False)
        numbered = enumerate(partitions)
        tasks = [run(once, part, number, dask_key_name=f"{prefix}-{number}") for number, part in numbered]
        with self._open():
            return list(self._client.compute(tasks))

    def map(self, name: str, function: Callable[..., object], *parts: Sequence[object]) -> list[Future]:
        """`function(part, ...)` of every part, seen as "tanager-name"."""
        prefix = new_name(name)
        keys = [(prefix, number) for number in range(len(parts[0]))]
        with self._open():
            futures = list(self._client.map(partial(run_task, function), *parts, key=keys, pure=False))
        # Not before: a client sends a message at most every 10 ms, and the one that lets go would come first.
        self._gathered = []
        return futures

    def map_groups(self, name: str, function: Callable[[list[Any]], object], groups: Sequence[Group]) -> list[Future]:
        """`function(parts)` of every group, at its worker while there is that worker."""
        prefix = new_name(name)
        with self._open():
            return [
                self._client.submit(
                    run_task,
                    function,
                    group.parts,
                    key=(prefix, number),
                    workers=[group.worker],
                    allow_other_workers=True,
                    pure=False,
                )
                for number, group in enumerate(groups)
            ]

    def group(self, parts: Sequence[Future], lengths: Sequence[int]) -> list[Group]:
        """The parts in a group for each thread of the workers; one moves only if its thread would have too many rows.

        A task for every part costs some milliseconds each, and as much in every pass of an optimiser.
        """
        with self._open():
            holders, threads = self._client.who_has(list(parts)), self._client.nthreads()
            while not threads:
                self._client.wait_for_workers(1)
                threads = self._client.nthreads()
        groups = [Group(worker) for worker, n_threads in threads.items() for _ in range(n_threads)]
        share = sum(lengths) / len(groups)
        for part, length in sorted(zip(parts, lengths, strict=True), key=lambda pair: -pair[1]):
            there = [group for group in groups if group.worker in holders[part.key] and group.n_rows < share]
            chosen = min(there or groups, key=lambda group: group.n_rows)
            chosen.parts.append(part)
            chosen.n_rows += length
        return [group for group in groups if group.parts]

    def merge(
        self, name: str, function: Callable[[list[Any]], object], futures: Sequence[Future], most: int = 1
    ) -> list[Future]:
        """At most so many futures: neighbours are merged by `function` in a tree, in their order."""
        left = list(futures)
        while len(left) > most:
            left = self.map(name, function, [left[first : first + FAN_IN] for first in range(0, len(left), FAN_IN)])
        return left

    def total(self, values: Sequence[Future], most: int = 1) -> Any:
        """The sum of values on workers: in a tree there until so many are left, then here.

        Adding the last few here spares a step between workers, but brings as many of them over the network.
        """
        left = self.merge("add", _add_all, values, most)
        self._gathered = [*values, *left]
        return _add_all(self.gather(left))

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """The values, in order; an error on a worker is raised here."""
        with self._open():
            return list(self._client.gather(list(futures)))

    @contextmanager
    def _open(self) -> Iterator[None]:
        """One clear error in place of the many that a closed client gives."""
        hint = "keep the client open until fit has returned, or give another: TANClassifier(client)."
        if self._client.status in ("closed", "closing"):
            raise OptionError("the Dask client is closed.", hint=hint)
        try:
            yield
        except (CancelledError, ClosedClientError) as error:
            raise OptionError("the Dask client was closed, or its tasks were cancelled.", hint=hint) from error


def run_task(function: Callable[..., Value], *args: Any) -> Value:
    """What every task runs: one thread, as a worker runs as many tasks at once as it has threads."""
    with thread_limit(1):
        return function(*args)


def new_name(name: str) -> str:
    """A task name of its own; a dashboard shows it without what comes after the words."""
    return f"tanager-{name}-{uuid4().hex}"


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
        return self._cluster.total(self._cluster.map(name, partial(_sum_blocks, function=function), groups))

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
        return self.cluster.total(values, most=FAN_IN)


@sizeof.register(EncodedBatch)
def _n_bytes(part: EncodedBatch) -> int:
    """For Dask, which would think a part as small as its outline, and moving it free."""
    arrays = (part.codes, part.class_codes, part.incomplete, part.weights)
    return sum(array.nbytes for array in arrays if array is not None)


def _add_all(values: list[Any]) -> Any:
    """`add` writes into its first value; here that is a worker's, which is added up again if a worker is lost."""
    return reduce(add, values[1:], deepcopy(values[0]))


def _sum_blocks(blocks: list[EncodedBatch], function: Callable[[EncodedBatch], Value]) -> Value:
    return reduce(add, map(function, blocks))


def _apply(function: Callable[..., Value], args: tuple[Any, ...], kwargs: dict[str, Any], made: Any) -> Value:
    return function(made, *args, **kwargs)


def _as_slice(numbers: RowNumbers) -> slice | RowNumbers:
    """Evenly spaced numbers as the slice that they are: of all rows, they would be longer than a column."""
    steps = np.diff(numbers)
    if not len(steps) or (steps != steps[0]).any():
        return numbers
    return slice(int(numbers[0]), int(numbers[-1]) + 1, int(steps[0]))
