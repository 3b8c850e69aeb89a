"""What a row holds, entered into the families, compiled. Called by `junction_kernels`; arrays: see `clique_kernels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Ints
from tanager.network.inference.clique_kernels import NONE, SEVERAL, Records
from tanager.runtime.kernel import kernel

Rows = NDArray[np.int32]

MISSING = -(1 << 48)  # makes the position of a cell negative, whatever is added to it


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
