"""Descent: where an optimiser went, and what is said of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

Array = NDArray[np.float64]


@dataclass
class Descent:
    """Where the optimiser went: `values` and `gradient_norms` (of the scaled problem) at the start and each step.

    `end` says why it stopped: "tolerance", "max_iter", "bound", "asked", or "precision" when no step lowered the
    value any more. `bound` is what is left to gain at most (`certificate`), None where that is not known.
    """

    u: Array
    values: list[float] = field(default_factory=list)
    gradient_norms: list[float] = field(default_factory=list)
    end: str = "max_iter"
    bound: float | None = None

    @property
    def n_iterations(self) -> int:
        return len(self.values) - 1


def describe_descent(descent: Descent, n_passes: int) -> str:
    """Where the optimiser ended, in a line."""
    above = "" if descent.bound is None else f", at most {descent.bound:.2g} above the optimum"
    return (
        f"objective {descent.values[-1]:.6g}, gradient norm {descent.gradient_norms[-1]:.3g}{above} after "
        f"{n_passes} passes over the rows: {descent.end}"
    )


def warn_if_unfinished(descent: Descent, max_iter: int) -> None:
    if descent.end == "max_iter":
        warnings.warn(
            f"Conditional stopped after max_iter={max_iter} iterations; the objective is {descent.values[-1]:.6g} and "
            f"its scaled gradient has norm {descent.gradient_norms[-1]:.3g}. Raise max_iter or tol, or use a prior.",
            ConvergenceWarning,
            stacklevel=3,
        )
