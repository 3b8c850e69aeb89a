"""The model as the page needs it: nodes and their places, tables or effects, missing values, strongest terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from math import ceil, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, logit

from tanager.additive.forest import Forest
from tanager.additive.importance import class_odds, tree_mains
from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier, term_strength
from tanager.edits.edit import model_digest
from tanager.errors import MemoryLimitError
from tanager.explain import explain
from tanager.missing.rule import MissingRule
from tanager.network.network import Network
from tanager.plots.network import BOX_HEIGHT, Layout
from tanager.report.data_section import PageRows
from tanager.report.json_page import Json, number, pack, pack_rounded, rounded
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema, format_values

MANY_ATTRIBUTES, STRONGEST = 40, 30
"""Of more attributes than the first, the page shows the second many at first."""
FEW_PAIRS = 12
"""Pairs shown at first: so many, or as many as attributes are shown."""
MAX_ROWS_AVERAGED, FEWEST_ROWS = 2_000, 30
"""Rows, evenly spaced, that the accuracy without a term is measured on."""

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
RING_LINE, WIDEST_RING_LINE, LOWEST_RING = 44.0, 88.0, 330.0
"""From line to line of a ring, at least and at most, and the height that a ring of few attributes is spread over."""
AROUND_CLASS, NARROWEST_RING, ROUNDNESS = 80.0, 8.0, 0.42
"""Between the class and what stands beside it; from the middle to a box at the top; half the width by the height."""

Places = list[tuple[float, float]]
"""The top left corner of each box, in pixels."""


def describe_network(network: Network) -> dict[str, Json]:
    """Nodes with their states, parents and place, and all tables laid end to end in node order."""
    places, widths = place_layers(network.nodes, network.dag), box_widths(network.nodes)
    strengths = _edge_strengths(network)
    nodes: list[Json] = [
        {
            **_describe_node(network, node, *places[node], widths[node]),
            "strengths": None if strengths is None else list(strengths[node]),
        }
        for node in range(len(network.nodes))
    ]
    return {
        "kind": "tables",
        "nodes": nodes,
        "order": list(network.dag.order),
        "height": HEIGHT,
        "letters": LONGEST,
        "part": None if strengths is None else _strongest_nodes(network, strengths),
        "tables": pack(np.concatenate([table.ravel() for table in network.tables])),
    }


def _describe_node(network: AnyModel, node: int, x: float, y: float, width: float) -> dict[str, Json]:
    """The values of a node, whatever kind of network it is in."""
    column = network.columns[node]
    return {
        "name": column.name,
        "kind": column.kind,
        "states": [str(state) for state in column.states],
        "cuts": list(column.cuts),
        "cut_labels": None if column.unit == "number" else list(format_values(column.cuts, column.unit)),
        "missing_state": column.missing_state,
        "unit": column.unit,
        "ordered": column.ordered,
        "parents": list(network.dag.parents[node]),
        "x": x,
        "y": y,
        "width": width,
    }


def _edge_strengths(network: Network) -> list[list[float]] | None:
    """Information in nats along the edges into each node; None where summing out would not fit in memory."""
    try:
        strength = iter(explain(network).edge_strength.tolist())
    except MemoryLimitError:
        return None
    return [[float(f"{next(strength):.4g}") for _ in parents] for parents in network.dag.parents]


def _strongest_nodes(network: Network, strengths: list[list[float]]) -> dict[str, Json] | None:
    """The strongest attributes, each with its parents, and the class, in a layout of their own; None if all are few."""
    target = len(network.nodes) - 1
    if target <= MANY_ATTRIBUTES:
        return None
    chosen: set[int] = set()
    for node in sorted(range(target), key=lambda node: -sum(strengths[node])):
        joined = chosen.union({node}, network.dag.parents[node]) - {target}
        chosen = joined if len(joined) <= STRONGEST else chosen
    kept = [*sorted(chosen), target]
    place = {node: k for k, node in enumerate(kept)}
    dag = Dag(tuple(tuple(place[p] for p in network.dag.parents[node] if p in place) for node in kept))
    places = place_layers([network.nodes[node] for node in kept], dag)
    return {"nodes": list(kept), "x": [x for x, _ in places], "y": [y for _, y in places]}


def describe_effects(network: AdditiveModel) -> dict[str, Json]:
    """Nodes, pairs, and arrays laid end to end: the effects, and the deviations that are drawn."""
    strength = shown_strength(network).tolist()
    mains, pairs = strength[: len(network.mains)], strength[len(network.mains) :]
    links = dict(zip(network.pairs, pairs, strict=True))
    places, widths = place_ring(network.nodes, ring_order(mains, links)), box_widths(network.nodes)
    target = len(network.nodes) - 1
    nodes: list[Json] = []
    for node, column in enumerate(network.columns):
        entry = _describe_node(network, node, *places[node], widths[node])
        strengths = [mains[node] if parent == target else links[parent, node] for parent in network.dag.parents[node]]
        entry["strengths"] = [number(strength, 6) for strength in strengths]
        if node != target:
            entry["importance"] = number(mains[node], 6)
            entry["coarse"] = [str(state) for state in column.coarse.states]
            entry["groups"] = column.coarse_codes[:-1].tolist()  # the coarse state of each state
        nodes.append(entry)
    return {
        "kind": "effects",
        "nodes": nodes,
        "pairs": [[*pair, number(strength, 6)] for pair, strength in links.items()],
        "has_spreads": any(bool(np.any(spread)) for spread in network.spreads),  # those of trees alone are zero
        "height": HEIGHT,
        "letters": LONGEST,
        "part": _strongest_pairs(network, mains, pairs),
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


def _strongest_pairs(network: AdditiveModel, mains: list[float], pairs: list[float]) -> dict[str, Json] | None:
    """The strongest attributes, alone and in pairs, and their strongest pairs; None if there are no others."""
    target = len(network.nodes) - 1
    weights = np.array(mains)
    for (parent, child), strength in zip(network.pairs, pairs, strict=True):
        weights[[parent, child]] += strength / 2
    kept = np.arange(target)
    if target > MANY_ATTRIBUTES:
        kept = np.sort(np.argsort(-weights, kind="stable")[:STRONGEST])
    here = set(kept.tolist())
    ranked = sorted(range(len(pairs)), key=lambda pair: -pairs[pair])
    chosen = sorted([pair for pair in ranked if here.issuperset(network.pairs[pair])][: max(FEW_PAIRS, len(kept))])
    if len(kept) == target and len(chosen) == len(pairs):
        return None
    place = {node: k for k, node in enumerate(kept.tolist())}
    links = {(place[network.pairs[k][0]], place[network.pairs[k][1]]): pairs[k] for k in chosen}
    names = [network.nodes[node] for node in (*place, target)]
    places = place_ring(names, ring_order([mains[node] for node in place], links))
    return {
        "nodes": [*place, target],
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "pairs": list(chosen),
    }


def describe_missing(rule: MissingRule) -> dict[str, Json]:
    """The rule for missing values: its name, its words, and its numbers, arrays of which are packed."""

    def packed(constants: dict[str, Any]) -> dict[str, Json]:
        return {
            key: packed(value) if isinstance(value, dict) else pack(value) if isinstance(value, np.ndarray) else value
            for key, value in constants.items()
        }

    return {"meaning": rule.name, "words": rule.sentence, **packed(rule.constants())}


def describe_drivers(clf: TableClassifier, rows: PageRows | None, shown: int) -> dict[str, Json]:
    """The terms that are not zero, the strongest first, as `explain` ranks them.

    shown   the class whose chance is given

    unit    of `change`: "log odds", the root mean square of what the term adds to the log odds of a class against the
            others; or "bits", the mutual information of attribute and class in a network of tables (`term_strength`)
    chance  of the class, for an average row, where the term lowers it most and where it raises it most; None of tables
    lost    accuracy on the rows with the term, less that without it; None without classes
    """
    network = clf.model_
    effects = network.kind == "effects"
    changes = shown_strength(network) / (1.0 if effects else np.log(2))
    lost, n_rows = accuracy_lost(network, rows)
    names = [network.term_name(term) for term in network.terms]
    ranked = sorted(range(len(names)), key=lambda term: (-changes[term], names[term]))
    base = float(clf.class_count_[shown] / clf.class_count_.sum())
    chances = term_chances(network, shown, base) if network.kind == "effects" else list(repeat(None, len(names)))
    return {
        "unit": "log odds" if effects else "bits",
        "n_rows": n_rows,
        "terms": [
            {"name": names[k], "change": number(changes[k]), "chance": chances[k], "lost": lost[k]}
            for k in ranked
            if changes[k] > 0
        ],
    }


def accuracy_lost(network: AnyModel, rows: PageRows | None) -> tuple[list[float | None], int]:
    """Of each effect, and the number of rows, evenly spaced, that it was measured on; None of tables and of few rows.

    A missing value counts with its expected effect: averaging over its values takes minutes for all effects.
    """
    labels = None if rows is None else rows.class_codes
    if network.kind != "effects" or rows is None or labels is None or len(labels) < FEWEST_ROWS:
        return list(repeat(None, len(network.terms))), 0
    every = -(-len(labels) // MAX_ROWS_AVERAGED)
    codes, truth = rows.codes[::every], labels[::every]
    logs = network.log_joint(codes)
    right = float((logs.argmax(axis=1) == truth).mean())
    without = (float(((logs - effect).argmax(axis=1) == truth).mean()) for effect in network.effects(codes))
    return [right - each for each in without], len(codes)


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


def box_widths(names: Sequence[str]) -> list[float]:
    """Pixels of each node's box, the class being the last."""
    widths = [PADDING + LETTER * max(SHORTEST, min(len(name), LONGEST)) for name in names]
    widths[-1] = max(widths[-1], CLASS_WIDTH)
    return widths


