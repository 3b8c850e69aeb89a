"""Threads over blocks of rows or attributes, for kernels and NumPy calls that release the interpreter lock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

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

    pool = _pool(n_threads - 1)
    others = [pool.submit(run) for _ in range(n_threads - 1)]
    try:
        run()
    finally:
        # What has not begun, since others use the pool too, has nothing left to do.
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return [results[position] for position in range(len(work))]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside: its threads and ours would wait for each other."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Those that are loaded; looked for again only when there are more modules, since it takes as long as a fit."""
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _pool(n_workers: int) -> ThreadPoolExecutor:
    """Kept from call to call: a fit of few rows makes hundreds, and to start a thread takes as long as a pass."""
    return ThreadPoolExecutor(n_workers, thread_name_prefix="tanager")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads
