"""Calibration curves: how often a classifier is right, against how sure it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_COLOUR = "#b0672a"
FEWEST_ROWS = 10


def plot_calibration(curves: Mapping[str, NDArray[np.float64]], ax: Axes | None = None) -> Axes:
    """A line per classifier; a curve is (bins, 3): rows, sum of confidence, rows right.

    The confidence of a row is the probability of the class predicted. Below the diagonal a classifier is surer than
    it ought to be. Bins of fewer than ten rows are left out.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(4.8, 4.6), layout="constrained")[1]
    ax.plot([0, 1], [0, 1], color=LINE_COLOUR, lw=1)
    lowest = 1.0
    for name, bins in curves.items():
        full = bins[bins[:, 0] >= FEWEST_ROWS]
        if len(full):
            confidence, right = full[:, 1] / full[:, 0], full[:, 2] / full[:, 0]
            ax.plot(confidence, right, "o-", ms=3, lw=1.2, label=name)
            lowest = min(lowest, confidence.min(), right.min())
    ends = (max(0.0, lowest - 0.05), 1.02)
    ax.set(xlim=ends, ylim=ends, xlabel="confidence", ylabel="share right", aspect="equal")
    if len(ax.lines) > 1:
        ax.legend(fontsize=7, frameon=False)
    return ax
