"""Heat maps, waterfalls, and the look that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.errors import OptionError
from tanager.explain.explanation import RowExplanation, signed
from tanager.network.network import NodeTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE = 9.0
MAX_LETTERS = 30
BLUE, ORANGE = "#34547a", "#b0672a"
LINE_COLOUR, TEXT_COLOUR = "#b5b5b5", "#555555"
FOR_COLOUR, AGAINST_COLOUR = "#c0392b", "#2e6da4"
MAX_STATE_LETTERS, MAX_GIVEN_LETTERS = 24, 60
ROW_INCHES, MARGIN = 0.27, 0.15
LINE_INCHES, NUMBER_INCHES = 0.17, 0.36
MAX_INCHES = 14.0


def plot_table(table: NodeTable, ax: Axes | None = None) -> Axes:
    """Draw `network.table(node)`, on axes large enough for its labels unless others are given.

    Rows are the configurations of the parents, columns the states; a row sums to one. Numbers and labels stand where
    there is room: of more rows than the page has lines, every second, third, ... is named.
    """
    states = [shorten(str(state), MAX_STATE_LETTERS) for state in table.states]
    given = [shorten(", ".join(map(str, states)), MAX_GIVEN_LETTERS) for states, _ in table.rows()]
    ax = draw_heatmap(table.probabilities, given, states, ax)
    parents = f" | {', '.join(table.parents)}" if table.parents else ""
    title = shorten(f"P({table.node}{parents})", MAX_GIVEN_LETTERS)
    ax.set_title(title, fontsize=FONT_SIZE, loc="left", parse_math=False)
    return ax


def draw_heatmap(
    values: Array,
    down: Sequence[str],
    across: Sequence[str],
    ax: Axes | None = None,
    size: float = FONT_SIZE,
    largest: float | None = None,
) -> Axes:
    """Cells coloured by their values, from 0 to 1 in blue, or with `largest` from -largest in blue to +largest in red.

    down, across  labels of the rows and the columns
    """
    ax = ax or _heatmap_axes(down, across, size)
    if largest is None:
        ax.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    else:
        ax.imshow(values, cmap="RdBu_r", vmin=-1.25 * largest, vmax=1.25 * largest, aspect="auto")
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    width, height = box.width / len(across), box.height / len(down)
    upright = max(text_inches(label, size - 1) for label in across) + 0.08 > width
    columns = range(0, len(across), ceil(LINE_INCHES / width) if upright else 1)
    rotation = 90 if upright else 0
    ax.set_xticks(columns, [across[k] for k in columns], rotation=rotation, fontsize=size - 1, parse_math=False)
    rows = range(0, len(down), ceil(LINE_INCHES / height))
    ax.set_yticks(rows, [down[k] for k in rows], fontsize=size - 1, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if width >= NUMBER_INCHES and height >= LINE_INCHES:
        dark, form = (0.6, ".2f") if largest is None else (0.7 * largest, "+.2f")
        for (row, column), value in np.ndenumerate(values):
            colour = "white" if abs(value) > dark else "#222222"
            ax.text(column, row, f"{value:{form}}", ha="center", va="center", fontsize=size - 2, color=colour)
    return ax


def _heatmap_axes(down: Sequence[str], across: Sequence[str], size: float) -> Axes:
    """Axes with room for the labels, at most 14 inches each way."""
    import matplotlib.pyplot as plt

    widest = max(text_inches(label, size - 1) for label in across)
    left = max(text_inches(label, size - 1) for label in down) + 0.25 + 2 * MARGIN
    wide = max(min(len(across) * max(widest + 0.16, NUMBER_INCHES + 0.1), MAX_INCHES), 1.8)
    high = max(min(len(down) * ROW_INCHES, MAX_INCHES), ROW_INCHES)
    foot = (0.3 if widest + 0.08 <= wide / len(across) else widest + 0.2) + 0.3
    width, height = left + max(wide, 3.0) + MARGIN, high + foot + 0.4
    figure = plt.figure(figsize=(width, height))
    return figure.add_axes((left / width, foot / height, wide / width, high / height))


def plot_waterfall(row: RowExplanation, ax: Axes | None = None, *, max_attributes: int = 14) -> Axes:
    """Draw a row of `explain(clf, X)`: each bar begins where the one above it ends, and the last is their sum.

    Red bars are for the favoured class, blue ones against it. Attributes, or effects, beyond the `max_attributes`
    largest are one bar. An infinite contribution (a cell that is impossible under one class) reaches beyond all others.
    """
    if max_attributes < 1:
        raise OptionError(f"max_attributes={max_attributes} leaves nothing to draw; expected 1 or more.")
    ranked = row.ranked
    n_shown = max_attributes if len(ranked) > max_attributes + 1 else len(ranked)  # one is not gathered into "1 other"
    lines = [*row.first_lines, *((each.label, each.log_odds) for each in ranked[:n_shown])]
    if rest := ranked[n_shown:]:
        lines.append((f"{len(rest)} other {row.nouns}", sum(each.log_odds for each in rest)))
    addends = np.array([addend for _, addend in lines])
    beyond = 1.5 * np.abs(addends[np.isfinite(addends)]).sum() + 1.0
    drawn = np.where(np.isfinite(addends), addends, np.sign(addends) * beyond)
    ends = np.cumsum(drawn)
    ax = ax or new_axes(8.0, 1.0 + 0.3 * len(lines))
    size = min(FONT_SIZE, 45 * ax.get_window_extent().height / ax.figure.dpi / (len(lines) + 1))
    colours = [*np.where(drawn >= 0, FOR_COLOUR, AGAINST_COLOUR), TEXT_COLOUR]
    starts, widths = [*(ends - drawn), 0.0], [*drawn, ends[-1]]
    ax.barh(range(len(starts)), widths, left=starts, color=colours, height=0.66)
    for line, value in enumerate([*addends, row.log_odds]):
        place = (starts[line] + max(widths[line], 0.0), line)
        words = signed(value).strip()
        ax.annotate(words, place, xytext=(3, 0), textcoords="offset points", va="center", fontsize=size - 1)
    ax.vlines(ends, np.arange(len(lines)) - 0.33, np.arange(len(lines)) + 1.33, color=LINE_COLOUR, lw=0.8, zorder=0)
    ax.axvline(0.0, color=LINE_COLOUR, lw=0.8, zorder=0)
    labels = [*(shorten(label, MAX_GIVEN_LETTERS) for label, _ in lines), "log odds"]
    ax.set_yticks(range(len(labels)), labels, fontsize=size, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.15)
    ax.invert_yaxis()
    ax.spines[["top", "right", "left"]].set_visible(False)
    favoured, against = (shorten(name, MAX_GIVEN_LETTERS) for name in (row.favoured, row.against))
    ax.set_xlabel(f"log odds of {favoured} against {against}", fontsize=FONT_SIZE, parse_math=False)
    title = f"P({favoured}) = {row.probabilities[row.favoured]:.4f}"
    ax.set_title(title, fontsize=FONT_SIZE + 1, loc="left", parse_math=False)
    return ax


def new_axes(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def shorten(text: str, most: int = MAX_LETTERS) -> str:
    """On one line, and with its middle left out where it is longer than `most` letters."""
    line = " ".join(text.split())
    keep = most - 1
    return line if len(line) <= most else f"{line[: (keep + 1) // 2]}…{line[len(line) - keep // 2 :]}"


def text_inches(text: str, size: float = FONT_SIZE) -> float:
    """The width of a text whose letters are of this size in points, with a little room: hinting widens small ones."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return 1.08 * float(width) / 72
