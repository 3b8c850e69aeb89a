"""A conditional probability table as a heat map: parent configurations down, states across."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from tanager.network.network import NodeTable
from tanager.plots.network import shorten, text_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "Blues"
FONT_SIZE = 8.5
MAX_STATE_LETTERS, MAX_GIVEN_LETTERS = 24, 60
ROW_INCHES, MARGIN = 0.27, 0.15
LINE_INCHES, NUMBER_INCHES = 0.17, 0.36
MAX_TABLE_INCHES = 14.0


def plot_table(table: NodeTable, ax: Axes | None = None) -> Axes:
    """Draw `network.table(node)`, on axes large enough for its labels unless others are given.

    Rows are the configurations of the parents, columns the states; a row sums to one. Numbers and labels stand where
    there is room: of more rows than the page has lines, every second, third, ... is named.
    """
    states = [shorten(str(state), MAX_STATE_LETTERS) for state in table.states]
    given = [shorten(", ".join(map(str, states)), MAX_GIVEN_LETTERS) for states, _ in table.rows()]
    ax = ax or _new_axes(states, given)
    ax.imshow(table.probabilities, cmap=COLOURS, vmin=0.0, vmax=1.0, aspect="auto")
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    cell_width, cell_height = box.width / len(states), box.height / len(given)
    upright = max(text_inches(state, FONT_SIZE) for state in states) + 0.08 > cell_width
    every = ceil(LINE_INCHES / cell_width) if upright else 1
    columns = range(0, len(states), every)
    ax.set_xticks(
        columns, [states[k] for k in columns], rotation=90 if upright else 0, fontsize=FONT_SIZE, parse_math=False
    )
    rows = range(0, len(given), ceil(LINE_INCHES / cell_height))
    ax.set_yticks(rows, [given[k] for k in rows], fontsize=FONT_SIZE, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if cell_width >= NUMBER_INCHES and cell_height >= LINE_INCHES:
        _write_numbers(ax, table)
    ax.set_title(_title(table), fontsize=FONT_SIZE + 0.5, loc="left", parse_math=False)
    return ax


def _title(table: NodeTable) -> str:
    given = f" | {', '.join(table.parents)}" if table.parents else ""
    return shorten(f"P({table.node}{given})", MAX_GIVEN_LETTERS)


def _new_axes(states: Sequence[str], given: Sequence[str]) -> Axes:
    """Axes with room for the labels, at most 14 inches each way."""
    import matplotlib.pyplot as plt

    widest = max(text_inches(state, FONT_SIZE) for state in states)
    left = max(text_inches(label, FONT_SIZE) for label in given) + 2 * MARGIN
    across = min(len(states) * max(widest + 0.16, NUMBER_INCHES + 0.1), MAX_TABLE_INCHES)
    across = max(across, 1.5)
    down = max(min(len(given) * ROW_INCHES, MAX_TABLE_INCHES), ROW_INCHES)
    foot = (0.3 if widest + 0.08 <= across / len(states) else widest + 0.2) + 0.05
    width, height = left + max(across, 3.0) + MARGIN, down + foot + 0.4
    figure = plt.figure(figsize=(width, height))
    return figure.add_axes((left / width, foot / height, across / width, down / height))


def _write_numbers(ax: Axes, table: NodeTable) -> None:
    for row, probabilities in enumerate(table.probabilities.tolist()):
        for column, probability in enumerate(probabilities):
            colour = "white" if probability > 0.6 else "#222222"
            ax.text(column, row, f"{probability:.2f}", ha="center", va="center", fontsize=FONT_SIZE - 1, color=colour)
