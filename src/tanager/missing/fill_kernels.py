"""The compiled way to draw missing cells, row by row (`tanager.missing.filler`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Ints
from tanager.missing.filler import Tree
from tanager.runtime.kernel import kernel

MAX_STATES_TO_COUNT = 40  # of an attribute: with more, halving takes less time


class Work(NamedTuple):
    """Of one row.

    likelihood  (classes, states of all attributes) P(cells present at and below an attribute | its state, class)
    weights     (classes,)
    ends        (classes,) the draws of a class end before this one; those of the next class follow
    cumulative  (classes * states of the parent * states,) chances of an attribute, added up
    filled      (attributes, draws) of those missing
    """

    likelihood: Array
    weights: Array
    ends: Ints
    cumulative: Array
    filled: Ints


@kernel
def make_work(tree: Tree, n_draws: int) -> Work:
    n_classes = len(tree.classes)
    return Work(
        np.empty((n_classes, tree.starts[-1])),
        np.empty(n_classes),
        np.empty(n_classes, np.int64),
        np.empty(n_classes * tree.n_states.max() ** 2),
        np.empty((len(tree.order), n_draws), np.int64),
    )


@kernel
def fill_rows(codes: NDArray[np.integer], tree: Tree, numbers: Array, filled: NDArray[np.unsignedinteger]) -> None:
    """See `FillingTree.fill`; numbers is (n_attributes + 1, n_draws), filled (n_attributes, n_rows, n_draws)."""
    work = make_work(tree, numbers.shape[1])
    for row in range(len(codes)):
        fill_row(codes, row, tree, numbers, work)
        for node in range(codes.shape[1]):
            if codes[row, node] == tree.n_states[node]:
                filled[node, row] = work.filled[node]
            else:
                filled[node, row] = codes[row, node]


@kernel
def fill_row(codes: NDArray[np.integer], row: int, tree: Tree, numbers: Array, work: Work) -> None:
    """Draw the missing cells of the row; the numbers of the class ascend, so that a class has draws side by side."""
    weights = work.weights
    work.likelihood[:] = 0.0  # logarithms until an attribute sends: a product over its children would underflow
    weights[:] = tree.classes
    for position in range(len(tree.order) - 1, -1, -1):
        _send(codes, row, tree.order[position], tree, work)
    weights[:] = np.exp(weights - weights.max())
    for c in range(1, len(weights)):
        weights[c] += weights[c - 1]
    for c in range(len(weights) - 1):
        work.ends[c] = _first_from(numbers[-1], weights[-1], weights[c])
    work.ends[-1] = numbers.shape[1]
    for node in tree.order:
        if codes[row, node] == tree.n_states[node]:
            _draw(codes, row, node, tree, numbers[node], work)


@kernel
def _first_from(ascending: Array, total: float, bound: float) -> int:
    """The first of these numbers that, times the total, is not below the bound."""
    first, last = 0, len(ascending)
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] * total >= bound:
            last = middle
        else:
            first = middle + 1
    return first


@kernel
def _draw(codes: NDArray[np.integer], row: int, node: int, tree: Tree, numbers: Array, work: Work) -> None:
    """A state for each draw, given the class and the parent's state of the draw and what is below the node."""
    parent, r, start = tree.parents[node], tree.n_states[node], tree.starts[node]
    n_above, drawn = _n_above(parent, tree.n_states), work.filled[node]
    first_above, last_above = (0, 1) if parent < 0 else _span(int(codes[row, parent]), n_above)
    begin = 0
    for c in range(len(work.weights)):
        for s in range(first_above, last_above):
            first, reached = (c * n_above + s) * r, 0.0
            for k in range(r):
                reached += tree.tables[tree.offsets[node] + first + k] * work.likelihood[c, start + k]
                work.cumulative[first + k] = reached
        first, end = c * n_above * r, work.ends[c]
        if last_above - first_above > 1:
            for draw in range(begin, end):
                above = first + work.filled[parent, draw] * r
                drawn[draw] = _invert(work.cumulative, above, r, numbers[draw])
        elif r > MAX_STATES_TO_COUNT:
            for draw in range(begin, end):
                drawn[draw] = _invert(work.cumulative, first + first_above * r, r, numbers[draw])
        else:
            _count_reached(work.cumulative[first + first_above * r :], r, numbers[begin:end], drawn[begin:end])
        begin = end


@kernel
def _count_reached(cumulative: Array, r: int, numbers: Array, drawn: Ints) -> None:
    """As `_invert` for all draws, in loops from 0 on, which fill the vector registers; four bounds for each store."""
    total, n_fours = cumulative[r - 1], (r - 1) // 4
    drawn[:] = 0
    for k in range(0, 4 * n_fours, 4):
        first, second, third, fourth = cumulative[k], cumulative[k + 1], cumulative[k + 2], cumulative[k + 3]
        for draw in range(len(numbers)):
            share = numbers[draw] * total
            pair = np.int64(share >= first) + np.int64(share >= second)
            drawn[draw] += pair + np.int64(share >= third) + np.int64(share >= fourth)
    for k in range(4 * n_fours, r - 1):
        bound = cumulative[k]
        for draw in range(len(numbers)):
            drawn[draw] += np.int64(numbers[draw] * total >= bound)


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
    if last_state - first_state == 1:  # a cell present: no sum, and its logarithm is known
        for c in range(len(work.weights)):
            work.weights[c] += likelihood[c, start + first_state]
            likelihood[c, start + first_state] = 1.0
            for s in range(first_above, last_above):
                message = tree.logs[tree.offsets[node] + (c * n_above + s) * r + first_state]
                if parent >= 0:
                    likelihood[c, tree.starts[parent] + s] += message
                else:
                    work.weights[c] += message
        return
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
def _invert(cumulative: Array, first: int, n: int, number: float) -> int:
    """The state at this share of n chances, added up from `first` on: by halving, without a branch to foretell."""
    reached = number * cumulative[first + n - 1]
    state, length = 0, n
    while length > 1:
        half = length // 2
        state += half if reached >= cumulative[first + state + half - 1] else 0
        length -= half
    return state
