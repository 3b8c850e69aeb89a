"""The additive model against boosting at its defaults: LightGBM on the benchmark tables, CatBoost and EBM on some.

Whole tables of up to 6,000 rows, two threads each, on an idle machine. Runs where $TANAGER_DATA (or ../shared/data)
holds the benchmark tables. The additive model and LightGBM are timed warm. CatBoost and EBM are fitted once, each in a
process of its own, and stopped after 1.25 times our seconds and two more. Unknown cells are removed from the rows to
predict; the time includes the first call. Wide tables have normal numbers, two of which are informative. Wide tables,
tables of many categories (30,000 x 10, up to 8,000 categories) and of many classes (1,500 x 60, 100 classes), and first
fits without compiled kernels are each fitted in a process of their own.
`python -m benchmarks.default german vehicle` takes these tables alone.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.flagship import DATA, LIGHTGBM
from benchmarks.timing import best_time, print_head, print_row
from experiments.studies.data_sets import DataSet, find_data_sets
from experiments.studies.entries import THREADS, parse_estimator
from tanager import AdditiveClassifier

SHOWN = ("german", "vehicle", "tic-tac-toe", "chess", "segment", "splice", "waveform-21")
"""Tables with lines of their own; the others are in the geometric means."""
CATBOOST = "catboost.CatBoostClassifier(thread_count=1, allow_writing_files=False, verbose=False)"
EBM = "interpret.glassbox.ExplainableBoostingClassifier"
PEERS = {"LightGBM": (LIGHTGBM, "native"), "CatBoost": (CATBOOST, "text"), "EBM": (EBM, "native")}
MODULES = {"LightGBM": "lightgbm", "CatBoost": "catboost", "EBM": "interpret"}
N_THREADS = 2
# For CatBoost and EBM: so many times what ours takes, and so many seconds more.
PATIENCE, MORE_SECONDS = 1.25, 2.0
ROWS_TO_PREDICT = 10_000
LONG_FIT = 2.0  # seconds from which one warm fit is enough
WIDE = {(500, 2_000): "under 5 s", (200, 20_000): "under 30 s and 4 GB"}
MANY = {"categories": "under 60 s and 2 GB", "classes": "under 30 s"}
UNKNOWN = (0.1, 0.5)
FIRST = ("iris", "german")
ASKED_OF_ONE = 1 / 10
MAX_ROWS = 6_000


@dataclass(frozen=True)
class Times:
    """Seconds of a fit, and of a prediction of 10,000 rows."""

    fit: float
    predict: float


def main(names: Sequence[str]) -> None:
    if not DATA.is_dir():
        print(f"\nNo benchmark tables in {DATA.name}: nothing measured.\n")
        return
    print_head()
    field = [data_set.name for data_set in find_data_sets(DATA) if data_set.n_rows <= MAX_ROWS]
    found = {name: compare(name, name in (names or SHOWN)) for name in names or field}
    if find_spec("lightgbm") is not None:
        summarise(found)
    if not names:
        measure_alone()


def measure_alone() -> None:
    """Wide tables, and first fits."""
    for shape, asked in WIDE.items():
        for model in ("default", "LightGBM"):
            if model == "default" or find_spec("lightgbm") is not None:
                seconds, memory = run_alone("wide", model, *map(str, shape)).split()
                workload = f"{model} fit, {shape[0]:,} x {shape[1]:,} normal numbers, first of its process"
                print_row(f"{workload}, {memory} GB", float(seconds), "", None, asked if model == "default" else "")
    for what, asked in MANY.items():
        seconds, memory = run_alone(what, "default").split()
        print_row(f"default fit, many {what}, first of its process, {memory} GB", float(seconds), "", None, asked)
    for name in FIRST:
        with tempfile.TemporaryDirectory() as folder:
            seconds = run_alone("table", "default", name, cache=folder)
        print_row(f"default fit, {name}, nothing compiled before", float(seconds), "", None)


def compare(name: str, shown: bool) -> tuple[Times, Times]:
    """Our times and LightGBM's; print the lines of a table that is shown."""
    X, y = read(name)
    workload = f"{name}, {len(y):,} x {X.shape[1]}, {len(set(y))} classes"
    ours = measure("default", X, y)
    theirs = measure("LightGBM", X, y) if find_spec("lightgbm") is not None else Times(np.nan, np.nan)
    if not shown:
        return ours, theirs
    print_row(f"default fit, {workload}", ours.fit, "LightGBM", theirs.fit, f"{ASKED_OF_ONE:.3f}x, or 0.5 s")
    print_row(f"default, 10,000 rows of {name}", ours.predict, "LightGBM", theirs.predict, "at least 0.67x")
    predict_with_unknown_cells(name, X, y)
    limit = PATIENCE * ours.fit + MORE_SECONDS
    for model in ("CatBoost", "EBM"):
        if find_spec(MODULES[model]) is None:
            continue
        seconds = run_alone("table", model, name, limit=limit)
        peer = model if seconds else f"{model}, given up after"
        print_row(f"default fit, {workload}", ours.fit, peer, float(seconds or limit), "at least 1x")
    return ours, theirs


