"""Compiled histograms: of any set of nodes, and of pairs of attributes with too many states for bit slices.

columns     (n_attributes, n_rows) codes, contiguous, so that a column is one run of memory
classes     (n_rows,) class codes
units       (n_rows,) what a row adds: its weight, or one
n_states    states of each node, the class last; a cell of a column with that code is missing
incomplete  (n_attributes + 1,) whether the node has a missing cell

Positions are unsigned: numba spends three instructions on each signed one, in case it counts from the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.counts.family import CountTable
from tanager.runtime.kernel import kernel

Units = NDArray[np.int8] | Array

# Rows worked on at a time: their positions and a few columns stay in the cache closest to the core.
BLOCK = 1024


@kernel
def count_nodes(
    columns: Codes,
    classes: Codes,
    units: Units,
    n_states: Ints,
    incomplete: Flags,
    nodes: Ints,
    strides: Ints,
    counts: CountTable,
) -> None:
    """Add every row to its mixed-radix position in `counts`, or to the last cell if one of `nodes` is missing."""
    n_attributes, n_rows = columns.shape
    position = np.empty(BLOCK, np.int64)
    for low in range(0, n_rows, BLOCK):
        high = min(low + BLOCK, n_rows)
        position[:] = 0
        for d in range(len(nodes)):
            if nodes[d] == n_attributes:
                add_digit(classes[low:high], strides[d], position)
            else:
                add_digit(columns[nodes[d], low:high], strides[d], position)
        for d in range(len(nodes)):
            if incomplete[nodes[d]]:
                x = columns[nodes[d], low:high]
                for k in range(len(x)):
                    if x[k] >= n_states[nodes[d]]:
                        position[k] = len(counts) - 1
        add_units(position, units[low:high], counts)


@kernel
def add_digit(x: Codes, stride: int, position: Ints) -> None:
    for k in range(len(x)):
        position[k] += x[k] * stride


@kernel
def add_units(position: Ints, units: Units, counts: CountTable) -> None:
    for k in range(len(units)):
        counts[np.uint64(position[k])] += units[k]


@kernel
def count_partners(
    first: int,
    step: int,
    columns: Codes,
    classes: Codes,
    units: Units,
    n_states: Ints,
    offsets: Ints,
    partners: Ints,
    tasks: Ints,
    counts: CountTable,
) -> None:
    """Add to `counts` (as in `PairTables`) the pairs of every step-th task from `first` on.

    A task is a row (i, start, stop): attribute i with each of partners[start:stop], all larger than i.
    """
    n_attributes, n_rows = columns.shape
    configuration = np.empty(BLOCK, np.int64)
    position = np.empty(BLOCK, np.int64)
    share = np.empty(BLOCK, units.dtype)
    for task in range(first, len(tasks), step):
        i, start, stop = tasks[task]
        r_i = n_states[i]
        before = i * n_attributes - i * (i + 1) // 2 - i - 1
        for low in range(0, n_rows, BLOCK):
            high = min(low + BLOCK, n_rows)
            x_i, y = columns[i, low:high], classes[low:high]
            for k in range(len(y)):
                configuration[k] = y[k] * r_i + x_i[k] if x_i[k] < r_i else -1
            for q in range(start, stop):
                x, r, unit = columns[partners[q], low:high], n_states[partners[q]], units[low:high]
                # Positions first: that loop runs in vectors, and the scattered additions then wait for nothing.
                for k in range(len(y)):
                    present = (x[k] < r) & (configuration[k] >= 0)
                    position[k] = configuration[k] * r + x[k] if present else 0
                    share[k] = unit[k] * present
                add_units(position, share[: len(y)], counts[offsets[before + partners[q]] :])