def place_layers(names: Sequence[str], dag: Dag) -> Places:
    """Each node below its parents, as `plot_network` draws it; a class without parents is alone at the top."""
    widths = box_widths(names)
    target = len(names) - 1
    inches = {node: width / PIXELS for node, width in enumerate(widths)}
    top = None if dag.parents[target] else target
    layout = Layout.of(dag, range(len(names)), top, inches, PAGE_WIDTH / PIXELS)
    return [
        ((layout.places[node][0] + layout.width / 2) * PIXELS - width / 2, -layout.places[node][1] * PIXELS)
        for node, width in enumerate(widths)
    ]


def place_ring(names: Sequence[str], order: Sequence[int]) -> Places:
    """The class, the last, in the middle; attributes around it, clockwise from the top right; no two boxes overlap."""
    widths = box_widths(names)
    n_lines = max(1, ceil(len(order) / 2))
    step = max(RING_LINE, min(WIDEST_RING_LINE, LOWEST_RING / n_lines))
    half = max(widths[-1] / 2 + AROUND_CLASS, ROUNDNESS * n_lines * step)
    places = [(-widths[-1] / 2, (n_lines - 1) / 2 * step)] * len(widths)
    for place, node in enumerate(order):
        right = place < n_lines
        line = place if right else 2 * n_lines - 1 - place
        x = max(NARROWEST_RING, half * sqrt(1 - ((2 * line + 1) / n_lines - 1) ** 2))
        places[node] = (x if right else -x - widths[node], line * step)
    left = min(x for x, _ in places)
    return [(x - left, y) for x, y in places]


def ring_order(weights: Sequence[float], links: Mapping[tuple[int, int], float]) -> list[int]:
    """The attributes so that strongly linked ones are near each other.

    The heaviest goes first; then always the one with the strongest link to an attribute already there, the latest of
    them first; where no link leads on, the heaviest that is left.
    """
    beside: list[dict[int, float]] = [{} for _ in weights]
    for (one, other), strength in links.items():
        beside[one][other] = beside[other][one] = strength
    waiting = dict.fromkeys(sorted(range(len(weights)), key=lambda node: (-weights[node], node)))
    order: list[int] = []
    path: list[int] = []
    while waiting:
        while path and not any(node in waiting for node in beside[path[-1]]):
            path.pop()
        following = next(iter(waiting))
        if path:
            near = beside[path[-1]]
            following = max((node for node in near if node in waiting), key=lambda node: (near[node], -node))
        del waiting[following]
        path.append(following)
        order.append(following)
    return order
