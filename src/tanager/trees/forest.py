"""Forest: trees whose leaves add to the log odds of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager.table.batch import Codes
from tanager.threads import map_threads

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Rows times trees from which the compiled kernel repays its start.
WORK_WORTH_COMPILING = 1_000_000
BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class Tree:
    """One tree, as it is grown.

    of_class  the class it adds to
    nodes     (n_splits, 3) of each split the attribute, its left and its right end: a later split, or ~leaf
    left      (n_splits, at least the attribute's codes) whether a code goes to the left
    values    (n_leaves,) what a leaf adds
    weights   (n_leaves,) of the training rows in it
    """

    of_class: int
    nodes: Ints
    left: Flags
    values: Array
    weights: Array


@dataclass(frozen=True)
class Forest:
    """A sum of trees: each row ends in a leaf of each tree, which adds its value to the log odds of the tree's class.

    An end is a split, which is above those it leads to in number, or ~leaf. Splits and leaves are numbered through all
    trees. The code of a missing cell, an attribute's number of states, goes to one side as any other.

    n_classes   that rows may have
    roots       (n_trees,) the first end of each tree
    of_class    (n_trees,) the class it adds to
    attributes  (n_splits,) that a split asks for
    ends        (n_splits, 2) where it leads, right and left
    offsets     (n_splits + 1,) where its codes begin in `left`
    left        (n_codes of all splits,) whether a code goes to the left
    values      (n_leaves,) what a leaf adds
    weights     (n_leaves,) of the training rows in it
    """

    n_classes: int
    roots: Ints
    of_class: Ints
    attributes: Ints
    ends: Ints
    offsets: Ints
    left: Flags
    values: Array
    weights: Array

    @classmethod
    def of(cls, trees: Sequence[Tree], n_codes: Sequence[int] | Ints, n_classes: int) -> Forest:
        """From trees over attributes of so many codes."""
        splits = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
        leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
        ends, attributes, left = [], [], []
        for tree, split, leaf in zip(trees, splits.tolist(), leaves.tolist(), strict=False):
            children = tree.nodes[:, [2, 1]]
            ends.append(np.where(children < 0, children - leaf, children + split))
            attributes.append(tree.nodes[:, 0])
            left += [own[: n_codes[attribute]] for own, attribute in zip(tree.left, tree.nodes[:, 0], strict=True)]
        counts = (len(tree.nodes) for tree in trees)
        firsts = zip(counts, splits.tolist(), leaves.tolist(), strict=False)
        return cls(
            n_classes,
            np.array([split if n else ~leaf for n, split, leaf in firsts], dtype=np.int64),
            np.array([tree.of_class for tree in trees], dtype=np.int64),
            np.concatenate([*attributes, np.empty(0, np.int64)]),
            np.concatenate([*ends, np.empty((0, 2), np.int64)]),
            np.cumsum([0, *(len(own) for own in left)]),
            np.concatenate([*left, np.empty(0, np.bool_)]),
            np.concatenate([np.empty(0), *(tree.values for tree in trees)]),
            np.concatenate([np.empty(0), *(tree.weights for tree in trees)]),
        )

    def scores(self, codes: Codes) -> Array:
        """(n_rows, n_classes) the sums over the trees."""
        result = np.zeros((len(codes), self.n_classes))
        if len(codes) * len(self.roots) < WORK_WORTH_COMPILING:
            for first in range(0, len(codes), BLOCK_ROWS):
                rows = slice(first, first + BLOCK_ROWS)
                self._add(codes[rows], result[rows])
        else:
            map_threads(
                lambda first: self._add_compiled(codes[first : first + BLOCK_ROWS], result[first : first + BLOCK_ROWS]),
                range(0, len(codes), BLOCK_ROWS),
            )
        return result

    def _add(self, codes: Codes, out: Array) -> None:
        for leaves, of_class in zip(self._leaves(codes).T, self.of_class.tolist(), strict=True):
            out[:, of_class] += self.values[leaves]

    def _leaves(self, codes: Codes) -> Ints:
        """(n_rows, n_trees) the leaves that rows end in."""
        at = np.tile(self.roots, (len(codes), 1))
        while True:
            rows, trees = np.nonzero(at >= 0)
            if not len(rows):
                return ~at
            at[rows, trees] = self.follow(at[rows, trees], codes[rows, self.attributes[at[rows, trees]]])

    def follow(self, splits: Ints, codes: Codes) -> Ints:
        """Where these splits lead rows that have these codes of the splits' attributes."""
        found: Ints = self.ends[splits, self.left[self.offsets[splits] + codes].astype(np.intp)]
        return found

    def _add_compiled(self, codes: Codes, out: Array) -> None:
        from tanager.trees.score_kernels import add_trees

        parts = (self.roots, self.of_class, self.attributes, self.ends, self.offsets, self.left, self.values)
        add_trees(np.ascontiguousarray(codes), *parts, out)

    def scaled(self, factor: float) -> Forest:
        """What every leaf adds times a number."""
        return replace(self, values=factor * self.values)

    def with_attributes(self, places: Ints) -> Forest:
        """The same over attributes in another order: attribute k is attribute places[k] there."""
        return replace(self, attributes=places[self.attributes])
