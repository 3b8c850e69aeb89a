"""Boosted trees: each round grows a tree for every class on what the trees before it leave."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes
from tanager.threads import map_threads
from tanager.trees.forest import Tree

Array = NDArray[np.float64]

# A loss that still falls after so many rounds is far from noise, and bears longer steps: the rate is doubled, twice at
# most.
ROUNDS_AT_A_RATE, MAX_DOUBLINGS = 100, 2


@dataclass(frozen=True)
class TreeOptions:
    """How trees are grown.

    max_leaves      of a tree
    max_attributes  a leaf may depend on; None for any number
    asked           the share of the attributes that the trees of a round may ask for, drawn anew in each
    seed            of these draws
    rate            what a tree of the first rounds adds of the step that would be best by itself
    least_rows      of a leaf
    least_hessian   of a leaf, in rows of variance p (1 - p)
    penalty         L2, on leaf values
    """

    max_leaves: int = 8
    max_attributes: int | None = None
    asked: float = 1.0
    seed: int = 0
    rate: float = 0.1
    least_rows: float = 10.0
    least_hessian: float = 1e-3
    penalty: float = 1.0


@dataclass(frozen=True)
class _Asked:
    """Attributes by their numbers: codes (n_attributes, n_rows), where their codes start, and their orders."""

    numbers: NDArray[np.intp]
    columns: Codes
    starts: NDArray[np.int64]
    ordered: NDArray[np.int64]


class Boosting:
    """Trees grown so far on some rows, and the log odds they give to them.

    Two classes have one tree a round, for the second against the first.

    codes    (n_rows, n_attributes), a missing cell's code being the attribute's number of states
    classes  (n_rows,) class codes
    weights  (n_rows,)
    start    (n_classes,) the log odds of a row that no tree has seen
    n_codes  (n_attributes,) codes of each attribute, that of a missing cell too
    ordered  (n_attributes,) how many of them, from the first, have an order; 0 for categories
    """

    def __init__(
        self,
        codes: Codes,
        classes: Codes,
        weights: Array,
        start: Array,
        n_codes: NDArray[np.int64],
        ordered: NDArray[np.int64],
        options: TreeOptions,
    ) -> None:
        self._columns = np.ascontiguousarray(one_type(codes, n_codes).T)
        self._classes = classes.astype(np.int64)
        self._weights = weights
        self._starts = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
        self._ordered = ordered.astype(np.int64)
        self._options = options
        self._random = np.random.default_rng(options.seed)
        self._of_class = (1,) if len(start) == 2 else range(len(start))
        self._n_rounds = 0
        self.start = start
        self.scores = np.repeat(start[:, np.newaxis], len(weights), axis=1)
        self.trees: list[Tree] = []

    def grow(self) -> list[Tree]:
        """One more round: its trees."""
        from tanager.trees.round_kernels import set_shares

        shares = np.empty_like(self.scores)
        set_shares(self.scores, shares)
        asked = self._draw()
        trees = map_threads(lambda number: self._grow_tree(number, shares[number], asked), self._of_class)
        self.trees += trees
        self._n_rounds += 1
        return trees

    def loss(self) -> float:
        """The mean of - log P(class | row) over the rows it grows on."""
        return float(np.average(losses(self.scores, self._classes), weights=self._weights))

    @property
    def _rate(self) -> float:
        """Of this round."""
        return self._options.rate * 2.0 ** min(self._n_rounds // ROUNDS_AT_A_RATE, MAX_DOUBLINGS)

    def _draw(self) -> _Asked:
        """The attributes that trees of a round ask for."""
        n_attributes = len(self._ordered)
        if self._options.asked == 1.0:
            return _Asked(np.arange(n_attributes), self._columns, self._starts, self._ordered)
        n_asked = math.ceil(self._options.asked * n_attributes)
        numbers = np.sort(self._random.permutation(n_attributes)[:n_asked])
        starts = np.concatenate([[0], np.cumsum(np.diff(self._starts)[numbers])])
        return _Asked(numbers, self._columns[numbers], starts, self._ordered[numbers])

    def _grow_tree(self, number: int, share: Array, asked: _Asked) -> Tree:
        from tanager.trees.round_kernels import grow_class

        options, n_splits = self._options, self._options.max_leaves - 1
        nodes = np.zeros((n_splits, 3), dtype=np.int64)
        left = np.zeros((n_splits, np.diff(asked.starts).max()), dtype=np.bool_)
        values, weights = np.zeros((2, options.max_leaves))
        limits = np.array([options.least_rows, options.least_hessian, options.penalty])
        most_attributes = len(asked.numbers) if options.max_attributes is None else options.max_attributes
        rows = (asked.columns, self._classes, self._weights, number, share, asked.starts, asked.ordered)
        tree = (nodes, left, values, weights, self.scores[number])
        n_splits = grow_class(*rows, limits, most_attributes, self._rate, *tree)
        nodes[:, 0] = asked.numbers[nodes[:, 0]]
        return Tree(number, nodes[:n_splits], left[:n_splits], values[: n_splits + 1], weights[: n_splits + 1])


def one_type(codes: Codes, n_codes: NDArray[np.int64]) -> Codes:
    """Codes in 16 bits, or in 32 where an attribute has too many: kernels are compiled for one type, seldom for two."""
    return codes.astype(np.uint16 if n_codes.max() <= 1 << 16 else np.uint32, order="C", copy=False)


def losses(scores: Array, classes: NDArray[np.intp]) -> Array:
    """(n_rows,) - log P(class | row) from (n_classes, n_rows) log odds."""
    shifted = scores - scores.max(axis=0)
    found: Array = np.log(np.exp(shifted).sum(axis=0)) - shifted[classes, np.arange(len(classes))]
    return found
