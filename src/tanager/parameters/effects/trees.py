"""Trees beside effects: grown from nothing on the same rows, and taken in where rows held out gain clearly.

The model is then a mean of log odds, (1 - share) * effects + share * trees: a sum of effects and trees again. Folds of
the training rows choose the number of rounds and the share. Neither is behind the other everywhere, and their mean was
never clearly behind the better one on the benchmark sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.problems import MAX_ROWS_FOR_FOLDS, RowSplit
from tanager.table.batch import Codes, EncodedBatch
from tanager.table.granularity import fine_places
from tanager.table.rows import Rows
from tanager.table.schema import ColumnSchema
from tanager.threads import map_threads
from tanager.trees.boost import Boosting, TreeOptions, losses, one_type
from tanager.trees.forest import Forest, Tree

Array = NDArray[np.float64]

# Fewer rows cannot show that trees gain, and need not wait for the compiler.
MIN_ROWS = 500
# Trees are grown on so many rows at most, evenly spaced ones.
MAX_ROWS = 200_000
# Rows times attributes times classes of a fold: with more of them a round takes longer than trees are worth.
MAX_CELLS = 20_000_000
MAX_ROUNDS = 500
PATIENCE = 30  # rounds without a lower loss
ROUNDS_TO_LEAD = 20  # after which larger trees must be ahead of smaller ones
SHARES = np.arange(1, 21) / 20
# On noise the loss is lowest after fewer rounds, by luck.
MIN_ROUNDS = 15
# By so many standard errors of the paired difference the mean must be better than the effects alone; or by fewer, if a
# mean of equal shares is so too: that share is not chosen on these rows, and loses where there is nothing to find. Of
# 480 tables of noise, main effects and pairs three were given trees.
CLEAR_ERRORS = 2.25
FEWER_ERRORS = 1.0
# Leaves of a tree to choose from: few gain where the class is a function of categories, many on large numeric tables.
MAX_LEAVES = (8, 24)


@dataclass(frozen=True)
class TreeChoice:
    """So many rounds, the share of the trees in the mean, and the most leaves of a tree."""

    rounds: int = 0
    share: float = 0.0
    max_leaves: int = 0


def add_trees(
    network: AdditiveNetwork,
    folds: Sequence[AdditiveNetwork],
    splits: Sequence[RowSplit],
    rows: Rows,
    max_attributes: int | None,
) -> tuple[AdditiveNetwork, TreeChoice]:
    """The network with trees, or as it is; and the choice made.

    network         fitted on all rows
    folds           fitted on the rows kept of each of the `splits`
    rows            at both granularities
    max_attributes  that a leaf may depend on; None for any number
    """
    columns = network.columns[:-1]
    cells = min(rows.n_rows, MAX_ROWS_FOR_FOLDS) * len(columns) * rows.n_classes
    if not folds or rows.n_rows < MIN_ROWS or cells > MAX_CELLS:
        return network, TreeChoice()
    options = {leaves: TreeOptions(leaves, max_attributes) for leaves in MAX_LEAVES}
    choice = _choose(folds, splits, columns, options.values())
    if choice.share == 0.0:
        return network, choice
    numbers = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, MAX_ROWS)).astype(np.intp)
    boosting = _begin(rows.take(numbers), columns, options[choice.max_leaves])
    for _ in range(choice.rounds):
        boosting.grow()
    return _mean(network, boosting, choice.share), choice


def _choose(
    folds: Sequence[AdditiveNetwork],
    splits: Sequence[RowSplit],
    columns: Sequence[ColumnSchema],
    options: Iterable[TreeOptions],
) -> TreeChoice:
    """By the lowest loss of the rows held out; no trees where that is not clearly below the loss of the effects."""
    weights = np.concatenate([split.rest.row_weights for split in splits])
    classes = np.concatenate([split.rest.class_codes for split in splits]).astype(np.intp)
    pairs = zip(folds, (_fine(split.rest, columns) for split in splits), strict=True)
    effects = np.concatenate([fold.log_joint(codes, normalized=True).T for fold, codes in pairs], axis=1)
    alone = losses(effects, classes)
    choice, best, halves = TreeChoice(), alone, alone
    rival: list[float] = []
    for each in options:
        tree_folds = [_TreeFold(split.kept, split.rest, columns, each) for split in splits]
        rounds, trees, rival = _grow_on_folds(tree_folds, classes, weights, rival)
        if rounds < MIN_ROUNDS:
            continue
        for share in SHARES:
            mean = losses((1.0 - share) * effects + share * trees, classes)
            if np.average(mean - best, weights=weights) < 0.0:
                choice, best = TreeChoice(rounds, float(share), each.max_leaves), mean
                halves = losses(0.5 * (effects + trees), classes)
    return choice if gains_clearly(alone, best, halves, weights) else TreeChoice()


def gains_clearly(alone: Array, best: Array, halves: Array, weights: Array) -> bool:
    """Whether rows held out do clearly better with trees.

    alone   (n_rows,) losses of the effects alone
    best    of the best mean of effects and trees, whose share is chosen on these rows
    halves  of their mean with equal shares
    """
    errors = excess_errors(alone, best, weights)
    return errors > CLEAR_ERRORS or min(errors, excess_errors(alone, halves, weights)) > FEWER_ERRORS


def _grow_on_folds(
    folds: Sequence[_TreeFold], classes: NDArray[np.intp], weights: Array, rival: Sequence[float]
) -> tuple[int, Array, list[float]]:
    """The number of rounds of the lowest loss, the log odds (n_classes, n_rows) of all rows held out, and the losses.

    `rival` are the losses of smaller trees. Larger ones learn more in a round: those that are behind in the same round
    end.
    """
    best_rounds, best_scores, found = 0, np.empty(0), []
    for rounds in count():
        scores = np.concatenate([fold.scores for fold in folds], axis=1)
        found.append(float(np.average(losses(scores, classes), weights=weights)))
        if found[-1] <= found[best_rounds]:
            best_rounds, best_scores = rounds, scores
        behind = ROUNDS_TO_LEAD <= rounds < len(rival) and found[-1] > rival[rounds]
        if behind or rounds == min(best_rounds + PATIENCE, MAX_ROUNDS):
            return best_rounds, best_scores, found
        map_threads(_TreeFold.grow, folds)
    raise AssertionError


class _TreeFold:
    """Trees on the rows kept, and the log odds (n_classes, n_rows) they give to the rest."""

    def __init__(
        self, kept: EncodedBatch, rest: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions
    ) -> None:
        self._codes = one_type(_fine(rest, columns), n_codes(columns))
        self._boosting = _begin(kept, columns, options)
        self.scores = np.repeat(self._boosting.start[:, np.newaxis], rest.n_rows, axis=1)

    def grow(self) -> None:
        from tanager.trees.round_kernels import add_tree

        for tree in self._boosting.grow():
            add_tree(self._codes, tree.nodes, tree.left, tree.values, self.scores[tree.of_class])


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
