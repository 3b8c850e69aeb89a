"""Effects under a squared penalty as a function of a vector, by compiled passes over blocks.

The last steps to an optimum are far fewer by L-BFGS than block by block: attributes repeat each other. Under a norm
they are not: what becomes zero has no end of curvature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.descent import DAMPING
from tanager.parameters.conditional.lbfgs import StepAndChange
from tanager.parameters.effects.block_problem import BlockProblem
from tanager.parameters.effects.blocks import pad

Array = NDArray[np.float64]


class SquaredBlocks:
    """A `BlockProblem` under a squared penalty as L-BFGS wants it: what `Penalized` is for rows anywhere.

    Of scaled effects v, u = v / sqrt(precision + damping sqrt(rows) / 4).
    """

    bounded = True

    def __init__(self, problem: BlockProblem) -> None:
        self._problem = problem
        self.n_rows = problem.n_rows
        precision = problem.precision
        self._used = np.isfinite(precision)
        least = 0.25 * DAMPING * np.sqrt(np.maximum(problem.rows_behind(), 1.0))
        self._precision = precision[self._used]
        self._scale = 1.0 / np.sqrt(self._precision + least[self._used])

    @property
    def unpenalized(self) -> NDArray[np.intp]:
        """The variables that nothing pulls back."""
        return np.flatnonzero(self._precision == 0.0)

    def gap_bound(self, gradient: Array) -> float:
        """As that of `Penalized`."""
        held = self._precision > 0.0
        least = self._precision[held].min() if held.any() else 1.0
        return 0.5 * float((gradient / self._scale) ** 2 @ (1.0 / np.where(held, self._precision, least)))

    def note(self, vector: Array, gradient: Array) -> None:
        """Nothing: there is one descent."""

    def recall(self) -> tuple[StepAndChange, ...]:
        return ()

    def to_vector(self, u: Array) -> Array:
        vector: Array = u[self._used] / self._scale
        return vector

    def to_effects(self, vector: Array) -> Array:
        """u (n_effects, n_odds)."""
        u = np.zeros(self._used.shape)
        u[self._used] = vector * self._scale
        return u

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Value and gradient by v."""
        loss, slopes = self._problem.loss_and_slopes(pad(self.to_effects(vector)))
        used = vector * self._scale
        pull = self._precision * used
        own = slopes[:, : self._used.shape[1]][self._used]
        return loss + 0.5 * float(pull @ used), (own + pull) * self._scale
