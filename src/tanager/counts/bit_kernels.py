"""Pair counts by bit slices: one bit mask per (attribute, state), then AND + popcount over all pairs of masks.

order       (n_rows,) the rows, grouped by class
blocks      (n_blocks, 4) runs of one class in `order`: class, first row, last row, first word
attributes  (n_narrow, 4) those with masks: attribute, states, first mask, masks. A mask for each state, except that the
            last state of a complete attribute follows from the margins.
masks       flat: mask m of block g is masks[first_word * n_masks + m * n_words :][:n_words]. So the words worked on
            together lie together; at a distance of a power of two they would fight over a few sets of the cache.
singles     (n_classes, n_masks) bits set: rows of the class with that state

`attributes` and the positions made from it are unsigned: numba spends three instructions on each signed position, in
case it counts from the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tanager.kernel import kernel
from tanager.table.batch import Codes

Int64s = NDArray[np.int64]
Words = NDArray[np.uint64]

TILE = 4
ROWS_PER_WORD = 64
# The vector loop takes 8 words at a time on AVX-512; a ragged end would be counted word by word.
WORDS_PER_VECTOR = 8
NO_STATE = 255
ONE, TWO = np.uint64(1), np.uint64(2)

# numba's own type for it counts the typing context among the arguments of a call.
untyped_intrinsic: Callable[[Any], Any] = intrinsic


@untyped_intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Bits set in a word: LLVM's own instruction, which the loop vectoriser turns into VPOPCNTQ where there is one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@untyped_intrinsic
def equal_mask(typing_context: Any, codes: Any, state: Any) -> Any:
    """Bit k of the word says whether codes[k] == state, k < 64: one vector comparison, not 64 shifts."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), ROWS_PER_WORD)
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        loaded = builder.load(builder.bitcast(data, vector.as_pointer()), align=1)
        single = builder.insert_element(ir.Constant(vector, ir.Undefined), args[1], ir.Constant(ir.IntType(32), 0))
        splat = builder.shuffle_vector(
            single, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), ROWS_PER_WORD), None)
        )
        return builder.bitcast(builder.icmp_unsigned("==", loaded, splat), ir.IntType(64))

    return types.uint64(types.Array(types.uint8, 1, "C"), types.uint8), generate


@kernel
def pack_masks(
    first: int,
    step: int,
    columns: Codes,
    low: int,
    order: NDArray[np.uint32],
    blocks: Int64s,
    attributes: NDArray[np.uint64],
    masks: Words,
    singles: Int64s,
) -> None:
    """Fill the masks of every step-th attribute from `first` on, and add up their bits per class.

    `columns` (n_attributes, n_rows) are codes; the rows packed are low + order.
    """
    # A whole vector of words at a time: a vector load right behind the byte stores would wait for them.
    codes = np.empty((WORDS_PER_VECTOR, ROWS_PER_WORD), np.uint8)
    flat = codes.reshape(-1)
    n_masks = singles.shape[1]
    # Attributes outermost: the blocks of all classes take their codes from the same part of the column.
    for p in range(first, len(attributes), step):
        mask, own_masks = np.int64(attributes[p, 2]), np.int64(attributes[p, 3])
        column = columns[attributes[p, 0], low:]
        for g in range(len(blocks)):
            c, first_row, last_row, first_word = blocks[g]
            n_words = padded_words(last_row - first_row)
            start = first_word * n_masks + mask * n_words
            for v in range(0, n_words, WORDS_PER_VECTOR):
                rows = order[first_row + ROWS_PER_WORD * v : last_row][: len(flat)]
                if len(rows) < len(flat):
                    flat[:] = NO_STATE
                for k in range(len(rows)):
                    flat[k] = column[rows[k]]
                for s in range(own_masks):
                    words = masks[start + s * n_words + v :][:WORDS_PER_VECTOR]
                    ones = 0
                    for w in range(WORDS_PER_VECTOR):
                        words[w] = equal_mask(codes[w], s)
                        ones += popcount(words[w])
                    singles[c, mask + s] += ones


@kernel
def padded_words(n_rows: int) -> int:
    """Words of a mask of a block of that many rows: whole vectors."""
    vector = ROWS_PER_WORD * WORDS_PER_VECTOR
    return (n_rows + vector - 1) // vector * WORDS_PER_VECTOR


