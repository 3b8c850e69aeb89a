"""Compiled search for three attributes that act together."""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel, kernel_part
from tanager.table.categories import Codes
from tanager.trees.split_kernels import Floats, Ints

LANES = 4


@kernel_part
def sum_triple(pairs: Ints, third: Codes, n_codes: int, gradients: Floats, hessians: Floats, sums: Floats) -> None:
    """sums (cells, LANES, 2) of gradients and Hessians; by lanes, since a sum would wait for the addition before."""
    sums[:] = 0.0
    last = len(pairs) - len(pairs) % LANES
    for row in range(0, last, LANES):
        for lane in range(LANES):
            own = sums[pairs[row + lane] * n_codes + np.int64(third[row + lane]), lane]
            own[0] += gradients[row + lane]
            own[1] += hessians[row + lane]
    for row in range(last, len(pairs)):
        own = sums[pairs[row] * n_codes + np.int64(third[row]), 0]
        own[0] += gradients[row]
        own[1] += hessians[row]


@kernel
def scan_triples(columns: Codes, n_codes: Ints, gradients: Floats, hessians: Floats, first: int, out: Floats) -> None:
    """How far every triple (first, j, k), first < j < k, is from chance, into out[j, k], in standard deviations.

    columns              (n_attributes, n_rows)
    gradients, hessians  (n_classes, n_rows) of the loss by the log odds of each class

    Where nothing is left to find, the sum G of the gradients in a cell has the mean 0 and the variance H, the sum of
    the Hessians. So sum (G^2 - H) / (H + 1) over cells and classes has the mean 0 and the variance
    sum (2 H^2 + H) / (H + 1)^2; the 1 tames cells of few rows.
    """
    n_attributes, n_rows = columns.shape
    pairs = np.empty(n_rows, np.int64)
    most = n_codes.max()
    sums = np.empty((most * most * most, LANES, 2))
    for j in range(first + 1, n_attributes):
        for row in range(n_rows):
            pairs[row] = np.int64(columns[first, row]) * n_codes[j] + np.int64(columns[j, row])
        for k in range(j + 1, n_attributes):
            n_cells, excess, variance = n_codes[first] * n_codes[j] * n_codes[k], 0.0, 0.0
            for c in range(len(gradients)):
                sum_triple(pairs, columns[k], n_codes[k], gradients[c], hessians[c], sums[:n_cells])
                for cell in range(n_cells):
                    g = h = 0.0
                    for lane in range(LANES):
                        g += sums[cell, lane, 0]
                        h += sums[cell, lane, 1]
                    excess += (g * g - h) / (h + 1.0)
                    variance += (2.0 * h * h + h) / ((h + 1.0) * (h + 1.0))
            out[j, k] = excess / math.sqrt(variance) if variance > 0.0 else 0.0
