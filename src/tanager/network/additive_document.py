"""The effects of an `AdditiveNetwork` <-> the part of a model's JSON document that holds them.

    "effects": {"intercept": [...], "mains": [[[...], ...], ...], "pairs": [[0, 2], ...],
                "tables": [[[[...], ...], ...], ...], "densities": [[...], ...], "spreads": [[[...], ...], ...],
                "trees": null or {...}}

It stands in the place of "parents" and "tables" (`tanager.network.document`); shapes as in `AdditiveNetwork`,
trees as `tanager.network.forest_document` has them.
"""

from __future__ import annotations

import numpy as np

from tanager.network.additive import AdditiveNetwork
from tanager.network.forest_document import read_forest, write_forest
from tanager.network.json_values import DocumentError, Json, array, arrays, mapping, sequence
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

LARGEST_EFFECT = 1e60
"""In nats: no probability knows one above 745, and squares and sums of these stay numbers."""

ROUNDING = 1e-6


def effect_parts(network: AdditiveNetwork) -> dict[str, Json]:
    """What a document says of the effects; the columns are written beside it."""
    return {
        "intercept": network.intercept.tolist(),
        "mains": [main.tolist() for main in network.mains],
        "pairs": [list(pair) for pair in network.pairs],
        "tables": [table.tolist() for table in network.tables],
        "densities": [density.tolist() for density in network.densities],
        "spreads": [spread.tolist() for spread in network.spreads],
        "trees": write_forest(network.forest),
    }


def read_effect_parts(columns: tuple[ColumnSchema, ...], document: Json) -> AdditiveNetwork:
    """The network over these columns, the class last."""
    found = mapping(document, "effects")
    n_attributes = len(columns) - 1
    spreads = found.get("spreads")
    pairs = [
        _pair(pair, n_attributes, f"effects.pairs[{position}]")
        for position, pair in enumerate(sequence(found.get("pairs"), "effects.pairs"))
    ]
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise DocumentError("effects.pairs has a pair twice")
    Dag.of_pairs(n_attributes, pairs)  # refuses a cycle
    network = AdditiveNetwork(
        columns,
        array(found.get("intercept"), 1, "effects.intercept"),
        tuple(arrays(found.get("mains"), n_attributes, 2, "effects.mains")),
        tuple(pairs),
        tuple(arrays(found.get("tables"), len(pairs), 3, "effects.tables")),
        tuple(arrays(found.get("densities"), n_attributes, 1, "effects.densities")),
        tuple(arrays(spreads, n_attributes, 2, "effects.spreads")) if spreads else (),
        read_forest(found.get("trees"), columns),
    )
    leaves = () if network.forest is None else (network.forest.values, network.forest.weights)
    numbers = (network.intercept, *network.mains, *network.tables, *network.spreads, *leaves)
    if max(np.abs(each).max(initial=0.0) for each in numbers) > LARGEST_EFFECT:
        raise DocumentError(f"effects holds a number above {LARGEST_EFFECT:g}")
    if any((each < 0).any() or (each > 1 + ROUNDING).any() for each in network.densities):
        raise DocumentError("effects.densities must hold shares of the rows")
    if any((each < 0).any() for each in network.spreads):
        raise DocumentError("effects.spreads must hold no negative number")
    return network


def _pair(document: Json, n_attributes: int, where: str) -> tuple[int, int]:
    match document:
        case [int(parent), int(child)] if parent != child and {parent, child} <= set(range(n_attributes)):
            return parent, child
    raise DocumentError(f"{where} must hold the numbers of two attributes")
