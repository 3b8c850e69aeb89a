"""A pair effect as a heat map: coarse states of one attribute down, of the other across."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from tanager.arrays import Array
from tanager.plots.effect_values import FONT_SIZE, MAX_LABEL_LETTERS, PairValues
from tanager.plots.network import shorten, text_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "RdBu_r"
ROW_INCHES, CELL_INCHES, MARGIN = 0.27, 0.5, 0.15
LINE_INCHES, NUMBER_INCHES = 0.17, 0.36
MAX_PICTURE_INCHES = 10.0


def draw_pair(values: PairValues, ax: Axes | None = None, size: float = FONT_SIZE) -> Axes:
    """Red cells speak for the class, blue ones against it, beyond what either attribute says alone."""
    down, across = ([shorten(str(state), MAX_LABEL_LETTERS) for state in column.states] for column in values.columns)
    ax = ax or _new_axes(down, across, size)
    largest = max(float(np.abs(values.odds).max()), 1e-12)
    ax.imshow(values.odds, cmap=COLOURS, vmin=-1.25 * largest, vmax=1.25 * largest, aspect="auto")
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    width, height = box.width / len(across), box.height / len(down)
    upright = max(text_inches(state, size - 1) for state in across) + 0.08 > width
    columns = range(0, len(across), ceil(LINE_INCHES / width) if upright else 1)
    rotation = 90 if upright else 0
    ax.set_xticks(columns, [across[k] for k in columns], rotation=rotation, fontsize=size - 1, parse_math=False)
    rows = range(0, len(down), ceil(LINE_INCHES / height))
    ax.set_yticks(rows, [down[k] for k in rows], fontsize=size - 1, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if width >= NUMBER_INCHES and height >= LINE_INCHES:
        _write_numbers(ax, values.odds, largest, size - 2)
    first, second = (shorten(column.name, MAX_LABEL_LETTERS) for column in values.columns)
    ax.set_ylabel(first, fontsize=size, parse_math=False)
    ax.set_xlabel(second, fontsize=size, parse_math=False)
    ax.set_title(f"{values.label}, ±{largest:.2f}", fontsize=size, loc="left", parse_math=False)
    return ax


def _new_axes(down: list[str], across: list[str], size: float) -> Axes:
    import matplotlib.pyplot as plt

    widest = max(text_inches(state, size - 1) for state in across)
    left = max(text_inches(state, size - 1) for state in down) + 0.25 + 2 * MARGIN
    wide = max(min(len(across) * CELL_INCHES, MAX_PICTURE_INCHES), 1.8)
    high = max(min(len(down) * ROW_INCHES, MAX_PICTURE_INCHES), 0.6)
    foot = (0.3 if widest + 0.08 <= wide / len(across) else widest + 0.2) + 0.3
    width, height = left + max(wide, 2.6) + MARGIN, high + foot + 0.4
    figure = plt.figure(figsize=(width, height))
    return figure.add_axes((left / width, foot / height, wide / width, high / height))


def _write_numbers(ax: Axes, odds: Array, largest: float, size: float) -> None:
    for row, line in enumerate(odds.tolist()):
        for column, value in enumerate(line):
            colour = "white" if abs(value) > 0.7 * largest else "#222222"
            ax.text(column, row, f"{value:+.2f}", ha="center", va="center", fontsize=size, color=colour)
