"""A network <-> the JSON document of a network, and the part of a model's document that is one.

    {"format": 1, "versions": {...}, "target": "class" or null,
     "columns": [{"name": "x", "kind": "categorical", "unit": "number", "gap_state": false, "categories": [...]},
                 {..., "cuts": [...]}, {..., "cuts": [...], "groups": [...]}],
     "parents": [[2], [0, 2], []], "tables": [[[p, ...], ...], ...]}

Nodes are numbered by column, the class, where there is one, last. A table has a row per parent configuration and a
cell per state. Numbers are read back bit by bit, states with their types; `json_values` says how values are written.
"""

from __future__ import annotations

import datetime
from itertools import pairwise
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from tanager.network.json_values import (
    DocumentError,
    Json,
    dag,
    from_json,
    mapping,
    numbers,
    sequence,
    shorten,
    text,
    to_json,
)
from tanager.network.network import Network
from tanager.table.categories import are_told_apart
from tanager.table.schema import Category, ColumnSchema, Kind, Unit
from tanager.version import __version__

FORMAT = 1
"""Number of the form above. A file of another number is refused."""
CATEGORY_TYPES = ({str}, {bool}, {int, float}, {datetime.date}, {datetime.datetime})
"""A column's categories are all of one kind: the encoder compares them with each other."""
LARGEST_TIME = 2.0**62
"""Microseconds; a cut point of a date or a duration beyond it could not be written as one."""


def network_to_document(network: Network) -> dict[str, Json]:
    """Everything a network is; a DocumentError names a state that cannot be kept."""
    return {"format": FORMAT, "versions": {"tanager": __version__}, "target": network.target, **network_parts(network)}


def network_parts(network: Network) -> dict[str, Json]:
    """What a model's document and a network's have in common."""
    return {
        "columns": write_columns(network.columns),
        "parents": [list(parents) for parents in network.dag.parents],
        "tables": [table.tolist() for table in network.tables],
    }


def write_columns(columns: tuple[ColumnSchema, ...]) -> Json:
    """The columns in their order."""
    return [_write_column(column) for column in columns]


def network_from_document(document: Json) -> Network:
    """The network a document describes; a DocumentError says what is wrong with it and where."""
    found = check_form(document, "network", FORMAT, ("target", "columns", "parents", "tables"), "write it again")
    columns = parse_columns(found["columns"])
    if not columns:
        raise DocumentError("columns is empty: the network has no node")
    target = found["target"]
    if target is not None:
        text(target, "target", (columns[-1].name,))
    return read_network_parts(columns, found["parents"], found["tables"], cast(str | None, target))


def check_form(document: Json, kind: str, number: int, keys: tuple[str, ...], remedy: str) -> dict[str, Json]:
    """The document, if it has the format number and the keys of its kind; `remedy` helps one of another number."""
    found = mapping(document, "the document")
    if "format" not in found:
        raise DocumentError(f"it has no 'format' number, so it is not a Tanager {kind}")
    if type(found["format"]) is not int or found["format"] != number:
        raise DocumentError(f"its format is {shorten(found['format'])}; this version reads format {number}: {remedy}")
    absent = [key for key in ("versions", *keys) if key not in found]
    if absent:
        raise DocumentError(f"{', '.join(map(repr, absent))} is not there")
    for name, version in mapping(found["versions"], "versions").items():
        text(version, f"versions.{name}")
    return found


def parse_columns(document: Json) -> tuple[ColumnSchema, ...]:
    """The columns in their order, each name once."""
    columns = tuple(
        _read_column(column, f"columns[{node}]") for node, column in enumerate(sequence(document, "columns"))
    )
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise DocumentError("columns has two columns of the same name")
    return columns


def read_network_parts(columns: tuple[ColumnSchema, ...], parents: Json, tables: Json, target: str | None) -> Network:
    """The network over these columns."""
    read = [
        _table(document, f"tables[{node}]") for node, document in enumerate(sequence(tables, "tables", len(columns)))
    ]
    return Network(columns, dag(parents, "parents", len(columns)), tuple(read), target)


def _write_column(column: ColumnSchema) -> Json:
    document: dict[str, Json] = {
        "name": column.name,
        "kind": column.kind,
        "unit": column.unit,
        "gap_state": column.gap_state,
    }
    if column.ordered:
        document["ordered"] = True
    if column.kind == "numeric":
        document["cuts"] = list(column.cuts)
        if column.groups:
            document["groups"] = list(column.groups)
    else:
        document["categories"] = [to_json(value, f"column {column.name!r}", {}) for value in column.categories]
    return document


def _read_column(document: Json, where: str) -> ColumnSchema:
    column = mapping(document, where)
    name = text(column.get("name"), f"{where}.name")
    kind = cast(Kind, text(column.get("kind"), f"{where}.kind", get_args(Kind)))
    unit = cast(Unit, text(column.get("unit"), f"{where}.unit", get_args(Unit)))
    gap = _flag(column.get("gap_state", False), f"{where}.gap_state")
    if kind == "categorical":
        ordered = _flag(column.get("ordered", False), f"{where}.ordered")
        categories = _categories(column.get("categories"), where)
        return ColumnSchema(name, kind, categories, unit=unit, gap_state=gap, ordered=ordered)
    cuts = tuple(map(float, numbers(column.get("cuts"), f"{where}.cuts")))
    if any(low >= high for low, high in pairwise(cuts)):
        raise DocumentError(f"{where}.cuts must increase")
    if unit != "number" and any(abs(cut) > LARGEST_TIME for cut in cuts):
        raise DocumentError(f"{where}.cuts has a {unit} out of range")
    groups = _groups(column.get("groups", []), len(cuts) + 1, f"{where}.groups")
    return ColumnSchema(name, kind, cuts=cuts, unit=unit, gap_state=gap, groups=groups)


def _flag(document: Json, where: str) -> bool:
    if not isinstance(document, bool):
        raise DocumentError(f"{where} must be true or false, got {shorten(document)}")
    return document


def _groups(document: Json, n_bins: int, where: str) -> tuple[int, ...]:
    """The coarse bin of each bin: none, or from 0 in steps of at most one."""
    found = sequence(document, where)
    if found and (len(found) != n_bins or found[0] != 0 or not set(map(type, found)) <= {int}):
        raise DocumentError(f"{where} must hold a number for each of {n_bins} bins, beginning with 0")
    groups = tuple(cast(list[int], found))
    if any(high - low not in (0, 1) for low, high in pairwise(groups)):
        raise DocumentError(f"{where} must increase in steps of at most one")
    return groups


def _categories(document: Json, where: str) -> tuple[Category, ...]:
    values = [from_json(value, f"{where}.categories", {}) for value in sequence(document, f"{where}.categories")]
    types = set(map(type, values))
    if not any(types <= valid for valid in CATEGORY_TYPES):
        raise DocumentError(f"{where}.categories must all be texts, booleans, numbers, dates or times")
    if types <= {int, float}:
        found = numbers(cast(Json, values), f"{where}.categories")
        if any(type(value) is int and not -(2**63) <= value < 2**64 for value in found):
            raise DocumentError(f"{where}.categories has a whole number of more than 64 bits")
    categories = cast(list[Category], values)
    if len(set(categories)) < len(categories) or not are_told_apart(categories):
        raise DocumentError(f"{where}.categories has a category twice")
    return tuple(categories)


def _table(document: Json, where: str) -> NDArray[np.float64]:
    rows = [numbers(row, where) for row in sequence(document, where)]
    if len(set(map(len, rows))) > 1:
        raise DocumentError(f"{where} has rows of different lengths")
    return np.array(rows, dtype=np.float64)
