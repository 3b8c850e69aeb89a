"""Objectives of a discriminative fit: value and gradient of one pass over the rows; no optimiser.

Every objective is a loss, to be made small. With p_t the probability of the class of row t given its attributes, and
w_t the weight of the row (Zhou 2002, sections 3.2.2, 3.7, 3.8 and 5.2.1):

cll      - sum_t w_t log p_t
error    sum_t w_t (1 - p_t)
squared  sum_t w_t (1 - p_t)^2
mixed    - sum_t w_t [log p_t + alpha log P(x_t)] = (1 - alpha) cll - alpha sum_t w_t log P(x_t, c_t)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.counts.engine import CountEngine
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.row_pass import RowPass
from tanager.table.rows import Rows

Array = NDArray[np.float64]

# The power of (1 - p) is the number the kernels know an objective by; `mixed` passes over the rows as `cll` does.
POWERS = {"cll": 0, "error": 1, "squared": 2, "mixed": 0}


class Objective:
    """Loss and gradient at a beta (n_cells, n_classes) laid out as `ClassCells` says.

    unnormalised  log P(c | x) = sum_f beta[cell of x in f, c] - log sum_c' exp(...): beta are free numbers
    normalized    beta is first brought to logs of tables, log theta = beta - log sum_k exp(beta); by the chain rule
                  the gradient G of the log tables becomes G - theta sum_k G
    `mixed` is defined for normalized tables only. `counts` are the rows in each entry, laid out as beta; what
    families without the class add to log P(x, c) is the same for every beta and left out.
    """

    def __init__(
        self,
        cells: ClassCells,
        rows: Rows,
        name: str = "cll",
        normalized: bool = False,
        alpha: float = 0.0,
        counts: Array | None = None,
        compiled: bool | None = None,
        engine: CountEngine | None = None,
    ) -> None:
        """`compiled` says which pass to take, None leaves it to the number of rows; `engine` may have a device."""
        self._cells = cells
        self._rows = RowPass(cells, rows, POWERS[name], compiled, engine)
        self._normalized = normalized
        self._alpha = alpha
        self._counts = counts
        self.n_passes = 0

    def __call__(self, beta: Array) -> tuple[float, Array]:
        if not self._normalized:
            return self._conditional(beta)
        logs = self._cells.log_normalize(beta)
        value, gradient = self._conditional(logs)
        if self._alpha > 0.0:
            assert self._counts is not None
            value = (1.0 - self._alpha) * value - self._alpha * float(np.vdot(self._counts, logs))
            gradient = (1.0 - self._alpha) * gradient - self._alpha * self._counts
        return value, gradient - np.exp(logs) * self._cells.sum_states(gradient)

    def _conditional(self, logs: Array) -> tuple[float, Array]:
        self.n_passes += 1
        value, against_last = self._rows(logs[:, :-1] - logs[:, -1:])
        # Residuals of a row sum to zero over the classes.
        return value, np.concatenate([against_last, -against_last.sum(axis=1, keepdims=True)], axis=1)
