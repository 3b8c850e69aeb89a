"""Threads over blocks of rows or attributes, for kernels and NumPy calls that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Use this many threads inside: `None` and -1 mean every core, -2 all but one, and so on."""
    token = _n_jobs.set(n_jobs)
    try:
        yield
    finally:
        _n_jobs.reset(token)


def count_threads() -> int:
    """Threads to use here: those of `thread_limit`, otherwise one for every core this process may run on."""
    n_jobs = _n_jobs.get()
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return cores if n_jobs is None else max(1, cores + 1 + n_jobs)


def map_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`[function(item) for item in items]`, in order, on `count_threads()` threads; inside of one, on that one."""
    work = list(items)
    n_threads = min(count_threads(), len(work))
    if n_threads <= 1:
        return [function(item) for item in work]
    results: dict[int, Result] = {}
    positions = iter(range(len(work)))  # shared: taking the next one is a single step of the interpreter

    def run() -> None:
        with thread_limit(1):
            for position in positions:
                results[position] = function(work[position])

    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(run) for _ in range(n_threads - 1)]
        run()
        for other in others:
            other.result()
    return [results[position] for position in range(len(work))]
