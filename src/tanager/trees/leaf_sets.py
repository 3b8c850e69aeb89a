"""A forest as a sum of effects of sets of attributes."""

from __future__ import annotations

import numpy as np

from tanager.table.categories import Codes
from tanager.trees.forest import Array, Forest, Ints

# Effects of more attributes cannot be read.
MAX_IN_SET = 3


def by_sets(forest: Forest, codes: Codes, n_attributes: int) -> dict[tuple[int, ...], Array]:
    """What each set of attributes adds to `Forest.scores`, but for the means of the trees: set -> (n_rows, n_classes).

    Whether a row ends in a leaf depends on the attributes asked for on the way there. Where these are at most
    MAX_IN_SET, the leaf is part of an effect of their set; else it is put down to single attributes, as in
    `Forest.credits`.
    """
    sets, of_leaf = _sets_of_leaves(forest)
    leaves = forest.leaves(codes)
    in_set = of_leaf[leaves]
    deep = np.zeros((len(codes), n_attributes, forest.n_classes))
    forest.credit_walks(np.where(in_set < 0, forest.roots, -1), codes, deep)
    found: dict[tuple[int, ...], Array] = {}
    for attribute in np.flatnonzero(deep.any(axis=(0, 2))).tolist():
        found[(attribute,)] = deep[:, attribute]
    rows, trees = np.nonzero(in_set >= 0)
    values = forest.values[leaves[rows, trees]] - forest.means[forest.place(forest.roots)][trees]
    for number in np.unique(in_set[rows, trees]).tolist():
        own = in_set[rows, trees] == number
        part = found.setdefault(sets[number], np.zeros((len(codes), forest.n_classes)))
        np.add.at(part, (rows[own], forest.of_class[trees[own]]), values[own])
    return found


def _sets_of_leaves(forest: Forest) -> tuple[list[tuple[int, ...]], Ints]:
    """Sets of at most MAX_IN_SET attributes, and of each leaf the number of the set on its way; -1 for a larger one."""
    n_splits = len(forest.attributes)
    asked: list[frozenset[int]] = [frozenset()] * (n_splits + len(forest.values))
    for splits in forest.levels:
        for split, ends in zip(splits.tolist(), forest.place(forest.ends[splits]).tolist(), strict=True):
            asked[ends[0]] = asked[ends[1]] = asked[split] | {int(forest.attributes[split])}
    sets: dict[tuple[int, ...], int] = {}
    numbers = [
        sets.setdefault(tuple(sorted(own)), len(sets)) if len(own) <= MAX_IN_SET else -1 for own in asked[n_splits:]
    ]
    return list(sets), np.array(numbers, dtype=np.int64)
