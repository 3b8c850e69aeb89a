"""A critical-difference diagram: mean ranks on a line, and bars over those that do not differ (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_COLOUR, BAR_COLOUR = "#34547a", "#b0672a"
LINE_INCHES = 0.28


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
    """The better half is named on the left, the other on the right; 1 is the best rank."""
    n = len(value.names)
    left = (n + 1) // 2
    depth = max(left, n - left)
    bars = len(value.cliques)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7.2, LINE_INCHES * (depth + 0.6 * bars + 3.2)), layout="constrained")[1]
    first, last = 1.0, float(n)
    overhang = 0.02 * (last - first)
    ax.plot([first, last], [0, 0], color="black", lw=1)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0, 0.25], color="black", lw=1)
        ax.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=8)
    _plot_bracket(value, ax, first)
    for place, (start, end) in enumerate(value.cliques):
        height = -0.45 - 0.5 * place
        ends = [value.ranks[start] - overhang, value.ranks[end] + overhang]
        ax.plot(ends, [height, height], color=BAR_COLOUR, lw=3, solid_capstyle="butt")
    below = -0.9 - 0.5 * bars
    for place, (name, rank) in enumerate(zip(value.names, value.ranks, strict=True)):
        on_left = place < left
        line = below - (place if on_left else n - 1 - place)
        edge = first - overhang if on_left else last + overhang
        ax.plot([rank, rank, edge], [0, line, line], color=LINE_COLOUR, lw=1)
        text = f"{name}  {rank:.2f} " if on_left else f" {rank:.2f}  {name}"
        ax.text(edge, line, text, ha="right" if on_left else "left", va="center", fontsize=8)
    room = 0.55 * (last - first)
    ax.set(xlim=(first - room, last + room), ylim=(below - depth + 0.4, 2.6))
    ax.set_axis_off()
    return ax


def _plot_bracket(value: MeanRanks, ax: Axes, first: float) -> None:
    """How long the critical difference is, above the axis."""
    end = first + value.critical_difference
    ax.plot([first, end], [1.7, 1.7], color="black", lw=1.5)
    for x in (first, end):
        ax.plot([x, x], [1.55, 1.85], color="black", lw=1.5)
    ax.text(
        (first + end) / 2,
        1.9,
        f"critical difference {value.critical_difference:.2f}",
        ha="center",
        va="bottom",
        fontsize=8,
    )
