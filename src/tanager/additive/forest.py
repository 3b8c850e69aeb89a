"""Forest: trees whose leaves add to the log odds of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tanager.additive.leaf_masks import LeafMasks
from tanager.arrays import Array, Codes, Flags, Ints
from tanager.errors import DataError
from tanager.runtime import PicklesFields
from tanager.runtime.resources import map_threads

# Rows times trees from which the compiled kernel repays its start.
WORK_WORTH_COMPILING = 20_000
BLOCK_ROWS = 1_024
# Effects of more attributes cannot be read.
MAX_IN_SET = 3


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
class Forest(PicklesFields):
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
        counts = np.array([len(tree.nodes) for tree in trees], dtype=np.int64)
        splits = np.cumsum([0, *counts])
        leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
        nodes = np.concatenate([*(tree.nodes for tree in trees), np.empty((0, 1 + 2), np.int64)])
        children, attributes = nodes[:, [2, 1]], nodes[:, 0]
        later, next_leaf = (np.repeat(first[:-1], counts)[:, np.newaxis] for first in (splits, leaves))
        left = np.zeros((len(nodes), max((tree.left.shape[1] for tree in trees), default=0)), dtype=np.bool_)
        for tree, first in zip(trees, splits.tolist(), strict=False):
            left[first : first + len(tree.left), : tree.left.shape[1]] = tree.left
        n_left = np.asarray(n_codes)[attributes]
        return cls(
            n_classes,
            np.where(counts > 0, splits[:-1], ~leaves[:-1]),
            np.array([tree.of_class for tree in trees], dtype=np.int64),
            attributes,
            np.where(children < 0, children - next_leaf, children + later),
            np.cumsum([0, *n_left]),
            left[np.arange(left.shape[1]) < n_left[:, np.newaxis]],
            np.concatenate([np.empty(0), *(tree.values for tree in trees)]),
            np.concatenate([np.empty(0), *(tree.weights for tree in trees)]),
        )

    def check(self, n_codes: Sequence[int], n_classes: int) -> None:
        """That it is a forest over attributes of so many codes, for so many classes."""
        n_splits, n_leaves = len(self.attributes), len(self.values)
        numbers = np.arange(n_splits)[:, np.newaxis]
        once = np.sort(np.concatenate([self.roots, self.ends.reshape(-1)]))
        whole = (
            self.n_classes == n_classes
            and len(self.of_class) == len(self.roots)
            and bool(np.isin(self.of_class, np.arange(n_classes)).all())
            and bool(np.isin(self.attributes, np.arange(len(n_codes))).all())
            # Every split and every leaf is led to once, a split from an earlier one.
            and np.array_equal(once, np.arange(-n_leaves, n_splits))
            and bool(((self.ends < 0) | (self.ends > numbers)).all())
        )
        if not whole:
            raise DataError("the trees do not lead from one root each to every split and leaf of theirs.")
        if np.diff(self.offsets).tolist() != [n_codes[attribute] for attribute in self.attributes]:
            raise DataError("a split of a tree does not say of every state of its attribute where it goes.")
        if self.weights.shape != self.values.shape or not (self.weights > 0).all():
            raise DataError("every leaf of a tree needs a weight above zero.")
        if not np.isfinite(self.values).all() or not np.isfinite(self.weights).all():
            raise DataError("a leaf of a tree holds a value that is not a finite number.")

    def scores(self, codes: Codes, compiled: bool = False) -> Array:
        """(n_rows, n_classes) the sums over the trees; `compiled` even if they are few."""
        result = np.zeros((len(codes), self.n_classes))
        if not compiled and len(codes) * len(self.roots) < WORK_WORTH_COMPILING:
            np.add.at(result.T, self.of_class, self.values[self.leaves(codes)].T)
            return result
        from tanager.additive.score_kernels import add_leaves

        masks, values = self.masks, self.masks.in_slots(self.values)

        def add(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            by_class = np.zeros((self.n_classes, len(result[rows])))
            add_leaves(np.ascontiguousarray(codes[rows].T), masks, values, by_class)
            result[rows] = by_class.T

        map_threads(add, range(0, len(codes), BLOCK_ROWS))
        return result

    def leaves(self, codes: Codes) -> Ints:
        """(n_rows, n_trees) the leaves that rows end in."""
        at = np.tile(self.roots, (len(codes), 1))
        while True:
            rows, trees = np.nonzero(at >= 0)
            if not len(rows):
                return ~at
            at[rows, trees] = self.follow(at[rows, trees], codes[rows, self.attributes[at[rows, trees]]])

    def follow(self, splits: Ints, codes: Codes) -> Ints:
        """The ends that these splits lead to, for rows with these codes of the attributes of the splits."""
        found: Ints = self.ends[splits, self.left[self.offsets[splits] + codes].astype(np.intp)]
        return found

    @cached_property
    def masks(self) -> LeafMasks:
        return LeafMasks.of(self)

    def credits(self, codes: Codes, n_attributes: int) -> Array:
        """(n_rows, n_attributes, n_classes) what each attribute adds to `scores`, without the means of the trees.

        When a row passes down a tree, the expected value changes at every split: it is the mean over the training rows
        that reach the node. Each change is credited to the attribute of the split. The changes add up to the value of
        the leaf minus the mean of the tree.
        """
        result = np.zeros((len(codes), n_attributes, self.n_classes))
        if len(codes) * len(self.roots) >= WORK_WORTH_COMPILING:
            from tanager.additive.score_kernels import add_credits

            steps = np.column_stack([self.attributes, self.offsets[:-1], self.ends]).astype(np.int32)
            trees = self.roots, self.of_class, steps, self.left.view(np.uint8), self.means
            add_credits(np.ascontiguousarray(codes), *trees, result)
            return result
        self.credit_walks(np.tile(self.roots, (len(codes), 1)), codes, result)
        return result

    def credit_walks(self, at: Ints, codes: Codes, out: Array) -> None:
        """Add to `out` what the walks from the ends `at` (n_rows, n_trees) change."""
        while True:
            rows, trees = np.nonzero(at >= 0)
            if not len(rows):
                return
            before, attributes = at[rows, trees], self.attributes[at[rows, trees]]
            after = self.follow(before, codes[rows, attributes])
            change = self.means[self.place(after)] - self.means[before]
            np.add.at(out, (rows, attributes, self.of_class[trees]), change)
            at[rows, trees] = after

    def scaled(self, factor: float) -> Forest:
        return self._with_values(factor * self.values)

    def _with_values(self, values: Array) -> Forest:
        """The same trees with other leaves; what was worked out of their splits is kept."""
        found = replace(self, values=values)
        found.__dict__.update({name: self.__dict__[name] for name in ("masks", "levels") if name in self.__dict__})
        return found

    def centered(self) -> tuple[Forest, Array]:
        """The forest with trees of mean zero over the training rows, and the means they had, summed by class."""
        roots = self.place(self.roots)
        lower = np.zeros(len(self.means))
        lower[roots] = self.means[roots]
        for splits in self.levels:
            lower[self.place(self.ends[splits])] = lower[splits, np.newaxis]
        means = np.bincount(self.of_class, self.means[roots], minlength=self.n_classes).astype(np.float64)
        return self._with_values(self.values - lower[len(self.attributes) :]), means

    def with_attributes(self, places: Ints) -> Forest:
        """The same over attributes in another order: attribute k is attribute places[k] there."""
        return replace(self, attributes=places[self.attributes])

    def place(self, ends: Ints) -> Ints:
        """Where ends stand in arrays of the splits and then the leaves."""
        return np.where(ends >= 0, ends, len(self.attributes) + ~ends)

    @cached_property
    def levels(self) -> list[Ints]:
        """The splits of each depth."""
        levels, splits = [], self.roots[self.roots >= 0]
        while len(splits):
            levels.append(splits)
            below = self.ends[splits].reshape(-1)
            splits = below[below >= 0]
        return levels

    @cached_property
    def class_of_leaf(self) -> Ints:
        """(n_leaves,) the class that the tree of a leaf adds to."""
        found = np.empty(len(self.attributes) + len(self.values), dtype=np.int64)
        found[self.place(self.roots)] = self.of_class
        for splits in self.levels:
            found[self.place(self.ends[splits])] = found[splits, np.newaxis]
        return found[len(self.attributes) :]

    @cached_property
    def means(self) -> Array:
        """(n_splits + n_leaves,) what is expected at each split, then at each leaf: the mean over its training rows."""
        n_splits = len(self.attributes)
        sums = np.concatenate([np.zeros(n_splits), self.values * self.weights])
        weights = np.concatenate([np.zeros(n_splits), self.weights])
        for splits in reversed(self.levels):
            below = self.place(self.ends[splits])
            sums[splits], weights[splits] = sums[below].sum(axis=1), weights[below].sum(axis=1)
        return sums / weights


def by_sets(forest: Forest, codes: Codes, n_attributes: int) -> dict[tuple[int, ...], Array]:
    """What each set of attributes adds to `Forest.scores`, without the means of the trees: set -> (n_rows, n_classes).

    Whether a row ends in a leaf depends on the attributes of the splits above it. If these are at most MAX_IN_SET, the
    leaf is part of the effect of their set; otherwise it is credited to single attributes, as in `Forest.credits`.
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
