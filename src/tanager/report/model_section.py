"""The model as the page needs it: nodes and their places, tables or effects, missing values, strongest terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from scipy.special import expit, logit

from tanager.additive.forest import Forest
from tanager.additive.importance import class_odds, tree_mains
from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier, edge_strength, term_strength
from tanager.edits.edit import model_digest
from tanager.errors import MemoryLimitError
from tanager.missing.rule import MissingRule
from tanager.network.network import Network
from tanager.plots.effect_plots import bin_edges
from tanager.plots.network import BOX_HEIGHT, Layout, node_strength, strongest_attributes, strongest_pairs
from tanager.report.json_page import Json, number, pack, pack_rounded, rounded
from tanager.structure.dag import Dag
from tanager.table.schema import format_values

MANY_ATTRIBUTES, STRONGEST = 40, 30
"""Of more attributes than the first, the page shows the second many at first."""
MAX_CURVES, MAX_BARS = 6, 8
HARDLY, HARDLY_OF_LARGEST = 0.005, 0.001
"""Log odds, and a share of the strongest term: a term below both counts as one without effect."""
FEW_BINS = 6
"""A number with so many bins or fewer is drawn as bars."""

# The graph, in pixels
LETTER, PADDING, SHORTEST, LONGEST = 8.3, 20.0, 6, 24
"""Pixels of a letter and around a name; letters a box has room for, as its state stands in it, and of a cut name."""
HEIGHT, CLASS_WIDTH = 36.0, 130.0
"""Of a box; and of that of the class at least, which holds its most probable state."""
PIXELS = HEIGHT / BOX_HEIGHT
"""For each inch of a `Layout`."""
PAGE_WIDTH = 1_000.0


def describe_network(network: Network) -> dict[str, Json]:
    """Nodes with their states, parents and place, and all tables laid end to end in node order."""
    strengths: list[list[Json]] | None = None
    kept: Sequence[int] = range(len(network.nodes) - 1)
    try:
        strength, kept = iter(edge_strength(network).tolist()), _first_shown(network)
        strengths = [[number(next(strength), 4) for _ in parents] for parents in network.dag.parents]
    except MemoryLimitError:  # summing out takes too much
        pass
    return {
        "kind": "tables",
        "nodes": list[Json](_describe_nodes(network, strengths)),
        "order": list(network.dag.order),
        "height": HEIGHT,
        "letters": LONGEST,
        "part": None if len(kept) == len(network.nodes) - 1 else _describe_part(network, kept, network.dag.edges),
        "tables": pack(np.concatenate([table.ravel() for table in network.tables])),
    }


def _describe_nodes(network: AnyModel, strengths: Sequence[list[Json]] | None) -> list[dict[str, Json]]:
    """The values of the nodes, whatever kind of network they are in; `strengths` are those of the edges into each."""
    places, widths = place_boxes(network.nodes, network.dag), box_widths(network.nodes)
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "states": [str(state) for state in column.states],
            "cuts": list(column.cuts),
            "cut_labels": None if column.unit == "number" else list(format_values(column.cuts, column.unit)),
            "missing_state": column.missing_state,
            "unit": column.unit,
            "ordered": column.ordered,
            "parents": list(network.dag.parents[node]),
            "strengths": None if strengths is None else strengths[node],
            "x": places[node][0],
            "y": places[node][1],
            "width": widths[node],
        }
        for node, column in enumerate(network.columns)
    ]


def _first_shown(network: AnyModel) -> Sequence[int]:
    """The attributes that are drawn at first: of many, the strongest."""
    n_attributes = len(network.nodes) - 1
    if n_attributes <= MANY_ATTRIBUTES:
        return range(n_attributes)
    return strongest_attributes(node_strength(network)[:-1], STRONGEST)


def _describe_part(network: AnyModel, kept: Sequence[int], edges: Iterable[tuple[int, int]]) -> dict[str, Json]:
    """The attributes kept and the class, joined by the edges between them, in a layout of their own."""
    nodes = [*kept, len(network.nodes) - 1]
    here = {node: k for k, node in enumerate(nodes)}
    parents: list[list[int]] = [[] for _ in nodes]
    for parent, child in edges:
        if parent in here and child in here:
            parents[here[child]].append(here[parent])
    places = place_boxes([network.nodes[node] for node in nodes], Dag(tuple(map(tuple, parents))))
    return {"nodes": list[Json](nodes), "x": [x for x, _ in places], "y": [y for _, y in places]}


def describe_effects(network: AdditiveModel) -> dict[str, Json]:
    """Nodes, pairs, and arrays laid end to end: the effects, and the deviations that are drawn."""
    strength = [number(each, 6) for each in shown_strength(network).tolist()]
    links = dict(zip(network.pairs, strength[len(network.mains) :], strict=True))
    target = len(network.nodes) - 1
    strengths: list[list[Json]] = [
        [strength[node] if parent == target else links[parent, node] for parent in parents]
        for node, parents in enumerate(network.dag.parents)
    ]
    nodes = _describe_nodes(network, strengths)
    for entry, column, main in zip(nodes, network.columns[:-1], strength, strict=False):
        entry["importance"] = main
        entry["coarse"] = [str(state) for state in column.coarse.states]
        entry["groups"] = column.coarse_codes[:-1].tolist()  # the coarse state of each state
    kept = _first_shown(network)
    pairs = strongest_pairs(network, kept)
    part = None
    if len(kept) < target or len(pairs) < len(links):
        edges = [*((target, node) for node in kept), *(network.pairs[pair] for pair in pairs)]
        part = {**_describe_part(network, kept, edges), "pairs": list[Json](pairs)}
    return {
        "kind": "effects",
        "nodes": list[Json](nodes),
        "pairs": [[*pair, strength] for pair, strength in links.items()],
        "has_spreads": any(bool(np.any(spread)) for spread in network.spreads),  # those of trees alone are zero
        "height": HEIGHT,
        "letters": LONGEST,
        "part": part,
        **describe_numbers(network),
        "trees": None if network.forest is None else describe_trees(network.forest),
        "drawn": pack(np.concatenate([np.empty(0), *map(np.ravel, network.spreads)]).astype(np.float32)),
        "digest": model_digest(network),
    }


def shown_strength(network: AnyModel) -> Array:
    """The strength of each term; zero for effects that nobody would see: below HARDLY, and far below the largest."""
    strength = term_strength(network)
    if network.kind != "effects" or not len(strength):
        return strength
    return np.where((strength < HARDLY) & (strength < HARDLY_OF_LARGEST * strength.max()), 0.0, strength)


def describe_numbers(network: AdditiveModel) -> dict[str, Json]:
    """Intercept, mains, pairs and densities, one after the other.

    mirrored  whether the effects of the first of two classes are those of the second, negated; then it has none here
    """
    effects = [
        cells.reshape(-1, network.n_states[-1]) for cells in (network.intercept, *network.mains, *network.tables)
    ]
    cells = rounded(np.concatenate(effects))
    mirrored = cells.shape[1] == 2 and bool((cells[:, 0] == -cells[:, 1]).all())
    kept = cells[:, 1] if mirrored else cells.ravel()
    return {"mirrored": mirrored, "effects": pack_rounded(np.concatenate([kept, *network.densities]))}


def describe_trees(forest: Forest) -> dict[str, Json]:
    """The arrays of the forest; of its numbers the expected value at each split and leaf."""
    whole = {"roots": forest.roots, "classes": forest.of_class, "attributes": forest.attributes, "ends": forest.ends}
    return {
        **{name: pack(array.astype(np.int32)) for name, array in whole.items()},
        "offsets": pack(forest.offsets[:-1].astype(np.int32)),
        "left": pack(forest.left.astype(np.uint8)),
        "means": pack_rounded(forest.means),
    }


def describe_missing(rule: MissingRule) -> dict[str, Json]:
    """The rule for missing values: its name, its words, and its numbers, arrays of which are packed."""

    def packed(constants: dict[str, Any]) -> dict[str, Json]:
        return {
            key: packed(value) if isinstance(value, dict) else pack(value) if isinstance(value, np.ndarray) else value
            for key, value in constants.items()
        }

    return {"meaning": rule.name, "words": rule.sentence, **packed(rule.constants())}


def describe_drivers(clf: TableClassifier, shown: int) -> dict[str, Json]:
    """The terms that are not zero, the strongest first, as `explain` ranks them.

    shown   the class whose chance is given

    unit    of `change`: "log odds", the root mean square of what the term adds to the log odds of a class against the
            others; or "bits", the mutual information of attribute and class in a network of tables (`term_strength`)
    chance  of the class, for an average row, where the term lowers it most and where it raises it most; None of tables
    """
    network = clf.model_
    effects = network.kind == "effects"
    changes = shown_strength(network) / (1.0 if effects else np.log(2))
    names = [network.term_name(term) for term in network.terms]
    ranked = sorted(range(len(names)), key=lambda term: (-changes[term], names[term]))
    base = float(clf.class_count_[shown] / clf.class_count_.sum())
    chances = term_chances(network, shown, base) if network.kind == "effects" else list(repeat(None, len(names)))
    return {
        "unit": "log odds" if effects else "bits",
        "terms": [
            {"name": names[k], "change": number(changes[k]), "chance": chances[k]} for k in ranked if changes[k] > 0
        ],
    }


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
    strength = shown_strength(network)[: len(network.mains)]
    odds = main_odds(network, shown)
    ranked = [node for node in np.argsort(-strength, kind="stable").tolist() if strength[node] > 0][:MAX_CURVES]
    widest = max((float(np.abs(odds[node]).max()) for node in ranked), default=1.0) or 1.0
    return [_describe_curve(network, node, odds[node], base, widest) for node in ranked]


def _describe_curve(network: AdditiveModel, node: int, odds: Array, base: float, widest: float) -> dict[str, Json]:
    column, shares = network.columns[node], network.densities[node]
    chances = chance(base, odds)
    states = list(range(len(odds)))
    steps = column.kind == "numeric" and len(column.cuts) >= FEW_BINS
    edges = bin_edges(column) if steps else np.empty(0)
    if not steps and len(states) > MAX_BARS:
        states = sorted(np.argsort(-shares * odds**2, kind="stable")[:MAX_BARS].tolist())
    return {
        "name": column.name,
        "chance": [number(chances.min()), number(chances.max())],
        "widest": number(widest, 4),
        "edges": [number(place, 5) for place in (edges - edges[0]) / np.ptp(edges)] if steps else None,
        "ends": list(format_values([column.cuts[0], column.cuts[-1]], column.unit)) if steps else None,
        "more": len(odds) - len(states),
        "states": [
            [str(column.states[k]), number(odds[k], 4), number(chances[k]), number(shares[k], 4)] for k in states
        ],
    }


def box_widths(names: Sequence[str]) -> list[float]:
    """Pixels of each node's box, the class being the last."""
    widths = [PADDING + LETTER * max(SHORTEST, min(len(name), LONGEST)) for name in names]
    widths[-1] = max(widths[-1], CLASS_WIDTH)
    return widths


def place_boxes(names: Sequence[str], dag: Dag) -> list[tuple[float, float]]:
    """The top left corner of each box, in pixels, as `plot_network` draws it: each node below its parents.

    A class without parents is alone at the top.
    """
    widths = box_widths(names)
    target = len(names) - 1
    inches = {node: width / PIXELS for node, width in enumerate(widths)}
    top = None if dag.parents[target] else target
    layout = Layout.of(dag, range(len(names)), top, inches, PAGE_WIDTH / PIXELS)
    return [
        ((layout.places[node][0] + layout.width / 2) * PIXELS - width / 2, -layout.places[node][1] * PIXELS)
        for node, width in enumerate(widths)
    ]
