"""One table in every type and layout: TAN-fCLL fitted and predicting, against the same table in row-major int64.

The speed of reading memory is measured first, for comparison. 1,000,000 x 100 numbers of four values, and
1,000,000 x 30 words, which should take at most 0.4 s. "Own objects": no two cells are the same Python object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.timing import best_time, format_time
from benchmarks.workloads import random_tan
from tanager import TANClassifier
from tanager.runtime.resources import count_threads, map_threads

N_ROWS = 1_000_000
WORDS = np.array(["red", "green", "blue", "yellow"])
LONG_WORDS = np.array(["Married-civ-spouse", "Never-married", "Divorced", "Married-spouse-absent"])
ASKED_OF_TEXT = 0.4

Codes = NDArray[np.int64]
Forms = Iterator[tuple[str, object]]


def main() -> None:
    print(f"Memory is read at {memory_speed():.0f} GB/s by {count_threads()} threads.\n")
    print("| cells | type and layout | fit | to int64 | predict | to int64 | asked |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    compare(100, numbers, lambda fit: 2 * fit, "at most 2")
    compare(30, text, lambda fit: ASKED_OF_TEXT, f"fit at most {ASKED_OF_TEXT} s")


def memory_speed() -> float:
    """GB/s of all threads that sum up numbers."""
    parts = np.array_split(np.ones(1 << 27), count_threads())
    seconds, _ = best_time(lambda: map_threads(np.sum, parts))
    return 8 * (1 << 27) / seconds / 1e9


def compare(n_columns: int, forms: Callable[[Codes], Forms], most: Callable[[float], float], asked: str) -> None:
    X, y = random_tan(N_ROWS, n_columns, 4)
    base_fit, base_predict = times(X, y)
    cells = f"{N_ROWS:,} x {n_columns}"
    print(f"| {cells} | int64 | {format_time(base_fit)} | 1 | {format_time(base_predict)} | 1 | |", flush=True)
    for name, table in forms(X):
        fit, predict = times(table, y)
        verdict = asked if fit <= most(base_fit) else f"{asked}: missed"
        ratios = f"{fit / base_fit:.2f} | {format_time(predict)} | {predict / base_predict:.2f}"
        print(f"| {cells} | {name} | {format_time(fit)} | {ratios} | {verdict} |", flush=True)


def times(table: object, y: Codes) -> tuple[float, float]:
    clf = TANClassifier(criterion="fcll", parameters="frequency", categorical_features="all").fit(table, y)
    clf.predict_proba(table)
    return best_time(lambda: clf.fit(table, y))[0], best_time(lambda: clf.predict_proba(table))[0]


def numbers(X: Codes) -> Forms:
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "float32", "float64"):
        yield dtype, X.astype(dtype)
    yield "float64, quarters", X / 4
    yield "bool", X > 1
    yield "int64, big-endian", X.astype(">i8")
    yield "float64, big-endian", X.astype(">f8")
    for dtype in ("int64", "uint8", "float64", "bool"):
        yield f"{dtype}, column-major", np.asfortranarray(X.astype(dtype))
    yield "int64, every second column", np.repeat(X, 2, axis=1)[:, ::2]
    yield "uint8, every second row", np.repeat(X.astype(np.uint8), 2, axis=0)[::2]
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    for dtype in ("int64", "Int64", "uint8", "float64", "bool"):
        yield f"pandas {dtype}", frame.astype(dtype)
    for dtype in ("int64", "uint8", "float64"):
        yield f"polars {dtype}", pl.DataFrame({name: X[:, j].astype(dtype) for j, name in enumerate(names)})
    yield "pyarrow int64", pa.table({name: X[:, j].copy() for j, name in enumerate(names)})


def text(X: Codes) -> Forms:
    fixed = WORDS[X]
    yield "NumPy text", fixed
    yield "NumPy text, column-major", np.asfortranarray(fixed)
    yield "NumPy text of 21 characters", LONG_WORDS[X]
    objects = WORDS.astype(object)[X]
    yield "objects", objects
    yield "objects, column-major", np.asfortranarray(objects)
    yield "own objects", fixed.astype(object)
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(objects, columns=names, dtype=object)
    for dtype in ("object", "str", "string[python]", "string[pyarrow]", "category"):
        yield f"pandas {dtype}", frame.astype(dtype)
    long = pa.table({name: LONG_WORDS.astype(object)[X[:, j]] for j, name in enumerate(names)})
    short = pa.table({name: objects[:, j] for j, name in enumerate(names)})
    yield "pyarrow text", short
    yield "pyarrow text of 21 characters", long
    yield "polars text", pl.from_arrow(short)
    yield "polars text of 21 characters", pl.from_arrow(long)
    yield "polars categories", pl.from_arrow(short).with_columns(pl.all().cast(pl.Categorical))


if __name__ == "__main__":
    main()
