"""The strongest main effects as places on a picture, for the page as it is without scripts."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from tanager.additive.importance import class_odds, effect_strength, tree_mains
from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array
from tanager.report.json_page import Json, number
from tanager.table.schema import ColumnSchema, format_values

MAX_CURVES, MAX_BARS = 6, 8
FEW_BINS = 6
"""A number with so many bins or fewer is drawn as bars."""


def chance(base: float, odds: Array) -> Array:
    """P(class) of an average row, whose class has the base rate, after a change of its log odds."""
    return np.asarray(expit(logit(np.clip(base, 1e-6, 1 - 1e-6)) + odds))


def main_odds(network: AdditiveModel, shown: int) -> list[Array]:
    """For each attribute (states,): what it adds to the log odds of a class, its part of the trees included."""
    trees = tree_mains(network)
    return [class_odds(main[:-1] + tree)[:, shown] for main, tree in zip(network.mains, trees, strict=True)]


def term_chances(network: AdditiveModel, shown: int, base: float) -> list[Json]:
    """For each term the chance of a class where the term lowers it most, and where it raises it most."""
    odds = [*main_odds(network, shown), *(class_odds(table[:-1, :-1])[..., shown] for table in network.tables)]
    return [[number(float(chance(base, end))) for end in (each.min(), each.max())] for each in odds]


def describe_curves(network: AnyModel, shown: int, base: float) -> list[Json]:
    """The strongest main effects, each as bars for its states or as steps over its bins; none of a network of tables.

    A state has its name, its log odds, the chance of the class for an average row, and its share of the rows.
    """
    if network.kind != "effects":
        return []
    strength = effect_strength(network)[: len(network.mains)]
    odds = main_odds(network, shown)
    ranked = [node for node in np.argsort(-strength, kind="stable").tolist() if strength[node] > 0][:MAX_CURVES]
    widest = max((float(np.abs(odds[node]).max()) for node in ranked), default=1.0) or 1.0
    return [_describe(network, node, odds[node], base, widest) for node in ranked]


def _describe(network: AdditiveModel, node: int, odds: Array, base: float, widest: float) -> dict[str, Json]:
    column, shares = network.columns[node], network.densities[node]
    chances = chance(base, odds)
    states = list(range(len(odds)))
    steps = column.kind == "numeric" and len(column.cuts) >= FEW_BINS
    if not steps and len(states) > MAX_BARS:
        states = sorted(np.argsort(-shares * odds**2, kind="stable")[:MAX_BARS].tolist())
    return {
        "name": column.name,
        "chance": [number(chances.min()), number(chances.max())],
        "widest": number(widest, 4),
        "edges": bin_places(column) if steps else None,
        "ends": list(format_values([column.cuts[0], column.cuts[-1]], column.unit)) if steps else None,
        "more": len(odds) - len(states),
        "states": [
            [str(column.states[k]), number(odds[k], 4), number(chances[k]), number(shares[k], 4)] for k in states
        ],
    }


def bin_places(column: ColumnSchema) -> list[Json]:
    """Where the bins of a number begin and end, from 0 to 1; those at the ends reach a twelfth beyond the cuts."""
    cuts = np.array(column.cuts, dtype=np.float64)
    pad = (cuts[-1] - cuts[0]) / 12 or 1.0
    edges = np.concatenate([[cuts[0] - pad], cuts, [cuts[-1] + pad]])
    return [number(place, 5) for place in (edges - edges[0]) / (edges[-1] - edges[0])]
