"""The look-ups of a row with missing cells, sorted by the attributes they depend on (`missing.average_kernels`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager.arrays import Array, Ints
from tanager.missing.sums import Sums
from tanager.runtime.kernel import kernel


class Placed(NamedTuple):
    """The look-ups of a row, by the missing attributes they depend on; these are numbered from 0, parents first.

    base     (classes,) the sum of those of cells present alone
    singles  (missing, classes, states) of those of one missing attribute
    heads    (missing,) the first of the others whose last missing attribute this is, or -1
    next     (look-ups,) the one after it
    first    (look-ups,) the cell when all missing attributes of the look-up have code 0
    sizes    (look-ups,) how many missing attributes it has; of each of them, the last one first:
    places, columns, steps  (look-ups, width) its number, its column, and what a code of 1 adds to the cell
    sums     (missing + 1, classes, states) base and all look-ups of the first missing attributes, for each state of
             the last of these; with none of them `base` alone
    """

    base: Array
    singles: Array
    heads: Ints
    next: Ints
    first: Ints
    sizes: Ints
    places: Ints
    columns: Ints
    steps: Ints
    sums: Array


@kernel
def make_placed(look_ups: Sums) -> Placed:
    shape, n_terms = look_ups.nodes.shape, len(look_ups.offsets)
    n_attributes, n_classes, n_states = len(look_ups.n_states), look_ups.tables.shape[1], look_ups.n_states.max()
    return Placed(
        np.empty(n_classes),
        np.empty((n_attributes, n_classes, n_states)),
        np.empty(n_attributes, np.int64),
        np.empty(n_terms, np.int64),
        np.empty(n_terms, np.int64),
        np.empty(n_terms, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty((n_attributes + 1, n_classes, n_states)),
    )


@kernel
def place_look_ups(look_ups: Sums, cells: Ints, row: int, missing: Ints, places: Ints, placed: Placed) -> None:
    """Fill in all of `placed` but its sums; `missing` are the attributes, `places` their numbers there or -1."""
    n_classes = look_ups.tables.shape[1]
    placed.base[:] = 0.0
    placed.singles[: len(missing)] = 0.0
    placed.heads[: len(missing)] = -1
    for term in range(len(look_ups.offsets)):
        first, size = look_ups.offsets[term], 0
        for member in range(look_ups.nodes.shape[1]):
            stride, column = look_ups.strides[term, member], look_ups.nodes[term, member]
            if stride > 0:
                place = places[look_ups.attributes[column]]
                if place < 0:
                    first += stride * cells[row, column]
                else:
                    _put(term, size, place, column, stride, placed)
                    size += 1
        if size == 0:
            for c in range(n_classes):
                placed.base[c] += look_ups.tables[first, c]
            continue
        last, column, step = placed.places[term, 0], placed.columns[term, 0], placed.steps[term, 0]
        if size == 1:
            for k in range(look_ups.n_states[missing[last]]):
                cell = first + step * look_ups.values[k, column]
                for c in range(n_classes):
                    placed.singles[last, c, k] += look_ups.tables[cell, c]
        else:
            placed.first[term], placed.sizes[term] = first, size
            placed.next[term] = placed.heads[last]
            placed.heads[last] = term


@kernel
def _put(term: int, size: int, place: int, column: int, step: int, placed: Placed) -> None:
    """One missing attribute more of a look-up that has `size`; the last of them stays first."""
    if size > 0 and place > placed.places[term, 0]:
        for values in (placed.places, placed.columns, placed.steps):
            values[term, size] = values[term, 0]
        size = 0
    placed.places[term, size], placed.columns[term, size], placed.steps[term, size] = place, column, step


@kernel
def scale_chances(filler: Sums, missing: Ints, chances: Placed) -> None:
    """Logarithms to shares, the highest of each attribute and class put to the class: no product underflows."""
    n_classes = len(chances.base)
    for place in range(len(missing)):
        n_states = filler.n_states[missing[place]]
        for c in range(n_classes):
            highest = chances.singles[place, c, :n_states].max()
            chances.base[c] += highest
            for k in range(n_states):
                chances.singles[place, c, k] = np.exp(chances.singles[place, c, k] - highest)
    highest = chances.base.max()
    for c in range(n_classes):
        chances.base[c] = np.exp(chances.base[c] - highest)
