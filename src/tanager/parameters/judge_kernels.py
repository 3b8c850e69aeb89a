"""Compiled: the conditional log likelihood of many structures, each row looked up once for each family.

columns    (n_attributes, n_rows) codes, contiguous; classes (n_rows,); weights (n_rows,), or none for all ones
missing    (n_attributes,) the code of a missing cell, or -1 where the column has none
digits     (n, 2) attributes of all families and their strides; family f has those up to digit_ends[f]
others     of each family (cells + 1, n_classes) logs, from table_starts[f] on: of classes not the row's own; the last
           cell is that of a row with a gap; own: the same of the row's class
adds       families that a structure adds to those of the one before it, or to none where `resets`; structure s has
           those up to add_ends[s]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.runtime.kernel import kernel

Int64s = NDArray[np.int64]

# Rows worked on at a time: their log joints and cells stay in the cache closest to the core.
BLOCK = 1024
# A product of sums is written down as its logarithm before it can overflow.
LARGE = 1e200


@kernel
def judge(
    columns: Codes,
    classes: Codes,
    missing: Int64s,
    digits: Int64s,
    digit_ends: Int64s,
    others: Array,
    own: Array,
    table_starts: Int64s,
    adds: Int64s,
    add_ends: Int64s,
    resets: NDArray[np.bool_],
    weights: Array,
    log_joint: Array,
    found: Array,
) -> None:
    """Add sum_t w_t log P(c_t | x_t) of each structure to `found`; `log_joint` (BLOCK, n_classes) is scratch."""
    cells = np.empty(BLOCK, np.int64)
    tables = (columns, missing, digits, digit_ends, others, own, table_starts)
    for low in range(0, len(classes), BLOCK):
        y = classes[low : low + BLOCK]
        for s in range(len(found)):
            if resets[s]:
                log_joint[:] = 0.0
            new = adds[add_ends[s - 1] if s else 0 : add_ends[s]]
            add_families(low, y, new, cells[: len(y)], log_joint, *tables)
            if len(weights):
                found[s] += sum_weighted(y, weights[low : low + BLOCK], log_joint)
            else:
                found[s] += sum_logs(y, log_joint)


@kernel
def join(
    columns: Codes,
    classes: Codes,
    missing: Int64s,
    digits: Int64s,
    digit_ends: Int64s,
    others: Array,
    own: Array,
    table_starts: Int64s,
    members: Int64s,
    member_ends: Int64s,
    log_joints: Array,
) -> None:
    """Add log P(c, x_t) to (n_structures, n_rows, n_classes); structure s has the families up to member_ends[s]."""
    cells = np.empty(BLOCK, np.int64)
    tables = (columns, missing, digits, digit_ends, others, own, table_starts)
    for low in range(0, len(classes), BLOCK):
        y = classes[low : low + BLOCK]
        for s in range(len(log_joints)):
            families = members[member_ends[s - 1] if s else 0 : member_ends[s]]
            add_families(low, y, families, cells[: len(y)], log_joints[s, low : low + BLOCK], *tables)


@kernel
def add_families(
    low: int,
    y: Codes,
    families: Int64s,
    cells: Int64s,
    log_joint: Array,
    columns: Codes,
    missing: Int64s,
    digits: Int64s,
    digit_ends: Int64s,
    others: Array,
    own: Array,
    table_starts: Int64s,
) -> None:
    """Add the logs of some families to the log joints of the rows from `low` on, of classes y; `cells` is scratch."""
    for family in families:
        first, last = table_starts[family], table_starts[family + 1]
        find_cells(columns, missing, low, digits, digit_ends, family, last - first, cells)
        add_logs(y, cells, others[first:last], own[first:last], log_joint)


@kernel
def find_cells(
    columns: Codes,
    missing: Int64s,
    low: int,
    digits: Int64s,
    digit_ends: Int64s,
    family: int,
    n_cells: int,
    cells: Int64s,
) -> None:
    """The cell of each row: a mixed-radix number of its codes, or the last where one is missing."""
    cells[:] = 0
    start = digit_ends[family - 1] if family else 0
    for d in range(start, digit_ends[family]):
        x, stride = columns[digits[d, 0], low : low + len(cells)], digits[d, 1]
        for k in range(len(x)):
            cells[k] += x[k] * stride
    for d in range(start, digit_ends[family]):
        x, gap = columns[digits[d, 0], low : low + len(cells)], missing[digits[d, 0]]
        if gap >= 0:
            for k in range(len(x)):
                if x[k] == gap:
                    cells[k] = n_cells - 1


@kernel
def add_logs(y: Codes, cells: Int64s, others: Array, own: Array, log_joint: Array) -> None:
    n_classes = log_joint.shape[1]
    for k in range(len(y)):
        cell, c_own = np.uint64(cells[k]), np.uint64(y[k])
        kept = log_joint[k, c_own] + own[cell, c_own]
        for c in range(n_classes):
            log_joint[k, c] += others[cell, c]
        log_joint[k, c_own] = kept


@kernel
def sum_logs(y: Codes, log_joint: Array) -> float:
    """sum_t log P(c_t | x_t). Sums over classes, each 1 to n_classes, are multiplied: few logarithms are taken."""
    n_classes = log_joint.shape[1]
    total, product = 0.0, 1.0
    for k in range(len(y)):
        highest = log_joint[k, 0]
        for c in range(1, n_classes):
            highest = max(highest, log_joint[k, c])
        part = 0.0
        if n_classes == 2:  # half of the exponentials are those of zero
            part = 1.0 + np.exp(-abs(log_joint[k, 0] - log_joint[k, 1]))
        else:
            for c in range(n_classes):
                part += np.exp(log_joint[k, c] - highest)
        total += log_joint[k, np.uint64(y[k])] - highest
        product *= part
        if product > LARGE:
            total -= np.log(product)
            product = 1.0
    return total - np.log(product)


@kernel
def sum_weighted(y: Codes, weights: Array, log_joint: Array) -> float:
    total = 0.0
    for k in range(len(y)):
        one = log_joint[k : k + 1]
        total += weights[k] * sum_logs(y[k : k + 1], one)
    return total
