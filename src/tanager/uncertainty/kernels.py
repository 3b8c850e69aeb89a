"""Compiled: how far the log odds of rows may be off, by look-ups of a factor of the posterior covariance.

cells   (n_rows, n_terms) the cell of each term, -1 for none
factor  (n_cells, n_odds, rank): a row is off by the sum of its cells' lines, times a standard normal of that rank
"""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Ints
from tanager.runtime.kernel import kernel


@kernel
def set_slopes(logs: Array, c: int, slopes: Array) -> None:
    """Of the log odds of class c by the scores of all classes."""
    top, rest = -np.inf, 0.0
    for k in range(len(logs)):
        if k != c:
            top = max(top, logs[k])
    for k in range(len(logs)):
        slopes[k] = 0.0 if k == c else -np.exp(logs[k] - top)
        rest -= slopes[k]
    for k in range(len(logs)):
        slopes[k] = 1.0 if k == c else slopes[k] / rest


@kernel
def log_odds_deviations(cells: Ints, factor: Array, logs: Array, out: Array) -> None:
    """out (n_rows, n_classes): the standard deviation of log P(c) - log(1 - P(c)); `logs` are log P.

    By the slopes of the log odds by the classes' scores: 1 for c and - P(k) / (1 - P(c)) for the others. A factor of
    one line is that of the log odds of two classes.
    """
    n_odds, rank = factor.shape[1:]
    n_classes = logs.shape[1]
    total, slopes = np.empty((n_odds, rank)), np.ones(n_odds)
    for i in range(len(cells)):
        total[:] = 0.0
        for cell in cells[i]:
            if cell >= 0:
                for o in range(n_odds):
                    line, own = total[o], factor[cell, o]
                    for r in range(rank):
                        line[r] += own[r]
        for c in range(n_classes):
            if n_odds > 1:
                set_slopes(logs[i], c, slopes)
            squares = 0.0
            for r in range(rank):
                value = 0.0
                for o in range(n_odds):
                    value += slopes[o] * total[o, r]
                squares += value * value
            out[i, c] = np.sqrt(squares)
