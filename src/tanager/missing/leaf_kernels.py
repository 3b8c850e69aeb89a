"""What the trees add to the completions of a row (`tanager.missing.average_kernels`).

The cells present leave few leaves of a tree open. Most trees then depend on one missing attribute or on none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager.additive.leaf_masks import SLOTS_PER_WORD
from tanager.additive.score_kernels import ALL_LEAVES, FIRST_LEAF, slot_of
from tanager.arrays import Array, Ints, Words
from tanager.missing.leaves import Leaves
from tanager.missing.place_kernels import Placed
from tanager.runtime.kernel import kernel

GROUP_ROWS = 64


class OpenTrees(NamedTuple):
    """The words of trees that depend on several missing attributes of a row; these are numbered as in `Placed`.

    heads    (missing,) the first word whose last missing attribute this is, or -1
    next     (words,) the one after it
    classes  (words,) that its tree adds to
    left     (words,) the leaves that the cells present leave open
    begins, sizes  (words,) where its missing attributes begin in the following, the last of them first, and how many
    places   the number of each
    offsets  where its states begin in `Leaves.middles`
    """

    heads: Ints
    next: Ints
    classes: Ints
    left: Words
    begins: Ints
    sizes: Ints
    places: Ints
    offsets: Ints


class Group(NamedTuple):
    """Rows whose trees are looked at together: loops over them fill the vector registers.

    codes   (attributes, rows)
    base    (rows, classes) the sum of the trees of which the cells present leave one leaf
    counts  (rows,) how many words of other trees have leaves left
    words, left  (rows, words) which words these are, and which leaves
    """

    codes: Ints
    base: Array
    counts: Ints
    words: Ints
    left: Words


@kernel
def make_group(leaves: Leaves, n_attributes: int, n_classes: int) -> Group:
    shape = GROUP_ROWS, len(leaves.trees)
    return Group(
        np.zeros((n_attributes, GROUP_ROWS), np.int64),
        np.empty((GROUP_ROWS, n_classes)),
        np.empty(GROUP_ROWS, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, np.uint64),
    )


@kernel
def look_at_group(leaves: Leaves, cells: Ints, first: int, group: Group) -> None:
    """The rows from `first` on."""
    masks, n_rows = leaves.masks, min(GROUP_ROWS, len(cells) - first)
    for row in range(n_rows):
        group.codes[:, row] = cells[first + row, : len(group.codes)]
    group.base[:], group.counts[:] = 0.0, 0
    left = np.empty(GROUP_ROWS, np.uint64)
    for word in range(len(leaves.trees)):
        tree = leaves.trees[word]
        c, place = masks.classes[tree], word - masks.first_words[tree]
        left[:] = FIRST_LEAF if masks.first_asked[tree] == masks.first_asked[tree + 1] else ALL_LEAVES
        for k in range(masks.first_asked[tree], masks.first_asked[tree + 1]):
            column, words = group.codes[masks.attributes[k]], masks.words[masks.offsets[k] + place * masks.n_codes[k] :]
            for row in range(n_rows):
                left[row] &= words[column[row]]
        # With another word there may be a completion that ends in it.
        alone = masks.first_words[tree + 1] - masks.first_words[tree] == 1
        for row in range(n_rows):
            if left[row] == 0 or (alone and left[row] & (left[row] - np.uint64(1)) == 0):
                group.base[row, c] += leaves.values[word * SLOTS_PER_WORD + slot_of(left[row])]
            else:
                group.words[row, group.counts[row]], group.left[row, group.counts[row]] = word, left[row]
                group.counts[row] += 1


@kernel
def make_open(leaves: Leaves, n_attributes: int) -> OpenTrees:
    masks, n_words = leaves.masks, len(leaves.trees)
    n_asked = 0
    for word in range(n_words):
        n_asked += masks.first_asked[leaves.trees[word] + 1] - masks.first_asked[leaves.trees[word]]
    return OpenTrees(
        np.empty(n_attributes, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.uint64),
        np.empty(n_words, np.int64),
        np.empty(n_words, np.int64),
        np.empty(n_asked, np.int64),
        np.empty(n_asked, np.int64),
    )


@kernel
def place_trees(
    leaves: Leaves,
    group: Group,
    row: int,
    missing: Ints,
    places: Ints,
    n_states: Ints,
    placed: Placed,
    trees: OpenTrees,
) -> None:
    """Add to base and singles of `placed` what depends on one missing attribute or none; the rest goes to `trees`.

    row  of the group
    """
    masks, used = leaves.masks, 0
    trees.heads[: len(missing)] = -1
    placed.base[:] += group.base[row]
    for position in range(group.counts[row]):
        word, left = group.words[row, position], group.left[row, position]
        tree = leaves.trees[word]
        c, place_of_word = masks.classes[tree], word - masks.first_words[tree]
        begin, end = used, used
        for k in range(masks.first_asked[tree], masks.first_asked[tree + 1]):
            place = places[masks.attributes[k]]
            if place >= 0:
                n = n_states[missing[place]]
                offset = leaves.middle_offsets[k] + place_of_word * n
                if _tells_apart(leaves.middles[offset : offset + n], left):
                    trees.places[end], trees.offsets[end] = place, offset
                    if place > trees.places[begin]:  # the last goes first
                        for values in (trees.places, trees.offsets):
                            values[end], values[begin] = values[begin], values[end]
                    end += 1
        if end == begin:
            placed.base[c] += leaves.values[word * SLOTS_PER_WORD + slot_of(left)]
        elif end - begin == 1:
            place, offset = trees.places[begin], trees.offsets[begin]
            for state in range(n_states[missing[place]]):
                leaf = left & leaves.middles[offset + state]
                placed.singles[place, c, state] += leaves.values[word * SLOTS_PER_WORD + slot_of(leaf)]
        else:
            last = trees.places[begin]
            trees.classes[word], trees.left[word] = c, left
            trees.begins[word], trees.sizes[word] = begin, end - begin
            trees.next[word], trees.heads[last] = trees.heads[last], word
            used = end


@kernel
def _tells_apart(middles: Words, left: np.uint64) -> bool:
    """Whether a state of the attribute closes one of the leaves left."""
    in_all = left
    for word in middles:
        in_all &= word
    return bool(in_all != left)


@kernel
def add_states(leaves: Leaves, trees: OpenTrees, place: int, n_states: int, states: Ints, sums: Array) -> None:
    """Add to sums (classes, states) the trees whose last missing attribute this is, the others in these states."""
    word = trees.heads[place]
    while word >= 0:
        begin, left = trees.begins[word], trees.left[word]
        for k in range(begin + 1, begin + trees.sizes[word]):
            left &= leaves.middles[trees.offsets[k] + states[trees.places[k]]]
        own = leaves.values[word * SLOTS_PER_WORD : (word + 1) * SLOTS_PER_WORD]
        total, middles = sums[trees.classes[word]], leaves.middles[trees.offsets[begin] :]
        for state in range(n_states):
            total[state] += own[slot_of(left & middles[state])]
        word = trees.next[word]


@kernel
def add_draws(leaves: Leaves, trees: OpenTrees, place: int, missing: Ints, filled: Ints, sums: Array) -> None:
    """The same for draws: filled (attributes, draws) states, sums (classes, draws)."""
    n_draws = filled.shape[1]
    left = np.empty(n_draws, np.uint64)
    word = trees.heads[place]
    while word >= 0:
        left[:] = trees.left[word]
        for k in range(trees.begins[word], trees.begins[word] + trees.sizes[word]):
            drawn, middles = filled[missing[trees.places[k]]], leaves.middles[trees.offsets[k] :]
            for draw in range(n_draws):
                left[draw] &= middles[drawn[draw]]
        own = leaves.values[word * SLOTS_PER_WORD : (word + 1) * SLOTS_PER_WORD]
        total = sums[trees.classes[word]]
        for draw in range(n_draws):
            total[draw] += own[slot_of(left[draw])]
        word = trees.next[word]
