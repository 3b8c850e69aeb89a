"""Learning curves: log-loss by rows, and what is expected of more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.refits.curve import LearningCurve

COLOUR = "#34547a"


def plot_learning_curve(curve: LearningCurve, ax: Axes | None = None) -> Axes:
    """Points where the log-loss was measured, and a line with a 90 % band up to four times as many rows."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")[1]
    sizes = np.geomspace(curve.n_rows[0], 4 * curve.n_rows[-1], 60)
    expected = curve.at(sizes.tolist())
    ax.fill_between(sizes, expected.lower, expected.upper, color=COLOUR, alpha=0.15, lw=0)
    ax.plot(sizes, expected.median, color=COLOUR, lw=1.2)
    ax.plot(curve.n_rows, curve.log_loss, "o", color=COLOUR, ms=5)
    ax.set(xscale="log", xlabel="rows fitted to", ylabel="log-loss of rows held out")
    return ax
