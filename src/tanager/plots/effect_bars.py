"""The main effect of a categorical attribute: a bar of log odds for each state, with whiskers, and its share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.plots.effect_values import COLOURS, DENSITY_COLOUR, FONT_SIZE, LINE_COLOUR, MAX_LABEL_LETTERS, MainValues
from tanager.plots.network import shorten, text_inches

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MAX_BARS = 24
BAR_INCHES = 0.24


def draw_bars(values: MainValues, ax: Axes, size: float = FONT_SIZE, most: int = MAX_BARS) -> list[Artist]:
    """A bar for each state; for several classes a point each, which are returned.

    Of more than `most` states those that matter most.
    """
    shown = _states(values, most)
    names = [shorten(str(values.column.states[state]), MAX_LABEL_LETTERS) for state in shown]
    lines = np.arange(len(shown))
    ax.axvline(0.0, color=LINE_COLOUR, lw=0.8, zorder=1)
    several = len(values.classes) > 1
    points: list[Artist] = []
    for k, name in enumerate(values.classes):
        odds, band, colour = values.odds[shown, k], values.band[shown, k], COLOURS[k % len(COLOURS)]
        # Points of one state a little apart, so that whiskers do not hide each other.
        at = lines + (0.6 * ((k + 0.5) / len(values.classes) - 0.5) if several else 0.0)
        if several:
            points += ax.plot(odds, at, "o", color=colour, ms=0.4 * size, label=name, zorder=3)
        else:
            ax.barh(at, odds, color=colour, height=0.62, alpha=0.75, zorder=2)
        if values.spread is not None:
            dark = colour if several else "#222222"
            ax.errorbar(odds, at, xerr=band, fmt="none", ecolor=dark, elinewidth=0.9, zorder=3)
    ax.set_yticks(lines, names, fontsize=size - 1, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    _draw_shares(ax, values.density[shown])
    part = f" ({len(shown)} of {len(values.density)} states)" if len(shown) < len(values.density) else ""
    title = f"{shorten(values.column.name, MAX_LABEL_LETTERS)}{part}"
    ax.set_title(title, fontsize=size, loc="left", parse_math=False)
    ax.set_xlabel(values.label, fontsize=size, parse_math=False)
    ax.tick_params(axis="x", labelsize=size - 1, color=LINE_COLOUR)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE_COLOUR)
    return points


def _states(values: MainValues, most: int) -> list[int]:
    """In their order where it has a meaning, else the largest log odds of the last class shown first."""
    weight = values.density * (values.odds**2).sum(axis=1)
    kept = sorted(np.argsort(-weight, kind="stable")[:most].tolist())
    if values.column.has_order:
        return kept
    return sorted(kept, key=lambda state: -float(values.odds[state, -1]))


def new_bar_axes(values: MainValues) -> Axes:
    """With room for a line for each state."""
    import matplotlib.pyplot as plt

    n_states, n_classes = min(len(values.density), MAX_BARS), len(values.classes)
    widest = max(text_inches(shorten(str(state), MAX_LABEL_LETTERS), FONT_SIZE) for state in values.column.states)
    down = n_states * BAR_INCHES * (1 + 0.35 * (n_classes - 1)) + 0.9 + (0.4 if n_classes > 1 else 0)
    return plt.subplots(figsize=(widest + 4.0, max(down, 1.8)), layout="constrained")[1]


def _draw_shares(ax: Axes, shares: Array) -> None:
    """Grey bars to the right: the share of the training rows in each state."""
    strip = ax.inset_axes((1.01, 0, 0.12, 1), sharey=ax)
    strip.barh(np.arange(len(shares)), shares, color=DENSITY_COLOUR, height=0.62)
    strip.set_xlim(0, max(float(shares.max()), 1e-12))
    strip.set_axis_off()
