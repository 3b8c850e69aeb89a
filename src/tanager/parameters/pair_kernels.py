"""The compiled tables of `pair_networks`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.counts.family import CountTable
from tanager.runtime.kernel import kernel, kernel_part

Int64s = NDArray[np.int64]


@kernel
def fill_pair_networks(
    first: int,
    step: int,
    n_states: Int64s,
    superparents: Int64s,
    starts: Int64s,
    shared: tuple[Array, Array, Array],
    pairs: tuple[CountTable, Int64s],
    triples: tuple[CountTable, Int64s],
    tables: Array,
) -> None:
    """Fill the tables of every step-th network from `first` on, as `SuperparentNetworks` has them.

    shared   P(class); P(x | class) of every attribute, (classes, states) each, flat; its pseudo-rows, (states,) each
    pairs    counts and offsets of `PairTables`
    triples  counts and starts of `TripleTables`
    """
    class_table, alone, pseudo = shared
    n, n_classes = len(n_states) - 1, n_states[-1]
    before = np.zeros(n + 1, np.int64)  # states of all attributes before one
    for i in range(n):
        before[i + 1] = before[i] + n_states[i]
    for m in range(first, len(superparents), step):
        a, b = superparents[m]
        r_a, r_b = n_states[a], n_states[b]
        tables[starts[m, n] : starts[m, n] + n_classes] = class_table
        own = alone[n_classes * before[a] : n_classes * before[a + 1]]
        tables[starts[m, a] : starts[m, a] + len(own)] = own
        # A pair is (classes, r_a, r_b), a triple (r_i, r_j, r_k, classes).
        pair = pairs[0][pairs[1][a * n - a * (a + 1) // 2 + b - a - 1] :]
        for x in range(r_a):
            for c in range(n_classes):
                place = starts[m, b] + (x * n_classes + c) * r_b
                smooth(pair, (c * r_a + x) * r_b, 1, pseudo, before[b], r_b, tables, place)
        for child in range(n):
            if child in (a, b):
                continue
            i, j, k = min(child, a), max(a, min(child, b)), max(child, b)
            step_j, step_k = n_states[k] * n_classes, n_classes
            step_i = n_states[j] * step_j
            step_child = step_i if child == i else (step_j if child == j else step_k)
            step_a, step_b = step_i if a == i else step_j, step_k if b == k else step_j
            start = triples[1][i, j] + n_states[i] * n_states[j] * n_classes * (before[k] - before[j + 1])
            for x in range(r_a):
                for y in range(r_b):
                    for c in range(n_classes):
                        place = starts[m, child] + ((x * r_b + y) * n_classes + c) * n_states[child]
                        cell = start + x * step_a + y * step_b + c
                        smooth(triples[0], cell, step_child, pseudo, before[child], n_states[child], tables, place)


@kernel_part
def smooth(
    counts: CountTable, cell: int, stride: int, pseudo: Array, more: int, n_states: int, tables: Array, place: int
) -> None:
    """The shares of counts that are a stride apart, from `cell` on, with pseudo-rows from `more` on."""
    total = 0.0
    for x in range(n_states):
        tables[place + x] = counts[cell + x * stride] + pseudo[more + x]
        total += tables[place + x]
    for x in range(n_states):
        tables[place + x] /= total
