"""Cluster: work on the parts of a table where they are, under names that a dashboard groups by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from dask import delayed
from distributed import Client, Future
from distributed.client import CancelledError, ClosedClientError, default_client

from tanager.errors import OptionError
from tanager.runtime.resources import thread_limit

Value = TypeVar("Value")

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
        self._client = _find_client() if client is None else client
        self._gathered: list[Future] = []

    def map_partitions(self, name: str, function: Callable[..., object], *partitions: Sequence[Any]) -> list[Future]:
        """`function(partition, ..., number)` of delayed partitions or futures; the function is sent once."""
        prefix, run = new_name(name), delayed(run_task, pure=False, traverse=False)
        once = delayed(function, name=new_name("send"), traverse=False)
        numbered = enumerate(zip(*partitions, strict=True))
        tasks = [run(once, *parts, number, dask_key_name=f"{prefix}-{number}") for number, parts in numbered]
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

    def gather_merged(
        self, name: str, function: Callable[[list[Any]], object], futures: Sequence[Future], most: int
    ) -> list[Any]:
        """The values of `merge`."""
        left = self.merge(name, function, futures, most)
        self._gathered = [*futures, *left]
        return self.gather(left)

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


def _find_client() -> Client:
    try:
        return default_client()
    except ValueError:
        raise OptionError(
            "there is no Dask client to run on.", hint="make one first: from distributed import Client; Client()."
        ) from None
