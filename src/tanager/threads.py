"""Threads over blocks of rows or attributes, for kernels and NumPy calls that release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: `None` and -1 mean every core this process may run on, -2 all but one, and so on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def map_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """`[function(item) for item in items]`, in order, on `count_threads(n_jobs)` threads."""
    work = list(items)
    n_threads = min(count_threads(n_jobs), len(work))
    if n_threads <= 1:
        return [function(item) for item in work]
    results: dict[int, Result] = {}
    positions = iter(range(len(work)))  # shared: taking the next one is a single step of the interpreter

    def run() -> None:
        for position in positions:
            results[position] = function(work[position])

    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(run) for _ in range(n_threads - 1)]
        run()
        for other in others:
            other.result()
    return [results[position] for position in range(len(work))]
