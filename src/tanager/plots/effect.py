"""The effects of a network of sums: one, as a curve, bars or a heat map, or the strongest as small multiples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.additive.importance import effect_strength
from tanager.additive.model import AdditiveModel
from tanager.classifiers.base import TableClassifier
from tanager.errors import OptionError
from tanager.explain.cells import network_of
from tanager.plots.effect_bars import draw_bars, new_bar_axes
from tanager.plots.effect_curve import draw_curve, new_curve_axes
from tanager.plots.effect_pair import draw_pair
from tanager.plots.effect_values import (
    FONT_SIZE,
    MAX_LABEL_LETTERS,
    TEXT_COLOUR,
    MainValues,
    add_legend,
    main_classes,
    main_values,
    pair_values,
)
from tanager.plots.network import shorten

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from tanager.table.schema import Category

GRID_FONT_SIZE = 8.0
COLUMNS, WIDTH, HEIGHT = 3, 3.9, 2.7
MAX_BARS_IN_GRID = 9


def plot_effect(
    model: TableClassifier | AdditiveModel,
    attribute: str,
    partner: str | None = None,
    ax: Axes | None = None,
    *,
    of: Category | None = None,
) -> Axes:
    """Draw what an attribute, or with `partner` a pair, adds to the log odds of a class against the others.

    The main effect of a numeric attribute is a curve of steps, one for each bin, in its own units; the first and the
    last bin are open, which arrows show. That of a categorical one has a bar, or a point for each class, for each
    state. The band, or the whiskers, reach two standard deviations: of the posterior after `prepare_intervals`, else
    between fits on parts of the training rows, where there were some. In grey: how the training rows are spread. A pair
    effect is what the pair says beyond its parts, a heat map over coarse bins.

    Parameters
    ----------
    model : AdditiveClassifier, or its AdditiveModel
    attribute, partner : str
    ax : matplotlib Axes, optional
    of : class, optional
        The class to draw. By default the second of two; of more, the six that the attribute says most about, or the
        one that a pair says most about. Log odds are against the geometric mean of the other classes.
    """
    network = effects_of(model)
    if partner is not None:
        return draw_pair(pair_values(network, attribute, partner, of), ax)
    values = main_values(network, attribute, main_classes(network, [attribute], of))
    numeric = bool(values.column.cuts)
    ax = ax or (new_curve_axes() if numeric else new_bar_axes(values))
    lines = draw_curve(values, ax) if numeric else draw_bars(values, ax)
    if len(lines) > 1:  # to the right, beyond the shares of the states
        add_legend(ax, lines, FONT_SIZE, loc="upper left", bbox_to_anchor=(1.0 if numeric else 1.14, 1.0))
    return ax


def effects_of(model: TableClassifier | AdditiveModel) -> AdditiveModel:
    network = network_of(model)
    if isinstance(network, AdditiveModel):
        return network
    raise OptionError(
        "the network has tables, not effects to draw.",
        hint="plot_table(network.table(attribute)) draws a table; AdditiveClassifier learns effects.",
    )


def plot_effects(
    model: TableClassifier | AdditiveModel, *, max_effects: int = 12, of: Category | None = None
) -> list[Axes]:
    """Draw the strongest main and pair effects on a figure of their own, the strongest first; see `plot_effect`.

    The number above each is its strength: the root mean square of its log odds (`Overall`), in nats.
    """
    import matplotlib.pyplot as plt

    if max_effects < 1:
        raise OptionError(f"max_effects={max_effects} leaves nothing to draw; expected 1 or more.")
    network = effects_of(model)
    strength, terms = effect_strength(network), network.terms
    ranked = np.argsort(-strength, kind="stable")[:max_effects].tolist()
    names = [[network.nodes[attribute] for attribute in terms[term]] for term in ranked]
    shown = main_classes(network, [name for term in names if len(term) == 1 for name in term], of)
    n_rows = -(-len(ranked) // COLUMNS)
    n_columns = min(COLUMNS, len(ranked))
    figure = plt.figure(figsize=(WIDTH * n_columns, HEIGHT * n_rows), layout="constrained")
    axes, lines = [], []
    for place, (term, attributes) in enumerate(zip(ranked, names, strict=True), 1):
        ax = figure.add_subplot(n_rows, n_columns, place)
        if len(attributes) == 2:
            draw_pair(pair_values(network, attributes[0], attributes[1], of), ax, GRID_FONT_SIZE)
        else:
            lines = _draw_main(main_values(network, attributes[0], shown), ax)
        ax.set_title(f"{strength[term]:.2f}", fontsize=GRID_FONT_SIZE, loc="right", color=TEXT_COLOUR)
        axes.append(ax)
    if len(lines) > 1:
        add_legend(figure, lines, GRID_FONT_SIZE, loc="outside upper left", ncols=len(lines))
    return axes


def _draw_main(values: MainValues, ax: Axes) -> list[Artist]:
    """The lines or points of its classes, which the figure names once."""
    if not values.column.cuts:
        return draw_bars(values, ax, GRID_FONT_SIZE, MAX_BARS_IN_GRID)
    lines = draw_curve(values, ax, GRID_FONT_SIZE)
    ax.set_xlabel("")
    ax.set_title(shorten(values.column.name, MAX_LABEL_LETTERS), fontsize=GRID_FONT_SIZE, loc="left", parse_math=False)
    return lines
