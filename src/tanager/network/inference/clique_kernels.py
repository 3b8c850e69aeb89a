"""One clique of one row, compiled: which nodes it holds, its table, and its sum. Called by `junction_kernels`.

Arrays that all kernels share, one set per thread, made for one row after another:

places    a record per place, `PLACE`
families  a record per family, `FAMILY`, children before parents
members   a record per member of a family, `MEMBER`, places ascending
touching  the families that hold each place, from its `touching_start` to `touching_end`
later     the later places of each static clique, from its `later_start` to `later_end`
rest      the same space, for those of them that are in the clique of this row: `n_rest` from `later_start`
vectors   one-node factors of each place, from its `vector_start`
tables    logarithms of all tables, flat
cells     cliques and messages, from their `clique_start` and `message_start`
offsets   for each cell of a rest where it lies in one of the factors of its clique

A clique is a table over its place, which changes fastest, and its rest, ascending. (Records keep what belongs together
in one cache line. They are separate arguments because passing arrays in a tuple costs an atomic count for each.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Ints
from tanager.runtime.kernel import kernel

Records = NDArray[np.void]

NONE = -1
SEVERAL = -2
TOO_MANY_CELLS = 1 << 40

# Of the structure: the first six. Of the row: whether the place is unobserved (is_open) and matters (used); the one
# other node of all factors waiting at it (partner: NONE without any, SEVERAL if they have more than one); the first of
# these factors, and the next message that waits where its own does; its clique; and how far apart its states are in
# one factor, zero between uses (step).
PLACE = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("n_states", "later_start", "later_end", "vector_start", "touching_start", "touching_end"),
            *("is_open", "used", "partner", "first_family", "first_message", "next_message"),
            *("n_rest", "clique_start", "message_start", "step"),
        )
    ]
)
# Of the structure: its members, the start of its table, its child. Of the row: its cell at the members present (base),
# how many are not (n_open), the first of them, the steps of the first two, the next family waiting at the same place,
# and the last row that touched it.
FAMILY = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("first_member", "last_member", "offset", "child"),
            *("base", "n_open", "first_open", "first_step", "second_step", "next_family", "row"),
        )
    ]
)
MEMBER = np.dtype([("place", np.int64), ("step", np.int64)])


@kernel
def find_rest(place: int, places: Records, families: Records, members: Records, later: Ints, rest: Ints) -> int:
    """The other unobserved nodes of the factors waiting at `place`; returns the cells of a table over them."""
    start = places[place].later_start
    family = places[place].first_family
    while family != NONE:
        for m in range(families[family].first_member, families[family].last_member):
            if places[members[m].place].is_open:
                places[members[m].place].step = 1
        family = families[family].next_family
    message = places[place].first_message
    while message != NONE:
        for m in range(places[message].later_start, places[message].later_start + places[message].n_rest):
            places[rest[m]].step = 1
        message = places[message].next_message
    places[place].step = 0
    n_rest, size = 0, 1
    for m in range(start, places[place].later_end):
        if places[later[m]].step:
            places[later[m]].step = 0
            rest[start + n_rest] = later[m]
            n_rest += 1
            if size < TOO_MANY_CELLS:  # beyond that it is refused anyway; more would soon not fit into 64 bits
                size *= places[later[m]].n_states
    places[place].n_rest = n_rest
    return size


@kernel
def fill_pair(
    place: int, size: int, places: Records, families: Records, vectors: Array, tables: Array, cells: Array
) -> None:
    """`fill_clique` for a place with one partner or none: most cliques of a row with few gaps, and much quicker."""
    start, n_states, vector = places[place].clique_start, places[place].n_states, places[place].vector_start
    for s in range(size):
        for k in range(n_states):
            cells[start + s * n_states + k] = vectors[vector + k]
    family = places[place].first_family
    while family != NONE:
        cell = start
        for s in range(size):
            other = families[family].base + s * families[family].second_step
            for _ in range(n_states):
                cells[cell] += tables[other]
                cell += 1
                other += families[family].first_step
        family = families[family].next_family


@kernel
def fill_clique(
    place: int,
    size: int,
    places: Records,
    families: Records,
    members: Records,
    rest: Ints,
    vectors: Array,
    tables: Array,
    cells: Array,
    offsets: Ints,
) -> None:
    """The clique of `place` = its vector + the families and messages waiting at it; `size` cells in the rest."""
    start, n_states, vector = places[place].clique_start, places[place].n_states, places[place].vector_start
    for s in range(size):
        for k in range(n_states):
            cells[start + s * n_states + k] = vectors[vector + k]
    family = places[place].first_family
    while family != NONE:
        step = family_offsets(family, place, places, families, members, rest, offsets)
        for s in range(size):
            for k in range(n_states):
                cells[start + s * n_states + k] += tables[offsets[s] + k * step]
        family = families[family].next_family
    message = places[place].first_message
    while message != NONE:
        step = message_offsets(message, place, places, rest, offsets)
        for s in range(size):
            for k in range(n_states):
                cells[start + s * n_states + k] += cells[offsets[s] + k * step]
        message = places[message].next_message


@kernel
def family_offsets(
    family: int, place: int, places: Records, families: Records, members: Records, rest: Ints, offsets: Ints
) -> int:
    """Where the cells (s, k) of the clique of `place` lie in the tables, for the family: offsets[s] + k step."""
    first, last = families[family].first_member, families[family].last_member
    for m in range(first, last):
        places[members[m].place].step = members[m].step
    step = places[place].step
    _add_steps(families[family].base, place, places, rest, offsets)
    for m in range(first, last):
        places[members[m].place].step = 0
    return step


@kernel
def message_offsets(message: int, place: int, places: Records, rest: Ints, offsets: Ints) -> int:
    """Where the cells (s, k) of the clique of `place` lie in `cells`, for the message: offsets[s] + k step."""
    first = places[message].later_start
    last = first + places[message].n_rest
    size = 1
    for m in range(first, last):
        places[rest[m]].step = size
        size *= places[rest[m]].n_states
    step = places[place].step
    _add_steps(places[message].message_start, place, places, rest, offsets)
    for m in range(first, last):
        places[rest[m]].step = 0
    return step


@kernel
def _add_steps(base: int, place: int, places: Records, rest: Ints, offsets: Ints) -> None:
    """offsets[s] = base + sum over the rest of step * state."""
    offsets[0] = base
    size = 1
    start = places[place].later_start
    for m in range(start, start + places[place].n_rest):
        step, n_states = places[rest[m]].step, places[rest[m]].n_states
        for s in range(size * (n_states - 1)):  # one loop, as a loop over states with one over cells is slow to start
            offsets[s + size] = offsets[s] + step
        size *= n_states


@kernel
def sum_clique(start: int, n_states: int, size: int, message: int, cells: Array) -> None:
    """message[s] = log sum_k exp clique[s, k]."""
    for s in range(size):
        row = start + s * n_states
        highest = cells[row]
        for k in range(1, n_states):
            highest = max(highest, cells[row + k])
        cells[message + s] = highest
        if highest > -np.inf:
            total = 0.0
            for k in range(n_states):
                total += np.exp(cells[row + k] - highest)
            cells[message + s] += np.log(total)
