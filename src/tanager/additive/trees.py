"""Boosted trees beside the terms: chosen on the folds, grown on all rows, averaged with the terms.

Each round grows a tree for every class (one for two classes) on what the rounds before leave, by the second-order
expansion of the log-loss (Friedman 2001; Chen and Guestrin 2016). Several runs, on folds or with different seeds, are
grown side by side on the same rows.

The model is (1 - weight) terms + weight trees, a mean of log odds. The folds choose the weight, and trees are taken
only if they improve the validation loss clearly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tanager.additive.choose import gains_clearly
from tanager.additive.folds import ALL_ROWS, MAX_FITTED, Folds, Sample
from tanager.additive.forest import Forest
from tanager.additive.grow import UNIT_BITS, Codebook, Grown, grow_trees
from tanager.additive.objective import probabilities
from tanager.additive.pairs import MAX_PAIRED
from tanager.arrays import Array, Codes, Ints
from tanager.table.binning import GROWTH
from tanager.table.schema import ColumnSchema

# Part of the best step that the first tree takes; later ones take more, after 1 / RATE^2 rounds twice as much: a table
# without noise wants hundreds of steps, and the later ones need not be small.
RATE = 0.1
PENALTY = 1.0  # L2, on leaf values
# Rows whose gradient is below this part of the mean have no influence on splits (weight trimming: Friedman, Hastie and
# Tibshirani 2000); late rounds are several times as fast.
TRIMMED = 0.05
LEAST_HESSIAN = TRIMMED  # of a node, in rows of variance p (1 - p)
LARGEST_VALUE = 1 / RATE  # of a leaf: rows of great weight that are all wrong would have no bound
# Large trees find what numbers have together, small ones of all attributes what categories have.
DEPTH = 3
# The losses are looked at every so many rounds. Rounds end when so many looks have lowered the loss of the mean with
# the terms by less than NOTHING of it, and that of the trees alone by less than SLOW of it.
LOOK = PATIENCE = 5
NOTHING, SLOW = 0.003, 0.02
MAX_ROUNDS = 2_000  # fewer with many classes, of which each has a tree in every round
# Forests of different attributes are averaged, of about so many trees in all.
N_TREES = 400


@dataclass(frozen=True)
class TreeKind:
    """How trees are grown: their depth, and the fraction of the attributes that a tree may split on."""

    depth: int
    fraction: float


@dataclass
class Boosting:
    """Runs of boosting on the same rows.

    codes    (n_rows, n_attributes)
    classes  (n_rows,)
    weights  (n_rows, n_runs) of the training rows, zero for rows that validate
    rate     part of the best step that the first trees take
    scores   (n_runs, n_columns, n_rows) log odds so far; one column for two classes
    """

    kind: TreeKind
    codes: Codes
    classes: NDArray[np.intp]
    weights: Array
    n_classes: int
    book: Codebook
    seed: int = 0
    rate: float = RATE
    n_grown: int = 0
    rounds: list[Grown] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    leaf_weights: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_runs = self.weights.shape[1]
        self.bins = self.book.bins(self.codes)
        self.n_columns = 1 if self.n_classes == 2 else self.n_classes
        by_class = np.stack([np.bincount(self.classes, w, minlength=self.n_classes) for w in self.weights.T])
        logs = np.log(np.maximum(by_class, 1 / 2) / by_class.sum(axis=1, keepdims=True))
        self.start = logs[:, 1:] - logs[:, :1] if self.n_columns == 1 else logs - logs.mean(axis=1, keepdims=True)
        self.scores = np.repeat(self.start[:, :, np.newaxis], len(self.classes), axis=2)
        labels = np.arange(self.n_classes)[-self.n_columns :]
        self._is_class = self.classes == labels[:, np.newaxis]
        self._weights = self.weights.T[:, np.newaxis]
        self._training = np.repeat(self.weights.T, self.n_columns, axis=0)  # (n_trees, n_rows)
        self._least_sizes = TRIMMED * self._training / self._training.sum(axis=1, keepdims=True)
        self._random = [np.random.default_rng((self.seed, run)) for run in range(n_runs)]

    def by_row(self) -> Array:
        """(n_rows, n_columns, n_runs) the scores."""
        return self.scores.transpose(2, 1, 0)

    def grow(self, keep: bool = False) -> None:
        """One more round; its trees are needed only where they are kept."""
        p = probabilities(self.scores)
        g, h = self._weights * (p - self._is_class), self._weights * (p * (1.0 - p))
        g, h = (each.reshape(self._training.shape) for each in (g, h))
        sizes = np.abs(g)
        totals = sizes.sum(axis=1, keepdims=True)
        scale = 2.0 ** np.floor(UNIT_BITS - 2 - np.log2(np.maximum(totals, np.finfo(np.float32).eps)))
        packed = (np.rint(scale * g).astype(np.int64) << UNIT_BITS) + np.rint(scale * h).astype(np.int64)
        packed *= sizes >= totals * self._least_sizes
        units = scale[:, 0]
        grown = grow_trees(
            self.bins, packed, self._draw(), self.book, LEAST_HESSIAN * units, PENALTY * units, self.kind.depth
        )
        n_nodes = 2 ** (self.kind.depth + 1) - 1
        at = grown.node_of_row + n_nodes * np.arange(len(g))[:, np.newaxis]
        sum_g, sum_h = (self._by_node(at, values) for values in (g, h))
        rate = min(1.0, self.rate * (1 + RATE * self.rate * self.n_grown))
        self.n_grown += 1
        values = np.clip(-rate * sum_g / (sum_h + PENALTY), -LARGEST_VALUE, LARGEST_VALUE)
        self.scores += values.take(at).reshape(self.scores.shape)
        if keep:
            self.rounds.append(replace(grown, node_of_row=np.zeros(0, np.int64)))
            self.values.append(values)
            self.leaf_weights.append(self._by_node(at, self._training))

    def _by_node(self, at: Ints, values: Array) -> Array:
        """(n_trees, n_nodes) sums of values (n_trees, n_rows) over the rows that end in a node."""
        n_nodes = 2 ** (self.kind.depth + 1) - 1
        sums = np.bincount(at.ravel(), values.ravel(), n_nodes * len(at))
        return np.asarray(sums, np.float64).reshape(len(at), -1)

    def _draw(self) -> NDArray[np.int64]:
        """(n_trees, n_asked) the attributes that each tree may split on: the trees of a run and round share them."""
        n = self.bins.shape[1]
        n_asked = min(math.ceil(self.kind.fraction * n), MAX_PAIRED)
        drawn = [np.sort(random.permutation(n)[:n_asked]) for random in self._random]
        return np.repeat(np.stack(drawn), self.n_columns, axis=0)


@dataclass(frozen=True)
class TreeChoice:
    """Trees that gain on the folds: their kind, rounds, and weight in the mean with the terms."""

    kind: TreeKind
    rounds: int
    weight: float

    def describe(self) -> str:
        return f"{self.weight:.0%} trees: {self.rounds} rounds of depth {self.kind.depth}"


def codebook(columns: tuple[ColumnSchema, ...]) -> Codebook:
    ordered = [column.n_states - column.missing_state if column.has_order else 0 for column in columns]
    return Codebook.of(np.array([column.n_states + 1 for column in columns]), np.array(ordered))


def fold_rate(n_rows: int) -> float:
    """The rate on folds: fewer rounds of larger steps find the same choice; many rows are worth smaller steps."""
    return float(2 * RATE * (ALL_ROWS / n_rows) ** (GROWTH / 2))


def kinds(n_rows: int) -> tuple[TreeKind, TreeKind]:
    """Large and small trees on so many rows; the leaves of the large ones grow with the root of the rows."""
    return TreeKind(max(2 * DEPTH, round(np.log2(n_rows) / 2) - 1), fraction=1 / 2), TreeKind(DEPTH, fraction=1.0)


def choose_trees(
    folds: Folds, columns: tuple[ColumnSchema, ...], n_classes: int, terms: Array, n_rows: int, seed: int
) -> TreeChoice | None:
    """The kind and rounds whose mean with the terms is best, if it gains clearly.

    terms   (n_validated, n_columns) log odds by the terms
    n_rows  that the trees will be grown on

    Boosting goes on as long as the mean gains: trees that bring nothing beside the terms end soon.
    """
    classes, book = folds.sample.classes, codebook(columns)
    alone = folds.losses(terms)
    choice, best, rate = None, alone, fold_rate(folds.sample.n_rows)
    most = min(MAX_ROUNDS, MAX_FITTED // terms.shape[1] ** 2)
    for kind in kinds(n_rows):
        boosting = Boosting(kind, folds.sample.codes, classes, folds.training, n_classes, book, seed, rate)
        losses, alone_losses, rounds = [folds.mean(alone)], [np.inf], 0
        while rounds < most and not (ends(losses, NOTHING) and ends(alone_losses, SLOW)):
            for _ in range(LOOK):
                boosting.grow()
            trees = folds.validated(boosting.by_row())
            weight = folds.best_weight(terms, trees)
            mixed = folds.losses((1 - weight) * terms + weight * trees)
            losses.append(folds.mean(mixed))
            alone_losses.append(folds.mean(folds.losses(trees)))
            rounds = round(LOOK * (len(losses) - 1) * rate / RATE)
            if losses[-1] < folds.mean(best):
                choice, best = TreeChoice(kind, rounds, weight), mixed
    return choice if gains_clearly(folds, alone, best) else None


def ends(losses: list[float], part: float) -> bool:
    """Whether the last looks have lowered a loss by less than this part."""
    if len(losses) <= PATIENCE:
        return False
    before = losses[-1 - PATIENCE]
    return before - min(losses[-PATIENCE:]) < part * (before + NOTHING)  # of a loss near zero, of nothing


def grow_forest(
    choice: TreeChoice, sample: Sample, columns: tuple[ColumnSchema, ...], n_classes: int, seed: int
) -> tuple[Forest | None, Array, int]:
    """The mean of forests with different seeds times its weight, what it adds to the intercept, and their number."""
    n_columns = 1 if n_classes == 2 else n_classes
    averaged = 1 if choice.kind.fraction == 1 else max(1, round(N_TREES / max(1, choice.rounds * n_columns)))
    weights = np.repeat(sample.totals[:, np.newaxis], averaged, axis=1)
    boosting = Boosting(choice.kind, sample.codes, sample.classes, weights, n_classes, codebook(columns), seed)
    for _ in range(choice.rounds):
        boosting.grow(keep=True)
    intercept = np.zeros(n_classes)
    intercept[-n_columns:] = boosting.start.mean(axis=0)
    grown = Forest.of_heaps(
        np.concatenate([grown.attributes for grown in boosting.rounds]),
        np.concatenate([grown.left for grown in boosting.rounds]),
        np.concatenate(boosting.values),
        np.concatenate(boosting.leaf_weights),
        np.tile(np.arange(n_classes)[-n_columns:], averaged * choice.rounds),
        np.array([column.n_states + 1 for column in columns]),
        n_classes,
    )
    forest, means = grown.scaled(choice.weight / averaged).centered()
    return forest if len(forest.attributes) else None, choice.weight * intercept + means, averaged
