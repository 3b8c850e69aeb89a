"""An additive model as the page shows it: shapes, how much they matter, and the ring of pairs."""

from __future__ import annotations

import numpy as np

from tanager.additive.forest import Forest
from tanager.additive.importance import effect_strength
from tanager.additive.model import AdditiveModel
from tanager.edits.edit import model_digest
from tanager.report.json_page import Json, number, pack, pack_rounded, rounded
from tanager.report.layout import HEIGHT, LONGEST
from tanager.report.nodes import describe_coarse, describe_node
from tanager.report.ring_layout import place_ring, ring_order

MANY_ATTRIBUTES, STRONGEST = 40, 30
"""Of more attributes than the first, the page shows the second many at first."""
FEW_PAIRS, PAIRS_PER_ATTRIBUTE = 12, 1.0
"""Pairs shown at first: so many, or so many for each attribute shown."""


def describe_effects(network: AdditiveModel) -> dict[str, Json]:
    """Nodes, pairs, and arrays laid end to end: the effects, what is drawn."""
    strength = effect_strength(network).tolist()
    mains, pairs = strength[: len(network.mains)], strength[len(network.mains) :]
    links = dict(zip(network.pairs, pairs, strict=True))
    boxes = place_ring(network.nodes, ring_order(mains, links))
    target = len(network.nodes) - 1
    nodes: list[Json] = []
    for node, column in enumerate(network.columns):
        entry = describe_node(network, node, boxes[node])
        strengths = [mains[node] if parent == target else links[parent, node] for parent in network.dag.parents[node]]
        entry["strengths"] = [number(strength, 6) for strength in strengths]
        if node != target:
            entry["importance"] = number(mains[node], 6)
            entry.update(describe_coarse(column))
        nodes.append(entry)
    return {
        "kind": "effects",
        "nodes": nodes,
        "pairs": [[*pair, number(strength, 6)] for pair, strength in zip(network.pairs, pairs, strict=True)],
        "has_spreads": any(bool(np.any(spread)) for spread in network.spreads),  # those of trees alone are zero
        "height": HEIGHT,
        "letters": LONGEST,
        "part": _strongest_part(network, mains, pairs),
        **describe_numbers(network),
        "trees": None if network.forest is None else describe_trees(network.forest),
        "drawn": pack(np.concatenate([np.empty(0), *map(np.ravel, network.spreads)]).astype(np.float32)),
        "digest": model_digest(network),
    }


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
    """The arrays of the forest; of its numbers what is expected at each split and leaf."""
    whole = {"roots": forest.roots, "classes": forest.of_class, "attributes": forest.attributes, "ends": forest.ends}
    return {
        **{name: pack(array.astype(np.int32)) for name, array in whole.items()},
        "offsets": pack(forest.offsets[:-1].astype(np.int32)),
        "left": pack(forest.left.astype(np.uint8)),
        "means": pack_rounded(forest.means),
    }


def _strongest_part(network: AdditiveModel, mains: list[float], pairs: list[float]) -> dict[str, Json] | None:
    """The attributes that matter most, alone and in pairs, and their strongest pairs; None if that is all there is."""
    target = len(network.nodes) - 1
    weights = np.array(mains)
    for (parent, child), strength in zip(network.pairs, pairs, strict=True):
        weights[[parent, child]] += strength / 2
    kept = np.arange(target)
    if target > MANY_ATTRIBUTES:
        kept = np.sort(np.argsort(-weights, kind="stable")[:STRONGEST])
    here = set(kept.tolist())
    most = max(FEW_PAIRS, round(PAIRS_PER_ATTRIBUTE * len(kept)))
    ranked = sorted(range(len(pairs)), key=lambda pair: -pairs[pair])
    chosen = sorted([pair for pair in ranked if here.issuperset(network.pairs[pair])][:most])
    if len(kept) == target and len(chosen) == len(pairs):
        return None
    place = {node: k for k, node in enumerate(kept.tolist())}
    links = {(place[network.pairs[k][0]], place[network.pairs[k][1]]): pairs[k] for k in chosen}
    names = [network.nodes[node] for node in (*place, target)]
    boxes = place_ring(names, ring_order([mains[node] for node in place], links))
    return {
        "nodes": [*place, target],
        "x": [box.x for box in boxes],
        "y": [box.y for box in boxes],
        "pairs": list(chosen),
    }
