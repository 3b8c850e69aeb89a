"""Boosted trees: several runs side by side, on folds or with different seeds, on the same rows.

Each round grows a tree for every class (one for two classes) on what the rounds before leave, by the second-order
expansion of the log-loss (Friedman 2001; Chen and Guestrin 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tanager.additive.grow import UNIT_BITS, Codebook, Grown, grow_trees
from tanager.additive.objective import probabilities
from tanager.additive.pairs import MAX_PAIRED
from tanager.arrays import Array, Codes

RATE = 0.1  # part of the best step that a tree takes
FOLD_RATE = 2 * RATE  # on folds, with half of the rounds: the choice is the same in half of the time
PENALTY = 1.0  # L2, on leaf values
# Rows whose gradient is below this part of the mean have no influence on splits (weight trimming: Friedman, Hastie and
# Tibshirani 2000); late rounds are several times as fast.
TRIMMED = 0.05
LEAST_HESSIAN = TRIMMED  # of a node, in rows of variance p (1 - p)
LARGEST_VALUE = 1 / RATE  # of a leaf: rows of great weight that are all wrong would have no bound


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
    rate     part of the best step that a tree takes
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
        self._random = [np.random.default_rng((self.seed, run)) for run in range(n_runs)]

    def by_row(self) -> Array:
        """(n_rows, n_columns, n_runs) the scores."""
        return self.scores.transpose(2, 1, 0)

    def grow(self, keep: bool = False) -> None:
        """One more round; its trees are needed only where they are kept."""
        p = probabilities(self.scores)
        g, h = self._weights * (p - self._is_class), self._weights * (p * (1.0 - p))
        n_rows = g.shape[2]
        g, h = g.reshape(-1, n_rows), h.reshape(-1, n_rows)  # (n_trees, n_rows)
        sizes = np.abs(g)
        totals = sizes.sum(axis=1, keepdims=True)
        training = np.broadcast_to(self._weights, p.shape).reshape(g.shape)
        weight = training.sum(axis=1, keepdims=True)
        scale = 2.0 ** np.floor(UNIT_BITS - 2 - np.log2(np.maximum(totals, np.finfo(np.float32).eps)))
        counts = (sizes * weight >= TRIMMED * totals * training) & (training > 0)
        packed = (np.rint(scale * g).astype(np.int64) << UNIT_BITS) + np.rint(scale * h).astype(np.int64)
        packed *= counts
        units = scale[:, 0]
        grown = grow_trees(
            self.bins, packed, self._draw(), self.book, LEAST_HESSIAN * units, PENALTY * units, self.kind.depth
        )
        n_nodes = 2 ** (self.kind.depth + 1) - 1
        at = grown.node_of_row + n_nodes * np.arange(len(g))[:, np.newaxis]
        sum_g, sum_h, sum_w = (
            np.bincount(at.ravel(), values.ravel(), n_nodes * len(g)).reshape(len(g), -1) for values in (g, h, training)
        )
        values = np.clip(-self.rate * sum_g / (sum_h + PENALTY), -LARGEST_VALUE, LARGEST_VALUE)
        self.scores += np.take_along_axis(values, grown.node_of_row, axis=1).reshape(self.scores.shape)
        if keep:
            self.rounds.append(replace(grown, node_of_row=np.zeros(0, np.int64)))
            self.values.append(values)
            self.leaf_weights.append(sum_w.astype(np.float64))

    def _draw(self) -> NDArray[np.int64]:
        """(n_trees, n_asked) the attributes that each tree may split on: the trees of a run and round share them."""
        n = self.bins.shape[1]
        n_asked = min(math.ceil(self.kind.fraction * n), MAX_PAIRED)
        drawn = [np.sort(random.permutation(n)[:n_asked]) for random in self._random]
        return np.repeat(np.stack(drawn), self.n_columns, axis=0)
