"""Two classifiers against each other: a point per data set with a cross-bar of one standard error, and the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

POINT_COLOUR, BAR_COLOUR, LINE_COLOUR = "#34547a", "#9db4cc", "#b0672a"
MAX_POINTS_NAMED = 6
Values = NDArray[np.float64]


@dataclass(frozen=True)
class PairedValues:
    """Values of two classifiers on the same sets, with one standard error each (zeros for none).

    title  what is measured; x_label, y_label: by whom
    """

    names: Sequence[str]
    x: Values
    y: Values
    x_error: Values
    y_error: Values
    x_label: str
    y_label: str
    title: str


def plot_scatter(values: PairedValues, ax: Axes | None = None) -> Axes:
    """Draw the points and name the sets furthest from the diagonal, beyond their bars; a set with NaN is left out."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(4.6, 4.8), layout="constrained")[1]
    known = ~(np.isnan(values.x) | np.isnan(values.y))
    x, y, x_error, y_error = (each[known] for each in (values.x, values.y, values.x_error, values.y_error))
    low = min((x - x_error).min(initial=0.0), (y - y_error).min(initial=0.0))
    high = max((x + x_error).max(initial=0.0), (y + y_error).max(initial=0.0), low + 1e-9)
    margin = 0.04 * (high - low)
    ends = (low - margin, high + margin)
    ax.plot(ends, ends, color=LINE_COLOUR, lw=1, zorder=1)
    ax.errorbar(x, y, y_error, x_error, fmt="none", ecolor=BAR_COLOUR, elinewidth=1, zorder=2)
    ax.plot(x, y, "o", color=POINT_COLOUR, ms=3.5, zorder=3)
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
    figure.draw_without_rendering()  # settles where points lie on the page
    boxes: list[Bbox] = []
    for name, x, y in points:
        left = x > middle
        offset = (-3 if left else 3, 2)
        side = "right" if left else "left"
        text = ax.annotate(
            name, (x, y), offset, textcoords="offset points", fontsize=7, ha=side, va="bottom", parse_math=False
        )
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in boxes):
            text.remove()
        else:
            boxes.append(box)
