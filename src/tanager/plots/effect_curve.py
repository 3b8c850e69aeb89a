"""The main effect of a numeric attribute: log odds as steps over its bins, with their band and the data below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.plots.effect_values import COLOURS, DENSITY_COLOUR, FONT_SIZE, LINE_COLOUR, MAX_LABEL_LETTERS, MainValues
from tanager.plots.network import shorten
from tanager.table.schema import GAP_LABEL, ColumnSchema, Unit, format_values

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STRIP = 0.16
"""The height of the histogram, as a share of the picture."""
WIDE_RANGE = 200.0
"""From this ratio of the last cut to the first on, the axis is logarithmic."""
DAY = 86_400_000_000.0  # microseconds


def new_curve_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(4.8, 3.4), layout="constrained")[1]


def draw_curve(values: MainValues, ax: Axes, size: float = FONT_SIZE) -> list[Artist]:
    """One line for each class shown; these lines."""
    column = values.column
    n_bins = len(column.cuts) + 1
    logarithmic = column.unit == "number" and column.cuts[0] > 0 and column.cuts[-1] > WIDE_RANGE * column.cuts[0]
    edges = bin_edges(column, logarithmic)
    ax.axhline(0.0, color=LINE_COLOUR, lw=0.8, zorder=1)
    lines: list[Artist] = []
    for k, name in enumerate(values.classes):
        odds, band, colour = values.odds[:n_bins, k], values.band[:n_bins, k], COLOURS[k % len(COLOURS)]
        if values.spread is not None:
            below, above = (np.append(end, end[-1]) for end in (odds - band, odds + band))
            ax.fill_between(edges, below, above, step="post", color=colour, alpha=0.16, lw=0, zorder=2)
        lines.append(ax.stairs(odds, edges, baseline=None, color=colour, lw=1.5, label=name, zorder=3))
        for end, arrow in ((0, "<"), (-1, ">")):
            ax.plot(edges[end], odds[end], arrow, color=colour, ms=0.4 * size, clip_on=False, zorder=3)
        if column.gap_state:
            ax.axhline(values.odds[-1, k], color=colour, lw=0.9, ls=(0, (2, 2)), zorder=2)
            place = (1.0, values.odds[-1, k])
            where = ax.get_yaxis_transform()
            ax.text(*place, GAP_LABEL, transform=where, fontsize=size - 2, color=colour, ha="right", va="bottom")
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    low, high = ax.get_ylim()
    ax.set_ylim(low - (high - low) * STRIP / (1 - STRIP) * 1.3, high)  # room for the histogram
    _draw_density(ax, edges, values.density[:n_bins], logarithmic)
    _set_ticks(ax, column.unit)
    ax.set_xlabel(shorten(column.name, MAX_LABEL_LETTERS), fontsize=size, parse_math=False)
    ax.set_ylabel(values.label, fontsize=size, parse_math=False)
    ax.tick_params(labelsize=size - 1, color=LINE_COLOUR)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE_COLOUR)
    return lines


def bin_edges(column: ColumnSchema, logarithmic: bool) -> Array:
    """(bins + 1,) where bins begin and end on the axis; the open ones are as wide as their neighbours.

    At least 3 % of the range of the cuts, and not beyond zero where all cuts are on one side of it.
    """
    cuts = np.array(column.cuts)
    if column.unit in ("date", "datetime"):
        cuts = cuts / DAY  # as matplotlib has dates
    scaled = np.log(cuts) if logarithmic else cuts
    if len(scaled) == 1:
        width = np.array([max(0.5 * abs(float(scaled[0])), 0.5)] * 2)
    else:
        widths = np.diff(scaled)
        width = np.maximum(widths[[0, -1]], 0.03 * (scaled[-1] - scaled[0]))
    edges = np.concatenate([scaled[:1] - width[0], scaled, scaled[-1:] + width[1]])
    if logarithmic:
        return np.asarray(np.exp(edges))
    if cuts[0] > 0:
        edges[0] = max(edges[0], 0.0)
    if cuts[-1] < 0:
        edges[-1] = min(edges[-1], 0.0)
    return edges


def _draw_density(ax: Axes, edges: Array, density: Array, logarithmic: bool) -> None:
    """A histogram below the curve: the area of a bar is the share of the rows in its bin."""
    widths = np.diff(np.log(edges) if logarithmic else edges)
    heights = density / widths
    # One narrow bin full of rows would flatten all others.
    top = min(heights.max(), 4 * np.median(heights)) or 1.0
    strip = ax.inset_axes((0, 0, 1, STRIP), sharex=ax)
    strip.stairs(np.minimum(heights, top), edges, fill=True, color=DENSITY_COLOUR)
    strip.set_ylim(0, top)
    strip.set_axis_off()


def _set_ticks(ax: Axes, unit: Unit) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter

    if unit == "number" and ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=6)
    if unit in ("date", "datetime"):
        locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif unit == "duration":
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_values([value], unit)[0]))
