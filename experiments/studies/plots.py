"""Classifiers compared on many data sets, two by two or by mean ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.plots.charts import BLUE, ORANGE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

    from tanager.metrics import ReliabilityCurve

MAX_POINTS_NAMED = 6
FEWEST_ROWS = 10


@dataclass(frozen=True)
class PairedValues:
    """Values of two classifiers on the same sets, with one standard error each (zeros for none).

    title  what is measured; x_label, y_label: by whom
    """

    names: Sequence[str]
    x: Array
    y: Array
    x_error: Array
    y_error: Array
    x_label: str
    y_label: str
    title: str


def plot_scatter(values: PairedValues, ax: Axes | None = None) -> Axes:
    """Draw a point per data set with a cross-bar of one standard error, and the diagonal.

    The sets furthest from the diagonal, beyond their bars, are named; a set with NaN is left out.
    """
    ax = ax or _new_axes(4.6, 4.8)
    known = ~(np.isnan(values.x) | np.isnan(values.y))
    x, y, x_error, y_error = (each[known] for each in (values.x, values.y, values.x_error, values.y_error))
    low = min((x - x_error).min(initial=0.0), (y - y_error).min(initial=0.0))
    high = max((x + x_error).max(initial=0.0), (y + y_error).max(initial=0.0), low + 1e-9)
    margin = 0.04 * (high - low)
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=ORANGE, lw=1, zorder=1)
    ax.errorbar(x, y, y_error, x_error, fmt="none", ecolor="#9db4cc", elinewidth=1, zorder=2)
    ax.plot(x, y, "o", color=BLUE, ms=3.5, zorder=3)
    ax.set(xlim=ends, ylim=ends, xlabel=values.x_label, ylabel=values.y_label, aspect="equal")
    ax.set_title(values.title, fontsize=9)
    apart = np.abs(x - y) - np.hypot(x_error, y_error)
    names = np.array(values.names, dtype=object)[known]
    furthest = [place for place in np.argsort(-apart, kind="stable") if apart[place] > 0]
    _name_points(ax, [(str(names[place]), x[place], y[place]) for place in furthest[:MAX_POINTS_NAMED]], sum(ends) / 2)
    return ax


def _name_points(ax: Axes, points: Sequence[tuple[str, float, float]], middle: float) -> None:
    """Write the names beside their points, towards the middle; a name that would cover another is left out."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # fixes where points lie on the page
    boxes: list[Bbox] = []
    for name, x, y in points:
        offset, side = ((-3, 2), "right") if x > middle else ((3, 2), "left")
        text = ax.annotate(
            name, (x, y), offset, textcoords="offset points", fontsize=7, ha=side, va="bottom", parse_math=False
        )
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in boxes):
            text.remove()
        else:
            boxes.append(box)


@dataclass(frozen=True)
class MeanRanks:
    """Mean ranks, best first; ranks closer than the critical difference do not differ.

    cliques  first and last place of the longest runs that do not differ
    """

    names: Sequence[str]
    ranks: Sequence[float]
    critical_difference: float
    cliques: Sequence[tuple[int, int]]


def plot_critical_difference(value: MeanRanks, ax: Axes | None = None) -> Axes:
    """Draw mean ranks on a line, and bars over those that do not differ (Demšar 2006).

    The better half is named on the left, the other on the right; 1 is the best rank.
    """
    n = len(value.names)
    left = (n + 1) // 2
    depth = max(left, n - left)
    bars = len(value.cliques)
    ax = ax or _new_axes(7.2, 0.28 * (depth + 0.6 * bars + 3.2))
    first, last = 1.0, float(n)
    overhang = 0.02 * (last - first)
    ax.plot([first, last], [0, 0], color="black", lw=1)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0, 0.25], color="black", lw=1)
        ax.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=8)
    # The critical difference as a bracket above the axis.
    end = first + value.critical_difference
    ax.plot([first, end], [1.7, 1.7], color="black", lw=1.5)
    for x in (first, end):
        ax.plot([x, x], [1.55, 1.85], color="black", lw=1.5)
    words = f"critical difference {value.critical_difference:.2f}"
    ax.text((first + end) / 2, 1.9, words, ha="center", va="bottom", fontsize=8)
    for place, (start, stop) in enumerate(value.cliques):
        height = -0.45 - 0.5 * place
        ends = [value.ranks[start] - overhang, value.ranks[stop] + overhang]
        ax.plot(ends, [height, height], color=ORANGE, lw=3, solid_capstyle="butt")
    below = -0.9 - 0.5 * bars
    for place, (name, rank) in enumerate(zip(value.names, value.ranks, strict=True)):
        on_left = place < left
        line = below - (place if on_left else n - 1 - place)
        edge = first - overhang if on_left else last + overhang
        ax.plot([rank, rank, edge], [0, line, line], color=BLUE, lw=1)
        text = f"{name}  {rank:.2f} " if on_left else f" {rank:.2f}  {name}"
        ax.text(edge, line, text, ha="right" if on_left else "left", va="center", fontsize=8)
    room = 0.55 * (last - first)
    ax.set(xlim=(first - room, last + room), ylim=(below - depth + 0.4, 2.6))
    ax.set_axis_off()
    return ax


def _new_axes(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def plot_calibration(curves: Mapping[str, ReliabilityCurve], ax: Axes | None = None) -> Axes:
    """A line per classifier: the share of rows in which an event happened, by the probability given to it.

    The event is that the predicted class is right, for the curve `top` of `tanager.calibration`. Below the diagonal
    a classifier is overconfident. Bins of fewer than ten rows are left out.
    """
    ax = ax or new_axes(4.8, 4.6)
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
