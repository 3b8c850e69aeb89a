"""Compiled search for three attributes that act together."""

from __future__ import annotations

import math

import numpy as np

from tanager.kernel import kernel
from tanager.table.categories import Codes
from tanager.trees.split_kernels import Floats, Ints


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
    n_classes = len(gradients)
    pairs = np.empty(n_rows, np.int64)
    most = n_codes.max()
    sums = np.empty((most * most * most, n_classes, 2))
    for j in range(first + 1, n_attributes):
        for row in range(n_rows):
            pairs[row] = np.int64(columns[first, row]) * n_codes[j] + np.int64(columns[j, row])
        for k in range(j + 1, n_attributes):
            n_cells = n_codes[first] * n_codes[j] * n_codes[k]
            sums[:n_cells] = 0.0
            for row in range(n_rows):
                cell = pairs[row] * n_codes[k] + np.int64(columns[k, row])
                for c in range(n_classes):
                    sums[cell, c, 0] += gradients[c, row]
                    sums[cell, c, 1] += hessians[c, row]
            excess = variance = 0.0
            for cell in range(n_cells):
                for c in range(n_classes):
                    g, h = sums[cell, c, 0], sums[cell, c, 1]
                    excess += (g * g - h) / (h + 1.0)
                    variance += (2.0 * h * h + h) / ((h + 1.0) * (h + 1.0))
            out[j, k] = excess / math.sqrt(variance) if variance > 0.0 else 0.0
