"""Boosted trees: each round grows a tree for every class on what the trees before it leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tanager.additive.forest import Tree
from tanager.table.categories import Codes
from tanager.threads import count_threads, map_threads

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# A loss that still falls after so many rounds is far from noise, and bears longer steps: the rate is doubled, twice at
# most.
ROUNDS_AT_A_RATE, MAX_DOUBLINGS = 100, 2
# Of more attributes trees ask for those alone that tell most about the class, as pairs do.
MAX_ATTRIBUTES = 300
# Rows times attributes from which the trees of a round are worth a thread each.
CELLS_WORTH_THREADS = 100_000


@dataclass(frozen=True)
class TreeOptions:
    """How trees are grown.

    max_leaves      of a tree
    max_attributes  a leaf may depend on; None for any number
    asked           the share of the attributes that the trees of a round may ask for, drawn anew in each
    seed            of these draws
    rate            what a tree of the first rounds adds of the step that would be best by itself
    least_hessian   of a leaf, in rows of variance p (1 - p)
    penalty         L2, on leaf values
    trimmed         rows whose gradient is below so many times the mean size of all have no say in splits
    """

    max_leaves: int = 8
    max_attributes: int | None = None
    asked: float = 1.0
    seed: int = 0
    rate: float = 0.1
    least_hessian: float = 0.05
    penalty: float = 1.0
    trimmed: float = 0.05


@dataclass(frozen=True)
class Rounds:
    """The trees of some rounds as arrays; the axes (round, tree) come first. See `Tree`."""

    nodes: Ints
    left: NDArray[np.bool_]
    values: Array
    weights: Array
    n_splits: Ints


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
        n_codes: Ints,
        ordered: Ints,
        options: TreeOptions,
    ) -> None:
        self._bins = bins_of(codes, n_codes)
        self._classes = classes.astype(np.int64)
        self._weights = weights
        self._starts = starts_of(n_codes)
        self._ordered = ordered.astype(np.int64)
        self._attributes = most_telling(self._bins, self._classes, weights, self._starts, len(start))
        self._options = options
        self._random = np.random.default_rng(options.seed)
        self.first_class = 1 if len(start) == 2 else 0
        self.rounds: list[Rounds] = []
        self.n_rounds = 0
        self.start = start
        self.scores = np.repeat(start[:, np.newaxis], len(weights), axis=1)
        self._shares = np.exp(self.scores)

    @property
    def has_threads(self) -> bool:
        """Whether the trees of a round are grown on threads of their own."""
        return len(self.start) - self.first_class > 1 and self._bins.size >= CELLS_WORTH_THREADS

    def grow(self, n_rounds: int = 1) -> None:
        """So many rounds more."""
        from tanager.trees.round_kernels import grow_rounds

        options, n_trees = self._options, len(self.start) - self.first_class
        n_splits, most_codes = options.max_leaves - 1, int(np.diff(self._starts).max())
        found = Rounds(
            np.zeros((n_rounds, n_trees, n_splits, 3), dtype=np.int64),
            np.zeros((n_rounds, n_trees, n_splits, most_codes), dtype=np.bool_),
            np.zeros((n_rounds, n_trees, options.max_leaves)),
            np.zeros((n_rounds, n_trees, options.max_leaves)),
            np.zeros((n_rounds, n_trees), dtype=np.int64),
        )
        rates = rates_of(options.rate, self.n_rounds, n_rounds)
        asked = np.stack([self._draw() for _ in range(n_rounds)])
        limits = np.array([options.least_hessian, options.penalty, options.trimmed])
        most_attributes = len(self._ordered) if options.max_attributes is None else options.max_attributes
        how = (self._starts, self._ordered, limits, most_attributes)
        if self.has_threads and count_threads() > 1:
            for k in range(n_rounds):
                self._grow_by_class(found, k, asked[k], rates[k], how)
        else:
            rows = (self._bins, self._classes, self._weights, self._shares, self.scores, self.first_class)
            grow_rounds(*rows, asked, *how, rates, found.nodes, found.left, found.values, found.weights, found.n_splits)
        self.rounds.append(found)
        self.n_rounds += n_rounds

    def trees(self, n_rounds: int | None = None) -> list[Tree]:
        """Of all rounds, or of the first ones."""
        found = []
        for chunk in self.rounds:
            for k, tree in np.ndindex(chunk.n_splits.shape):
                n = chunk.n_splits[k, tree]
                arrays = chunk.nodes[k, tree, :n], chunk.left[k, tree, :n]
                leaves = chunk.values[k, tree, : n + 1], chunk.weights[k, tree, : n + 1]
                found.append(Tree(self.first_class + tree, *arrays, *leaves))
        return found if n_rounds is None else found[: n_rounds * (len(self.start) - self.first_class)]

    def loss(self) -> float:
        """The mean of - log P(class | row) over the rows it grows on."""
        return float(np.average(losses(self.scores, self._classes), weights=self._weights))

    def _draw(self) -> Ints:
        """The attributes that trees of a round ask for."""
        if self._options.asked == 1.0:
            return self._attributes
        n_asked = math.ceil(self._options.asked * len(self._attributes))
        return np.sort(self._random.permutation(self._attributes)[:n_asked])

    def _grow_by_class(
        self, found: Rounds, k: int, asked: Ints, rate: float, how: tuple[Ints, Ints, Array, int]
    ) -> None:
        """Round k of `found`, its trees on threads of their own."""
        from tanager.trees.round_kernels import grow_class, normalize

        normalize(self._shares)

        def grow(tree: int) -> None:
            number = self.first_class + tree
            rows = (self._bins, self._classes, self._weights, number, self._shares[number])
            histograms = np.empty((self._options.max_leaves, self._starts[-1]), dtype=np.int64)
            arrays = (found.nodes[k, tree], found.left[k, tree], found.values[k, tree], found.weights[k, tree])
            found.n_splits[k, tree] = grow_class(*rows, asked, *how, rate, histograms, *arrays, self.scores[number])

        map_threads(grow, range(found.n_splits.shape[1]))


def rates_of(rate: float, first: int, n_rounds: int) -> Array:
    """(n_rounds,) the rates of rounds from the first on, `rate` being that of round 0."""
    numbers = np.arange(first, first + n_rounds)
    rates: Array = rate * 2.0 ** np.minimum(numbers // ROUNDS_AT_A_RATE, MAX_DOUBLINGS)
    return rates


def rounds_as_far(n_rounds: int, times: float) -> int:
    """The fewest rounds whose rates add up to so many times those of `n_rounds`; `times` is 1 or more."""
    reached = np.cumsum(rates_of(1.0, 0, math.ceil(times * n_rounds)))
    return 1 + int(np.searchsorted(reached, times * reached[n_rounds - 1]))


def most_telling(bins: Codes, classes: Ints, weights: Array, starts: Ints, n_classes: int) -> Ints:
    """The MAX_ATTRIBUTES that tell most about the class of these rows, in order; all if there are no more.

    By N I(C; X) less what it is by chance, half of the degrees of freedom.
    """
    n_attributes = len(starts) - 1
    if n_attributes <= MAX_ATTRIBUTES:
        return np.arange(n_attributes)
    places = bins.astype(np.int64) * n_classes + classes[:, np.newaxis]
    counted = np.bincount(places.ravel(), np.repeat(weights, n_attributes), minlength=int(starts[-1]) * n_classes)
    by_class = counted.reshape(-1, n_classes)
    rows = by_class.sum(axis=1)
    told = xlogy(by_class, by_class).sum(axis=1) - xlogy(rows, rows) - 0.5 * (n_classes - 1) * (rows > 0.0)
    order = np.argsort(-np.add.reduceat(told, starts[:-1]), kind="stable")
    return np.sort(order[:MAX_ATTRIBUTES])


def bins_of(codes: Codes, n_codes: Ints) -> Codes:
    """(n_rows, n_attributes) where codes stand in a histogram of all attributes.

    In 16 bits, or in 32 where there are too many codes: kernels are compiled for one type, seldom for two.
    """
    starts = starts_of(n_codes)
    dtype = np.uint16 if starts[-1] <= 1 << 16 else np.uint32
    return np.ascontiguousarray(codes.astype(dtype) + starts[:-1].astype(dtype))


def starts_of(n_codes: Sequence[int] | Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)


def one_type(codes: Codes, n_codes: Ints) -> Codes:
    """Codes in 16 bits, or in 32 where an attribute has too many: kernels are compiled for one type, seldom for two."""
    return codes.astype(np.uint16 if n_codes.max() <= 1 << 16 else np.uint32, order="C", copy=False)


def losses(scores: Array, classes: NDArray[np.intp]) -> Array:
    """(n_rows,) - log P(class | row) from (n_classes, n_rows) log odds."""
    shifted = scores - scores.max(axis=0)
    found: Array = np.log(np.exp(shifted).sum(axis=0)) - shifted[classes, np.arange(len(classes))]
    return found
