"""Row by row along the junction tree, compiled: only what a row does not hold is summed over.

For every row each family is looked up at the cells present. What is left of it is a number (all members present), a
vector (one is not) or a table (more are not), which waits at its first unobserved member. The unobserved nodes are
then summed out in the order of the plan: the clique of a node is its vector plus what waits there, and the sum of the
clique over the node, its message, waits at the first of the rest. Everything is in logarithms. Arrays: see
`clique_kernels`.
"""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Ints
from tanager.network.inference.clique_kernels import (
    NONE,
    SEVERAL,
    Records,
    family_offsets,
    fill_clique,
    fill_pair,
    find_rest,
    message_offsets,
    sum_clique,
)
from tanager.network.inference.evidence_kernels import Rows, add_complete, look_up, open_row, touch_families
from tanager.runtime.kernel import kernel

CHUNK = 256  # rows whose codes stay in the cache closest to the core


@kernel
def sum_rows(
    first: int,
    codes: Rows,
    query: int,
    places: Records,
    families: Records,
    members: Records,
    touching: Ints,
    later: Ints,
    tables: Array,
    capacity: int,
    out: Array,
) -> tuple[int, int, int]:
    """out[row, k] = log P(query = k, cells present), or out[row, 0] = log P(cells present) without a query (-1).

    Begins at row `first`. Returns (number of rows, 0, 0), or (row, cells needed, place) for a row whose cliques
    outgrow `capacity` at that place: nothing is allocated for it, and the rows before it are done.
    """
    places, families = places.copy(), families.copy()
    rest, open_places = np.empty_like(later), np.empty(len(places), np.int64)
    vectors = np.empty(places[-1].vector_start + places[-1].n_states, np.float64)
    cells, offsets = np.empty(capacity, np.float64), np.empty(capacity, np.int64)
    for start in range(first, len(codes), CHUNK):
        stop = min(start + CHUNK, len(codes))
        add_complete(codes, start, stop, query, places, families, members, tables, out)
        for row in range(start, stop):
            n_open = open_row(codes, row, query, 0, places, open_places, vectors)
            if n_open > 0:
                touch_families(row, n_open, open_places, places, families, touching)
                look_up(codes, row, False, places, families, members, tables, vectors)
                total, needed, place = _sum_out(
                    n_open, open_places, places, families, members, later, rest, vectors, tables, cells, offsets
                )
                if needed > capacity:
                    return row, needed, place
                for k in range(out.shape[1]):
                    out[row, k] += total if query == NONE else total + vectors[places[query].vector_start + k]
            if query != NONE and codes[row, query] < out.shape[1]:
                for k in range(out.shape[1]):
                    out[row, k] = out[row, k] if k == codes[row, query] else -np.inf
    return len(codes), 0, 0


@kernel
def expect_rows(
    first: int,
    codes: Rows,
    weights: Array,
    places: Records,
    families: Records,
    members: Records,
    touching: Ints,
    later: Ints,
    tables: Array,
    capacity: int,
    log_evidence: Array,
    wanted: Ints,
    posteriors: Array,
    counts: Array,
) -> tuple[int, int, int]:
    """log P(cells present) of each row, posteriors of `wanted` places, and expected counts; returns as `sum_rows`.

    wanted      by place: the column of `posteriors` its first state goes to, or -1
    posteriors  (n_rows, columns), zeros at first
    counts      laid out as `tables`; P(family's cell | row) times the row's weight is added. Empty: not asked for.

    A row of probability zero adds nothing.
    """
    places, families = places.copy(), families.copy()
    rest, open_places = np.empty_like(later), np.empty(len(places), np.int64)
    vectors = np.empty(places[-1].vector_start + places[-1].n_states, np.float64)
    cells, offsets = np.empty(capacity, np.float64), np.empty(capacity, np.int64)
    for row in range(first, len(codes)):
        n_open = open_row(codes, row, NONE, 1, places, open_places, vectors)
        constant = look_up(codes, row, True, places, families, members, tables, vectors)
        total, needed, place = _sum_out(
            n_open, open_places, places, families, members, later, rest, vectors, tables, cells, offsets
        )
        if needed > capacity:
            return row, needed, place
        log_evidence[row] = constant + total
        if log_evidence[row] == -np.inf:
            continue
        for k in range(n_open - 1, -1, -1):
            _spread_back(open_places[k], places, rest, vectors, cells, offsets)
        if len(counts):
            _count(weights[row], places, families, members, rest, vectors, cells, offsets, counts)
        for place in range(len(places)):
            column, vector = wanted[place], places[place].vector_start
            if column != NONE and places[place].is_open:
                for k in range(places[place].n_states):
                    posteriors[row, column + k] = vectors[vector + k]
            elif column != NONE:
                posteriors[row, column + codes[row, place]] = 1.0
    return len(codes), 0, 0


