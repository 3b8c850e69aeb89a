"""Calibration curves: how often a classifier is right, against how sure it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.metrics import ReliabilityCurve

LINE_COLOUR = "#b0672a"
FEWEST_ROWS = 10


def plot_calibration(curves: Mapping[str, ReliabilityCurve], ax: Axes | None = None) -> Axes:
    """A line per classifier: the share of rows in which an event happened, by the probability given to it.

    The event is that the predicted class is right, for the curve `top` of `tanager.calibration`. Below the diagonal
    a classifier is surer than it ought to be. Bins of fewer than ten rows are left out.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(4.8, 4.6), layout="constrained")[1]
    ax.plot([0, 1], [0, 1], color=LINE_COLOUR, lw=1)
    lowest = 1.0
    for name, curve in curves.items():
        full = np.array(curve.count) >= FEWEST_ROWS
        if full.any():
            confidence, right = np.array(curve.mean_predicted)[full], np.array(curve.observed)[full]
            ax.plot(confidence, right, "o-", ms=3, lw=1.2, label=name)
            lowest = min(lowest, confidence.min(), right.min())
    ends = (max(0.0, lowest - 0.05), 1.02)
    ax.set(xlim=ends, ylim=ends, xlabel="confidence", ylabel="share right", aspect="equal")
    if len(ax.lines) > 1:
        ax.legend(fontsize=7, frameon=False)
    return ax
