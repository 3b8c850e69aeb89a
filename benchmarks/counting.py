"""Counting: the compiled engine against the NumPy engine (all pairs) and scikit-learn's CategoricalNB (class counts).

The NumPy engine counts a sample of the pairs, scaled to all of them; compiling is left out, and timed on its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from tanager.counts.engine import NumpyEngine
from tanager.counts.family import pair_offsets
from tanager.counts.numba_engine import NumbaEngine
from tanager.table.rows import EncodedBatch

Result = TypeVar("Result")
SAMPLE = 20

# Rows, attributes, states, classes, weighted.
PAIRS = [
    (1_000_000, 100, 4, 2, False),
    (200_000, 50, 5, 2, False),
    (2_000, 1_000, 3, 2, False),
    (200_000, 50, 40, 2, False),
    (200_000, 50, 5, 2, True),
]


def main() -> None:
    start = time.perf_counter()
    for weighted in (False, True):
        NumbaEngine().count_pairs(random_batch(1_000, 4, 4, 2, weighted))
        NumbaEngine().count(random_batch(1_000, 4, 4, 2, weighted), [(0, 4)])
    NumbaEngine().count_pairs(random_batch(1_000, 4, 40, 2, weighted=False))
    print(f"Compiled or loaded from the cache in {time.perf_counter() - start:.2f} s.\n")
    print("| workload | ours | reference | ratio |\n| --- | ---: | ---: | ---: |")
    for workload in PAIRS:
        compare_pairs(*workload)
    compare_class_counts(1_000_000, 30, 4, 2)


def compare_pairs(n_rows: int, n_attributes: int, n_states: int, n_classes: int, weighted: bool) -> None:
    batch = random_batch(n_rows, n_attributes, n_states, n_classes, weighted)
    pairs = np.column_stack(np.triu_indices(n_attributes, k=1))
    chosen = np.random.default_rng(0).choice(len(pairs), SAMPLE, replace=False)
    node_sets = [(n_attributes, *map(int, pairs[p])) for p in chosen]
    ours, tables = best_time(lambda: NumbaEngine().count_pairs(batch))
    reference, expected = best_time(lambda: NumpyEngine().count(batch, node_sets), n_times=2)
    offsets = pair_offsets(batch.n_states)
    for p, table in zip(chosen, expected, strict=True):
        np.testing.assert_allclose(tables.counts[offsets[p] : offsets[p + 1]], table, rtol=1e-12)
    name = f"all pairs, {n_rows:,} x {n_attributes:,}, {n_states} states{', weighted' if weighted else ''}"
    print_row(name, ours, "NumPy engine", reference * len(pairs) / SAMPLE)


def compare_class_counts(n_rows: int, n_attributes: int, n_states: int, n_classes: int) -> None:
    batch = random_batch(n_rows, n_attributes, n_states, n_classes, weighted=False)
    node_sets = [(n_attributes, i) for i in range(n_attributes)]
    ours, tables = best_time(lambda: NumbaEngine().count(batch, node_sets))
    peer, fitted = best_time(lambda: CategoricalNB().fit(batch.codes, batch.class_codes), n_times=1)
    for table, expected in zip(tables, fitted.category_count_, strict=True):
        np.testing.assert_array_equal(table.reshape(expected.shape), expected)
    name = f"class counts, {n_rows:,} x {n_attributes}, {n_states} states"
    print_row(name, ours, "CategoricalNB.fit", peer)


def random_batch(n_rows: int, n_attributes: int, n_states: int, n_classes: int, weighted: bool) -> EncodedBatch:
    generator = np.random.default_rng(0)
    return EncodedBatch(
        codes=generator.integers(0, n_states, (n_attributes, n_rows), dtype=np.uint8).T,
        class_codes=generator.integers(0, n_classes, n_rows, dtype=np.uint8),
        n_states=(*[n_states] * n_attributes, n_classes),
        incomplete=np.zeros(n_attributes, dtype=bool),
        weights=generator.random(n_rows) if weighted else None,
    )


def best_time(work: Callable[[], Result], n_times: int = 7) -> tuple[float, Result]:
    times = []
    for _ in range(n_times):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def print_row(workload: str, ours: float, name: str, reference: float) -> None:
    print(f"| {workload} | {ours * 1e3:.1f} ms | {name}: {reference:.2f} s | {reference / ours:.0f}x |", flush=True)


if __name__ == "__main__":
    main()
