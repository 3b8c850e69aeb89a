"""The compiled way to draw missing cells, row by row (`tanager.gaps.filler`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.gaps.filler import Tree
from tanager.kernel import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Work(NamedTuple):
    """Of one row.

    likelihood  (classes, states of all attributes) P(cells present at and below an attribute | its state, class)
    weights     (classes,)
    classes     (draws,) the class of each
    cumulative  (classes * states of the parent * states,) chances of an attribute, added up
    filled      (attributes, draws)
    """

    likelihood: Floats
    weights: Floats
    classes: Ints
    cumulative: Floats
    filled: Ints


@kernel
def make_work(tree: Tree, n_draws: int) -> Work:
    n_classes = len(tree.classes)
    return Work(
        np.empty((n_classes, tree.starts[-1])),
        np.empty(n_classes),
        np.empty(n_draws, np.int64),
        np.empty(n_classes * tree.n_states.max() ** 2),
        np.empty((len(tree.order), n_draws), np.int64),
    )


@kernel
def fill_rows(codes: NDArray[np.integer], tree: Tree, numbers: Floats, filled: NDArray[np.unsignedinteger]) -> None:
    """See `FillingTree.fill`; filled is (n_attributes, n_rows, n_draws)."""
    work = make_work(tree, len(numbers))
    for row in range(len(codes)):
        fill_row(codes, row, tree, numbers, work)
        filled[:, row] = work.filled


@kernel
def fill_row(codes: NDArray[np.integer], row: int, tree: Tree, numbers: Floats, work: Work) -> None:
    weights = work.weights
    work.likelihood[:] = 0.0  # logarithms until an attribute sends: a product over its children would underflow
    weights[:] = tree.classes
    for position in range(len(tree.order) - 1, -1, -1):
        _send(codes, row, tree.order[position], tree, work)
    weights[:] = np.exp(weights - weights.max())
    for c in range(1, len(weights)):
        weights[c] += weights[c - 1]
    for draw in range(len(numbers)):
        work.classes[draw] = _invert(weights, 0, len(weights), numbers[draw, -1])
    for node in tree.order:
        if codes[row, node] == tree.n_states[node]:
            _draw(codes, row, node, tree, numbers, work)
        else:
            work.filled[node, :] = codes[row, node]


@kernel
def _draw(codes: NDArray[np.integer], row: int, node: int, tree: Tree, numbers: Floats, work: Work) -> None:
    """A state for each draw, given the class and the parent's state of the draw and what is below the node."""
    parent, r, start = tree.parents[node], tree.n_states[node], tree.starts[node]
    n_above = _n_above(parent, tree.n_states)
    first_above, last_above = (0, 1) if parent < 0 else _span(int(codes[row, parent]), n_above)
    for c in range(len(work.weights)):
        for s in range(first_above, last_above):
            first, reached = (c * n_above + s) * r, 0.0
            for k in range(r):
                reached += tree.tables[tree.offsets[node] + first + k] * work.likelihood[c, start + k]
                work.cumulative[first + k] = reached
    for draw in range(len(work.classes)):
        above = 0 if parent < 0 else work.filled[parent, draw]
        first = (work.classes[draw] * n_above + above) * r
        work.filled[node, draw] = _invert(work.cumulative, first, r, numbers[draw, node])


@kernel
def _n_above(parent: int, n_states: Ints) -> int:
    return 1 if parent < 0 else n_states[parent]


@kernel
def _send(codes: NDArray[np.integer], row: int, node: int, tree: Tree, work: Work) -> None:
    """P(cells present at and below the node | the parent's state, class) goes to the parent, its scale to the class."""
    parent, r, start, likelihood = tree.parents[node], tree.n_states[node], tree.starts[node], work.likelihood
    n_above = _n_above(parent, tree.n_states)
    first_state, last_state = _span(int(codes[row, node]), r)
    # A parent that is present needs the message at its state only.
    first_above, last_above = (0, 1) if parent < 0 else _span(int(codes[row, parent]), n_above)
    for c in range(len(work.weights)):
        highest = -np.inf
        for k in range(first_state, last_state):
            highest = max(highest, likelihood[c, start + k])
        for k in range(first_state, last_state):
            likelihood[c, start + k] = np.exp(likelihood[c, start + k] - highest)
        work.weights[c] += highest
        for s in range(first_above, last_above):
            total, cell = 0.0, tree.offsets[node] + (c * n_above + s) * r
            for k in range(first_state, last_state):
                total += tree.tables[cell + k] * likelihood[c, start + k]
            if parent >= 0:
                likelihood[c, tree.starts[parent] + s] += np.log(total)
            else:
                work.weights[c] += np.log(total)


@kernel
def _span(state: int, n_states: int) -> tuple[int, int]:
    """The states a cell may be in: its own, or all when it is missing."""
    return (0, n_states) if state == n_states else (state, state + 1)


@kernel
def _invert(cumulative: Floats, first: int, n: int, number: float) -> int:
    """The state at this share of n chances, added up from `first` on: by halving, without a branch to foretell."""
    reached = number * cumulative[first + n - 1]
    state, length = 0, n
    while length > 1:
        half = length // 2
        state += half if reached >= cumulative[first + state + half - 1] else 0
        length -= half
    return state
