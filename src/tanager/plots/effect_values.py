"""The numbers behind the picture of an effect, and the look that all such pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager.additive.importance import class_odds, coarse_density
from tanager.additive.model import AdditiveModel
from tanager.arrays import Array
from tanager.plots.network import shorten
from tanager.table.schema import Category, ColumnSchema

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FONT_SIZE = 9.0
MAX_CLASSES_DRAWN = 6
MAX_LABEL_LETTERS = 30
COLOURS = ("#34547a", "#b0672a", "#4d8f6b", "#8a5a9e", "#b5475b", "#5f9fb5")
LINE_COLOUR, DENSITY_COLOUR, TEXT_COLOUR = "#b5b5b5", "#cfd4da", "#555555"
BAND = 2.0
"""Standard deviations to either side."""


@dataclass(frozen=True)
class MainValues:
    """A main effect: what each state adds to the log odds of the classes shown.

    classes  in words; label: what the axis of the log odds says
    odds     (states, classes shown) nats
    spread   (states, classes shown) standard deviation between fits; None where there was one fit
    density  (states,) share of the training rows
    """

    column: ColumnSchema
    classes: tuple[str, ...]
    label: str
    odds: Array
    spread: Array | None
    density: Array

    @property
    def band(self) -> Array:
        """(states, classes shown) half its width."""
        return np.zeros_like(self.odds) if self.spread is None else BAND * self.spread


@dataclass(frozen=True)
class PairValues:
    """A pair effect: what each cell (coarse state of one, of the other) adds to the log odds of a class."""

    columns: tuple[ColumnSchema, ColumnSchema]
    label: str
    odds: Array


def main_values(network: AdditiveModel, attribute: str, shown: Sequence[int]) -> MainValues:
    """The main effect on the classes `shown` (`main_classes`)."""
    odds = class_odds(network.main(attribute))
    node, spread = network.number(attribute), None
    if network.spreads:
        # Effects of the classes sum to zero, so that of the others follows.
        n_classes = odds.shape[1]
        spread = network.spreads[node][:, shown] * n_classes / max(1, n_classes - 1)
    names = tuple(str(network.columns[-1].states[label]) for label in shown)
    return MainValues(
        network.columns[node], names, _label(network, names), odds[:, shown], spread, network.densities[node]
    )


def main_classes(network: AdditiveModel, attributes: Sequence[str], of: Category | None) -> list[int]:
    """The class `of`, the second of two, or the six of which the attributes say most."""
    mean_squares = np.zeros(network.n_states[-1])
    for attribute in attributes:
        density = network.densities[network.number(attribute)]
        mean_squares += density @ class_odds(network.main(attribute)) ** 2
    return _classes(network, mean_squares, of, MAX_CLASSES_DRAWN)


def pair_values(network: AdditiveModel, first: str, second: str, of: Category | None = None) -> PairValues:
    """See `plot_effect`."""
    odds = class_odds(network.pair(first, second))
    numbers = network.number(first), network.number(second)
    densities = [coarse_density(network, node) for node in numbers]
    mean_squares = np.einsum("i,j,ijc->c", *densities, odds**2)
    (shown,) = _classes(network, mean_squares, of, 1)
    one, other = (network.columns[node].coarse for node in numbers)
    return PairValues((one, other), _label(network, (str(network.columns[-1].states[shown]),)), odds[..., shown])


def _classes(network: AdditiveModel, mean_squares: Array, of: Category | None, most: int) -> list[int]:
    """The classes to draw, in their order."""
    if of is not None:
        return [network.code(network.target, of)]
    if len(mean_squares) <= 2:
        return [len(mean_squares) - 1]
    return sorted(np.argsort(-mean_squares, kind="stable")[:most].tolist())


def _label(network: AdditiveModel, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"log odds of {shorten(names[0], MAX_LABEL_LETTERS)}"
    n_classes = network.n_states[-1]
    return f"log odds of {'each class' if len(names) == n_classes else f'{len(names)} of {n_classes} classes'}"


def add_legend(place: Axes | Figure, lines: Sequence[Artist], size: float, **where: Any) -> None:
    """The classes by their colours."""
    legend = place.legend(
        handles=lines, fontsize=size - 1, frameon=False, labelcolor=TEXT_COLOUR, handlelength=1.4, **where
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
