"""Trees beside effects: grown from nothing on the same rows, and taken in where rows held out gain clearly.

The model is then a mean of log odds, (1 - share) * effects + share * trees: a sum of effects and trees again. Folds of
the training rows choose the number of rounds and the share. Neither is behind the other everywhere, and their mean was
never clearly behind the better one on the benchmark sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.problems import MAX_ROWS_FOR_FOLDS
from tanager.parameters.effects.tree_rows import MIN_ROWS, fine_codes, n_codes
from tanager.parameters.effects.triples import JudgedFold
from tanager.table.batch import EncodedBatch
from tanager.table.rows import Rows
from tanager.table.schema import ColumnSchema
from tanager.threads import map_threads
from tanager.trees.boost import Boosting, TreeOptions, losses, one_type
from tanager.trees.forest import Forest, Tree

Array = NDArray[np.float64]

# Trees are grown on so many rows at most, evenly spaced ones.
MAX_ROWS = 200_000
# Rows times attributes times classes of a fold: with more of them a round takes longer than trees are worth.
MAX_CELLS = 20_000_000
# One fold, a third of the rows, leaves the choice to luck up to here; then its rows are as many as those of three folds
# of a smaller table.
ONE_FOLD_ROWS = 9_000
MAX_ROUNDS = 400
PATIENCE = 30  # rounds without a lower loss
ROUNDS_TO_LEAD = 20  # after which smaller trees must not be behind as many leaves of larger ones
# Rounds over which a loss is followed to say where it ends; hopeless is what ends so far above the loss of the effects.
STRETCH, HOPELESS_TIMES, HOPELESS_NATS = 50, 1.5, 0.1
SHARES = np.arange(1, 21) / 20
# On noise the loss is lowest after fewer rounds, by luck.
MIN_ROUNDS = 15
# By so many standard errors of the paired difference the mean must be better than the effects alone; or by fewer, if a
# mean of equal shares is so too: that share is not chosen on these rows, and loses where there is nothing to find. Of
# 480 tables of noise, main effects and pairs three were given trees.
CLEAR_ERRORS = 2.25
FEWER_ERRORS = 1.0
# What the best mean must gain on one fold for the others to be asked.
ERRORS_TO_GO_ON = 0.5
# Small trees of all attributes gain where the class is a function of categories; large ones, each of half of the
# attributes, on numbers, and the larger the more rows there are.
KINDS = (TreeOptions(max_leaves=24, asked=0.5), TreeOptions(max_leaves=8))
KINDS_OF_MANY = (TreeOptions(max_leaves=48, asked=0.5), TreeOptions(max_leaves=8))
MANY_ROWS = 3_000
# Forests of different draws are averaged: convexity makes the mean no worse than they are. So many trees in all.
MAX_FORESTS, MAX_TREES = 4, 800
# Folds see one forest, so a kind that is not averaged must be ahead by so many standard errors of one that will be.
ERRORS_FOR_ONE = 1.0


@dataclass(frozen=True)
class TreeChoice:
    """So many rounds, the share of the trees in the mean, how they are grown, and how many forests are averaged."""

    rounds: int = 0
    share: float = 0.0
    options: TreeOptions = KINDS[0]
    n_forests: int = 0


@dataclass(frozen=True)
class Gain:
    """By how many standard errors of the paired difference a mean is better than the effects alone on rows held out.

    best    the best mean of effects and trees, whose share is chosen on these rows
    halves  the mean with equal shares
    """

    best: float
    halves: float

    @property
    def is_clear(self) -> bool:
        return self.best > CLEAR_ERRORS or min(self.best, self.halves) > FEWER_ERRORS


def add_trees(
    network: AdditiveNetwork,
    folds: Sequence[JudgedFold],
    more_folds: Callable[[], Sequence[JudgedFold]],
    rows: Rows,
    max_attributes: int | None,
) -> tuple[AdditiveNetwork, TreeChoice]:
    """The network with trees, or as it is; and the choice made.

    network         fitted on all rows
    more_folds      further folds, to be made only where trees may gain
    rows            at both granularities
    max_attributes  that a leaf may depend on; None for any number
    """
    columns = network.columns[:-1]
    cells = min(rows.n_rows, MAX_ROWS_FOR_FOLDS) * len(columns) * rows.n_classes
    if not folds or rows.n_rows < MIN_ROWS or cells > MAX_CELLS:
        return network, TreeChoice()
    suitable = KINDS if rows.n_rows < MANY_ROWS else KINDS_OF_MANY
    kinds = [replace(kind, max_attributes=max_attributes) for kind in suitable]
    judged = _Judged(folds[:1], columns)
    choice, gain = judged.choose(kinds)
    if gain.best > ERRORS_TO_GO_ON and (more := folds[1:] or more_folds()):
        choice, gain = judged.with_more(more).choose([choice.options])
    if not gain.is_clear:
        return network, TreeChoice()
    numbers = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, MAX_ROWS)).astype(np.intp)
    taken = rows.take(numbers)
    forests = [_begin(taken, columns, replace(choice.options, seed=seed)) for seed in range(choice.n_forests)]
    for _ in range(choice.rounds):
        map_threads(Boosting.grow, forests)
    return _mean(network, forests, choice.share), choice


class _Judged:
    """Networks on folds beside which trees are judged, and the trees grown on the folds so far, by kind."""

    def __init__(self, folds: Sequence[JudgedFold], columns: Sequence[ColumnSchema]) -> None:
        self._folds, self._columns = folds, columns
        self._trees: dict[TreeOptions, list[_TreeFold]] = {}

    def with_more(self, folds: Sequence[JudgedFold]) -> _Judged:
        """On further folds too; what has grown is not grown again."""
        more = _Judged([*self._folds, *folds], self._columns)
        more._trees = self._trees
        return more

    def choose(self, kinds: Iterable[TreeOptions]) -> tuple[TreeChoice, Gain]:
        """By the lowest loss of the rows held out; and what it gains."""
        rests = [fold.split.rest for fold in self._folds]
        weights = np.concatenate([rest.row_weights for rest in rests])
        classes = np.concatenate([rest.class_codes for rest in rests]).astype(np.intp)
        pairs = ((fold.network, fine_codes(fold.split.rest, self._columns)) for fold in self._folds)
        effects = np.concatenate([network.log_joint(codes, normalized=True).T for network, codes in pairs], axis=1)
        alone = losses(effects, classes)
        choice, best, halves = TreeChoice(), alone, alone
        alone_loss, rival, leaves = float(np.average(alone, weights=weights)), list[float](), 0
        for kind in kinds:
            # As many leaves as one round of the kind before has.
            pace, leaves = leaves // kind.max_leaves, kind.max_leaves
            rounds, trees, rival = _grow_on_folds(self._tree_folds(kind), classes, weights, alone_loss, rival, pace)
            if rounds < MIN_ROUNDS:
                continue
            n_trees = rounds * (1 if len(effects) == 2 else len(effects))
            n_forests = 1 if kind.asked == 1.0 else min(max(MAX_TREES // n_trees, 1), MAX_FORESTS)
            means = [losses((1.0 - share) * effects + share * trees, classes) for share in SHARES]
            lowest = int(np.argmin([np.average(mean, weights=weights) for mean in means]))
            if excess_errors(best, means[lowest], weights) > (ERRORS_FOR_ONE if choice.n_forests > n_forests else 0.0):
                choice, best = TreeChoice(rounds, float(SHARES[lowest]), kind, n_forests), means[lowest]
                halves = losses(0.5 * (effects + trees), classes)
        return choice, Gain(excess_errors(alone, best, weights), excess_errors(alone, halves, weights))

    def _tree_folds(self, kind: TreeOptions) -> list[_TreeFold]:
        """At their beginning."""
        known = self._trees.setdefault(kind, [])
        for fold in known:
            fold.begin()
        new = self._folds[len(known) :]
        known += [_TreeFold(fold.split.kept, fold.split.rest, self._columns, kind) for fold in new]
        return known


def _grow_on_folds(
    folds: Sequence[_TreeFold],
    classes: NDArray[np.intp],
    weights: Array,
    alone: float,
    rival: Sequence[float],
    pace: int,
) -> tuple[int, Array, list[float]]:
    """The number of rounds of the lowest loss, the log odds (n_classes, n_rows) of all rows held out, and the losses.

    `alone` is the loss of the effects, `rival` are the losses of larger trees, one of which has as many leaves as
    `pace` of these. They learn more in a round; smaller ones that are behind with as many leaves end.
    """
    best_rounds, best_scores, found = 0, np.empty(0), []
    for rounds in count():
        scores = np.concatenate([fold.scores for fold in folds], axis=1)
        found.append(float(np.average(losses(scores, classes), weights=weights)))
        if found[-1] <= found[best_rounds]:
            best_rounds, best_scores = rounds, scores
        behind = bool(rival) and ROUNDS_TO_LEAD <= rounds // pace < len(rival) and found[-1] > rival[rounds // pace]
        hopeless = where_it_ends(found) > HOPELESS_TIMES * alone + HOPELESS_NATS
        if behind or hopeless or rounds == min(best_rounds + PATIENCE, MAX_ROUNDS):
            return best_rounds, best_scores, found
        map_threads(_TreeFold.grow, folds)
    raise AssertionError


def where_it_ends(losses_by_round: Sequence[float]) -> float:
    """What a loss falls to if each stretch of rounds goes on lowering it by the same share of the one before.

    Minus infinity where it falls ever faster, or there are not two stretches yet.
    """
    if len(losses_by_round) <= 2 * STRETCH:
        return -np.inf
    first, middle, last = (losses_by_round[-1 - n * STRETCH] for n in (2, 1, 0))
    fall, next_fall = first - middle, middle - last
    return last - next_fall**2 / (fall - next_fall) if 0.0 < next_fall < fall else -np.inf


class _TreeFold:
    """Trees on the rows kept, and the log odds (n_classes, n_rows) they give to the rest."""

    def __init__(
        self, kept: EncodedBatch, rest: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions
    ) -> None:
        self._codes = one_type(fine_codes(rest, columns), n_codes(columns))
        self._boosting = _begin(kept, columns, options)
        self._rounds: list[list[Tree]] = []
        self.begin()

    def begin(self) -> None:
        """Before the first round; rounds that have grown are kept."""
        self._next = 0
        self.scores = np.repeat(self._boosting.start[:, np.newaxis], len(self._codes), axis=1)

    def grow(self) -> None:
        """One more round."""
        from tanager.trees.round_kernels import add_tree

        if self._next == len(self._rounds):
            self._rounds.append(self._boosting.grow())
        for tree in self._rounds[self._next]:
            add_tree(self._codes, tree.nodes, tree.left, tree.values, self.scores[tree.of_class])
        self._next += 1


def _begin(rows: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions) -> Boosting:
    weights = rows.row_weights
    classes = np.bincount(rows.class_codes, weights, minlength=rows.n_classes)
    start = np.log(np.maximum(classes, 0.5) / classes.sum())  # a class without rows counts as half a row
    ordered = np.array([column.n_states - column.gap_state if column.has_order else 0 for column in columns])
    return Boosting(fine_codes(rows, columns), rows.class_codes, weights, start, n_codes(columns), ordered, options)


def _mean(network: AdditiveNetwork, forests: Sequence[Boosting], share: float) -> AdditiveNetwork:
    """(1 - share) of the network and the share of the forests' mean, whose trees' means go into the intercept."""
    intercept = (1.0 - share) * network.intercept + share * forests[0].start
    trees = [tree for forest in forests for tree in forest.trees if len(tree.nodes)]
    for forest in forests:
        for tree in forest.trees:
            if not len(tree.nodes):
                intercept[tree.of_class] += share / len(forests) * tree.values[0]
    grown = Forest.of(trees, n_codes(network.columns[:-1]), len(intercept)).scaled(share / len(forests))
    centered, means = grown.centered()
    intercept = intercept + means
    return replace(
        network,
        intercept=intercept - intercept.mean(),
        mains=tuple((1.0 - share) * main for main in network.mains),
        tables=tuple((1.0 - share) * table for table in network.tables),
        spreads=tuple((1.0 - share) * spread for spread in network.spreads),
        forest=centered if network.forest is None else network.forest.scaled(1.0 - share).joined(centered),
    )
