"""Trees of a forest that never ask for an attribute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tanager.additive.forest import Forest
from tanager.arrays import Ints


def without_trees_of(forest: Forest, attribute: int) -> Forest | None:
    """The forest without the trees that ask for an attribute anywhere; None if no tree is left.

    A tree cannot lose one attribute alone: which leaf a row ends in depends on all of them together. A tree has a mean
    of zero over the training rows, so the others' sum keeps its mean.
    """
    of_split, of_leaf = _trees(forest)
    asked = np.zeros(len(forest.roots), dtype=bool)
    asked[of_split[forest.attributes == attribute]] = True
    if asked.all():
        return None
    splits, leaves = ~asked[of_split], ~asked[of_leaf]
    new_split, new_leaf = np.cumsum(splits) - 1, np.cumsum(leaves) - 1

    def renumber(ends: Ints) -> Ints:
        return np.array([new_split[end] if end >= 0 else ~new_leaf[~end] for end in ends.ravel()]).reshape(ends.shape)

    sizes = np.diff(forest.offsets)
    return replace(
        forest,
        roots=renumber(forest.roots[~asked]),
        of_class=forest.of_class[~asked],
        attributes=forest.attributes[splits],
        ends=renumber(forest.ends[splits]).astype(np.int64),
        offsets=np.cumsum([0, *sizes[splits]]),
        left=forest.left[np.repeat(splits, sizes)],
        values=forest.values[leaves],
        weights=forest.weights[leaves],
    )


def _trees(forest: Forest) -> tuple[Ints, Ints]:
    """The tree of each split, and of each leaf."""
    of_split, of_leaf = np.zeros(len(forest.attributes), np.int64), np.zeros(len(forest.values), np.int64)
    ends, trees = forest.roots, np.arange(len(forest.roots))
    while len(ends):
        inner = ends >= 0
        of_split[ends[inner]], of_leaf[~ends[~inner]] = trees[inner], trees[~inner]
        trees, ends = np.repeat(trees[inner], 2), forest.ends[ends[inner]].reshape(-1)
    return of_split, of_leaf
