"""Trees beside effects: grown from nothing on the same rows, and taken in where rows held out gain clearly.

The model is then a mean of log odds, (1 - share) * effects + share * trees: a sum of effects and trees again. Folds of
the training rows choose the number of rounds and the share. Neither is behind the other everywhere, and their mean was
never clearly behind the better one on the benchmark sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tanager.additive.forest import Forest
from tanager.additive.model import AdditiveModel
from tanager.parameters.effects.problems import MAX_ROWS_FOR_FOLDS
from tanager.parameters.effects.tree_folds import TreeChoice, TreeFolds, begin_trees
from tanager.parameters.effects.triples import JudgedFold
from tanager.table.granularity import n_codes
from tanager.table.rows import Rows, evenly_spaced, gather
from tanager.table.schema import ColumnSchema
from tanager.threads import run_threads
from tanager.trees.boost import Boosting, TreeOptions, rounds_as_far

# Trees are grown on so many rows at most, evenly spaced ones.
MAX_ROWS = 200_000
# Rows times attributes times classes of a fold: with more of them a round takes longer than trees are worth.
MAX_CELLS = 20_000_000
# One fold, a third of the rows, leaves the choice to luck up to here; then its rows are as many as those of three folds
# of a smaller table.
ONE_FOLD_ROWS = 9_000
# What the best mean must gain on one fold for the others to be asked.
ERRORS_TO_GO_ON = 0.5
# Small trees of all attributes gain where the class is a function of categories; large ones, each of half of the
# attributes, on numbers, and the larger the more rows there are.
KINDS = (TreeOptions(max_leaves=24, asked=0.5), TreeOptions(max_leaves=8))
KINDS_OF_MANY = (TreeOptions(max_leaves=48, asked=0.5), TreeOptions(max_leaves=8))
MANY_ROWS = 3_000
# Shorter steps of large trees gain with so many rows: settled on magic, adult, nursery and poker-train. Above
# the rows that folds are made of trees have more leaves, and 400 rounds of short steps would not be enough for them.
KINDS_OF_VERY_MANY = (TreeOptions(max_leaves=48, asked=0.5, rate=0.05), TreeOptions(max_leaves=8))
VERY_MANY_ROWS = 10_000


class ChosenTrees:
    """Trees for a network that is fitted on all rows meanwhile.

    choice  by the folds
    grown   forests of folds that are part of the mean
    begin   those of all rows, before their first round
    """

    def __init__(
        self,
        choice: TreeChoice | None = None,
        grown: Sequence[Boosting] = (),
        begin: Callable[[], list[Boosting]] = list,
    ) -> None:
        self.choice = TreeChoice() if choice is None else choice
        self._grown, self._begin = [*grown], begin

    def grow(self, beside: Sequence[Callable[[], None]], has_threads: bool) -> None:
        """The forests of all rows, with other work `beside` them; they wait for it if either has threads."""
        work = [*beside]
        if has_threads:  # and maybe many rows: those of forests are not held meanwhile
            run_threads(work)
            work = []
        forests = self._begin()
        if any(forest.has_threads for forest in forests):
            run_threads(work)
            work = []
        run_threads([*work, *(partial(forest.grow, self.choice.rounds) for forest in forests)])
        self._grown += forests

    def added_to(self, network: AdditiveModel) -> AdditiveModel:
        """(1 - share) of the network and the share of the forests' mean, whose trees' means go into the intercept."""
        share, forests = self.choice.share, self._grown
        if not forests:
            return network
        intercept = (1.0 - share) * network.intercept + share * np.mean([forest.start for forest in forests], axis=0)
        trees = [tree for forest in forests for tree in forest.trees(self.choice.rounds)]
        for tree in trees:
            if not len(tree.nodes):
                intercept[tree.of_class] += share / len(forests) * tree.values[0]
        trees = [tree for tree in trees if len(tree.nodes)]
        together = Forest.of(trees, n_codes(network.columns[:-1]), len(intercept)).scaled(share / len(forests))
        centered, means = together.centered()
        intercept = intercept + means
        return replace(
            network,
            intercept=intercept - intercept.mean(),
            mains=tuple((1.0 - share) * main for main in network.mains),
            tables=tuple((1.0 - share) * table for table in network.tables),
            spreads=tuple((1.0 - share) * spread for spread in network.spreads),
            forest=centered if network.forest is None else network.forest.scaled(1.0 - share).joined(centered),
        )


def choose_trees(
    folds: Sequence[JudgedFold],
    more_folds: Callable[[float], Sequence[JudgedFold]],
    rows: Rows,
    max_attributes: int | None,
) -> ChosenTrees:
    """By what they gain on rows held out, beside the networks of folds; of none if that is not clear.

    more_folds      makes further folds where trees may gain, given the share of the effects on the first
    rows            at both granularities
    max_attributes  that a leaf may depend on; None for any number
    """
    columns = folds[0].network.columns[:-1]
    cells = min(rows.n_rows, MAX_ROWS_FOR_FOLDS) * len(columns) * rows.n_classes
    if cells > MAX_CELLS:
        return ChosenTrees()
    kinds = [replace(kind, max_attributes=max_attributes) for kind in _kinds_of(rows.n_rows)]
    judged = TreeFolds(folds[:1], columns)
    choice, gain = judged.choose(kinds)
    if gain.best > ERRORS_TO_GO_ON and (more := folds[1:] or more_folds(1.0 - choice.share)):
        judged = judged.with_more(more, choice.options)
        choice, gain = judged.choose([choice.options])
    if not gain.is_clear:
        return ChosenTrees()
    grown = judged.forests(choice)
    if _are_very_many(rows.n_rows) and not grown:
        # The rounds were chosen on part of the rows. The more rows, the further trees can go before they fit noise.
        times = gather(rows).row_weights.sum() / folds[0].split.kept.row_weights.sum()
        choice = replace(choice, rounds=rounds_as_far(choice.rounds, times))
    seeds = range(len(grown), choice.n_forests)
    return ChosenTrees(choice, grown, partial(_begin_on_all, rows, columns, choice.options, seeds))


def _begin_on_all(
    rows: Rows, columns: Sequence[ColumnSchema], options: TreeOptions, seeds: Sequence[int]
) -> list[Boosting]:
    """Forests of all rows, or of so many as trees are grown on, before their first round."""
    taken = evenly_spaced(rows, MAX_ROWS)
    # Where there are more rows than folds were made of, leaves and the rows in each grow alike.
    more_rows = taken.n_rows / min(rows.n_rows, MAX_ROWS_FOR_FOLDS)
    options = replace(options, max_leaves=round(math.sqrt(more_rows) * options.max_leaves))
    return [begin_trees(taken, columns, replace(options, seed=seed)) for seed in seeds]


def _kinds_of(n_rows: int) -> tuple[TreeOptions, ...]:
    if n_rows < MANY_ROWS:
        return KINDS
    return KINDS_OF_VERY_MANY if _are_very_many(n_rows) else KINDS_OF_MANY


def _are_very_many(n_rows: int) -> bool:
    return VERY_MANY_ROWS <= n_rows <= MAX_ROWS_FOR_FOLDS
