"""Forests of random trees of any size, and their sums by walking: the oracle of what is worked out of them."""

import numpy as np

from tanager.additive.forest import Forest, Tree


def random_forest(seed: int, n_leaves: list[int], n_codes: list[int], n_classes: int) -> Forest:
    generator = np.random.default_rng(seed)
    trees = [random_tree(generator, n, n_codes, k % n_classes) for k, n in enumerate(n_leaves)]
    return Forest.of(trees, n_codes, n_classes)


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
