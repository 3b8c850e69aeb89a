"""Trees beside effects: grown from nothing on the same rows, and taken in where rows held out gain clearly.

The model is then a mean of log odds, (1 - share) * effects + share * trees: a sum of effects and trees again. Folds of
the training rows choose the number of rounds and the share. Neither is behind the other everywhere, and their mean was
never clearly behind the better one on the benchmark sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.fit import FOLD_SEED
from tanager.parameters.conditional.held_out import split_rows
from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.models import MAX_ROWS_FOR_FOLDS
from tanager.table.batch import Codes, EncodedBatch
from tanager.table.granularity import fine_places
from tanager.table.rows import Rows
from tanager.table.schema import ColumnSchema
from tanager.threads import map_threads
from tanager.trees.boost import Boosting, TreeOptions, losses
from tanager.trees.forest import Forest, Tree

Array = NDArray[np.float64]

# Fewer rows cannot show that trees gain, and need not wait for the compiler.
MIN_ROWS = 500
# Trees are grown on so many rows at most, evenly spaced ones.
MAX_ROWS = 200_000
# Rows times attributes times classes of a fold: with more of them a round takes longer than trees are worth.
MAX_CELLS = 20_000_000
MAX_ROUNDS = 1_000
PATIENCE = 30  # rounds without a lower loss
SHARES = np.arange(0.0, 1.01, 0.05)
# By so many standard errors of the paired difference the mean must be better than the effects alone. With 2, trees were
# taken for 2 of 20 tables drawn from pairs: the rounds and the share have been chosen on the same rows.
CLEAR_ERRORS = 2.25


@dataclass(frozen=True)
class TreeChoice:
    """So many rounds, and the share of the trees in the mean."""

    rounds: int
    share: float


def add_trees(
    network: AdditiveNetwork, folds: Sequence[AdditiveNetwork], rows: Rows, max_attributes: int | None
) -> tuple[AdditiveNetwork, TreeChoice]:
    """The network with trees, or as it is; and the choice made.

    network         fitted on all rows
    folds           fitted on the rows kept of each fold
    rows            at both granularities
    max_attributes  of a tree; None for any number
    """
    columns = network.columns[:-1]
    options = TreeOptions(max_attributes=max_attributes)
    cells = min(rows.n_rows, MAX_ROWS_FOR_FOLDS) * len(columns) * rows.n_classes
    if not folds or rows.n_rows < MIN_ROWS or cells > MAX_CELLS:
        return network, TreeChoice(0, 0.0)
    choice = _choose(folds, rows, columns, options)
    if choice.share == 0.0:
        return network, choice
    numbers = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, MAX_ROWS)).astype(np.intp)
    boosting = _begin(rows.take(numbers), columns, options)
    for _ in range(choice.rounds):
        boosting.grow()
    return _mean(network, boosting, choice.share), choice


def _choose(
    folds: Sequence[AdditiveNetwork], rows: Rows, columns: Sequence[ColumnSchema], options: TreeOptions
) -> TreeChoice:
    splits = split_rows(rows, MAX_ROWS_FOR_FOLDS, FOLD_SEED, fine_places(columns))
    grown = [_TreeFold(*split, network, columns, options) for split, network in zip(splits, folds, strict=True)]
    weights = np.concatenate([fold.rest.row_weights for fold in grown])
    classes = np.concatenate([fold.rest.class_codes for fold in grown]).astype(np.intp)
    effects = np.concatenate([fold.effects for fold in grown], axis=1)

    def loss_of(scores: Array) -> float:
        return float(np.average(losses(scores, classes), weights=weights))

    best_rounds, trees = 0, np.concatenate([fold.scores for fold in grown], axis=1)
    best = loss_of(trees)
    for rounds in count(1):
        map_threads(_TreeFold.grow, grown)
        scores = np.concatenate([fold.scores for fold in grown], axis=1)
        loss = loss_of(scores)
        if loss < best:
            best, best_rounds, trees = loss, rounds, scores
        if rounds == best_rounds + PATIENCE or rounds == MAX_ROUNDS:
            break
    if best_rounds == 0:
        return TreeChoice(0, 0.0)
    means = [losses((1.0 - share) * effects + share * trees, classes) for share in SHARES]
    chosen = int(np.argmin([np.average(own, weights=weights) for own in means]))
    clear = excess_errors(means[0], means[chosen], weights) > CLEAR_ERRORS
    return TreeChoice(best_rounds, float(SHARES[chosen])) if clear else TreeChoice(0, 0.0)


class _TreeFold:
    """Trees on the rows kept, and log odds (n_classes, n_rows) of the rest by effects and by trees."""

    def __init__(
        self,
        kept: EncodedBatch,
        rest: EncodedBatch,
        network: AdditiveNetwork,
        columns: Sequence[ColumnSchema],
        options: TreeOptions,
    ) -> None:
        self.rest = rest
        self._codes = _fine(rest, columns)
        self._n_codes = n_codes(columns)
        self._boosting = _begin(kept, columns, options)
        self.effects = network.log_joint(self._codes, normalized=True).T
        self.scores = np.repeat(self._boosting.start[:, np.newaxis], rest.n_rows, axis=1)

    def grow(self) -> None:
        forest = Forest.of(self._boosting.grow(), self._n_codes, len(self.scores))
        self.scores = self.scores + forest.scores(self._codes).T


def _begin(rows: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions) -> Boosting:
    weights = rows.row_weights
    classes = np.bincount(rows.class_codes, weights, minlength=rows.n_classes)
    start = np.log(np.maximum(classes, 0.5) / classes.sum())  # a class without rows counts as half a row
    ordered = np.array([column.n_states - column.gap_state if column.has_order else 0 for column in columns])
    return Boosting(_fine(rows, columns), rows.class_codes, weights, start, n_codes(columns), ordered, options)


def _fine(rows: EncodedBatch, columns: Sequence[ColumnSchema]) -> Codes:
    return rows.codes[:, fine_places(columns)]


def n_codes(columns: Sequence[ColumnSchema]) -> NDArray[np.int64]:
    """Codes of each attribute, that of a missing cell too."""
    return np.array([column.n_states + 1 for column in columns])


def _mean(network: AdditiveNetwork, boosting: Boosting, share: float) -> AdditiveNetwork:
    """(1 - share) of the network and the share of the trees, whose means go into the intercept."""
    intercept = (1.0 - share) * network.intercept + share * boosting.start
    trees: list[Tree] = []
    for tree in boosting.trees:
        centered, mean = tree.scaled(share).centered()
        intercept[tree.of_class] += mean
        if len(tree.nodes):
            trees.append(centered)
    return replace(
        network,
        intercept=intercept - intercept.mean(),
        mains=tuple((1.0 - share) * main for main in network.mains),
        tables=tuple((1.0 - share) * table for table in network.tables),
        spreads=tuple((1.0 - share) * spread for spread in network.spreads),
        forest=Forest.of(trees, n_codes(network.columns[:-1]), len(intercept)),
    )
