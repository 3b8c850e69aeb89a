"""What pruning asks of the rows beside loss and gradient, a block at a time; sums over blocks add up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from tanager.arrays import Array
from tanager.network.log_joint import normalize_log
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.objectives import indicators
from tanager.table.batch import EncodedBatch

PART_ROWS = 4_096


def removal_gains(block: EncodedBatch, cells: ClassCells, beta: Array) -> Array:
    """(n_cells, n_classes) by how much sum_t w_t log P(c_t | x_t) rises when one entry of beta alone becomes 0."""
    result = np.zeros(beta.shape)
    for part, members, logs in _parts(block, cells, beta):
        log_others = np.log(np.maximum(-np.expm1(logs), np.finfo(float).tiny))  # log(1 - P(c | x))
        rows = np.repeat(np.arange(part.n_rows), np.diff(members.indptr))
        weights, classes = part.row_weights[rows], part.class_codes[rows]
        for c in range(part.n_classes):
            value = beta[members.indices, c]
            fall = np.logaddexp(log_others[rows, c], logs[rows, c] - value)
            fall += np.where(classes == c, value, 0.0)
            result[:, c] -= np.bincount(members.indices, weights * fall, minlength=len(beta))
    return result


def curvature(block: EncodedBatch, cells: ClassCells, beta: Array) -> Array:
    """(n_cells, n_classes, n_cells, n_classes) second derivatives of -sum_t w_t log P(c_t | x_t)."""
    n_cells, n_classes = beta.shape
    result = np.zeros((n_cells, n_classes, n_cells, n_classes))
    for part, members, logs in _parts(block, cells, beta):
        dense, p = members.toarray(), np.exp(logs)
        for c in range(n_classes):
            for d in range(c + 1):
                weight = part.row_weights * p[:, c] * (float(c == d) - p[:, d])
                result[:, c, :, d] += dense.T @ (weight[:, np.newaxis] * dense)
    for c in range(1, n_classes):
        result[:, :c, :, c] = result[:, c, :, :c].transpose(1, 2, 0)
    return result


def curvature_diagonal(block: EncodedBatch, cells: ClassCells, beta: Array) -> Array:
    """(n_cells, n_classes) the diagonal of `curvature`."""
    result = np.zeros(beta.shape)
    for part, members, logs in _parts(block, cells, beta):
        p = np.exp(logs)
        result += members.T @ (part.row_weights[:, np.newaxis] * p * (1.0 - p))
    return result


def _parts(block: EncodedBatch, cells: ClassCells, beta: Array) -> Iterator[tuple[EncodedBatch, csr_array, Array]]:
    """Some rows at a time, the cells they are in, (n_rows, n_cells), and log P(c | x), (n_rows, n_classes)."""
    for first in range(0, block.n_rows, PART_ROWS):
        part = block.take(slice(first, first + PART_ROWS))
        members = indicators(cells, part)
        yield part, members, normalize_log(members @ beta)
