"""Tables larger than memory: TAN-fCLL from a Parquet file under a limit of 2 GB against only reading that file.

    python -m benchmarks.scale_stream [--rows 1000000 4000000 20000000] [--structure tan] [--parameters frequency]

A file of n rows x 50 attributes (5 values, 2 classes) is written for each n to the temporary folder, 400 MB for
20,000,000 rows (and a gigabyte of codes beside it for parameters that need rows), and deleted after. Every measurement
is a process of its own whose memory the operating system limits: by a control group where we may make one (page cache
counts too), else by RLIMIT_DATA. Kernels are loaded before the clock starts. Reading and fits take turns, and the best
of each counts. The peak is that of memory that is not a file's (RssAnon), every 10 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from tanager import BayesianNetworkClassifier

LIMIT = 2 * 10**9
N_ATTRIBUTES = 50
N_VALUES = 5
BLOCK = 1_000_000
WARM_UP_ROWS = 100_000
N_RUNS = 3
GROUPS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))


def write_file(path: Path, n_rows: int) -> None:
    """Each attribute copies the one before it, shifted by the class, in three rows of ten."""
    writer: pa.parquet.ParquetWriter | None = None
    rng = np.random.default_rng(0)
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        y = rng.integers(0, 2, size, dtype=np.int8)
        columns, before = {}, y
        for j in range(N_ATTRIBUTES):
            own = rng.integers(0, N_VALUES, size, dtype=np.int8)
            copied = (before * (1 + j % 3) + y) % N_VALUES
            before = np.where(rng.random(size, dtype=np.float32) < 0.3, copied, own).astype(np.int8)
            columns[f"a{j}"] = before
        table = pa.table({**columns, "outcome": y})
        writer = writer or pa.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def read_only(path: Path) -> int:
    with pa.parquet.ParquetFile(path, pre_buffer=False) as file:  # with it row groups stay in memory
        return sum(batch.num_rows for batch in file.iter_batches(1 << 17))


def measure(work: Callable[[], object]) -> dict[str, float]:
    """Seconds by the wall and the processor, and the peak of memory that is not a file's in MB."""
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.01):
            lines = Path("/proc/self/status").read_text().splitlines()
            own = next((line for line in lines if line.startswith("RssAnon:")), "RssAnon: 0")
            peak = max(peak, int(own.split()[1]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, processor = time.perf_counter(), time.process_time()
    work()
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    done.set()
    watcher.join()
    return {"seconds": seconds, "processor": processor, "peak": peak / 1e3}


def child(what: str, path: Path, structure: str, parameters: str) -> None:
    """One measurement, in this process."""
    if what == "read":
        print(json.dumps(measure(lambda: read_only(path))))
        return
    clf = BayesianNetworkClassifier(structure, parameters=parameters, categorical_features="all")
    first = next(pa.parquet.ParquetFile(path).iter_batches(WARM_UP_ROWS))
    clf.fit(iter([first]), "outcome")
    print(json.dumps(measure(lambda: clf.fit(pa.dataset.dataset(path), "outcome"))))


class MemoryLimit:
    """A control group of its own, or RLIMIT_DATA."""

    def __init__(self) -> None:
        self.group: Path | None = None
        for root, name in GROUPS:
            group = Path(root, f"tanager-{os.getpid()}")
            try:
                group.mkdir()
                (group / name).write_text(str(LIMIT))
            except OSError:
                if group.is_dir():
                    group.rmdir()
                continue
            self.group = group
            break

    def enter(self) -> None:
        """Called in the child, before it runs."""
        if self.group is None:
            resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
        else:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def close(self) -> None:
        if self.group is not None:
            self.group.rmdir()


def run_child(limit: MemoryLimit, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale_stream", "--child", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, preexec_fn=limit.enter)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000, 20_000_000])
    parser.add_argument("--structure", default="tan")
    parser.add_argument("--parameters", default="frequency")
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "FILE"), help="used by the benchmark itself")
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]), options.structure, options.parameters)
        return
    limit = MemoryLimit()
    how = "RLIMIT_DATA" if limit.group is None else "a control group"
    print(f"{LIMIT / 1e9:g} GB enforced by {how}; {options.structure}, parameters {options.parameters}\n")
    print("| rows x 50 | only reading | fit | ratio | fit, s per million rows | peak of the fit, MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    model = ["--structure", options.structure, "--parameters", options.parameters]
    try:
        for n_rows in options.rows:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "rows.parquet")
                write_file(path, n_rows)
                runs = [[run_child(limit, what, str(path), *model) for what in ("read", "fit")] for _ in range(N_RUNS)]
            read, fit = (min(of_one, key=lambda run: run["seconds"]) for of_one in zip(*runs, strict=True))
            seconds, ratio = fit["seconds"], fit["seconds"] / read["seconds"]
            print(
                f"| {n_rows:,} | {read['seconds']:.2f} s | {seconds:.2f} s | {ratio:.2f}x | "
                f"{seconds / n_rows * 1e6:.3f} | {fit['peak']:.0f} |",
                flush=True,
            )
    finally:
        limit.close()


if __name__ == "__main__":
    main()
