"""Stability: the strength of attributes over fits to rows of random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.plots.network import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.refits.stability import Stability

COLOUR = "#34547a"
MAX_ATTRIBUTES, MAX_LETTERS = 30, 30


def plot_stability(stability: Stability, ax: Axes | None = None) -> Axes:
    """A line per attribute, the strongest at the top: the median of its strength and what 90 % of the fits say."""
    shown = stability.order[:MAX_ATTRIBUTES]
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(5.6, 1.0 + 0.26 * len(shown)), layout="constrained")[1]
    low, middle, high = np.quantile(stability.importance[:, shown], [0.05, 0.5, 0.95], axis=0)
    places = np.arange(len(shown))[::-1]
    ax.hlines(places, low, high, color=COLOUR, lw=2, alpha=0.45)
    ax.plot(middle, places, "o", color=COLOUR, ms=5)
    ax.set_yticks(places, [shorten(stability.attributes[k], MAX_LETTERS) for k in shown], parse_math=False)
    ax.set(xlabel="strength of the attribute (nats)", xlim=(0.0, None))
    return ax
