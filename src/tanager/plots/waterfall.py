"""The waterfall of one prediction: from the base rate, attribute by attribute, to the log odds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.explain.explanation import RowExplanation, signed
from tanager.plots.charts import FONT_SIZE, LINE_COLOUR, shorten, text_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR_COLOUR, AGAINST_COLOUR, TOTAL_COLOUR = "#c0392b", "#2e6da4", "#4a4a4a"
MAX_BAR_LETTERS = 60
BAR_INCHES, BARS_WIDTH, MARGIN = 0.3, 5.0, 0.15
HEAD_INCHES, FOOT_INCHES = 0.4, 0.55


def plot_waterfall(row: RowExplanation, ax: Axes | None = None, *, max_attributes: int = 14) -> Axes:
    """Draw a row of `explain(clf, X)`: each bar begins where the one above it ends, and the last is their sum.

    Red bars are for the favoured class, blue ones against it. Attributes, or effects, beyond the `max_attributes`
    largest are one bar. An infinite contribution (a cell that is impossible under one class) reaches beyond all others.
    """
    if max_attributes < 1:
        raise OptionError(f"max_attributes={max_attributes} leaves nothing to draw; expected 1 or more.")
    labels, addends = _bars(row, max_attributes)
    drawn = _finite(np.array(addends))
    ends = np.cumsum(drawn)
    starts = ends - drawn
    lines = np.arange(len(drawn) + 1)
    ax = ax or _new_axes(labels)
    line_points = 72 * ax.get_window_extent().height / ax.figure.dpi / len(labels)
    size = min(FONT_SIZE, 0.75 * line_points)
    colours = [FOR_COLOUR if addend >= 0 else AGAINST_COLOUR for addend in drawn]
    ax.barh(lines, [*drawn, ends[-1]], left=[*starts, 0.0], color=[*colours, TOTAL_COLOUR], height=0.66, zorder=2)
    for line, end in enumerate(ends):
        ax.plot([end, end], [line - 0.33, line + 1.33], color=LINE_COLOUR, lw=0.8, zorder=1)
    ax.axvline(0.0, color=LINE_COLOUR, lw=0.8, zorder=1)
    _write_values(ax, np.append(starts, 0.0), np.append(ends, ends[-1]), [*addends, row.log_odds], size)
    ax.set_yticks(lines, labels, fontsize=size, parse_math=False)
    ax.set_ylim(len(drawn) + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=FONT_SIZE - 1)
    ax.spines[["top", "right", "left"]].set_visible(False)
    favoured, against = (shorten(name, MAX_BAR_LETTERS) for name in (row.favoured, row.against))
    ax.set_xlabel(f"log odds of {favoured} against {against}", fontsize=FONT_SIZE, parse_math=False)
    ax.set_title(
        f"P({favoured}) = {row.probabilities[row.favoured]:.4f}", fontsize=FONT_SIZE + 1, loc="left", parse_math=False
    )
    return ax


def _bars(row: RowExplanation, most: int) -> tuple[list[str], list[float]]:
    """The labels and addends of all bars but the sum; they add up to it."""
    ranked = row.ranked
    n_shown = most if len(ranked) > most + 1 else len(ranked)  # one attribute is not gathered into "1 other"
    lines = [*row.first_lines, *((each.label, each.log_odds) for each in ranked[:n_shown])]
    labels, addends = [label for label, _ in lines], [addend for _, addend in lines]
    rest = ranked[n_shown:]
    if rest:
        labels.append(f"{len(rest)} other {row.nouns}")
        addends.append(sum(each.log_odds for each in rest))
    return [*(shorten(label, MAX_BAR_LETTERS) for label in labels), "log odds"], addends


def _finite(addends: Array) -> Array:
    finite = np.isfinite(addends)
    beyond = 1.5 * np.abs(addends[finite]).sum() + 1.0
    return np.where(finite, addends, np.sign(addends) * beyond)


def _new_axes(labels: list[str]) -> Axes:
    """Axes with room for the labels, whatever their length."""
    import matplotlib.pyplot as plt

    left = max(text_inches(label, FONT_SIZE) for label in labels) + 2 * MARGIN
    width, height = left + BARS_WIDTH + MARGIN, len(labels) * BAR_INCHES + HEAD_INCHES + FOOT_INCHES
    figure = plt.figure(figsize=(width, height))
    sides = (left / width, FOOT_INCHES / height, BARS_WIDTH / width, 1 - (HEAD_INCHES + FOOT_INCHES) / height)
    return figure.add_axes(sides)


def _write_values(ax: Axes, starts: Array, ends: Array, values: list[float], size: float) -> None:
    """The number of each bar right of it; the scale leaves room for the widest."""
    low, high = min(starts.min(), ends.min(), 0.0), max(starts.max(), ends.max(), 0.0)
    texts = [signed(value).strip() for value in values]
    inches = ax.get_window_extent().width / ax.figure.dpi
    room = max(text_inches(text, size) for text in texts) + 0.12
    scale = max(high - low, 1e-9) / max(inches - room, 0.2 * inches)  # nats per inch
    ax.set_xlim(low - 0.02 * scale * inches, high + room * scale)
    for line, text in enumerate(texts):
        x = max(starts[line], ends[line]) + 0.06 * scale
        back = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.text(x, line, text, va="center", ha="left", fontsize=size - 1, color="#333333", bbox=back)