@kernel
def _sum_out(
    n_open: int,
    open_places: Ints,
    places: Records,
    families: Records,
    members: Records,
    later: Ints,
    rest: Ints,
    vectors: Array,
    tables: Array,
    cells: Array,
    offsets: Ints,
) -> tuple[float, int, int]:
    """Sum out the open places: (log of what is left, cells needed, place that needs the last)."""
    constant, n_cells = 0.0, 0
    for k in range(n_open):
        place = open_places[k]
        if not places[place].used:
            continue
        partner = places[place].partner
        if partner == SEVERAL:
            size = find_rest(place, places, families, members, later, rest)
        elif partner == NONE:
            places[place].n_rest, size = 0, 1
        else:
            rest[places[place].later_start] = partner
            places[place].n_rest, size = 1, places[partner].n_states
        n_states, start = places[place].n_states, n_cells
        message = start + size * n_states
        n_cells = message + size
        if n_cells > len(cells):
            return constant, n_cells, place
        places[place].clique_start = start
        places[place].message_start = message
        if partner == SEVERAL:
            fill_clique(place, size, places, families, members, rest, vectors, tables, cells, offsets)
        else:
            fill_pair(place, size, places, families, vectors, tables, cells)
        sum_clique(start, n_states, size, message, cells)
        if places[place].n_rest == 0:
            constant += cells[message]
            continue
        target = rest[places[place].later_start]
        if places[place].n_rest == 1:
            for s in range(size):
                vectors[places[target].vector_start + s] += cells[message + s]
        else:
            places[place].next_message = places[target].first_message
            places[target].first_message = place
            places[target].partner = SEVERAL
    return constant, n_cells, 0


@kernel
def _spread_back(place: int, places: Records, rest: Ints, vectors: Array, cells: Array, offsets: Ints) -> None:
    """The clique becomes P(clique | evidence), the message P(rest | evidence), the vector P(place | evidence).

    P(place, rest | evidence) = P(rest | evidence) exp(clique - message), and the rest is in a clique done before.
    """
    start, message = places[place].clique_start, places[place].message_start
    n_states, vector = places[place].n_states, places[place].vector_start
    size = (message - start) // n_states
    for s in range(size):
        possible = cells[message + s] > -np.inf
        for k in range(n_states):
            cell = start + s * n_states + k
            cells[cell] = np.exp(cells[cell] - cells[message + s]) if possible else 0.0
        cells[message + s] = 0.0
    target = rest[places[place].later_start] if places[place].n_rest else NONE
    if places[place].n_rest == 0:
        cells[message] = 1.0
    elif places[place].n_rest == 1:
        for s in range(size):
            cells[message + s] = vectors[places[target].vector_start + s]
    else:
        step = message_offsets(place, target, places, rest, offsets)
        cell = places[target].clique_start
        for s in range((places[target].message_start - cell) // places[target].n_states):
            for k in range(places[target].n_states):
                cells[offsets[s] + k * step] += cells[cell]
                cell += 1
    for k in range(n_states):
        vectors[vector + k] = 0.0
    for s in range(size):
        for k in range(n_states):
            cell = start + s * n_states + k
            cells[cell] *= cells[message + s]
            vectors[vector + k] += cells[cell]


@kernel
def _count(
    weight: float,
    places: Records,
    families: Records,
    members: Records,
    rest: Ints,
    vectors: Array,
    cells: Array,
    offsets: Ints,
    counts: Array,
) -> None:
    """counts[cell] += weight P(family's cell | evidence), when all cliques have been spread back."""
    for family in range(len(families)):
        base, step, first = families[family].base, families[family].first_step, families[family].first_open
        if families[family].n_open == 0:
            counts[base] += weight
        elif families[family].n_open == 1:
            for k in range(places[first].n_states):
                counts[base + k * step] += weight * vectors[places[first].vector_start + k]
        else:
            step = family_offsets(family, first, places, families, members, rest, offsets)
            cell = places[first].clique_start
            for s in range((places[first].message_start - cell) // places[first].n_states):
                for k in range(places[first].n_states):
                    counts[offsets[s] + k * step] += weight * cells[cell]
                    cell += 1
