"""The terms of an `AdditiveModel` <-> the part of a model's JSON document that holds them.

    "effects": {"intercept": [...], "mains": [[[...], ...], ...], "pairs": [[0, 2], ...],
                "tables": [[[[...], ...], ...], ...], "densities": [[...], ...], "spreads": [[[...], ...], ...],
                "trees": null or {...}, "tree_share": 0.7, "pair_densities": [[[...], ...], ...]}

It stands in the place of "parents" and "tables" (`tanager.network.document`); shapes as in `AdditiveModel`. Trees are

    "trees": {"roots": [...], "classes": [...], "attributes": [...], "ends": [...], "sides": [[4], [2, 3], ...],
              "values": [...], "weights": [...]}

"ends" holds the right and the left end of each split. "sides" holds for each split the states at which the side
changes, the first states being on the left: [4] sends states 0 .. 3 left and all others, the missing cell too, right.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np

from tanager.additive.forest import Forest
from tanager.additive.model import AdditiveModel
from tanager.arrays import Flags, Ints
from tanager.network.document import DocumentError, Json, array, arrays, mapping, numbers, sequence
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

LARGEST_EFFECT = 1e60
"""In nats: probabilities underflow beyond 745, and squares and sums of effects up to this one stay finite."""

ROUNDING = 1e-6


def effect_parts(network: AdditiveModel) -> dict[str, Json]:
    """The part of the document with the effects. The columns are in another part."""
    return {
        "intercept": network.intercept.tolist(),
        "mains": [main.tolist() for main in network.mains],
        "pairs": [list(pair) for pair in network.pairs],
        "tables": [table.tolist() for table in network.tables],
        "densities": [density.tolist() for density in network.densities],
        "spreads": [spread.tolist() for spread in network.spreads],
        "trees": write_forest(network.forest),
        "tree_share": network.tree_share,
        "pair_densities": [cells.tolist() for cells in network.pair_densities],
    }


def read_effect_parts(columns: tuple[ColumnSchema, ...], document: Json) -> AdditiveModel:
    """The additive model over these columns, the class last."""
    found = mapping(document, "effects")
    n_attributes = len(columns) - 1
    spreads, shares = found.get("spreads"), found.get("pair_densities")
    pairs = [
        _pair(pair, n_attributes, f"effects.pairs[{position}]")
        for position, pair in enumerate(sequence(found.get("pairs"), "effects.pairs"))
    ]
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise DocumentError("effects.pairs has a pair twice")
    Dag.of_pairs(n_attributes, pairs)  # refuses a cycle
    network = AdditiveModel(
        columns,
        array(found.get("intercept"), 1, "effects.intercept"),
        tuple(arrays(found.get("mains"), n_attributes, 2, "effects.mains")),
        tuple(pairs),
        tuple(arrays(found.get("tables"), len(pairs), 1 + 2, "effects.tables")),
        tuple(arrays(found.get("densities"), n_attributes, 1, "effects.densities")),
        tuple(arrays(spreads, n_attributes, 2, "effects.spreads")) if spreads else (),
        read_forest(found.get("trees"), columns),
        numbers([found.get("tree_share")], "effects.tree_share")[0],
        tuple(arrays(shares, len(pairs), 2, "effects.pair_densities")) if shares else (),
    )
    leaves = () if network.forest is None else (network.forest.values, network.forest.weights)
    every = (network.intercept, *network.mains, *network.tables, *network.spreads, *leaves)
    if max(np.abs(each).max(initial=0.0) for each in every) > LARGEST_EFFECT:
        raise DocumentError(f"effects holds a number above {LARGEST_EFFECT:g}")
    if any((each < 0).any() or (each > 1 + ROUNDING).any() for each in (*network.densities, *network.pair_densities)):
        raise DocumentError("effects.densities and effects.pair_densities must hold shares of the rows")
    if any((each < 0).any() for each in network.spreads):
        raise DocumentError("effects.spreads must hold no negative number")
    return network


def _pair(document: Json, n_attributes: int, where: str) -> tuple[int, int]:
    match document:
        case [int(parent), int(child)] if parent != child and {parent, child} <= set(range(n_attributes)):
            return parent, child
    raise DocumentError(f"{where} must hold the numbers of two attributes")


def write_forest(forest: Forest | None) -> Json:
    """The part of the document with the trees; null if there are none."""
    if forest is None:
        return None
    lefts = np.split(forest.left, forest.offsets[1:-1]) if len(forest.attributes) else []
    return {
        "roots": forest.roots.tolist(),
        "classes": forest.of_class.tolist(),
        "attributes": forest.attributes.tolist(),
        "ends": forest.ends.reshape(-1).tolist(),
        "sides": [np.flatnonzero(np.diff(left, prepend=True)).tolist() for left in lefts],
        "values": forest.values.tolist(),
        "weights": forest.weights.tolist(),
    }


def read_forest(document: Json, columns: tuple[ColumnSchema, ...]) -> Forest | None:
    """The forest over these columns, the class last."""
    if document is None:
        return None
    found = mapping(document, "effects.trees")
    n_codes = np.array([column.n_states + 1 for column in columns[:-1]])
    attributes = _integers(found.get("attributes"), "effects.trees.attributes")
    if not np.isin(attributes, np.arange(len(n_codes))).all():
        raise DocumentError("effects.trees.attributes must hold the numbers of attributes")
    ends = _integers(found.get("ends"), "effects.trees.ends")
    if len(ends) != 2 * len(attributes):
        raise DocumentError("effects.trees.ends must hold two ends for each split")
    sides = sequence(found.get("sides"), "effects.trees.sides", len(attributes))
    sizes = n_codes[attributes].tolist()
    lefts = [_left(side, n, f"effects.trees.sides[{k}]") for k, (side, n) in enumerate(zip(sides, sizes, strict=True))]
    return Forest(
        columns[-1].n_states,
        _integers(found.get("roots"), "effects.trees.roots"),
        _integers(found.get("classes"), "effects.trees.classes"),
        attributes,
        ends.reshape(-1, 2),
        np.cumsum([0, *sizes]),
        np.concatenate([np.empty(0, np.bool_), *lefts]),
        np.array(numbers(found.get("values"), "effects.trees.values"), dtype=np.float64),
        np.array(numbers(found.get("weights"), "effects.trees.weights"), dtype=np.float64),
    )


def _left(document: Json, n_codes: int, where: str) -> Flags:
    changes = sequence(document, where)
    if not set(map(type, changes)) <= {int} or any(low >= high for low, high in pairwise(cast(list[int], changes))):
        raise DocumentError(f"{where} must hold states, ascending")
    if changes and not 0 <= min(cast(list[int], changes)) <= max(cast(list[int], changes)) < n_codes:
        raise DocumentError(f"{where} must hold states of the attribute")
    turns = np.zeros(n_codes, dtype=np.int64)
    turns[np.array(changes, dtype=np.intp)] = 1
    return np.cumsum(turns) % 2 == 0


def _integers(document: Json, where: str) -> Ints:
    values = sequence(document, where)
    most = np.iinfo(np.int32).max
    if not set(map(type, values)) <= {int} or not all(abs(value) < most for value in cast(list[int], values)):
        raise DocumentError(f"{where} must hold whole numbers")
    return np.array(values, dtype=np.int64)
