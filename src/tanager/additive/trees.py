"""Trees beside the terms: chosen on the folds, grown on all rows, averaged with the terms.

The model is (1 - share) terms + share trees, a mean of log odds. Neither is behind the other everywhere, and the folds
say which share is best; trees are taken where they gain clearly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.additive.boost import FOLD_RATE, RATE, Boosting, TreeKind
from tanager.additive.choose import gains_clearly
from tanager.additive.folds import MAX_FITTED, Folds, Sample
from tanager.additive.forest import Forest, Tree
from tanager.additive.grow import Codebook
from tanager.arrays import Array
from tanager.table.schema import ColumnSchema

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
    choice, best = None, alone
    most = min(MAX_ROUNDS, MAX_FITTED // terms.shape[1] ** 2)
    for kind in kinds(n_rows):
        boosting = Boosting(kind, folds.sample.codes, classes, folds.training, n_classes, book, seed, FOLD_RATE)
        losses, alone_losses, rounds = [folds.mean(alone)], [np.inf], 0
        while rounds < most and not (ends(losses, NOTHING) and ends(alone_losses, SLOW)):
            for _ in range(LOOK):
                boosting.grow()
            trees = folds.validated(boosting.by_row())
            weight = folds.best_weight(terms, trees)
            mixed = folds.losses((1 - weight) * terms + weight * trees)
            losses.append(folds.mean(mixed))
            alone_losses.append(folds.mean(folds.losses(trees)))
            rounds = round(LOOK * (len(losses) - 1) * FOLD_RATE / RATE)
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
    n_codes = np.array([column.n_states + 1 for column in columns])
    intercept = np.zeros(n_classes)
    intercept[-n_columns:] = boosting.start.mean(axis=0)
    trees = []
    for grown, values, weights_ in zip(boosting.rounds, boosting.values, boosting.leaf_weights, strict=True):
        for number in range(len(values)):
            of_class = n_classes - n_columns + number % n_columns
            tree = _tree(grown.attributes[number], grown.left[number], values[number], weights_[number], of_class)
            if len(tree.nodes):
                trees.append(tree)
            else:
                intercept[of_class] += tree.values[0] / averaged
    if not trees:
        return None, choice.weight * intercept, averaged
    forest, means = Forest.of(trees, n_codes, n_classes).scaled(choice.weight / averaged).centered()
    return forest, choice.weight * intercept + means, averaged


def _tree(attributes: NDArray[np.int64], left: NDArray[np.bool_], values: Array, weights: Array, of_class: int) -> Tree:
    """From a heap: splits in its order, then the nodes that rows end in."""
    splits = np.flatnonzero(attributes >= 0)
    number = np.full(len(values), -1)
    number[splits] = np.arange(len(splits))
    ends = np.stack([2 * splits + 1, 2 * splits + 2], axis=1) if len(splits) else np.zeros((1, 1), np.intp)
    leaves = np.unique(ends[number[ends] < 0])
    number[leaves] = ~np.arange(len(leaves))
    nodes = np.column_stack([attributes[splits], number[ends]]) if len(splits) else np.zeros((0, 1 + 2), np.int64)
    return Tree(of_class, nodes.astype(np.int64), left[splits], values[leaves], weights[leaves])
