"""Bit masks of codes: one per (attribute, state), the rows of a class together.

order       (n_rows,) the rows, grouped by class
blocks      (n_blocks, 4) runs of one class in `order`: class, first row, last row, first word
attributes  (n_narrow, 4) those with masks: attribute, states, first mask, masks. A mask for each state, except that the
            last state of a complete attribute follows from the margins.
masks       flat: mask m of block g is masks[first_word * n_masks + m * n_words :][:n_words]. So the words worked on
            together lie together; at a distance of a power of two they would fight over a few sets of the cache.
singles     (n_classes, n_masks) bits set: rows of the class with that state
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tanager.arrays import Codes, Ints, Words
from tanager.runtime.kernel import kernel

ROWS_PER_WORD = 64
# The vector loop takes 8 words at a time on AVX-512; a ragged end would be counted word by word.
WORDS_PER_VECTOR = 8
NO_STATE = 255

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


@untyped_intrinsic
def store_chosen(typing_context: Any, codes: Any, at: Any, chosen: Any, out: Any, to: Any) -> Any:
    """out[to], out[to + 1], ... become the codes[at + k], k < 64, for which bit k is set; 64 bytes are written.

    One instruction of AVX-512 (VBMI2). Not its form that writes to memory: that takes a hundred cycles on Zen 4.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), ROWS_PER_WORD)
        bits = ir.VectorType(ir.IntType(1), ROWS_PER_WORD)

        def address(array: int, place: int) -> Any:
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.bitcast(builder.gep(data, [args[place]]), vector.as_pointer())

        kind = ir.FunctionType(vector, [vector, vector, bits])
        compress = builder.module.declare_intrinsic("llvm.x86.avx512.mask.compress.v64i8", fnty=kind)
        loaded = builder.load(address(0, 1), align=1)
        nothing = ir.Constant(vector, ir.Undefined)
        builder.store(builder.call(compress, [loaded, nothing, builder.bitcast(args[2], bits)]), address(3, 4), align=1)
        return context.get_dummy_value()

    return types.void(codes, types.int64, types.uint64, out, types.int64), generate


@kernel
def pack_masks(
    first: int,
    step: int,
    columns: Codes,
    low: int,
    order: NDArray[np.uint32],
    blocks: Ints,
    attributes: NDArray[np.uint64],
    masks: Words,
    singles: Ints,
) -> None:
    """Fill the masks of every step-th attribute from `first` on, and add up their bits per class.

    `columns` (n_attributes, n_rows) are codes; the rows packed are low + order.
    """
    longest = 0
    for g in range(len(blocks)):
        longest = max(longest, padded_words(blocks[g, 2] - blocks[g, 1]))
    # A whole block at a time: a vector load right behind the byte stores would wait for them.
    codes = np.empty((longest, ROWS_PER_WORD), np.uint8)
    flat = codes.reshape(-1)
    # Attributes outermost: the blocks of all classes take their codes from the same part of the column.
    for p in range(first, len(attributes), step):
        column = columns[attributes[p, 0], low:]
        for g in range(len(blocks)):
            rows = order[blocks[g, 1] : blocks[g, 2]]
            n_words = padded_words(len(rows))
            for k in range(len(rows)):
                flat[k] = column[rows[k]]
            flat[len(rows) : ROWS_PER_WORD * n_words] = NO_STATE
            pack_words(codes[:n_words], blocks[g], attributes[p], masks, singles)


@kernel
def pack_masks_of_words(
    first: int,
    step: int,
    columns: NDArray[np.uint8],
    low: int,
    class_words: Words,
    blocks: Ints,
    attributes: NDArray[np.uint64],
    masks: Words,
    singles: Ints,
) -> None:
    """As `pack_masks`, four times as fast for two classes, for bytes and a processor with `store_chosen`.

    class_words  (n_classes, n_words) bit k of word w says whether row low + 64 w + k is of the class
    """
    n_rows, size = 0, 0
    starts = np.empty(len(blocks), np.int64)  # of the blocks in `grouped`
    for g in range(len(blocks)):
        # A class ends with 64 bytes more, which `store_chosen` may write to.
        size += 0 if g > 0 and blocks[g, 0] == blocks[g - 1, 0] else ROWS_PER_WORD
        starts[g] = size
        n_rows += blocks[g, 2] - blocks[g, 1]
        size += padded_words(blocks[g, 2] - blocks[g, 1]) * ROWS_PER_WORD
    grouped = np.empty(size + ROWS_PER_WORD, np.uint8)
    last = np.empty(ROWS_PER_WORD, np.uint8)
    n_whole = n_rows // ROWS_PER_WORD
    ends = np.empty(len(class_words), np.int64)
    for p in range(first, len(attributes), step):
        column = columns[attributes[p, 0], low : low + n_rows]
        ends[:] = 0
        for g in range(len(blocks) - 1, -1, -1):
            ends[blocks[g, 0]] = starts[g]
        for w in range(n_whole):
            store_classes(column, w, w, class_words, grouped, ends)
        if n_whole < class_words.shape[1]:
            last[: n_rows - ROWS_PER_WORD * n_whole] = column[ROWS_PER_WORD * n_whole :]
            store_classes(last, 0, n_whole, class_words, grouped, ends)
        for g in range(len(blocks)):
            n_words = padded_words(blocks[g, 2] - blocks[g, 1])
            own = grouped[starts[g] :][: ROWS_PER_WORD * n_words]
            own[blocks[g, 2] - blocks[g, 1] :] = NO_STATE
            pack_words(own.reshape((n_words, ROWS_PER_WORD)), blocks[g], attributes[p], masks, singles)


@kernel
def store_classes(
    codes: NDArray[np.uint8], at: int, w: int, class_words: Words, grouped: NDArray[np.uint8], ends: Ints
) -> None:
    """Append the 64 codes from 64 `at` on, those of each class to its own, where it ends."""
    for c in range(len(class_words)):
        store_chosen(codes, ROWS_PER_WORD * at, class_words[c, w], grouped, ends[c])
        ends[c] += popcount(class_words[c, w])


@kernel
def pack_words(
    codes: NDArray[np.uint8], block: Ints, attribute: NDArray[np.uint64], masks: Words, singles: Ints
) -> None:
    """Fill an attribute's masks in a block, from the (n_words, 64) codes of its rows."""
    n_words = len(codes)
    mask, own_masks = np.int64(attribute[2]), np.int64(attribute[3])
    start = block[3] * singles.shape[1] + mask * n_words
    # A vector of words for all states: its codes stay in the cache closest to the core.
    for v in range(0, n_words, WORDS_PER_VECTOR):
        for s in range(own_masks):
            words = masks[start + s * n_words + v :][:WORDS_PER_VECTOR]
            ones = 0
            for w in range(WORDS_PER_VECTOR):
                words[w] = equal_mask(codes[v + w], s)
                ones += popcount(words[w])
            singles[block[0], mask + s] += ones


@kernel
def padded_words(n_rows: int) -> int:
    """Words of a mask of a block of that many rows: whole vectors."""
    vector = ROWS_PER_WORD * WORDS_PER_VECTOR
    return (n_rows + vector - 1) // vector * WORDS_PER_VECTOR
