"""Scores of all pairs of attributes: 2,000 rows x 1,000 attributes of 3 states, 2 classes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tanager.counts.family import PairTables, pair_offsets
from tanager.scores import SCORES, pair_information

N_ROWS, N_ATTRIBUTES, N_STATES, N_CLASSES = 2_000, 1_000, 3, 2


def main() -> None:
    pairs = random_pairs()
    print(f"{len(pairs.offsets) - 1:,} pairs, {pairs.counts.size:,} cells, {N_ROWS:,} rows; milliseconds, best of 5")
    tasks: dict[str, Callable[[], object]] = {"information": lambda: pair_information(pairs)}
    for name in ("ll", "bic", "fcll", "mit", "k2", "bdeu", "acll"):
        tasks[name] = partial(SCORES[name]().pair_scores, pairs)
    for name, task in tasks.items():
        print(f"{name:12}{best_of(5, task):10.1f}")


def random_pairs() -> PairTables:
    """Multinomial tables; their margins do not agree, which no score minds."""
    random = np.random.default_rng(0)
    n_states = (N_STATES,) * N_ATTRIBUTES + (N_CLASSES,)
    offsets = pair_offsets(n_states)
    cells = random.dirichlet(np.ones(N_STATES**2 * N_CLASSES))
    return PairTables(n_states, random.multinomial(N_ROWS, cells, size=len(offsets) - 1).reshape(-1), offsets)


def best_of(repeats: int, task: Callable[[], object]) -> float:
    """Milliseconds of the fastest run."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


if __name__ == "__main__":
    main()