def predict_with_unknown_cells(name: str, X: pd.DataFrame, y: NDArray[np.str_]) -> None:
    """One row, and 10,000 rows some of whose cells are unknown, by a model of complete rows."""
    clf = AdditiveClassifier(n_jobs=N_THREADS).fit(X, y)
    first = X.iloc[:1]
    clf.predict_proba(first)
    print_row(f"default, one row of {name}", best_time(lambda: clf.predict_proba(first), 20)[0], "", None, "2 ms")
    rows = X.iloc[np.arange(ROWS_TO_PREDICT) % len(X)].reset_index(drop=True)
    peer = make("LightGBM").estimator.fit(X, y) if find_spec("lightgbm") is not None else None
    for share in UNKNOWN:
        cut = rows.mask(np.random.default_rng(0).random(rows.shape) < share)
        ours = best_time(lambda cut=cut: clf.predict_proba(cut), 1)[0]
        theirs = best_time(lambda cut=cut: peer.predict_proba(cut), 1)[0] if peer is not None else None
        workload = f"default, 10,000 rows of {name}, {share:.0%} of the cells unknown"
        print_row(workload, ours, "LightGBM" if peer is not None else "", theirs, "at least 0.67x")
    one = cut.iloc[:1]
    print_row(
        f"default, one row of {name}, half unknown", best_time(lambda: clf.predict_proba(one), 20)[0], "", None, "3 ms"
    )


def summarise(found: Mapping[str, tuple[Times, Times]]) -> None:
    """The geometric means over all tables, and those where ours is slowest against LightGBM."""
    names = np.array(list(found))
    for what, title, asked in (
        ("fit", "default fit", "at least 0.33x"),
        ("predict", "default, 10,000 rows", "at least 0.67x"),
    ):
        seconds = np.array([[getattr(times, what) for times in pair] for pair in found.values()])
        ours, theirs = np.exp(np.log(seconds).mean(axis=0))
        print_row(f"{title}, geometric mean of {len(names)} tables", ours, "LightGBM", theirs, asked)
        slowest = int(np.argmin(seconds[:, 1] / seconds[:, 0]))
        own, other = seconds[slowest]
        print_row(f"{title}, slowest against LightGBM: {names[slowest]}", own, "LightGBM", other)
        if what == "fit":
            beyond = (seconds[:, 0] > 0.5) & (seconds[:, 0] * ASKED_OF_ONE > seconds[:, 1])
            print(f"| tables above 0.5 s and 10 times LightGBM | {beyond.sum()} of {len(names)} | | | none |")


