"""The compiled way to draw missing cells, row by row (`tanager.gaps.filler`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def fill_rows(
    codes: Codes,
    order: Ints,
    parents: Ints,
    n_states: Ints,
    starts: Ints,
    offsets: Ints,
    tables: Floats,
    log_classes: Floats,
    numbers: Floats,
    filled: NDArray[np.unsignedinteger],
) -> None:
    """See `FillingTree.fill`; filled is (n_attributes, n_rows, n_draws).

    starts   where the states of each attribute begin in an array of the states of all
    offsets  where the (classes, parent states, states) table of each attribute begins in `tables`
    """
    n_rows, n_classes, n_draws = len(codes), len(log_classes), len(numbers)
    likelihood = np.empty((n_classes, starts[-1]))
    chances = np.empty(n_states.max())
    weights, classes = np.empty(n_classes), np.empty(n_draws, np.int64)
    for row in range(n_rows):
        likelihood[:] = 0.0  # logarithms until an attribute sends: a product over its children would underflow
        weights[:] = log_classes
        for position in range(len(order) - 1, -1, -1):
            node = order[position]
            _send(codes, row, node, parents, n_states, starts, offsets, tables, likelihood, weights)
        weights[:] = np.exp(weights - weights.max())
        for draw in range(n_draws):
            classes[draw] = _invert(weights, n_classes, numbers[draw, -1])
        for node in order:
            if codes[row, node] == n_states[node]:
                _draw(
                    row, node, classes, parents, n_states, starts, offsets, tables, likelihood, numbers, chances, filled
                )
            else:
                filled[node, row, :] = codes[row, node]


@kernel
def _draw(
    row: int,
    node: int,
    classes: Ints,
    parents: Ints,
    n_states: Ints,
    starts: Ints,
    offsets: Ints,
    tables: Floats,
    likelihood: Floats,
    numbers: Floats,
    chances: Floats,
    filled: NDArray[np.unsignedinteger],
) -> None:
    """A state for each draw, given the class and the parent's state of the draw and what is below the node."""
    parent, r = parents[node], n_states[node]
    for draw in range(len(classes)):
        c = classes[draw]
        above = 0 if parent < 0 else int(filled[parent, row, draw])
        first = offsets[node] + (c * _n_above(parent, n_states) + above) * r
        for k in range(r):
            chances[k] = tables[first + k] * likelihood[c, starts[node] + k]
        filled[node, row, draw] = _invert(chances, r, numbers[draw, node])


@kernel
def _n_above(parent: int, n_states: Ints) -> int:
    return 1 if parent < 0 else n_states[parent]


@kernel
def _send(
    codes: Codes,
    row: int,
    node: int,
    parents: Ints,
    n_states: Ints,
    starts: Ints,
    offsets: Ints,
    tables: Floats,
    likelihood: Floats,
    weights: Floats,
) -> None:
    """P(cells present at and below the node | the parent's state, class) goes to the parent, its scale to the class."""
    parent, r, start = parents[node], n_states[node], starts[node]
    n_above = _n_above(parent, n_states)
    first_state, last_state = _span(int(codes[row, node]), r)
    # A parent that is present needs the message at its state only.
    first_above, last_above = (0, 1) if parent < 0 else _span(int(codes[row, parent]), n_above)
    for c in range(len(weights)):
        highest = -np.inf
        for k in range(first_state, last_state):
            highest = max(highest, likelihood[c, start + k])
        for k in range(first_state, last_state):
            likelihood[c, start + k] = np.exp(likelihood[c, start + k] - highest)
        weights[c] += highest
        for s in range(first_above, last_above):
            total, cell = 0.0, offsets[node] + (c * n_above + s) * r
            for k in range(first_state, last_state):
                total += tables[cell + k] * likelihood[c, start + k]
            if parent >= 0:
                likelihood[c, starts[parent] + s] += np.log(total)
            else:
                weights[c] += np.log(total)


@kernel
def _span(state: int, n_states: int) -> tuple[int, int]:
    """The states a cell may be in: its own, or all when it is missing."""
    return (0, n_states) if state == n_states else (state, state + 1)


@kernel
def _invert(chances: Floats, n: int, number: float) -> int:
    """The state at this share of the sum of the first n chances."""
    total = 0.0
    for k in range(n):
        total += chances[k]
    reached = 0.0
    for k in range(n - 1):
        reached += chances[k]
        if number * total < reached:
            return k
    return n - 1
