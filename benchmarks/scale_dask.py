"""Dask on this machine: two workers against one, and the work of both against a fit in memory; the best of five fits.

python -m benchmarks.scale_dask [rows ...]; the default, 2,000,000 and 20,000,000 rows of 50 attributes, takes some ten
minutes and 7 GB. Frames are persisted on the workers, in eight partitions; the fit in memory has one thread.
Nothing else should run: two workers of one thread each need two cores to themselves, and the client is idle meanwhile.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from distributed import Client, LocalCluster, wait

import tanager
import tanager.dask
from benchmarks.workloads import random_tan

N_FILES = 8
N_ATTRIBUTES = 50
SIZES = (2_000_000, 20_000_000)
OPTIONS: dict[str, object] = {"categorical_features": "all", "missing": "marginalize"}
LEARNERS = {"frequency": "frequency", "conditional": tanager.parameters.Conditional(strength=[1.0, 1.0])}


def write_files(folder: Path, n_rows: int) -> None:
    """A table of 5 values and 2 classes, a byte a cell."""
    rows = n_rows // N_FILES
    X, y = random_tan(rows, N_ATTRIBUTES, 5)
    generator = np.random.default_rng(1)
    for number in range(N_FILES):  # the same rows with a little noise: drawing them takes longer than the fit
        cells = np.where(generator.random(X.shape, dtype=np.float32) < 0.05, (X + 1) % 5, X).astype(np.int8)
        frame = pd.DataFrame(cells, columns=[f"a{j}" for j in range(N_ATTRIBUTES)]).assign(outcome=y.astype(np.int8))
        frame.to_parquet(folder / f"part{number}.parquet")


def measure(work: Callable[[], object], processes: list[psutil.Process]) -> tuple[float, float]:
    """Least seconds of five runs, and least processor seconds of these processes; a run before them may compile."""
    work()
    seconds, used = [], []
    for _ in range(5):
        before, start = _used(processes), time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
        used.append(_used(processes) - before)
    return min(seconds), min(used)


def _used(processes: list[psutil.Process]) -> float:
    return sum(process.cpu_times().user + process.cpu_times().system for process in processes)


def measure_cluster(folder: Path, n_workers: int, parameters: object) -> tuple[float, float]:
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        # Each worker has as many files: by itself Dask may give one five of the eight, and at most 1.6x is left.
        workers, table = list(client.nthreads()), dd.read_parquet(folder)
        parts = [client.persist(table.partitions[k], workers=workers[k % n_workers]) for k in range(N_FILES)]
        wait(parts)
        table = client.persist(dd.concat(parts))
        wait(table)
        model = tanager.dask.TANClassifier(client, parameters=parameters, **OPTIONS)
        here = psutil.Process()
        return measure(lambda: model.fit(table, "outcome"), [here, *here.children(recursive=True)])


def compare(n_rows: int) -> None:
    """A line for each way to learn the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, n_rows)
        table = pd.read_parquet(folder)
        X, y = table.drop(columns="outcome"), table["outcome"]
        for label, parameters in LEARNERS.items():
            model = tanager.TANClassifier(parameters=parameters, n_jobs=1, **OPTIONS)
            memory, memory_work = measure(lambda model=model: model.fit(X, y), [psutil.Process()])
            one, _ = measure_cluster(folder, 1, parameters)
            two, two_work = measure_cluster(folder, 2, parameters)
            print(
                f"| {label}, {n_rows:,} x {N_ATTRIBUTES} | {memory:.2f} s | {one:.2f} s | {two:.2f} s | "
                f"{one / two:.2f}x | {two_work:.2f} s / {memory_work:.2f} s = {two_work / memory_work:.2f}x |",
                flush=True,
            )


def main(*sizes: int) -> None:
    print("| TAN-fCLL | in memory | one worker | two workers | speed-up (1.6x) | work against memory (1.5x) |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for n_rows in sizes or SIZES:
        compare(n_rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
