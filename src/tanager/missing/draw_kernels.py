"""The compiled sum of a forest for the draws of rows with unknown cells."""

from __future__ import annotations

import numpy as np

from tanager.additive.leaf_masks import SLOTS_PER_WORD, LeafMasks
from tanager.additive.score_kernels import ALL_LEAVES, FIRST_LEAF, slot_of
from tanager.arrays import Array, Codes
from tanager.missing.average import N_DRAWS
from tanager.runtime.kernel import kernel

# So many that their draws stay in the cache.
BLOCK_ROWS = 128


@kernel
def add_leaves_of_draws(
    codes: Codes, drawn: Codes, n_states: Codes, masks: LeafMasks, values: Array, out: Array
) -> None:
    """Add to `out` (n_classes, n_rows * N_DRAWS) what `add_leaves` adds for the completed rows.

    The known cells of a row are looked up once for all of its draws, and of the draws only the cells that are unknown.
    N_DRAWS is a constant, so that the loops over it are unrolled.

    codes     (n_attributes, n_rows)
    drawn     (n_attributes, n_rows * N_DRAWS) completed
    n_states  (n_attributes,) which is the code of an unknown cell
    """
    left, left_of_draw = np.empty(BLOCK_ROWS, np.uint64), np.empty(BLOCK_ROWS * N_DRAWS, np.uint64)
    hidden = np.empty((len(codes), BLOCK_ROWS), np.uint64)
    rows_of, n_of = np.empty((len(codes), BLOCK_ROWS), np.int64), np.empty(len(codes), np.int64)
    for start in range(0, codes.shape[1], BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, codes.shape[1] - start)
        for attribute in range(len(codes)):
            n = 0
            for row in range(n_rows):
                unknown = codes[attribute, start + row] == n_states[attribute]
                hidden[attribute, row] = ALL_LEAVES if unknown else np.uint64(0)
                rows_of[attribute, n] = row
                n += unknown
            n_of[attribute] = n
        for tree in range(len(masks.classes)):
            total = out[masks.classes[tree], start * N_DRAWS :]
            first, stop, first_word = masks.first_asked[tree], masks.first_asked[tree + 1], masks.first_words[tree]
            for word in range(first_word, masks.first_words[tree + 1]):
                left[:] = FIRST_LEAF if first == stop else ALL_LEAVES
                for k in range(first, stop):
                    column, unknown_cells = codes[masks.attributes[k], start:], hidden[masks.attributes[k]]
                    words = masks.words[masks.offsets[k] + (word - first_word) * masks.n_codes[k] :]
                    for row in range(n_rows):
                        left[row] &= words[column[row]] | unknown_cells[row]
                for row in range(n_rows):
                    for draw in range(N_DRAWS):
                        left_of_draw[row * N_DRAWS + draw] = left[row]
                for k in range(first, stop):
                    words = masks.words[masks.offsets[k] + (word - first_word) * masks.n_codes[k] :]
                    cells, rows = drawn[masks.attributes[k], start * N_DRAWS :], rows_of[masks.attributes[k]]
                    for i in range(n_of[masks.attributes[k]]):
                        at = rows[i] * N_DRAWS
                        for draw in range(at, at + N_DRAWS):
                            left_of_draw[draw] &= words[cells[draw]]
                leaves = values[word * SLOTS_PER_WORD : (word + 1) * SLOTS_PER_WORD]
                for draw in range(n_rows * N_DRAWS):
                    total[draw] += leaves[slot_of(left_of_draw[draw])]
