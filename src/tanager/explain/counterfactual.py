"""Counterfactuals: the smallest changes of one or two cells of a row that change what is decided about it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from tanager.arrays import Array, Codes, Flags, Places
from tanager.classifiers.base import TableClassifier
from tanager.decide.decision import class_code
from tanager.errors import OptionError
from tanager.explain.explanation import ExplainedRows, in_state
from tanager.runtime.resources import thread_limit
from tanager.table.schema import Category as State
from tanager.table.schema import ColumnSchema

Category = State | datetime.timedelta
_Found = tuple[float, tuple[int, ...], tuple[int, ...]]  # size, attributes, new states

MAX_CELLS = 2
BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class ChangedCell:
    """One cell of a change.

    attribute  its name
    before     what the cell holds, in words
    after      the state to reach, in words: "< 52.5"
    value      the nearest value in that state: with it in the cell the classifier decides so
    """

    attribute: str
    before: str
    after: str
    value: Category

    def __str__(self) -> str:
        return f"{in_state(self.attribute, self.after)} (now {self.before})"


@dataclass(frozen=True)
class Change:
    """Cells to change, how large the change is, and what is then decided, with P of each class."""

    cells: tuple[ChangedCell, ...]
    size: float
    decided: str
    probabilities: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        cells = {cell.attribute: {"before": cell.before, "after": cell.after} for cell in self.cells}
        return {"cells": cells, "size": self.size, "decided": self.decided, "probabilities": self.probabilities}

    def __str__(self) -> str:
        share = f", P {self.probabilities[self.decided]:.4f}" if self.decided in self.probabilities else ""
        return f"{self.decided} if {' and '.join(map(str, self.cells))}: size {self.size:.3f}{share}"


@dataclass(frozen=True)
class Counterfactuals:
    """What is decided about a row, and the changes that would change it: of one cell first, the smallest first."""

    row: int
    decided: str
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {"row": self.row, "decided": self.decided, "changes": [change.to_dict() for change in self.changes]}

    def __str__(self) -> str:
        if not self.changes:
            return f"row {self.row}: {self.decided}, whatever one or two of its cells are"
        return "\n  ".join([f"row {self.row}: {self.decided}; it would be", *map(str, self.changes)])

    __repr__ = __str__


def counterfactuals(
    clf: TableClassifier,
    X: object,
    *,
    locked: Sequence[str] = (),
    wanted: Category | None = None,
    cells: int = MAX_CELLS,
    most: int = 3,
) -> tuple[Counterfactuals, ...]:
    """For every row the smallest changes of one or two cells that change the decision.

    The size of a change of a number, or of a category with an order, is the share of the training rows that it passes:
    ``|C(new) - C(old)|``, where C(s) counts the rows in the states before s and half of those in s. That of a category
    without an order is the share of the rows that are not in the new one. In a network of tables all states of an
    attribute count alike. Sizes of two cells add up.

    All changes of each cell, and of each pair of cells, are tried, and the smallest that changes the decision is kept.
    A pair is left out where one of its cells suffices. A missing cell is not changed, and no cell is made missing.

    Parameters
    ----------
    clf : fitted classifier
        What it decides is its `decision_` or the most probable class.
    X : table
        The rows.
    locked : list of str
        Attributes that cannot change.
    wanted : class or None
        The class to be decided for; by default any other than now.
    cells : 1 or 2
        How many cells may change.
    most : int
        How many changes to give, of each number of cells.

    Returns
    -------
    tuple of Counterfactuals
        One for each row.

    Examples
    --------
    >>> from tanager import NaiveBayesClassifier, counterfactuals
    >>> X = [["sunny", "hot"], ["rainy", "mild"], ["sunny", "mild"], ["rainy", "hot"]]
    >>> clf = NaiveBayesClassifier().fit(X, ["out", "in", "out", "in"])
    >>> print(counterfactuals(clf, [["sunny", "hot"]])[0])
    row 0: out; it would be
      in if x0 = rainy (now sunny): size 0.500, P 0.7500
    """
    clf = getattr(clf, "to_model", lambda: clf)()  # one that decides has the model within
    if cells not in (1, 2) or most < 1:
        raise OptionError(f"cells={cells}, most={most}: expected one or two cells, and at least one change of each.")
    with thread_limit(clf.n_jobs):
        rows = ExplainedRows.read(clf, X)
        fixed = {rows.network.number(name) for name in locked}
        network = rows.network
        # Only an additive model knows the shares of its training rows; in tables all states have the same.
        shares = [np.full(column.n_states, 1.0 / column.n_states) for column in network.columns[:-1]]
        shares = list(network.densities) if network.kind == "effects" else shares
        goal = None if wanted is None else class_code(wanted, clf.classes_.tolist(), "wanted")
        search = _Search(clf, rows, shares, goal)
        return tuple(search.find(row, fixed, cells, most) for row in range(len(rows.codes)))


@dataclass(frozen=True)
class _Search:
    """The changes of single rows that change the decision, or, with a goal, change it to that class.

    shares  of each attribute (states,) the share of the training rows in each state
    """

    clf: TableClassifier
    rows: ExplainedRows
    shares: Sequence[Array]
    goal: int | None

    def find(self, row: int, fixed: set[int], cells: int, most: int) -> Counterfactuals:
        codes, columns = self.rows.codes[row], self.rows.network.columns
        now = int(self._decide(codes[np.newaxis])[1][0])
        singles: list[_Found] = []
        left: dict[int, Places] = {}
        for k in np.flatnonzero(self.rows.present[row]).tolist():
            if k in fixed or int(codes[k]) == columns[k].empty_code:
                continue
            states = np.arange(columns[k].n_states - columns[k].missing_state)
            states = states[states != codes[k]]
            crosses = self._crosses(codes, [(k,)] * len(states), states[:, np.newaxis], now)
            if crosses.any():
                sizes = self._sizes(k, int(codes[k]), states)
                best = int(np.argmin(np.where(crosses, sizes, np.inf)))
                singles.append((float(sizes[best]), (k,), (int(states[best]),)))
            left[k] = states[~crosses]
        chosen = sorted(singles)[:most]
        if cells == 2:
            chosen += self._pairs(codes, left, now, most)
        changes = tuple(self._change(row, size, nodes, states) for size, nodes, states in chosen)
        return Counterfactuals(row, self._word(now), changes)

    def _sizes(self, attribute: int, code: int, states: Places) -> Array:
        """The sizes of the changes from a state to others; see `counterfactuals`."""
        shares = self.shares[attribute]
        if not self.rows.network.columns[attribute].has_order:
            return 1.0 - shares[states]
        middles = np.cumsum(shares) - shares / 2
        return np.abs(middles[states] - middles[code])

    def _pairs(self, codes: Codes, moves: dict[int, Places], now: int, most: int) -> list[_Found]:
        """The smallest change of each two cells, of the `most` pairs whose changes are smallest."""
        sizes = {k: self._sizes(k, int(codes[k]), states) for k, states in moves.items()}
        nodes, states, totals = [], [], []
        for i, j in combinations(moves, 2):
            nodes.append(np.tile(np.array([i, j], np.int32), (len(moves[i]) * len(moves[j]), 1)))
            states.append(
                np.stack(np.meshgrid(moves[i], moves[j], indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
            )
            totals.append(np.add.outer(sizes[i], sizes[j]).ravel())
        if not totals:
            return []
        every, both, reached = np.concatenate(totals), np.concatenate(nodes), np.concatenate(states)
        smallest: dict[tuple[int, ...], _Found] = {}
        order = np.argsort(every, kind="stable")
        for block in (order[rows] for rows in _blocks(len(order))):
            for hit in block[self._crosses(codes, both[block], reached[block].astype(np.intp), now)].tolist():
                pair = tuple(both[hit].tolist())
                smallest.setdefault(pair, (float(every[hit]), pair, tuple(reached[hit].tolist())))
                if len(smallest) == most:
                    return list(smallest.values())
        return list(smallest.values())

    def _crosses(self, codes: Codes, nodes: ArrayLike, states: Places, now: int) -> Flags:
        """Whether something else, or what is wanted, is decided once the nodes of a change have their states."""
        changed = np.tile(codes, (len(states), 1))
        if len(changed):
            changed[np.arange(len(changed))[:, np.newaxis], np.asarray(nodes)] = states
        decided = self._decide(changed)[1]
        other: Flags = decided != now
        return other if self.goal is None else other & (decided == self.goal)

    def _decide(self, codes: Codes) -> tuple[Array, Places]:
        """P(class | row), and the column decided for."""
        if not len(codes):
            return np.empty((0, len(self.clf.classes_))), np.empty(0, dtype=np.intp)
        logs = np.concatenate([self.rows.rule.log_posterior(codes[rows]) for rows in _blocks(len(codes))])
        proba, decision = np.exp(logs), self.clf.decision_
        return proba, logs.argmax(axis=1) if decision is None else decision.choose(proba)

    def _change(self, row: int, size: float, nodes: tuple[int, ...], states: tuple[int, ...]) -> Change:
        codes = self.rows.codes[row].copy()
        codes[list(nodes)] = states
        proba, decided = self._decide(codes[np.newaxis])
        cells = tuple(
            ChangedCell(
                self.rows.network.nodes[node],
                str(self.rows.value(row, node)),
                str(self.rows.network.columns[node].states[state]),
                _nearest_value(self.rows.network.columns[node], int(self.rows.codes[row, node]), state),
            )
            for node, state in zip(nodes, states, strict=True)
        )
        words = map(str, self.clf.classes_.tolist())
        return Change(cells, size, self._word(int(decided[0])), dict(zip(words, proba[0].tolist(), strict=True)))

    def _word(self, code: int) -> str:
        decision = self.clf.decision_
        return str(self.clf.classes_[code]) if decision is None else decision.word(code)


def _blocks(n_rows: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK_ROWS) for first in range(0, n_rows, BLOCK_ROWS))


def _nearest_value(column: ColumnSchema, code: int, state: int) -> Category:
    """The value in a state that is nearest to another state: the first of a bin above, the last of one below."""
    if column.kind != "numeric":
        return column.states[state]
    is_number = column.unit == "number"
    if state > code:
        value = float(column.cuts[state - 1])
    elif is_number:
        value = float(np.nextafter(column.cuts[state], -np.inf))
    else:
        value = np.ceil(column.cuts[state]) - 1  # whole microseconds
    if is_number:
        return value
    microseconds = datetime.timedelta(microseconds=int(np.ceil(value)))
    zone = datetime.UTC if column.unit == "zoned" else None
    return microseconds if column.unit == "duration" else datetime.datetime(1970, 1, 1, tzinfo=zone) + microseconds
