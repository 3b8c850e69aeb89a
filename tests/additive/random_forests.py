"""Forests of random trees of any size, and their sums by walking: the oracle of what is worked out of them."""

from typing import NamedTuple

import numpy as np

from tanager.additive.forest import Forest


class Tree(NamedTuple):
    """nodes (n_splits, 3): of each split the attribute, its left and its right end: a later split, or ~leaf."""

    of_class: int
    nodes: np.ndarray
    left: np.ndarray
    values: np.ndarray
    weights: np.ndarray


def forest_of(trees: list[Tree], n_codes: list[int], n_classes: int) -> Forest:
    roots, attributes, ends, sides, values, weights = [], [], [], [], [], []
    for tree in trees:
        n_splits, n_leaves = len(attributes), len(values)
        roots.append(n_splits if len(tree.nodes) else ~n_leaves)
        for (attribute, *children), left in zip(tree.nodes.tolist(), tree.left, strict=True):
            attributes.append(attribute)
            ends.append([end + n_splits if end >= 0 else end - n_leaves for end in reversed(children)])
            sides.append(left[: n_codes[attribute]])
        values += tree.values.tolist()
        weights += tree.weights.tolist()
    return Forest(
        n_classes,
        np.array(roots, dtype=np.int64),
        np.array([tree.of_class for tree in trees], dtype=np.int64),
        np.array(attributes, dtype=np.int64),
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        np.cumsum([0, *map(len, sides)]),
        np.concatenate([np.empty(0, bool), *sides]),
        np.array(values, dtype=float),
        np.array(weights, dtype=float),
    )


def random_forest(seed: int, n_leaves: list[int], n_codes: list[int], n_classes: int) -> Forest:
    generator = np.random.default_rng(seed)
    trees = [random_tree(generator, n, n_codes, k % n_classes) for k, n in enumerate(n_leaves)]
    return forest_of(trees, n_codes, n_classes)


def random_tree(generator: np.random.Generator, n_leaves: int, n_codes: list[int], of_class: int) -> Tree:
    """A random end is split until there are so many leaves; leaves are numbered in any order."""
    nodes, open_ends = np.empty((n_leaves - 1, 3), dtype=np.int64), [None]
    for split in range(n_leaves - 1):
        above = open_ends.pop(generator.integers(len(open_ends)))
        if above is not None:
            nodes[above] = split
        nodes[split, 0] = generator.integers(len(n_codes))
        open_ends += [(split, 1), (split, 2)]
    for leaf, above in enumerate(open_ends):
        if above is not None:
            nodes[above] = ~leaf
    left = generator.random((n_leaves - 1, max(n_codes))) < 0.5
    return Tree(of_class, nodes, left, generator.normal(size=n_leaves), generator.uniform(1, 2, n_leaves))


def walk(forest: Forest, row: tuple[int, ...]) -> np.ndarray:
    """(classes,) what the trees add to a row."""
    total = np.zeros(forest.n_classes)
    for root, of_class in zip(forest.roots.tolist(), forest.of_class.tolist(), strict=True):
        at = root
        while at >= 0:
            goes_left = forest.left[forest.offsets[at] + row[forest.attributes[at]]]
            at = forest.ends[at, int(goes_left)]
        total[of_class] += forest.values[~at]
    return total
