"""Effects of three attributes: a table over all cells of three attributes, written as a tree for each class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.additive.forest import Forest, Tree
from tanager.structure.ties import level
from tanager.table.categories import Codes
from tanager.threads import map_threads
from tanager.trees.boost import one_type

Array = NDArray[np.float64]
Triple = tuple[int, int, int]

# Standard deviations above what the largest of n normal deviates is, sqrt(2 log n): sums of squares have long tails.
ABOVE_NOISE = 3.0
TIES = 1e-9
# Of a cell without rows: a leaf needs some, and this does not move the mean of a tree.
NO_WEIGHT = 1e-9


def find_triples(
    codes: Codes, classes: NDArray[np.intp], weights: Array, scores: Array, n_codes: NDArray[np.int64]
) -> list[Triple]:
    """Triples of which the log odds `scores` (n_classes, n_rows) leave clearly more than chance does, the best first.

    codes    (n_rows, n_attributes)
    n_codes  (n_attributes,) codes of each attribute
    """
    from tanager.trees.triple_kernels import scan_triples

    n_attributes = codes.shape[1]
    shares = np.exp(scores - scores.max(axis=0))
    shares /= shares.sum(axis=0)
    of_class = [1] if len(scores) == 2 else list(range(len(scores)))
    truth = classes == np.array(of_class)[:, np.newaxis]
    gradients, hessians = weights * (shares[of_class] - truth), weights * shares[of_class] * (1.0 - shares[of_class])
    columns = np.ascontiguousarray(one_type(codes, n_codes).T)
    far = np.full((n_attributes, n_attributes, n_attributes), -np.inf)
    map_threads(lambda i: scan_triples(columns, n_codes, gradients, hessians, i, far[i]), range(n_attributes - 2))
    least = ABOVE_NOISE + math.sqrt(2.0 * math.log(math.comb(n_attributes, 3)))
    order = np.argsort(-level(far.reshape(-1), TIES), kind="stable")
    best = order[: np.count_nonzero(far > least)]
    i, j, k = np.unravel_index(best, far.shape)
    return list(zip(i.tolist(), j.tolist(), k.tolist(), strict=True))


def triple_forest(
    triples: Sequence[Triple], codes: Codes, weights: Array, n_codes: Sequence[int], n_classes: int
) -> Forest:
    """A tree for each triple and class whose leaves are all cells of the triple, at zero; one for two classes."""
    trees = []
    for triple in triples:
        sizes = tuple(n_codes[attribute] for attribute in triple)
        cells = np.ravel_multi_index(tuple(codes[:, attribute].astype(np.intp) for attribute in triple), sizes)
        in_cell = np.bincount(cells, weights, minlength=math.prod(sizes))
        nodes, left = _split_all(triple, sizes)
        of_class = (1,) if n_classes == 2 else range(n_classes)
        in_leaf = np.maximum(in_cell, NO_WEIGHT * in_cell.sum())
        trees += [Tree(number, nodes, left, np.zeros(len(in_leaf)), in_leaf) for number in of_class]
    return Forest.of(trees, n_codes, n_classes)


def _split_all(triple: Triple, sizes: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nodes and sides of a tree that halves the codes of each attribute until one is left; its leaves are the cells."""
    nodes: list[list[int]] = []
    sides: list[NDArray[np.bool_]] = []

    def split(depth: int, cell: int, low: int, high: int) -> int:
        """The end that rows with codes low ... high - 1 of the attribute at this depth lead to."""
        if high - low == 1:
            cell = cell * sizes[depth] + low
            return ~cell if depth == 2 else split(depth + 1, cell, 0, sizes[depth + 1])
        number, middle = len(nodes), (low + high) // 2
        nodes.append([triple[depth], 0, 0])
        sides.append(np.arange(max(sizes)) < middle)
        nodes[number][1] = split(depth, cell, low, middle)
        nodes[number][2] = split(depth, cell, middle, high)
        return number

    split(0, 0, 0, sizes[0])
    return np.array(nodes, dtype=np.int64).reshape(-1, 3), np.array(sides)
