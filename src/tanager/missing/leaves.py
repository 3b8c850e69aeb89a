"""Leaves: the trees of a network, ready for the completions of rows with gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager.additive.forest import Forest
from tanager.additive.leaf_masks import LeafMasks
from tanager.arrays import Array, Ints, Words
from tanager.missing.sums import Sums


class Leaves(NamedTuple):
    """The masks of a forest, and those of the states that a missing attribute goes through.

    masks           of the codes; a missing cell leaves all leaves open that some state of its attribute does
    trees           (n_words,) the tree of each word
    middles         the leaves that a state leaves open
    middle_offsets  (n_asked,) where an attribute begins in `middles`: [word of the tree, state]
    values          in the slots of the masks
    """

    masks: LeafMasks
    trees: Ints
    middles: Words
    middle_offsets: Ints
    values: Array

    @classmethod
    def of(cls, forest: Forest | None, sums: Sums) -> Leaves:
        """Of no trees where there is no forest. `sums` of the network say which code stands for a state."""
        if forest is None:
            none = np.zeros(0, np.int64)
            masks = LeafMasks(none, np.zeros(1, np.int64), np.zeros(1, np.int64), none, none, none, _no_words(), none)
            return cls(masks, none, _no_words(), none, np.zeros(0))
        masks, words, parts = forest.masks, forest.masks.words.copy(), [_no_words()]
        n_words = np.diff(masks.first_words)
        asked = zip(
            masks.attributes.tolist(),
            masks.offsets.tolist(),
            masks.n_codes.tolist(),
            np.repeat(n_words, np.diff(masks.first_asked)).tolist(),
            strict=True,
        )
        for attribute, offset, n_codes, n in asked:
            by_code = words[offset : offset + n * n_codes].reshape(n, n_codes)
            by_state = by_code[:, sums.values[: sums.n_states[attribute], attribute]]
            by_code[:, -1] = np.bitwise_or.reduce(by_state, axis=1)
            parts.append(by_state.reshape(-1))
        offsets = np.cumsum([len(part) for part in parts])[:-1]
        trees = np.repeat(np.arange(len(n_words)), n_words)
        return cls(masks._replace(words=words), trees, np.concatenate(parts), offsets, masks.in_slots(forest.values))


def _no_words() -> Words:
    return np.zeros(0, np.uint64)
