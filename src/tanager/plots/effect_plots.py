"""The effects of an additive model: one as a curve, bars or a heat map, or the strongest as small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tanager.additive.importance import class_odds, coarse_density, effect_strength
from tanager.additive.model import AdditiveModel
from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier
from tanager.errors import OptionError
from tanager.explain.explanation import network_of
from tanager.plots.charts import (
    BLUE,
    FONT_SIZE,
    LINE_COLOUR,
    TEXT_COLOUR,
    draw_heatmap,
    new_axes,
    shorten,
    text_inches,
)
from tanager.table.schema import MISSING_LABEL, MOMENTS, Category, ColumnSchema, Unit, format_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DENSITY_COLOUR = "#cfd4da"
GRID_FONT_SIZE = 8.0
COLUMNS, WIDTH, HEIGHT = 3, 3.9, 2.7
MAX_BARS, MAX_BARS_IN_GRID = 24, 9
BAND = 2.0
"""Standard deviations to either side."""
STRIP = 0.16
"""The height of the histogram below a curve, as a share of the picture."""
WIDE_RANGE = 200.0
"""From this ratio of the last cut to the first on, the axis is logarithmic."""
DAY = 86_400_000_000.0  # microseconds


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
    last bin are open, which arrows show. That of a categorical one has a bar for each state. The band, or the whiskers,
    reach two standard deviations: of the posterior after `prepare_intervals`, else between fits on parts of the
    training rows, where there were some. In grey: the distribution of the training rows. A pair effect is the
    interaction of the two attributes beyond their main effects, a heat map over coarse bins.

    Parameters
    ----------
    model : AdditiveClassifier, or its AdditiveModel
    attribute, partner : str
    ax : matplotlib Axes, optional
    of : class, optional
        The class to draw. By default the second of two; of more, the one with the strongest effect. Log odds are
        against the geometric mean of the other classes.
    """
    network = effects_of(model)
    names = [attribute] if partner is None else [attribute, partner]
    return _draw_effect(network, names, _class_shown(network, [names], of), ax)


