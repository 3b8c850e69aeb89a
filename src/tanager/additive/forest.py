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
    def of_heaps(
        cls, attributes: Ints, left: Flags, values: Array, weights: Array, of_class: Ints, n_codes: Ints, n_classes: int
    ) -> Forest:
        """From trees as they are grown (`grow.Grown`), over attributes of so many codes.

        values, weights  (n_trees, n_nodes) of every node
        """
        n_splits = attributes.shape[1]
        is_split = np.pad(attributes >= 0, ((0, 0), (0, n_splits + 1)))
        is_leaf = np.logical_not(is_split)
        is_leaf[:, 1:] &= np.repeat(is_split[:, :n_splits], 2, axis=1)
        splits, leaves = (np.cumsum(each).reshape(each.shape) for each in (is_split, is_leaf))
        numbers = np.where(is_split, splits - 1, -leaves)
        trees, nodes = np.nonzero(is_split)
        asked = attributes[trees, nodes]
        goes_left = left[trees, nodes]
        return cls(
            n_classes,
            numbers[:, 0],
            of_class,
            asked,
            np.stack([numbers[trees, 2 * nodes + 2], numbers[trees, 2 * nodes + 1]], axis=1),
            np.cumsum([0, *n_codes[asked]]),
            goes_left[np.arange(goes_left.shape[1]) < n_codes[asked][:, np.newaxis]],
            values[is_leaf],
            weights[is_leaf],
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
