"""A cluster inside this process, and tables cut into partitions.

Fixtures and no module of helpers: in this folder it would be looked for in the package dask.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def client():
    """Two workers of one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def make_table():
    """Numbers, text and integers that tell three classes apart, the class in the column `outcome`."""

    def make(seed: int = 0, n_rows: int = 600, gaps: float = 0.0) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, n_rows)
        noise = rng.integers(0, 3, (n_rows, 3)) * (rng.random((n_rows, 3)) < 0.5)
        table = pd.DataFrame(
            {
                "size": rng.normal(size=n_rows) + y,
                "colour": np.array(["red", "green", "blue", "grey"])[(y + noise[:, 0]) % 4],
                "shape": np.array(["round", "flat", "long"])[(y * noise[:, 1]) % 3],
                "legs": (y + noise[:, 2]) % 4,
                "weight": rng.normal(size=n_rows) - y * noise[:, 0],
            }
        )
        for name in ("size", "colour"):
            table.loc[rng.random(n_rows) < gaps, name] = None
        return table.assign(outcome=np.array(["low", "mid", "top"])[y])

    return make


@pytest.fixture(scope="session")
def table(make_table):
    return make_table()


@pytest.fixture(scope="session")
def of_frames():
    """A Dask data frame of given partitions, whatever their columns and types."""
    import dask.dataframe as dd

    def join(frames: list[pd.DataFrame]):
        return dd.from_map(lambda frame: frame, frames, meta=frames[0].iloc[:0], enforce_metadata=False)

    return join


@pytest.fixture(scope="session")
def cut(of_frames):
    """A Dask data frame in partitions that end before given rows; some are empty if these repeat."""

    def cut_before(frame: pd.DataFrame, *edges: int):
        ends = [0, *sorted(edges), len(frame)]
        return of_frames([frame.iloc[first:last] for first, last in pairwise(ends)])

    return cut_before
