"""Resources of the machine: threads over blocks of rows or attributes, and memory that is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from tanager.errors import OptionError

Item = TypeVar("Item")
Result = TypeVar("Result")

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)

UNKNOWN = 1 << 62


def check_whole(option: str, value: object) -> None:
    """Refuse a value that is no whole number."""
    if not isinstance(value, Integral):
        raise OptionError(f"{option}={value!r} is not valid; expected a whole number.")


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Use this many threads inside: `None` and -1 mean every core, -2 all but one, and so on."""
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs)
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


def physical_memory() -> int:
    """Bytes of memory of this machine; 4 GiB where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30


def available_memory() -> int:
    """Bytes that the machine, or the limits of this process, have left; very many where no limit is known."""
    return min(_of_machine(), _of_process(), *(_of_group(*files) for files in _group_files()))


def _of_machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return UNKNOWN


def _of_process() -> int:
    """What a limit on addresses (`ulimit -v`) leaves."""
    try:
        import resource
    except ImportError:  # on Windows
        return UNKNOWN
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = [int(line.split()[0]) * resource.getpagesize() for line in _lines("/proc/self/statm")]
    return UNKNOWN if limit == resource.RLIM_INFINITY or not used else max(limit - used[0], 0)


def _group_files() -> list[tuple[str, str]]:
    """Limit and use of the groups, of version 2 and of version 1, that this process is in."""
    files = [("", "")]
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        if controllers == "":
            files.append((f"/sys/fs/cgroup{path}/memory.max", f"/sys/fs/cgroup{path}/memory.current"))
        elif "memory" in controllers.split(","):
            folder = f"/sys/fs/cgroup/memory{path}/memory."
            files.append((f"{folder}limit_in_bytes", f"{folder}usage_in_bytes"))
    return files


def _of_group(limit: str, use: str) -> int:
    """What is cached of files counts as used, so this may be too little, never too much."""
    numbers = [line.strip() for file in (limit, use) for line in _lines(file)[:1]]
    if len(numbers) < 2 or not all(number.isdigit() for number in numbers):
        return UNKNOWN
    return int(numbers[0]) - int(numbers[1])


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines() if file else []
    except OSError:
        return []
