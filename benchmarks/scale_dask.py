"""Dask on this machine: two workers against one, and the work of both against a fit in memory; the best of three fits.

python -m benchmarks.scale_dask [rows] [attributes]; the default, 2,000,000 x 50, takes some minutes and 3 GB.
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
OPTIONS: dict[str, object] = {"categorical_features": "all", "missing": "marginalize"}
LEARNERS = {"frequency": "frequency", "conditional": tanager.parameters.Conditional(strength=[1.0, 1.0])}


def write_files(folder: Path, n_rows: int, n_attributes: int) -> None:
    """A table of 5 values and 2 classes, a byte a cell."""
    rows = n_rows // N_FILES
    X, y = random_tan(rows, n_attributes, 5)
    generator = np.random.default_rng(1)
    for number in range(N_FILES):  # the same rows with a little noise: drawing them takes longer than the fit
        cells = np.where(generator.random(X.shape, dtype=np.float32) < 0.05, (X + 1) % 5, X).astype(np.int8)
        frame = pd.DataFrame(cells, columns=[f"a{j}" for j in range(n_attributes)]).assign(outcome=y.astype(np.int8))
        frame.to_parquet(folder / f"part{number}.parquet")


def measure(work: Callable[[], object], processes: list[psutil.Process]) -> tuple[float, float]:
    """Least seconds of three runs, and least processor seconds of these processes; a run before them may compile."""
    work()
    seconds, used = [], []
    for _ in range(3):
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
        table = dd.concat(parts)
        model = tanager.dask.TANClassifier(client, parameters=parameters, **OPTIONS)
        here = psutil.Process()
        return measure(lambda: model.fit(table, "outcome"), [here, *here.children(recursive=True)])


def main(n_rows: int = 2_000_000, n_attributes: int = 50) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, n_rows, n_attributes)
        table = pd.read_parquet(folder)
        X, y = table.drop(columns="outcome"), table["outcome"]
        print("| TAN-fCLL | in memory | one worker | two workers | speed-up (1.6x) | work against memory (1.5x) |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for label, parameters in LEARNERS.items():
            model = tanager.TANClassifier(parameters=parameters, n_jobs=1, **OPTIONS)
            memory, memory_work = measure(lambda model=model: model.fit(X, y), [psutil.Process()])
            one, _ = measure_cluster(folder, 1, parameters)
            two, two_work = measure_cluster(folder, 2, parameters)
            print(
                f"| {label}, {n_rows:,} x {n_attributes} | {memory:.2f} s | {one:.2f} s | {two:.2f} s | "
                f"{one / two:.2f}x | {two_work:.2f} s / {memory_work:.2f} s = {two_work / memory_work:.2f}x |",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
