"""Compiled sums of a forest: the leaves that rows end in, and what walks down to them add."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.additive.leaf_masks import LEAVES_PER_WORD, SLOT_SHIFT, SLOTS_PER_WORD, TO_SLOT, LeafMasks
from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.kernel import kernel, kernel_part

ALL_LEAVES, FIRST_LEAF = np.uint64(np.iinfo(np.uint64).max), np.uint64(2)


@kernel
def add_leaves(codes: Codes, masks: LeafMasks, values: Array, out: Array) -> None:
    """Add to `out` (n_classes, n_rows); codes (n_attributes, n_rows), values in the slots of `masks`.

    Tree by tree and attribute by attribute: the words of an attribute stay in the cache while all rows pass, and no row
    waits for another step of its own.
    """
    n_rows = codes.shape[1]
    left = np.empty(n_rows, np.uint64)
    for tree in range(len(masks.classes)):
        total = out[masks.classes[tree]]
        first_word = masks.first_words[tree]
        for word in range(first_word, masks.first_words[tree + 1]):
            left[:] = FIRST_LEAF if masks.first_asked[tree] == masks.first_asked[tree + 1] else ALL_LEAVES
            for k in range(masks.first_asked[tree], masks.first_asked[tree + 1]):
                column = codes[masks.attributes[k]]
                words = masks.words[masks.offsets[k] + (word - first_word) * masks.n_codes[k] :]
                for row in range(n_rows):
                    left[row] &= words[column[row]]
            own = values[word * SLOTS_PER_WORD : (word + 1) * SLOTS_PER_WORD]
            for row in range(n_rows):
                total[row] += own[slot_of(left[row])]


@kernel_part
def slot_of(leaf: np.uint64) -> np.int64:
    """Of a word with one bit set, or none."""
    return np.int64((leaf * np.uint64(TO_SLOT)) >> np.uint64(SLOT_SHIFT))


@kernel
def fill_words(masks: LeafMasks, n_leaves: Ints, asked: Ints, ranges: Ints, offsets: Ints, left: Flags) -> None:
    """The words of `masks`: each split takes the leaves on its other side from those that a code leaves open.

    n_leaves  (n_trees,)
    asked     (n_splits,) the number of its attribute among those that its tree asks for
    ranges    (n_splits, 3) of leaves of the tree: the first on the right, the first on the left, the end
    """
    tree_of = np.empty(len(masks.attributes), np.int64)
    for tree in range(len(n_leaves)):
        first_word = masks.first_words[tree]
        for k in range(masks.first_asked[tree], masks.first_asked[tree + 1]):
            tree_of[k] = tree
            for word in range(masks.first_words[tree + 1] - first_word):
                first = masks.offsets[k] + word * masks.n_codes[k]
                masks.words[first : first + masks.n_codes[k]] = _bits(0, n_leaves[tree], word)
    for split in range(len(asked)):
        k, sides = asked[split], left[offsets[split] : offsets[split + 1]]
        for word in range(masks.first_words[tree_of[k] + 1] - masks.first_words[tree_of[k]]):
            on_right = _bits(ranges[split, 0], ranges[split, 1], word)
            on_left = _bits(ranges[split, 1], ranges[split, 2], word)
            words = masks.words[masks.offsets[k] + word * masks.n_codes[k] :]
            for code in range(len(sides)):
                words[code] &= ~(on_right if sides[code] else on_left)


@kernel_part
def _bits(first: int, last: int, word: int) -> np.uint64:
    """Those of leaves from `first` up to `last` that are in this word of a tree: leaf 0 is bit 1 of word 0."""
    low = max(first - word * LEAVES_PER_WORD, 0)
    high = min(last - word * LEAVES_PER_WORD, LEAVES_PER_WORD)
    if high <= low:
        return np.uint64(0)
    return (ALL_LEAVES >> np.uint64(LEAVES_PER_WORD - high)) & (ALL_LEAVES << np.uint64(low + 1))


@kernel
def add_credits(
    codes: Codes,
    roots: Ints,
    of_class: Ints,
    steps: NDArray[np.int32],
    left: NDArray[np.uint8],
    means: Array,
    out: Array,
) -> None:
    """Add to `out` (n_rows, n_attributes, n_classes) what splits change; `means` of the splits, then the leaves.

    steps  (n_splits, 4) attribute, offset in `left`, right and left end: what a step asks for lies together
    left   whether a code goes to the left; the others as in `Forest`
    """
    n_splits = len(steps)
    for tree in range(len(roots)):
        number = of_class[tree]
        for row in range(len(codes)):
            at = roots[tree]
            while at >= 0:
                step = steps[at]
                end = np.int64(step[2 + left[step[1] + codes[row, step[0]]]])
                after = means[end] if end >= 0 else means[n_splits + ~end]
                out[row, step[0], number] += after - means[at]
                at = end
