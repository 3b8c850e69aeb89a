"""The columns of a table: how much of each is missing, and where something was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.plots.effect_values import FONT_SIZE, LINE_COLOUR, MAX_LABEL_LETTERS
from tanager.plots.network import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.check.checkup import Checkup

COLOURS = {"high": "#c0392b", "medium": "#e0a030", "low": "#95a5a6", "": "#4c78a8"}
MAX_COLUMNS_DRAWN = 40
LINE_INCHES = 0.24


def plot_checkup(checkup: Checkup, ax: Axes | None = None) -> Axes:
    """A line for each column: a bar for the share that is missing, a point in the colour of the worst finding.

    Of many columns those with findings come first, then those with gaps.
    """
    import matplotlib.pyplot as plt

    ranked = sorted(checkup.columns, key=lambda each: (not each.severity, -each.gap_share))
    shown = [each for each in checkup.columns if each in ranked[:MAX_COLUMNS_DRAWN]]
    if ax is None:
        size = (7.0, LINE_INCHES * len(shown) + 1.0)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    lines = np.arange(len(shown))
    colours = [COLOURS[each.severity] for each in shown]
    ax.barh(lines, [100 * each.gap_share for each in shown], color=colours, height=0.62, alpha=0.75)
    ax.scatter(np.zeros(len(shown)), lines, color=colours, s=24, zorder=3, clip_on=False)
    names = [shorten(each.name, MAX_LABEL_LETTERS) for each in shown]
    ax.set_yticks(lines, names, fontsize=FONT_SIZE - 1, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 100)
    ax.set_xlabel("missing, % of rows", fontsize=FONT_SIZE)
    for severity in dict.fromkeys(each.severity for each in shown):
        ax.scatter([], [], color=COLOURS[severity], s=24, label=severity or "nothing found")
    ax.legend(fontsize=FONT_SIZE - 1, frameon=False, loc="lower right")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE_COLOUR)
    return ax
