"""The additive model on large tables.

Runs where $TANAGER_DATA (or ../shared/data) holds the benchmark tables. Each is fitted in a process of its own.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from experiments.studies.data_sets import find_data_sets
from experiments.studies.entries import parse_estimator
from tanager import AdditiveClassifier

DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parent / "../../shared/data"))
LARGE = {"adult": "under 30 s", "covtype": "under 180 s and 4 GB, .24 and 9 %"}
LIGHTGBM = "lightgbm.LGBMClassifier(verbose=-1)"


def main() -> None:
    if not DATA.is_dir():
        print(f"\nNo benchmark tables in {DATA.name}: nothing measured.\n")
        return
    print("\n| one fold of five | fit | peak memory | log-loss | error | asked |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, asked in LARGE.items():
        for model in ("default", "LightGBM"):
            line = run_alone(name, model)
            print(f"| {name}, {model} | {line} | {asked if model == 'default' else ''} |", flush=True)


def run_alone(name: str, model: str) -> str:
    """What `measure` prints, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.flagship", name, model]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def fold(name: str) -> tuple[pa.Table, NDArray[np.str_], pa.Table, NDArray[np.str_]]:
    """Training and test part of the first fold."""
    X, y = next(data_set for data_set in find_data_sets(DATA) if data_set.name == name).read()
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
    return X.take(train), y[train], X.take(test), y[test]


def peer(spec: str) -> object:
    """Another library's classifier, with categories and missing cells as they are."""
    warnings.simplefilter("ignore")
    return parse_estimator(spec).set_params(preparation="native")


def measure(name: str, model: str) -> None:
    """Print what one fit takes and gives."""
    train, labels, test, truth = fold(name)
    make: dict[str, Callable[[], object]] = {
        "default": lambda: AdditiveClassifier(),
        "LightGBM": lambda: peer(LIGHTGBM),
    }
    if model == "LightGBM" and find_spec("lightgbm") is None:
        print("not installed | | |", end="")
        return
    start = time.perf_counter()
    clf = make[model]().fit(train, labels)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    p = clf.predict_proba(test)
    own = p[np.arange(len(truth)), np.searchsorted(clf.classes_, truth)]
    error = np.mean(clf.classes_[p.argmax(axis=1)] != truth)
    print(f"{seconds:.1f} s | {memory:.2f} GB | {-np.log(own).mean():.4f} | {100 * error:.2f} %")


if __name__ == "__main__":
    measure(*sys.argv[1:]) if len(sys.argv) > 1 else main()
