"""The compiled look-ups of `LogJoint` and of `SuperparentNetworks`.

Arrays of the second, whose numbers are p / STEP ** steps, so that a row and class needs one logarithm and not one for
every network:

columns   (n_attributes, n_rows) codes of a block of rows
complete  (n_attributes,) whether no cell of the column is missing in it
tables    (network, attribute) begins at starts[network, attribute]; the cells of its classes are n_states apart
who       rows in play, of which the k-th is row who[k]
p, steps  (rows in play, n_classes)
row       where the first class begins, divided by n_states, in the tables of the superparents' children
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.kernel import kernel


@kernel
def add_log_tables(
    codes: Codes,
    nodes: Ints,
    strides: Ints,
    offsets: Ints,
    tables: Array,
    out: Array,
) -> None:
    """Family by family down a block of rows: the columns of `codes` and the block of `out` stay in cache."""
    n_rows, n_classes = out.shape
    cells = np.empty(n_rows, np.int64)
    for f in range(nodes.shape[0]):
        cells[:] = offsets[f]
        for m in range(nodes.shape[1]):
            if strides[f, m] > 0:
                column = codes[:, nodes[f, m]]
                for i in range(n_rows):
                    cells[i] += strides[f, m] * np.int64(column[i])
        if n_classes == 2:  # unrolled: most tables have two classes
            for i in range(n_rows):
                out[i, 0] += tables[cells[i], 0]
                out[i, 1] += tables[cells[i], 1]
        else:
            for i in range(n_rows):
                for c in range(n_classes):
                    out[i, c] += tables[cells[i], c]


# A product below the first is multiplied by the second, which is counted: no product of probabilities underflows.
SMALL, STEP = 2.0**-300, 2.0**300
LOG_STEP = 300.0 * np.log(2.0)


@kernel
def mix_superparents(
    columns: NDArray[np.int32],
    complete: Flags,
    n_states: Ints,
    superparents: Ints,
    starts: Ints,
    tables: Array,
    weights: Array,
    left_out: Flags,
    n_unchecked: int,
    out: Array,
) -> None:
    """Network by network down a block of rows: its tables stay in cache.

    `left_out` (n_networks, n_rows) may be empty: no network leaves out a row. A product of `n_unchecked` probabilities
    is above SMALL ** 2. A sum over the states of missing superparents is a part of the sum over networks.
    """
    n_attributes, n_rows = columns.shape
    n_classes = out.shape[1]
    p, steps = np.empty((n_rows, n_classes)), np.empty((n_rows, n_classes), np.int64)
    total, total_steps = np.zeros((n_rows, n_classes)), np.zeros((n_rows, n_classes), np.int64)
    who, row, states = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty(superparents.shape[1], np.int64)
    for m in range(len(superparents)):
        chain, begin = superparents[m], starts[m, n_attributes]
        n_settings = 1
        for node in chain:
            n_settings *= 1 if complete[node] else n_states[node] + 1
        for number in range(n_settings):
            # A superparent with missing values has the state of its cell, as last of its settings, or any state.
            for d in range(len(chain)):
                states[d] = n_states[chain[d]]
                if not complete[chain[d]]:
                    number, states[d] = number // (states[d] + 1), number % (states[d] + 1)
            n_in_play = 0
            for t in range(n_rows):
                who[n_in_play] = t
                in_play = len(left_out) == 0 or not left_out[m, t]
                for d in range(len(chain)):
                    in_play &= (columns[chain[d], t] < n_states[chain[d]]) == (states[d] == n_states[chain[d]])
                n_in_play += in_play
            if n_in_play == 0:
                continue
            part = p[:n_in_play], steps[:n_in_play], row[:n_in_play], who[:n_in_play]
            part[0][:] = weights[m] * tables[begin : begin + n_classes]
            part[1][:] = 0
            multiply_superparents(columns, n_states, chain, states, starts[m], tables, *part)
            multiply_children(columns, complete, n_states, chain, starts[m], tables, n_unchecked, *part)
            add_scaled(part[0], part[1], part[3], total, total_steps)
    for t in range(n_rows):
        for c in range(n_classes):
            out[t, c] = np.log(total[t, c]) - total_steps[t, c] * LOG_STEP


@kernel
def multiply_superparents(
    columns: NDArray[np.int32],
    n_states: Ints,
    chain: Ints,
    states: Ints,
    starts: Ints,
    tables: Array,
    p: Array,
    steps: Ints,
    row: Ints,
    who: Ints,
) -> None:
    """Multiply by the probabilities of the superparents, in their own or the given states, and set `row`."""
    n_classes = p.shape[1]
    row[:] = 0
    for d in range(len(chain)):
        r, x = n_states[chain[d]], columns[chain[d]]
        for k in range(len(who)):
            state = np.int64(x[who[k]]) if states[d] == r else states[d]
            for c in range(n_classes):
                p[k, c] *= tables[starts[chain[d]] + (row[k] * n_classes + c) * r + state]
            row[k] = row[k] * r + state
        rescale(p, steps)
    row *= n_classes


@kernel
def multiply_children(
    columns: NDArray[np.int32],
    complete: Flags,
    n_states: Ints,
    chain: Ints,
    starts: Ints,
    tables: Array,
    n_unchecked: int,
    p: Array,
    steps: Ints,
    row: Ints,
    who: Ints,
) -> None:
    """Multiply by the probabilities of all other attributes; the states of a missing one sum to one."""
    n_classes, n_multiplied = p.shape[1], 0
    for i in range(len(columns)):
        if np.any(chain == i):
            continue
        x, r, start = columns[i], n_states[i], starts[i]
        if complete[i] and n_classes == 2:  # unrolled: most tables have two classes
            for k in range(len(who)):
                cell = np.uint64(start + row[k] * r + x[who[k]])
                p[k, 0] *= tables[cell]
                p[k, 1] *= tables[cell + np.uint64(r)]
        else:
            for k in range(len(who)):
                if x[who[k]] < r:
                    cell = start + row[k] * r + x[who[k]]
                    for c in range(n_classes):
                        p[k, c] *= tables[np.uint64(cell + c * r)]
        n_multiplied += 1
        if n_multiplied == n_unchecked:
            rescale(p, steps)
            n_multiplied = 0
    rescale(p, steps)


@kernel
def rescale(p: Array, steps: Ints) -> None:
    """Bring products that are small, and not zero, above SMALL."""
    n_rows, n_classes = p.shape
    for k in range(n_rows):
        for c in range(n_classes):
            while 0.0 < p[k, c] < SMALL:
                p[k, c] *= STEP
                steps[k, c] += 1


@kernel
def add_scaled(p: Array, steps: Ints, who: Ints, total: Array, total_steps: Ints) -> None:
    """total += p in the rows in play; what is smaller by two powers of STEP is lost."""
    for k in range(len(who)):
        t = who[k]
        for c in range(p.shape[1]):
            more = steps[k, c] - total_steps[t, c]
            if p[k, c] == 0.0:
                continue
            if total[t, c] == 0.0 or more < -1:
                total[t, c], total_steps[t, c] = p[k, c], steps[k, c]
            elif more == 0:
                total[t, c] += p[k, c]
            elif more == -1:
                total[t, c], total_steps[t, c] = p[k, c] + total[t, c] / STEP, steps[k, c]
            elif more == 1:
                total[t, c] += p[k, c] / STEP
