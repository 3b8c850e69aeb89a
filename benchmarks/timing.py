"""What every benchmark shares: the best of several runs, peak memory, and a row of the table."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def best_time(
    work: Callable[[], Result], n_times: int = 3, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Result]:
    """Seconds of the quickest run, and its result; the first run may compile, so do it before where that matters.

    With `time.process_time` they are those of all threads together, which others on the machine hardly change.
    """
    times = []
    for _ in range(n_times):
        start = clock()
        result = work()
        times.append(clock() - start)
    return min(times), result


def peak_memory(work: Callable[[], object]) -> float:
    """MB that Python and NumPy allocate at most while it runs, beyond what was there."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def print_head() -> None:
    print("| workload | ours | peer | ratio | asked |\n| --- | ---: | ---: | ---: | ---: |", flush=True)


def print_row(workload: str, ours: float, peer_name: str, peer: float | None, asked: str = "") -> None:
    """A line of the table: both times, how many times faster ours is, and what was asked for."""
    if peer is None:
        print(f"| {workload} | {format_time(ours)} | {peer_name} | | {asked} |", flush=True)
    else:
        print(
            f"| {workload} | {format_time(ours)} | {peer_name}: {format_time(peer)} | {peer / ours:.1f}x | {asked} |",
            flush=True,
        )


def format_time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
