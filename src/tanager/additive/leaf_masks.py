"""LeafMasks: which leaves of each tree a code leaves open, as bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Ints, Words

if TYPE_CHECKING:
    from tanager.additive.forest import Forest


SLOTS_PER_WORD = np.iinfo(np.uint64).bits
LEAVES_PER_WORD = (
    SLOTS_PER_WORD - 1
)  # bit 0 of a word is no leaf: a word without a leaf of the row finds a value of zero
TO_SLOT, SLOT_SHIFT = 0x03F79D71B4CB0A89, SLOTS_PER_WORD - LEAVES_PER_WORD.bit_length()
"""A de Bruijn number: times a power of two, its six highest bits tell the power (Leiserson et al. 1998)."""


class LeafMasks(NamedTuple):
    """A row ends in the leaf that the codes of all its attributes leave open: an AND finds it, without a walk.

    The leaves of a tree are bits of one word or, where they are many, of several.

    classes      (n_trees,) that the trees add to
    first_words  (n_trees + 1,) where the words of a tree begin among those of all
    first_asked  (n_trees + 1,) where the attributes that it asks for begin
    attributes   (n_asked,) each once for each tree
    n_codes      (n_asked,) of the attribute
    offsets      (n_asked,) where the attribute begins in `words`: [word of the tree, code]
    words        the leaves that a code leaves open
    slots        (n_leaves,) where the value of a leaf stands in an array of SLOTS_PER_WORD for each word
    """

    classes: Ints
    first_words: Ints
    first_asked: Ints
    attributes: Ints
    n_codes: Ints
    offsets: Ints
    words: Words
    slots: Ints

    @classmethod
    def of(cls, forest: Forest) -> LeafMasks:
        from tanager.additive.score_kernels import fill_words

        n_splits, n_trees = len(forest.attributes), len(forest.roots)
        trees, places, sizes = _number_leaves(forest)
        n_leaves = sizes[forest.place(forest.roots)]
        first_words = np.concatenate([[0], np.cumsum(-(-n_leaves // LEAVES_PER_WORD))])
        n_attributes = int(forest.attributes.max(initial=0)) + 1
        keys, of_key, asked = np.unique(
            trees[:n_splits] * n_attributes + forest.attributes, return_index=True, return_inverse=True
        )
        n_codes = np.diff(forest.offsets)[of_key]
        ends = np.cumsum(n_codes * np.diff(first_words)[keys // n_attributes])
        bits = np.left_shift(np.uint64(1), (places[n_splits:] % LEAVES_PER_WORD + 1).astype(np.uint64))
        slots = (bits * np.uint64(TO_SLOT)) >> np.uint64(SLOT_SHIFT)
        leaf_words = first_words[trees[n_splits:]] + places[n_splits:] // LEAVES_PER_WORD
        found = cls(
            forest.of_class,
            first_words,
            np.searchsorted(keys, np.arange(n_trees + 1) * n_attributes),
            keys % n_attributes,
            n_codes,
            np.concatenate([[0], ends])[:-1],
            np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint64),
            leaf_words * SLOTS_PER_WORD + slots.astype(np.int64),
        )
        middles = places[:n_splits] + sizes[forest.place(forest.ends[:, 0])]
        lasts = places[:n_splits] + sizes[:n_splits]
        ranges = np.column_stack([places[:n_splits], middles, lasts])
        fill_words(found, n_leaves, asked, ranges, forest.offsets, forest.left)
        return found

    def in_slots(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the leaves, in the slots of all words."""
        found = np.zeros(int(self.first_words[-1]) * SLOTS_PER_WORD)
        found[self.slots] = values
        return found


def _number_leaves(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """Of each split, then of each leaf: its tree, the place in the tree of its first leaf, and its number of leaves.

    The leaves below a split follow each other, those on its right first.
    """
    n = len(forest.attributes) + len(forest.values)
    trees, places, sizes = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64)
    for splits in reversed(forest.levels):
        sizes[splits] = sizes[forest.place(forest.ends[splits])].sum(axis=1)
    trees[forest.place(forest.roots)] = np.arange(len(forest.roots))
    for splits in forest.levels:
        right, left = forest.place(forest.ends[splits]).T
        trees[right] = trees[left] = trees[splits]
        places[right], places[left] = places[splits], places[splits] + sizes[right]
    return trees, places, sizes