def effects(model: TableClassifier | AdditiveModel, *, max_effects: int = 12, of: Category | None = None) -> list[Axes]:
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
    shown = _class_shown(network, names, of)
    n_columns, n_rows = min(COLUMNS, len(ranked)), -(-len(ranked) // COLUMNS)
    figure = plt.figure(figsize=(WIDTH * n_columns, HEIGHT * n_rows), layout="constrained")
    axes: list[Axes] = []
    for place, (term, attributes) in enumerate(zip(ranked, names, strict=True), 1):
        ax = figure.add_subplot(n_rows, n_columns, place)
        _draw_effect(network, attributes, shown, ax, GRID_FONT_SIZE, MAX_BARS_IN_GRID)
        ax.set_title(f"{strength[term]:.2f}", fontsize=GRID_FONT_SIZE, loc="right", color=TEXT_COLOUR)
        axes.append(ax)
    return axes


def effects_of(model: TableClassifier | AdditiveModel) -> AdditiveModel:
    network = network_of(model)
    if isinstance(network, AdditiveModel):
        return network
    raise OptionError(
        "the network has tables, not effects to draw.",
        hint="plot_table(network.table(attribute)) draws a table; AdditiveClassifier learns effects.",
    )


@dataclass(frozen=True)
class MainValues:
    """A main effect: what each state adds to the log odds of a class.

    label    of the axis of the log odds
    odds     (states,) nats
    band     (states,) two standard deviations; None where they are not known
    density  (states,) share of the training rows
    """

    column: ColumnSchema
    label: str
    odds: Array
    band: Array | None
    density: Array

    @classmethod
    def of(cls, network: AdditiveModel, attribute: str, shown: int) -> MainValues:
        """The main effect on the class `shown`."""
        odds, node = class_odds(network.main(attribute)), network.number(attribute)
        n_classes = odds.shape[1]
        # The effects of the classes sum to zero, so that of the others follows.
        scale = BAND * n_classes / max(1, n_classes - 1)
        band = scale * network.spreads[node][:, shown] if network.spreads else None
        label = f"log odds of {shorten(str(network.columns[-1].states[shown]))}"
        return cls(network.columns[node], label, odds[:, shown], band, network.densities[node])


def _class_shown(network: AdditiveModel, terms: Sequence[Sequence[str]], of: Category | None) -> int:
    """The class `of`, the second of two, or the one with the strongest effects."""
    if of is not None:
        return network.code(network.target, of)
    mean_squares = np.zeros(network.n_states[-1])
    for names in terms:
        if len(names) == 1:
            mean_squares += network.densities[network.number(names[0])] @ class_odds(network.main(names[0])) ** 2
        else:
            densities = [coarse_density(network, network.number(name)) for name in names]
            mean_squares += np.einsum("i,j,ijc->c", *densities, class_odds(network.pair(*names)) ** 2)
    return len(mean_squares) - 1 if len(mean_squares) <= 2 else int(np.argmax(mean_squares))


def _draw_effect(
    network: AdditiveModel,
    names: Sequence[str],
    shown: int,
    ax: Axes | None,
    size: float = FONT_SIZE,
    most: int = MAX_BARS,
) -> Axes:
    """A main effect under the name of its attribute, or a pair."""
    if len(names) == 2:
        return _draw_pair(network, names[0], names[1], shown, ax, size)
    values = MainValues.of(network, names[0], shown)
    ax, part = ax or _new_axes(values), ""
    if values.column.cuts:
        draw_curve(values, ax, size)
    else:
        draw_bars(values, ax, size, most)
        part = f" ({most} of {len(values.density)} states)" if most < len(values.density) else ""
    ax.set_title(f"{shorten(values.column.name)}{part}", fontsize=size, loc="left", parse_math=False)
    return ax


def _draw_pair(
    network: AdditiveModel, first: str, second: str, shown: int, ax: Axes | None, size: float = FONT_SIZE
) -> Axes:
    """Red cells are for the class, blue ones against it, beyond the main effects."""
    odds = class_odds(network.pair(first, second))[..., shown]
    nodes = network.number(first), network.number(second)
    down, across = ([shorten(str(state)) for state in network.columns[node].coarse.states] for node in nodes)
    largest = max(float(np.abs(odds).max()), 1e-12)
    ax = draw_heatmap(odds, down, across, ax, size, largest)
    ax.set_ylabel(shorten(first), fontsize=size, parse_math=False)
    ax.set_xlabel(shorten(second), fontsize=size, parse_math=False)
    target = shorten(str(network.columns[-1].states[shown]))
    ax.set_title(f"log odds of {target}, ±{largest:.2f}", fontsize=size, loc="left", parse_math=False)
    return ax


def draw_curve(values: MainValues, ax: Axes, size: float = FONT_SIZE) -> None:
    """Log odds as steps over the bins of a number."""
    column = values.column
    n_bins = len(column.cuts) + 1
    odds = values.odds[:n_bins]
    logarithmic = column.unit == "number" and column.cuts[0] > 0 and column.cuts[-1] > WIDE_RANGE * column.cuts[0]
    edges = bin_edges(column, logarithmic)
    ax.axhline(0.0, color=LINE_COLOUR, lw=0.8, zorder=1)
    if values.band is not None:
        band = values.band[:n_bins]
        below, above = (np.append(end, end[-1]) for end in (odds - band, odds + band))
        ax.fill_between(edges, below, above, step="post", color=BLUE, alpha=0.16, lw=0, zorder=2)
    ax.stairs(odds, edges, baseline=None, color=BLUE, lw=1.5, zorder=3)
    for end, arrow in ((0, "<"), (-1, ">")):
        ax.plot(edges[end], odds[end], arrow, color=BLUE, ms=0.4 * size, clip_on=False, zorder=3)
    if column.missing_state:
        level, where = values.odds[-1], ax.get_yaxis_transform()
        ax.axhline(level, color=BLUE, lw=0.9, ls=(0, (2, 2)), zorder=2)
        ax.text(1.0, level, MISSING_LABEL, transform=where, fontsize=size - 2, color=BLUE, ha="right", va="bottom")
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    low, high = ax.get_ylim()
    ax.set_ylim(low - (high - low) * STRIP / (1 - STRIP) * 1.3, high)  # room for the histogram
    _draw_density(ax, edges, values.density[:n_bins], logarithmic)
    _set_ticks(ax, column.unit)
    ax.set_ylabel(values.label, fontsize=size, parse_math=False)
    ax.tick_params(labelsize=size - 1, color=LINE_COLOUR)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE_COLOUR)


