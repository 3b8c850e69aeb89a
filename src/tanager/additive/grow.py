"""The trees of a round, grown level by level: in NumPy for small tables, compiled for others, with equal results."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.resources import map_threads

KERNELS = "tanager.additive.grow_kernels"
# Rows times attributes times trees of a round below which NumPy has grown them before a kernel is compiled.
SMALL = 40_000
UNIT_BITS = np.iinfo(np.int32).bits
LEAST_GAIN = 1e-9  # of the score without a split: below it is rounding


@dataclass(frozen=True)
class Codebook:
    """The codes of the attributes in one histogram: where each begins, and how many of it have an order."""

    starts: Ints
    ordered: Ints

    @classmethod
    def of(cls, n_codes: Ints, ordered: Ints) -> Codebook:
        return cls(np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64), ordered.astype(np.int64))

    @property
    def most(self) -> int:
        """Codes of an attribute."""
        return int(np.diff(self.starts).max())

    def bins(self, codes: Codes) -> Codes:
        """(n_rows, n_attributes), in 16 bits, or in 32 where there are too many codes."""
        dtype = np.uint16 if self.starts[-1] <= np.iinfo(np.uint16).max else np.uint32
        return np.ascontiguousarray(codes.astype(dtype) + self.starts[:-1].astype(dtype))


@dataclass(frozen=True)
class Grown:
    """Trees as heaps: node k leads to 2 k + 1 (left) and 2 k + 2.

    attributes   (n_trees, 2^depth - 1) what a node splits on, -1 for none
    left         (n_trees, 2^depth - 1, codes) which codes go left
    node_of_row  (n_trees, n_rows) where rows end
    """

    attributes: Ints
    left: Flags
    node_of_row: Ints


def grow_trees(
    bins: Codes, packed: Ints, asked: Ints, book: Codebook, least: Array, penalty: Array, depth: int
) -> Grown:
    """Grow a tree for each line of `packed` (n_trees, n_rows); see `grow_kernels` for the arguments."""
    n_trees, n_rows = packed.shape
    n_nodes = 2**depth - 1
    grown = Grown(
        np.full((n_trees, n_nodes), -1),
        np.zeros((n_trees, n_nodes, book.most), dtype=np.bool_),
        np.zeros((n_trees, n_rows), dtype=np.int64),
    )
    if KERNELS not in sys.modules and bins.size * n_trees <= SMALL:
        _grow_in_numpy(bins, packed, asked, book, least, penalty, depth, grown)
        return grown
    from tanager.additive.grow_kernels import grow_tree

    def grow(tree: int) -> None:
        grow_tree(
            bins,
            packed[tree],
            asked[tree],
            book.starts,
            book.ordered,
            float(least[tree]),
            float(penalty[tree]),
            depth,
            grown.attributes[tree],
            grown.left[tree],
            grown.node_of_row[tree],
        )

    map_threads(grow, range(n_trees))
    return grown


def _grow_in_numpy(
    bins: Codes, packed: Ints, asked: Ints, book: Codebook, least: Array, penalty: Array, depth: int, grown: Grown
) -> None:
    """All trees side by side, the nodes of a level at once."""
    n_trees, n_attributes = len(packed), bins.shape[1]
    gradients, hessians = packed >> UNIT_BITS, packed & ((1 << UNIT_BITS) - 1)
    may_ask = np.zeros((n_trees, n_attributes), dtype=bool)
    np.put_along_axis(may_ask, asked, True, axis=1)
    codes = np.arange(book.most)
    places = book.starts[:-1, np.newaxis] + codes
    places = np.where(codes < np.diff(book.starts)[:, np.newaxis], places, book.starts[-1])  # the last is empty
    trees, rows = np.nonzero(packed)
    for level in range(depth):
        first, n_nodes = 2**level - 1, 2**level
        node = grown.node_of_row[trees, rows] - first
        trees, rows, node = trees[node >= 0], rows[node >= 0], node[node >= 0]
        whole_h = np.bincount(trees * n_nodes + node, hessians[trees, rows], n_trees * n_nodes)
        open_nodes = np.flatnonzero(whole_h >= 2 * np.repeat(least, n_nodes))
        if not len(open_nodes):
            return
        slots = np.full(n_trees * n_nodes, -1)
        slots[open_nodes] = np.arange(len(open_nodes))
        own = slots[trees * n_nodes + node]
        trees, rows, own = trees[own >= 0], rows[own >= 0], own[own >= 0]
        at = (own[:, np.newaxis] * (book.starts[-1] + 1) + bins[rows]).ravel()
        size = len(open_nodes) * (book.starts[-1] + 1)
        g, h = (
            np.bincount(at, np.repeat(values[trees, rows], n_attributes), size)
            .reshape(len(open_nodes), -1)[:, places]
            .astype(np.float64)
            for values in (gradients, hessians)
        )
        tree = open_nodes // n_nodes
        best, left = _best_splits(g, h, book, may_ask[tree], least[tree], penalty[tree])
        split = best >= 0
        nodes = first + open_nodes % n_nodes
        grown.attributes[tree, nodes] = best
        grown.left[tree[split], nodes[split]] = left[split]
        at_node = grown.node_of_row
        every_tree = np.arange(n_trees)[:, np.newaxis]
        asks = grown.attributes[every_tree, np.minimum(at_node, len(grown.attributes[0]) - 1)]
        moves = (at_node >= first) & (asks >= 0) & (at_node < first + n_nodes)
        t, r = np.nonzero(moves)
        here, attribute = at_node[t, r], asks[t, r]
        goes = grown.left[t, here, bins[r, attribute].astype(np.int64) - book.starts[attribute]]
        at_node[t, r] = 2 * here + 2 - goes


def _best_splits(
    g: Array, h: Array, book: Codebook, may_ask: Flags, least: Array, penalty: Array
) -> tuple[Ints, Flags]:
    """Of nodes with histograms (n_nodes, n_attributes, codes): the attribute of the best split, and what goes left."""
    n_nodes, n_attributes, n_codes = g.shape
    each = np.arange(n_nodes)
    whole_g, whole_h = g[:, 0].sum(axis=1), h[:, 0].sum(axis=1)
    penalty, least = penalty[:, np.newaxis, np.newaxis], least[:, np.newaxis, np.newaxis]
    codes = np.arange(n_codes)
    is_ordered = (book.ordered > 0)[:, np.newaxis]
    in_order = codes < book.ordered[:, np.newaxis]
    present = (g != 0) | (h != 0)
    keys = np.where(is_ordered, codes, np.where(present, g / (h + penalty), np.inf))
    keys = np.where(is_ordered & ~in_order, np.inf, keys)
    ranks = np.argsort(keys, axis=2, kind="stable")
    ranked = [np.take_along_axis(np.where(is_ordered & ~in_order, 0.0, values), ranks, axis=2) for values in (g, h)]
    lefts_g, lefts_h = (np.cumsum(values, axis=2) for values in ranked)
    apart_g, apart_h = ((values * (is_ordered & ~in_order)).sum(axis=2, keepdims=True) for values in (g, h))
    nothing = (whole_g * whole_g / (whole_h + penalty[:, 0, 0]))[:, np.newaxis, np.newaxis]
    gains = np.empty((n_nodes, n_attributes, 2, n_codes))
    for with_apart in range(2):
        left_g, left_h = lefts_g + with_apart * apart_g, lefts_h + with_apart * apart_h
        right_g = whole_g[:, np.newaxis, np.newaxis] - left_g
        right_h = whole_h[:, np.newaxis, np.newaxis] - left_h
        gain = left_g * left_g / (left_h + penalty) + right_g * right_g / (right_h + penalty) - nothing
        allowed = (left_h >= least) & (right_h >= least) & may_ask[:, :, np.newaxis]
        gains[:, :, with_apart] = np.where(allowed, gain, -np.inf)
    flat = gains.reshape(n_nodes, -1)
    place = flat.argmax(axis=1)
    best, rest = np.divmod(place, 2 * n_codes)
    with_apart, length = np.divmod(rest, n_codes)
    gained = flat[each, place] > LEAST_GAIN * nothing[:, 0, 0]
    n_ordered = book.ordered[best][:, np.newaxis]
    rank_of = np.argsort(ranks[each, best], axis=1, kind="stable")
    goes = rank_of <= length[:, np.newaxis]
    left = np.where((n_ordered > 0) & (codes >= n_ordered), with_apart[:, np.newaxis] == 1, goes)
    left_h = (left * h[each, best]).sum(axis=1)
    absent = ~present[each, best] & (codes >= n_ordered)
    left = np.where(absent, (2 * left_h > whole_h)[:, np.newaxis], left)
    left &= codes < np.diff(book.starts)[best][:, np.newaxis]
    return np.where(gained, best, -1), left
