"""Row by row along the junction tree, compiled: only what a row does not hold is summed over.

For every row each family is looked up at the cells present. What is left of it is a number (all members present), a
vector (one is not) or a table (more are not), which waits at its first unobserved member. The unobserved nodes are
then summed out in the order of the plan: the clique of a node is its vector plus what waits there, and the sum of the
clique over the node, its message, waits at the first of the rest. Everything is in logarithms.

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
Rows = NDArray[np.int32]

NONE = -1
SEVERAL = -2
TOO_MANY_CELLS = 1 << 40
MISSING = -(1 << 48)  # makes the position of a cell negative, whatever is added to it
CHUNK = 256  # rows whose codes stay in the cache closest to the core

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


@kernel
def add_complete(
    codes: Rows,
    start: int,
    stop: int,
    query: int,
    places: Records,
    families: Records,
    members: Records,
    tables: Array,
    out: Array,
) -> None:
    """out = sum of the families of which all members are present, but for the query. Family by family down the rows."""
    n_rows = stop - start
    cells = np.empty(n_rows, np.int64)
    out[start:stop] = 0.0
    for family in range(len(families)):
        cells[:] = families[family].offset
        query_step = 0
        for m in range(families[family].first_member, families[family].last_member):
            if members[m].place == query:
                query_step = members[m].step
            else:
                step, n_states, column = members[m].step, places[members[m].place].n_states, codes[:, members[m].place]
                for i in range(n_rows):
                    code = column[start + i]
                    cells[i] += step * code if code < n_states else MISSING
        # Looking up any cell, and dropping it, is quicker than a branch.
        if out.shape[1] == 2:  # unrolled: most tables have two classes
            for i in range(n_rows):
                value, other = tables[max(cells[i], 0)], tables[max(cells[i], 0) + query_step]
                out[start + i, 0] += value if cells[i] >= 0 else 0.0
                out[start + i, 1] += other if cells[i] >= 0 else 0.0
        else:
            for k in range(out.shape[1]):
                for i in range(n_rows):
                    value = tables[max(cells[i], 0) + k * query_step]
                    out[start + i, k] += value if cells[i] >= 0 else 0.0


@kernel
def open_row(codes: Rows, row: int, query: int, used: int, places: Records, open_places: Ints, vectors: Array) -> int:
    """List the unobserved places of the row, ascending, and clear what belongs to them; returns how many.

    The query counts as unobserved, but is not listed.
    """
    n_open = 0
    for place in range(len(places)):
        places[place].is_open = codes[row, place] >= places[place].n_states or place == query
        if places[place].is_open:
            open_places[n_open] = place
            n_open += place != query
            places[place].used = used or place == query
            places[place].partner = NONE
            places[place].first_family = NONE
            places[place].first_message = NONE
            for k in range(places[place].n_states):
                vectors[places[place].vector_start + k] = 0.0
    return n_open


@kernel
def touch_families(
    row: int, n_open: int, open_places: Ints, places: Records, families: Records, touching: Ints
) -> None:
    """Mark the families that hold an open place with the row."""
    for k in range(n_open):
        for t in range(places[open_places[k]].touching_start, places[open_places[k]].touching_end):
            families[touching[t]].row = row


@kernel
def look_up(
    codes: Rows,
    row: int,
    every: bool,
    places: Records,
    families: Records,
    members: Records,
    tables: Array,
    vectors: Array,
) -> float:
    """Enter the families marked with the row, or `every` one; returns the sum of those that are all present.

    Children come before parents, so an unobserved child that nothing has used is barren: its family sums to one.
    """
    constant = 0.0
    for family in range(len(families)):
        if not every and families[family].row != row:
            continue
        child = families[family].child
        if places[child].is_open and not places[child].used:
            continue
        base = families[family].offset
        n_open = first = second = step = second_step = 0
        for m in range(families[family].first_member, families[family].last_member):
            place = members[m].place
            if places[place].is_open:
                places[place].used = 1
                if n_open == 0:
                    first, step = place, members[m].step
                else:
                    second, second_step = place, members[m].step
                n_open += 1
            else:
                base += members[m].step * codes[row, place]
        families[family].base = base
        families[family].n_open = n_open
        families[family].first_open = first
        families[family].first_step = step
        families[family].second_step = second_step
        if n_open == 0:
            constant += tables[base]
        elif n_open == 1:
            for k in range(places[first].n_states):
                vectors[places[first].vector_start + k] += tables[base + k * step]
        else:
            families[family].next_family = places[first].first_family
            places[first].first_family = family
            alone = n_open == 2 and (places[first].partner == NONE or places[first].partner == second)
            places[first].partner = second if alone else SEVERAL
    return constant


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
    """`fill_clique` for a place with one partner or none: faster, and common when few values are missing."""
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
