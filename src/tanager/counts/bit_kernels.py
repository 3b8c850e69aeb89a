"""Pair counts by bit slices: AND + popcount over all pairs of the masks that `mask_kernels` makes and describes.

`attributes` and the positions made from it are unsigned: numba spends three instructions on each signed position, in
case it counts from the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Ints, Words
from tanager.counts.mask_kernels import padded_words, popcount
from tanager.runtime.kernel import kernel

TILE = 4
ONE, TWO = np.uint64(1), np.uint64(2)


@kernel
def count_mask_pairs(
    first: int,
    step: int,
    masks: Words,
    blocks: Ints,
    attributes: NDArray[np.uint64],
    panels: Ints,
    singles: Ints,
    class_rows: Ints,
    offsets: Ints,
    n_attributes: int,
    counts: Ints,
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
def add_tile(x: Words, y: Words, cells: Ints) -> None:
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
    cells: Ints,
    attributes: NDArray[np.uint64],
    singles: Ints,
    class_rows: Ints,
    offsets: Ints,
    n_attributes: int,
    counts: Ints,
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
    row: Ints,
    n_rows: int,
    attributes: NDArray[np.uint64],
    offsets: Ints,
    counts: Ints,
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
