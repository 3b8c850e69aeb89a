"""MDLP on covtype's ten numeric columns: time against the packages on PyPI that install, and whether the cuts agree.

Peers are timed if they are installed: Orange3, whose EntropyMDL is the fastest of them, and fimdlp, which would need
minutes for all rows and gets fewer. Its cuts differ if values are tied (on iris too).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tanager.table import MDLPDiscretizer

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Fit = Callable[[], list[Floats]]


def main() -> None:
    X, y = read_covtype()
    print("| workload | ours | peer | ratio |\n| --- | ---: | ---: | ---: |")
    for name, module, n_rows, prepare in PEERS:
        if find_spec(module) is None:
            print(f"| MDLP, covtype, {n_rows or len(y):,} x 10, one fit | | {name}: not installed | |")
            continue
        rows = slice(None) if n_rows is None else np.random.default_rng(0).permutation(len(y))[:n_rows]
        X_part, y_part = X[rows], y[rows]
        ours, cuts = best_time(lambda X=X_part, y=y_part: MDLPDiscretizer().fit(X, y).cuts_)
        peer, peer_cuts = best_time(prepare(X_part, y_part))
        agree = "same cuts" if all(map(np.array_equal, cuts, peer_cuts)) else "other cuts"
        workload = f"MDLP, covtype, {len(y_part):,} x 10, one fit"
        print(f"| {workload} | {ours:.3f} s | {name}: {peer:.3f} s, {agree} | {peer / ours:.1f}x |")


def read_covtype() -> tuple[Floats, Labels]:
    path = Path(os.environ.get("TANAGER_DATA", "../shared/data")) / "covtype.csv.gz"
    table = pd.read_csv(path, usecols=[*range(10), 54])
    return table.iloc[:, :10].to_numpy(np.float64), table["class"].to_numpy(np.int64) - 1


def best_time(fit: Fit) -> tuple[float, list[Floats]]:
    """Seconds of the quickest of at least three runs that take at least a second in all, and the cuts."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < 1:
        start = time.perf_counter()
        cuts = fit()
        times.append(time.perf_counter() - start)
    return min(times), cuts


def prepare_orange(X: Floats, y: Labels) -> Fit:
    from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    from Orange.preprocess.discretize import EntropyMDL

    attributes = [ContinuousVariable(f"x{index}") for index in range(X.shape[1])]
    target = DiscreteVariable("y", values=[str(label) for label in np.unique(y)])
    table = Table.from_numpy(Domain(attributes, target), X, y.astype(np.float64))

    def fit() -> list[Floats]:
        return [np.array(EntropyMDL()(table, attribute).compute_value.points) for attribute in attributes]

    return fit


def prepare_fimdlp(X: Floats, y: Labels) -> Fit:
    from fimdlp.mdlp import FImdlp

    def fit() -> list[Floats]:
        return [np.array(edges[1:-1]) for edges in FImdlp().fit(X, y).get_cut_points()]

    return fit


PEERS = [
    ("Orange3", "Orange", None, prepare_orange),
    ("fimdlp", "fimdlp", 20_000, prepare_fimdlp),
]

if __name__ == "__main__":
    main()