def bin_edges(column: ColumnSchema, logarithmic: bool = False) -> Array:
    """(bins + 1,) where bins begin and end on the axis.

    Those at the ends reach a twelfth of the range beyond the cuts, and not beyond zero where all cuts are on one side.
    """
    cuts = np.array(column.cuts, dtype=np.float64)
    if column.unit in MOMENTS:
        cuts = cuts / DAY  # as matplotlib has dates
    scaled = np.log(cuts) if logarithmic else cuts
    pad = (scaled[-1] - scaled[0]) / 12 or max(abs(scaled[0]) / 2, 0.5)
    edges = np.concatenate([scaled[:1] - pad, scaled, scaled[-1:] + pad])
    if logarithmic:
        return np.asarray(np.exp(edges))
    low, high = 0.0 if cuts[0] > 0 else -np.inf, 0.0 if cuts[-1] < 0 else np.inf
    return np.clip(edges, low, high)


def _draw_density(ax: Axes, edges: Array, density: Array, logarithmic: bool) -> None:
    """A histogram below the curve: the area of a bar is the share of the rows in its bin."""
    heights = density / np.diff(np.log(edges) if logarithmic else edges)
    # One narrow bin full of rows would flatten all others.
    top = min(heights.max(), 4 * np.median(heights)) or 1.0
    strip = ax.inset_axes((0, 0, 1, STRIP), sharex=ax)
    strip.stairs(np.minimum(heights, top), edges, fill=True, color=DENSITY_COLOUR)
    strip.set_ylim(0, top)
    strip.set_axis_off()


def _set_ticks(ax: Axes, unit: Unit) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter

    if unit == "number" and ax.get_xscale() == "linear":
        ax.locator_params(axis="x", nbins=6)
    if unit in MOMENTS:
        locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif unit == "duration":
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_values([value], unit)[0]))


def draw_bars(values: MainValues, ax: Axes, size: float = FONT_SIZE, most: int = MAX_BARS) -> None:
    """A bar of log odds for each state, with whiskers; of more than `most` states the strongest.

    To the right, in grey: the share of the training rows in each state.
    """
    shown = _states(values, most)
    lines = np.arange(len(shown))
    ax.axvline(0.0, color=LINE_COLOUR, lw=0.8, zorder=1)
    ax.barh(lines, values.odds[shown], color=BLUE, height=0.62, alpha=0.75, zorder=2)
    if values.band is not None:
        ends = values.band[shown]
        ax.errorbar(values.odds[shown], lines, xerr=ends, fmt="none", ecolor="#222222", elinewidth=0.9, zorder=3)
    names = [shorten(str(values.column.states[state])) for state in shown]
    ax.set_yticks(lines, names, fontsize=size - 1, parse_math=False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    shares = values.density[shown]
    strip = ax.inset_axes((1.01, 0, 0.12, 1), sharey=ax)
    strip.barh(lines, shares, color=DENSITY_COLOUR, height=0.62)
    strip.set_xlim(0, max(float(shares.max()), 1e-12))
    strip.set_axis_off()
    ax.set_xlabel(values.label, fontsize=size, parse_math=False)
    ax.tick_params(axis="x", labelsize=size - 1, color=LINE_COLOUR)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE_COLOUR)


def _states(values: MainValues, most: int) -> list[int]:
    """In their order where it has a meaning, else the largest log odds first."""
    kept = sorted(np.argsort(-values.density * values.odds**2, kind="stable")[:most].tolist())
    return kept if values.column.has_order else sorted(kept, key=lambda state: -float(values.odds[state]))


def _new_axes(values: MainValues) -> Axes:
    """Of a fixed size for a curve; with a line for each state for bars."""
    if values.column.cuts:
        return new_axes(4.8, 3.4)
    widest = max(text_inches(shorten(str(state))) for state in values.column.states)
    return new_axes(widest + 4.0, max(min(len(values.density), MAX_BARS) * 0.24 + 0.9, 1.8))
