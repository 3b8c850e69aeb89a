"""What a reference model of any table is made of: attributes, pairs of them, and random trees over all of them.

Features have a mean of zero over the training rows, and a missing cell has none: it says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tanager.additive.bases import random_walk
from tanager.arrays import Array, Codes, Ints
from tanager.table.schema import ColumnSchema

MAX_ATTRIBUTES, MAX_PAIRS, N_TREES, DEPTH = 200, 28, 30, 3
# Features of an attribute alone, and of each of two: the smoothest parts of a walk, or the most frequent states.
MAIN_PARTS, MAIN_FEATURES, PAIR_PARTS = 6, 320, 3
SEED = 0
ATTRIBUTE, PAIR, TREE = 0, 1, 2


@dataclass(frozen=True)
class Terms:
    """Which attributes, pairs and trees there are.

    attributes  each with features of its own
    pairs       each with the products of features of two
    splits      (n_trees, 2^depth - 1) the attribute that each node of a tree asks; its children are 2k + 1 and 2k + 2
    left        (n_trees, 2^depth - 1, most codes) which of its codes go to the left
    """

    attributes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    splits: Ints
    left: NDArray[np.bool_]

    def leaves(self, codes: Codes) -> Ints:
        """(n_rows, n_trees) the leaf of each row."""
        every, n_splits = np.arange(len(codes)), self.splits.shape[1]
        found = np.zeros((len(codes), len(self.splits)), dtype=np.int64)
        for tree, (split, left) in enumerate(zip(self.splits, self.left, strict=True)):
            node = np.zeros(len(codes), dtype=np.int64)
            for _ in range(DEPTH):
                node = 2 * node + 2 - left[node, codes[every, split[node]]]
            found[:, tree] = node - n_splits
        return found


@dataclass(frozen=True)
class Features:
    """The features of a row of coarse codes.

    terms   what they are of
    mains   for each of the terms' attributes (states + 1, features), the line of a missing cell zero
    paired  for each of them (states + 1, features), for its pairs
    means   (n_features,) what is taken off
    scales  (n_features,) what they are multiplied by, then
    """

    terms: Terms
    mains: tuple[Array, ...]
    paired: tuple[Array, ...]
    means: Array
    scales: Array

    def __call__(self, codes: Codes) -> Array:
        """(n_rows, n_features + 1), the last for the intercept."""
        raw = self.raw(codes)
        return np.concatenate([(raw - self.means) * self.scales, np.ones((len(codes), 1))], axis=1)

    def raw(self, codes: Codes) -> Array:
        """(n_rows, n_features) before they are centred and scaled."""
        terms, place = self.terms, {a: k for k, a in enumerate(self.terms.attributes)}
        parts = [own[codes[:, a]] for a, own in zip(terms.attributes, self.mains, strict=True)]
        for one, other in terms.pairs:
            first, second = (self.paired[place[a]][codes[:, a]] for a in (one, other))
            parts.append((first[:, :, np.newaxis] * second[:, np.newaxis]).reshape(len(codes), -1))
        leaves = terms.leaves(codes)
        each = (leaves[:, :, np.newaxis] == np.arange(2**DEPTH)).astype(np.float64)
        return np.concatenate([*parts, each.reshape(len(codes), -1)], axis=1)

    @property
    def kinds(self) -> Ints:
        """(n_features,) ATTRIBUTE, PAIR or TREE."""
        place = {a: k for k, a in enumerate(self.terms.attributes)}
        n_pairs = sum(self.paired[place[a]].shape[1] * self.paired[place[b]].shape[1] for a, b in self.terms.pairs)
        sizes = [sum(own.shape[1] for own in self.mains), n_pairs, len(self.terms.splits) * 2**DEPTH]
        return np.repeat([ATTRIBUTE, PAIR, TREE], sizes)

    def of_term(self, term: Sequence[int]) -> tuple[slice, Array] | None:
        """Where the features of an attribute or a pair are, and (cells, features) each of its cells, gaps included.

        None for one that has none. A gap is the last state, and says nothing.
        """
        place = {a: k for k, a in enumerate(self.terms.attributes)}
        sizes = [own.shape[1] for own in self.mains]
        if len(term) == 1:
            if term[0] not in place:
                return None
            number = place[term[0]]
            first, cells = sum(sizes[:number]), self.mains[number]
            gaps = np.arange(len(cells)) == len(cells) - 1
        else:
            turned = tuple(term) not in self.terms.pairs
            pair = (term[1], term[0]) if turned else (term[0], term[1])
            if pair not in self.terms.pairs:
                return None
            widths = [self.paired[place[a]].shape[1] * self.paired[place[b]].shape[1] for a, b in self.terms.pairs]
            first = sum(sizes) + sum(widths[: self.terms.pairs.index(pair)])
            one, other = (self.paired[place[a]] for a in pair)
            products = np.einsum("ia,jb->ijab", one, other)
            gap = np.arange(len(one))[:, np.newaxis] == len(one) - 1
            gap = gap | (np.arange(len(other)) == len(other) - 1)
            if turned:
                products, gap = products.swapaxes(0, 1), gap.T
            cells, gaps = products.reshape(gap.size, -1), gap.reshape(-1)
        at = slice(first, first + cells.shape[1])
        return at, np.where(gaps[:, np.newaxis], 0.0, (cells - self.means[at]) * self.scales[at])


def make_features(columns: Sequence[ColumnSchema], terms: Terms, codes: Codes, weights: Array) -> Features:
    """Centred and scaled so that each kind has a variance of one, in the mean over the training rows."""
    parts = int(np.clip(MAIN_FEATURES // max(1, len(terms.attributes)), 1, MAIN_PARTS))
    rows = [np.bincount(codes[:, a], weights, minlength=columns[a].n_states + 1) for a in terms.attributes]
    own = [columns[a] for a in terms.attributes]
    mains = tuple(_states(column, counted, parts) for column, counted in zip(own, rows, strict=True))
    paired = tuple(_states(column, counted, PAIR_PARTS) for column, counted in zip(own, rows, strict=True))
    plain = Features(terms, mains, paired, np.zeros(0), np.zeros(0))
    kinds, total = plain.kinds, weights.sum()
    means, squares = np.zeros(len(kinds)), np.zeros(len(kinds))
    for first in range(0, len(codes), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        raw = plain.raw(codes[block])
        means += weights[block] @ raw / total
        squares += weights[block] @ raw**2 / total
    variances = np.bincount(kinds, np.maximum(squares - means**2, 0.0), minlength=3)
    scales = 1.0 / np.sqrt(np.where(variances > 1e-12, variances, 1.0))[kinds]
    return Features(terms, mains, paired, means, scales)


BLOCK_ROWS = 4_096


def choose_terms(
    columns: Sequence[ColumnSchema], order: Sequence[int], strength: Array, pairs: Sequence[tuple[int, int]]
) -> Terms:
    """Terms for attributes of coarse `columns`.

    order     of the attributes by name, so that what is drawn does not depend on their order in the table
    strength  (n_attributes,) how much each says: of too many attributes the strongest have terms
    pairs     the network's own; others are drawn beside them where there are too many for all
    """
    rng = np.random.default_rng(SEED)
    strongest = set(sorted(order, key=lambda a: -strength[a])[:MAX_ATTRIBUTES])
    kept = [a for a in order if a in strongest]
    place = {a: k for k, a in enumerate(kept)}
    chosen = list(combinations(kept, 2))
    if len(chosen) > MAX_PAIRS:
        first = [tuple(sorted(pair, key=place.__getitem__)) for pair in pairs if strongest.issuperset(pair)]
        drawn = [chosen[k] for k in rng.permutation(len(chosen))[: 2 * MAX_PAIRS].tolist()]
        chosen = list(dict.fromkeys([*first[: MAX_PAIRS // 2], *drawn]))[:MAX_PAIRS]
    chosen.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
    n_splits, width = 2**DEPTH - 1, max(column.n_states + 1 for column in columns)
    splits = np.array(kept)[rng.integers(len(kept), size=(N_TREES, n_splits))]
    left = [[_draw_split(columns[a], width, rng) for a in tree] for tree in splits.tolist()]
    return Terms(tuple(kept), tuple(chosen), splits, np.array(left))


def _draw_split(column: ColumnSchema, width: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which codes go to the left: those below a cut, or any half of the categories; a missing cell goes anywhere."""
    left = np.zeros(width, dtype=bool)
    cut, by_code = rng.random(), rng.random(column.n_states + 1) < 0.5
    left[: column.n_states + 1] = by_code
    if column.has_order:
        n_ordered = column.n_states - column.missing_state
        left[:n_ordered] = (np.arange(n_ordered) + 0.5) / n_ordered < cut
    return left


def _states(column: ColumnSchema, rows: NDArray[np.number], parts: int) -> Array:
    """(states + 1, features): the smoothest parts of a walk, and categories; zero for a missing cell."""
    n_ordered = column.n_states - column.missing_state if column.has_order else 0
    walk = random_walk(n_ordered, parts) if n_ordered > 1 else np.zeros((0, 0))
    others = np.arange(n_ordered, column.n_states)
    frequent = others[np.argsort(-rows[others], kind="stable")][: 2 * parts]
    found = np.zeros((column.n_states + 1, walk.shape[1] + len(frequent)))
    found[: len(walk), : walk.shape[1]] = walk
    found[frequent, walk.shape[1] + np.arange(len(frequent))] = 1.0
    total = rows[:-1].sum()
    found[:-1] -= (rows[:-1] / total if total > 0 else np.full(column.n_states, 1 / column.n_states)) @ found[:-1]
    return found
