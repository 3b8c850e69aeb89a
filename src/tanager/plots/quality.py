"""Calibration curves of classifiers, and the stability of attributes over refits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tanager.plots.style import BLUE, ORANGE, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.evaluate.stability import Stability
    from tanager.metrics import ReliabilityCurve

FEWEST_ROWS = 10
MAX_ATTRIBUTES = 30


def plot_calibration(curves: Mapping[str, ReliabilityCurve], ax: Axes | None = None) -> Axes:
    """A line per classifier: the share of rows in which an event happened, by the probability given to it.

    The event is that the predicted class is right, for the curve `top` of `tanager.calibration`. Below the diagonal
    a classifier is overconfident. Bins of fewer than ten rows are left out.
    """
    ax = ax or _new_axes(4.8, 4.6)
    ax.plot([0, 1], [0, 1], color=ORANGE, lw=1)
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


def plot_stability(stability: Stability, ax: Axes | None = None) -> Axes:
    """A line per attribute, the strongest at the top: the median of its strength and a 90 % interval over the fits."""
    shown = stability.order[:MAX_ATTRIBUTES]
    ax = ax or _new_axes(5.6, 1.0 + 0.26 * len(shown))
    low, middle, high = np.quantile(stability.importance[:, shown], [0.05, 0.5, 0.95], axis=0)
    places = np.arange(len(shown))[::-1]
    ax.hlines(places, low, high, color=BLUE, lw=2, alpha=0.45)
    ax.plot(middle, places, "o", color=BLUE, ms=5)
    ax.set_yticks(places, [shorten(stability.attributes[k]) for k in shown], parse_math=False)
    ax.set(xlabel="strength of the attribute (nats)", xlim=(0.0, None))
    return ax


def _new_axes(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]
