"""The effects of a network of sums: a curve or bars of log odds for an attribute, a heat map for a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.classifiers import BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.explain.cells import network_of
from tanager.network.additive import AdditiveNetwork
from tanager.plots.effect_bars import draw_bars, new_bar_axes
from tanager.plots.effect_curve import draw_curve, new_curve_axes
from tanager.plots.effect_pair import draw_pair
from tanager.plots.effect_values import FONT_SIZE, add_legend, main_classes, main_values, pair_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tanager.table.schema import Category


def plot_effect(
    model: BayesianNetworkClassifier | AdditiveNetwork,
    attribute: str,
    partner: str | None = None,
    ax: Axes | None = None,
    *,
    of: Category | None = None,
) -> Axes:
    """Draw what an attribute, or with `partner` a pair, adds to the log odds of a class against the others.

    The main effect of a numeric attribute is a curve of steps, one for each bin, in its own units; the first and the
    last bin are open, which arrows show. That of a categorical one has a bar, or a point for each class, for each
    state. The band, or the whiskers, reach two standard deviations between fits on parts of the training rows, where
    there were some. In grey: how the training rows are spread. A pair effect is what the pair says beyond its parts,
    a heat map over coarse bins.

    Parameters
    ----------
    model : classifier with structure "pairwise", or its AdditiveNetwork
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


def effects_of(model: BayesianNetworkClassifier | AdditiveNetwork) -> AdditiveNetwork:
    network = network_of(model)
    if isinstance(network, AdditiveNetwork):
        return network
    raise OptionError(
        "the network has tables, not effects to draw.",
        hint="plot_table(network.table(attribute)) draws a table; structure='pairwise' learns effects.",
    )