@kernel
def count_mask_pairs(
    first: int,
    step: int,
    masks: Words,
    blocks: Int64s,
    attributes: NDArray[np.uint64],
    panels: Int64s,
    singles: Int64s,
    class_rows: Int64s,
    offsets: Int64s,
    n_attributes: int,
    counts: Int64s,
) -> None:
    """Add to `counts` (as in `PairTables`) the pairs whose first attribute is in every step-th panel.

    A panel is a run of attributes and, padded to whole tiles, of masks; they stay in the cache while all later masks
    stream past. panels[k] is the position of its first attribute and its first mask; the last row ends both.
    """
    n_masks = singles.shape[1]
    tables = (attributes, singles, class_rows, offsets, n_attributes, counts)
    for panel in range(first, len(panels) - 1, step):
        low, high = panels[panel, 1], panels[panel + 1, 1]
        cells = np.empty((high - low, n_masks), np.int64)
        g = 0
        while g < len(blocks):
            c = blocks[g, 0]
            cells[:, low:] = 0
            while g < len(blocks) and blocks[g, 0] == c:
                n_words = padded_words(blocks[g, 2] - blocks[g, 1])
                block = masks[blocks[g, 3] * n_masks :][: n_masks * n_words].reshape((n_masks, n_words))
                for j in range(low, n_masks, TILE):
                    for i in range(low, min(high, j + TILE), TILE):
                        x, y = block[i : i + TILE], block[j : j + TILE]
                        add_tile(x, y, cells[i - low : i - low + TILE, j : j + TILE])
                g += 1
            for p in range(panels[panel, 0], panels[panel + 1, 0]):
                own = cells[np.int64(attributes[p, 2]) - low :]
                add_pairs_of(np.uint64(p), np.uint64(c), own, *tables)


@kernel
def add_tile(x: Words, y: Words, cells: Int64s) -> None:
    """cells[i, j] += rows in both x[i] and y[j]; 16 sums in registers for 8 loads."""
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    y0, y1, y2, y3 = y[0], y[1], y[2], y[3]
    n00 = n01 = n02 = n03 = n10 = n11 = n12 = n13 = 0
    n20 = n21 = n22 = n23 = n30 = n31 = n32 = n33 = 0
    for w in range(x.shape[1]):
        a, b, c, d = y0[w], y1[w], y2[w], y3[w]
        n00 += popcount(x0[w] & a)
        n01 += popcount(x0[w] & b)
        n02 += popcount(x0[w] & c)
        n03 += popcount(x0[w] & d)
        n10 += popcount(x1[w] & a)
        n11 += popcount(x1[w] & b)
        n12 += popcount(x1[w] & c)
        n13 += popcount(x1[w] & d)
        n20 += popcount(x2[w] & a)
        n21 += popcount(x2[w] & b)
        n22 += popcount(x2[w] & c)
        n23 += popcount(x2[w] & d)
        n30 += popcount(x3[w] & a)
        n31 += popcount(x3[w] & b)
        n32 += popcount(x3[w] & c)
        n33 += popcount(x3[w] & d)
    cells[0, 0] += n00
    cells[0, 1] += n01
    cells[0, 2] += n02
    cells[0, 3] += n03
    cells[1, 0] += n10
    cells[1, 1] += n11
    cells[1, 2] += n12
    cells[1, 3] += n13
    cells[2, 0] += n20
    cells[2, 1] += n21
    cells[2, 2] += n22
    cells[2, 3] += n23
    cells[3, 0] += n30
    cells[3, 1] += n31
    cells[3, 2] += n32
    cells[3, 3] += n33


@kernel
def add_pairs_of(
    p: np.uint64,
    c: np.uint64,
    cells: Int64s,
    attributes: NDArray[np.uint64],
    singles: Int64s,
    class_rows: Int64s,
    offsets: Int64s,
    n_attributes: int,
    counts: Int64s,
) -> None:
    """Add the tables of class c of attribute p with every later one; cells[s, m] rows in both its mask s and mask m."""
    i, r, own, own_masks = attributes[p, 0], attributes[p, 1], attributes[p, 2], attributes[p, 3]
    first_pair = offsets[np.uint64(n_attributes) * i - i * (i + ONE) // TWO :]
    left = singles[c].copy()
    n_left = class_rows[c]
    for s in range(own_masks):
        add_state_of(p, c * r + s, cells[s], singles[c, own + s], attributes, first_pair, counts)
        left -= cells[s]
        n_left -= singles[c, own + s]
    if own_masks < r:
        add_state_of(p, c * r + own_masks, left, n_left, attributes, first_pair, counts)


@kernel
def add_state_of(
    p: np.uint64,
    configuration: np.uint64,
    row: Int64s,
    n_rows: int,
    attributes: NDArray[np.uint64],
    offsets: Int64s,
    counts: Int64s,
) -> None:
    """Add one configuration of class and attribute p: `n_rows` rows, row[m] of them in mask m.

    What is left of them goes to the state of the other attribute that has no mask.
    """
    for q in range(p + ONE, np.uint64(len(attributes))):
        r, other, n_masks = attributes[q, 1], attributes[q, 2], attributes[q, 3]
        at = np.uint64(offsets[attributes[q, 0] - attributes[p, 0] - ONE]) + configuration * r
        left = n_rows
        for t in range(n_masks):
            n = row[other + t]
            counts[at + t] += n
            left -= n
        if n_masks < r:
            counts[at + n_masks] += left
