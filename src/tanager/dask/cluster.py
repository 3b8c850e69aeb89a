"""Cluster: work on the parts of a table where they are, under names that a dashboard groups by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, Future
from distributed.client import CancelledError, ClosedClientError, default_client

from tanager.errors import OptionError

Value = TypeVar("Value")

# So many values are added at once: fewer make a deeper tree, more wait for the slowest.
FAN_IN = 8


class Cluster:
    """The workers of a client.

    Futures hold the way to make them, back to the source of the table: what a lost worker held is made again by others.
    So nothing is scattered, and no worker keeps a state of its own.
    """

    def __init__(self, client: Client | None) -> None:
        self._client = _find_client() if client is None else client

    def compute(self, tasks: Sequence[Any]) -> list[Future]:
        """Start delayed tasks."""
        with self._open():
            return list(self._client.compute(list(tasks)))

    def map(
        self, name: str, function: Callable[..., object], *parts: Sequence[object], **shared: object
    ) -> list[Future]:
        """`function(part, ..., **shared)` of every part, seen as "tanager-name"."""
        prefix = new_name(name)
        keys = [(prefix, number) for number in range(len(parts[0]))]
        with self._open():
            return list(self._client.map(function, *parts, key=keys, pure=False, **shared))

    def merge(
        self, name: str, function: Callable[[list[Any]], object], futures: Sequence[Future], most: int = 1
    ) -> list[Future]:
        """At most so many futures: neighbours are merged by `function` in a tree, in their order."""
        left = list(futures)
        while len(left) > most:
            left = self.map(name, function, [left[first : first + FAN_IN] for first in range(0, len(left), FAN_IN)])
        return left

    def sum(self, add: Callable[[list[Value]], Value], futures: Sequence[Future], most: int = 1) -> Value:
        """The sum of all: in a tree on the workers until so many are left, then here.

        Adding the last few here spares a step between workers, but brings as many of them over the network.
        """
        return add(self.gather(self.merge("add", add, futures, most)))

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
