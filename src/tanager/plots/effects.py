"""The strongest effects of a network of sums, ranked, as small multiples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tanager.classifiers import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.explain.effect_strength import effect_strength
from tanager.network.additive import AdditiveNetwork
from tanager.plots.effect import effects_of
from tanager.plots.effect_bars import draw_bars
from tanager.plots.effect_curve import draw_curve
from tanager.plots.effect_pair import draw_pair
from tanager.plots.effect_values import (
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

FONT_SIZE = 8.0
COLUMNS, WIDTH, HEIGHT = 3, 3.9, 2.7
MAX_BARS_IN_GRID = 9


def plot_effects(
    model: BayesianNetworkClassifier | AdditiveNetwork, *, max_effects: int = 12, of: Category | None = None
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
            draw_pair(pair_values(network, attributes[0], attributes[1], of), ax, FONT_SIZE)
        else:
            lines = _draw_main(main_values(network, attributes[0], shown), ax)
        ax.set_title(f"{strength[term]:.2f}", fontsize=FONT_SIZE, loc="right", color=TEXT_COLOUR)
        axes.append(ax)
    if len(lines) > 1:
        add_legend(figure, lines, FONT_SIZE, loc="outside upper left", ncols=len(lines))
    return axes


def _draw_main(values: MainValues, ax: Axes) -> list[Artist]:
    """The lines or points of its classes, which the figure names once."""
    if not values.column.cuts:
        return draw_bars(values, ax, FONT_SIZE, MAX_BARS_IN_GRID)
    lines = draw_curve(values, ax, FONT_SIZE)
    ax.set_xlabel("")
    ax.set_title(shorten(values.column.name, MAX_LABEL_LETTERS), fontsize=FONT_SIZE, loc="left", parse_math=False)
    return lines
