"""The compiled loops of `row_likelihood` and of the tables of A2DE in `frequency`."""

from __future__ import annotations

import math

import numpy as np

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.runtime.kernel import kernel

# Rows worked on at a time: their log joints and cells stay in the cache closest to the core.
BLOCK = 1024
# A product of sums is written down as its logarithm before it can overflow.
LARGE = 1e200

Tables = tuple[Codes, Ints, Ints, Ints, Array, Array, Ints]
"""The rows and the families that judge them: columns, missing, digits, digit_ends, others, true, table_starts.

columns  (n_attributes, n_rows) codes, contiguous
missing  (n_attributes,) the code of a missing cell, or -1 where the column has none
digits   (n, 2) attributes of all families and their strides; family f has those up to digit_ends[f]
others   of each family (cells + 1, n_classes) logs, from table_starts[f] on: of classes that are not the row's; the
         last cell is that of a row with a missing cell; true: the same of the row's class
"""


@kernel
def judge(
    classes: Codes,
    tables: Tables,
    adds: Ints,
    add_ends: Ints,
    resets: Flags,
    weights: Array,
    squared: bool,
    log_joint: Array,
    values: Array,
) -> None:
    """Add sum_t w_t log P(c_t | x_t), or minus the sum of w_t (1 - P(c_t | x_t))^2, of each structure to `values`.

    Structure s adds the families of `adds` up to add_ends[s] to those of the one before it, or to none where `resets`.
    No weights are weights of one; `log_joint` (BLOCK, n_classes) is scratch.
    """
    cells = np.empty(BLOCK, np.int64)
    for low in range(0, len(classes), BLOCK):
        y = classes[low : low + BLOCK]
        for s in range(len(values)):
            if resets[s]:
                log_joint[:] = 0.0
            new = adds[add_ends[s - 1] if s else 0 : add_ends[s]]
            add_families(low, y, new, cells[: len(y)], log_joint, tables)
            if squared:
                values[s] -= sum_squares(y, weights[low : low + BLOCK], log_joint)
            elif len(weights):
                values[s] += sum_weighted(y, weights[low : low + BLOCK], log_joint)
            else:
                values[s] += sum_logs(y, log_joint)


@kernel
def join(classes: Codes, tables: Tables, members: Ints, member_ends: Ints, log_joints: Array) -> None:
    """Add log P(c, x_t) to (n_structures, n_rows, n_classes); structure s has the families up to member_ends[s]."""
    cells = np.empty(BLOCK, np.int64)
    for low in range(0, len(classes), BLOCK):
        y = classes[low : low + BLOCK]
        for s in range(len(log_joints)):
            families = members[member_ends[s - 1] if s else 0 : member_ends[s]]
            add_families(low, y, families, cells[: len(y)], log_joints[s, low : low + BLOCK], tables)


@kernel
def add_families(low: int, y: Codes, families: Ints, cells: Ints, log_joint: Array, tables: Tables) -> None:
    """Add the logs of some families to the log joints of the rows from `low` on, of classes y; `cells` is scratch."""
    columns, missing, digits, digit_ends, others, true, table_starts = tables
    for family in families:
        first, last = table_starts[family], table_starts[family + 1]
        start = digit_ends[family - 1] if family else 0
        find_cells(columns, low, missing, digits[start : digit_ends[family]], last - first, cells)
        add_logs(y, cells, others[first:last], true[first:last], log_joint)


@kernel
def find_cells(columns: Codes, low: int, missing: Ints, digits: Ints, n_cells: int, cells: Ints) -> None:
    """The cell of each row from `low` on: a mixed-radix number of its codes, or the last where one is missing."""
    cells[:] = 0
    for d in range(len(digits)):
        x, stride = columns[digits[d, 0], low : low + len(cells)], digits[d, 1]
        for k in range(len(x)):
            cells[k] += x[k] * stride
    for d in range(len(digits)):
        x, code = columns[digits[d, 0], low : low + len(cells)], missing[digits[d, 0]]
        if code >= 0:
            for k in range(len(x)):
                if x[k] == code:
                    cells[k] = n_cells - 1


@kernel
def add_logs(y: Codes, cells: Ints, others: Array, true: Array, log_joint: Array) -> None:
    n_classes = log_joint.shape[1]
    for k in range(len(y)):
        cell, y_k = np.uint64(cells[k]), np.uint64(y[k])
        kept = log_joint[k, y_k] + true[cell, y_k]
        for c in range(n_classes):
            log_joint[k, c] += others[cell, c]
        log_joint[k, y_k] = kept


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


@kernel
def sum_squares(y: Codes, weights: Array, log_joint: Array) -> float:
    """sum_t w_t (1 - P(c_t | x_t))^2; no weights are weights of one."""
    total = 0.0
    for k in range(len(y)):
        error = 1.0 - math.exp(sum_logs(y[k : k + 1], log_joint[k : k + 1]))
        total += error * error * (weights[k] if len(weights) else 1.0)
    return total
