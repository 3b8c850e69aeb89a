"""The effects of an `AdditiveNetwork` <-> the part of a model's JSON document that holds them.

    "effects": {"intercept": [...], "mains": [[[...], ...], ...], "pairs": [[0, 2], ...],
                "tables": [[[[...], ...], ...], ...], "densities": [[...], ...], "spreads": [[[...], ...], ...],
                "trees": null or {...}}

It stands in the place of "parents" and "tables" (`tanager.network.document`); shapes as in `AdditiveNetwork`,
trees as `tanager.network.forest_document` has them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.network.forest_document import read_forest, write_forest
from tanager.network.json_values import DocumentError, Json, mapping, numbers, sequence
from tanager.table.schema import ColumnSchema


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
    return AdditiveNetwork(
        columns,
        _array(found.get("intercept"), 1, "effects.intercept"),
        tuple(_arrays(found.get("mains"), n_attributes, 2, "effects.mains")),
        tuple(pairs),
        tuple(_arrays(found.get("tables"), len(pairs), 3, "effects.tables")),
        tuple(_arrays(found.get("densities"), n_attributes, 1, "effects.densities")),
        tuple(_arrays(spreads, n_attributes, 2, "effects.spreads")) if spreads else (),
        read_forest(found.get("trees"), columns),
    )


def _pair(document: Json, n_attributes: int, where: str) -> tuple[int, int]:
    match document:
        case [int(parent), int(child)] if parent != child and {parent, child} <= set(range(n_attributes)):
            return parent, child
    raise DocumentError(f"{where} must hold the numbers of two attributes")


def _arrays(document: Json, length: int, depth: int, where: str) -> list[NDArray[np.float64]]:
    return [
        _array(each, depth, f"{where}[{position}]") for position, each in enumerate(sequence(document, where, length))
    ]


def _array(document: Json, depth: int, where: str) -> NDArray[np.float64]:
    if depth == 1:
        return np.array(numbers(document, where), dtype=np.float64)
    parts = [_array(each, depth - 1, where) for each in sequence(document, where)]
    if len({part.shape for part in parts}) != 1:
        raise DocumentError(f"{where} must hold rows of one length")
    return np.stack(parts)