def measure(model: str, X: pd.DataFrame, y: NDArray[np.str_]) -> Times:
    """Warm times in this process, of a plain data frame with categories."""
    clf = make(model)
    if model == "LightGBM":
        clf = clf.estimator  # it takes data frames itself
    clf.fit(X, y)
    fit, _ = best_time(lambda: clf.fit(X, y), 1)
    if fit < LONG_FIT:
        fit = min(fit, best_time(lambda: clf.fit(X, y), 2)[0])
    rows = X.iloc[np.arange(ROWS_TO_PREDICT) % len(X)]
    clf.predict_proba(rows)
    return Times(fit, best_time(lambda: clf.predict_proba(rows))[0])


def make(model: str) -> object:
    if model == "default":
        return AdditiveClassifier(n_jobs=N_THREADS)
    spec, preparation = PEERS[model]
    found = parse_estimator(spec).set_params(preparation=preparation)
    threads = [name for name in found.get_params() if name.rsplit("__", 1)[-1] in THREADS]
    return found.set_params(**dict.fromkeys(threads, N_THREADS))


def read(name: str) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """A table with its text as categories; LightGBM refuses some names of columns."""
    table, y = find_set(name).read()
    X = table.to_pandas().set_axis([f"x{number}" for number in range(table.num_columns)], axis=1)
    texts = X.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes]]
    return X.astype(dict.fromkeys(texts, "category")), y


def find_set(name: str) -> DataSet:
    return next(data_set for data_set in find_data_sets(DATA) if data_set.name == name)


def run_alone(*arguments: str, limit: float | None = None, cache: str | None = None) -> str:
    """What `alone` prints, in a process of its own; nothing if its fit takes more than `limit` seconds.

    `cache` is a folder for compiled kernels.
    """
    command = [sys.executable, "-m", "benchmarks.default", "--alone", str(limit or 0.0), *arguments]
    environment = os.environ if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment, start_new_session=True) as process:
        process.wait()  # what it prints fits into a pipe
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # workers that outlive it would keep the pipes, and the cores
        printed, failure = process.communicate()
    if process.returncode == -signal.SIGALRM:
        return ""
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{failure}")
    return printed.strip()


def alone(limit: str, what: str, model: str, *arguments: str) -> None:
    """Print the seconds of a first fit in this process; of a generated table also the GB of memory at most."""
    generator = np.random.default_rng(0)
    if what in MANY:
        X, y = many_categories(generator) if what == "categories" else many_classes(generator)
        clf = make(model)
    elif what == "wide":
        X = generator.normal(size=(int(arguments[0]), int(arguments[1])))
        y = (X[:, 0] + X[:, 1] + generator.logistic(size=len(X)) > 0).astype(int)
        clf = make(model).estimator if model != "default" else make(model)
    else:
        (X, y), clf = find_set(arguments[0]).read(), make(model)
    start = time.perf_counter()
    if float(limit):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, float(limit))
    clf.fit(X, y)
    print(f"{time.perf_counter() - start:.3f}", end="")
    if what != "table":
        print(f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}", end="")


def many_categories(generator: np.random.Generator) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Columns of Zipf frequencies; the class depends on the first two, and on their pair."""
    sizes = (8_000, 1_000, 5_000, 3_000, 2_000, 500, 200, 100, 50, 20)
    shares = (1 / np.arange(1, size + 1) for size in sizes)
    codes = np.stack([generator.choice(len(own), 30_000, p=own / own.sum()) for own in shares], axis=1)
    first, second, pair = (generator.normal(size=size) for size in (sizes[0], sizes[1], 100_003))
    a, b = codes[:, 0], codes[:, 1]
    odds = first[a] + second[b] + pair[(a * sizes[1] + b) % len(pair)]
    return pd.DataFrame(codes).add_prefix("c").astype(str), odds > generator.logistic(size=len(codes))


def many_classes(generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    centres, y = 2 * generator.normal(size=(100, 60)), generator.integers(0, 100, 1_500)
    return centres[y] + generator.normal(size=(1_500, 60)), y


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(*sys.argv[2:])
    else:
        main(sys.argv[1:])
