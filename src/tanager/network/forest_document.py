"""A `Forest` <-> the part of a model's JSON document that holds it.

    "trees": {"roots": [...], "classes": [...], "attributes": [...], "ends": [...], "sides": [[4], [2, 3], ...],
              "values": [...], "weights": [...]}

"ends" holds the right and the left end of each split. "sides" holds for each split the states at which the side
changes, the first states being on the left: [4] sends states 0 .. 3 left and all others, the missing cell too, right.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.network.json_values import DocumentError, Json, mapping, numbers, sequence
from tanager.table.schema import ColumnSchema
from tanager.trees.forest import Forest

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def write_forest(forest: Forest | None) -> Json:
    """What a document says of the trees; null where there are none."""
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
    if not set(map(type, values)) <= {int} or not all(abs(value) < 2**31 for value in cast(list[int], values)):
        raise DocumentError(f"{where} must hold whole numbers")
    return np.array(values, dtype=np.int64)
