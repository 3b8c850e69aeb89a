"""JSON documents: a network, the columns of a table, and single values with their types. No code is run from a file.

    {"format": 1, "versions": {...}, "target": "class" or null,
     "columns": [{"name": "x", "kind": "categorical", "unit": "number", "gap_state": false, "categories": [...]},
                 {..., "cuts": [...]}, {..., "cuts": [...], "groups": [...]}],
     "parents": [[2], [0, 2], []], "tables": [[[p, ...], ...], ...]}

Nodes are numbered by column, the class, where there is one, last. A table has a row per parent configuration and a
cell per state. Numbers are read back bit by bit.

A value that JSON knows stands for itself; any other is an object with one key: {"date": "2024-02-29"},
{"datetime": ...}, {"float": "-inf"}, {"tuple": [...]}, {"set": [...]}, {"dict": {...}}, {"items": [[key, value], ...]},
which is a dict whose keys are not all texts, {"dag": [[2], [0, 2], []]}, the parents of each node,
{"part": "Tree", "options": {...}}, an estimator, or a dataclass without fields that are not compared,
{"part": "Network", "document": {...}}, as its `to_dict` gives it.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any, cast, get_args

import numpy as np
from sklearn.base import BaseEstimator

from tanager.arrays import Array
from tanager.errors import DataError
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.columns import are_told_apart
from tanager.table.schema import Category, ColumnSchema, Kind, Unit
from tanager.version import __version__

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
PartTypes = Mapping[str, type]

FORMAT = 1
"""Number of the form above. A file of another number is refused."""
CATEGORY_TYPES = ({str}, {bool}, {int, float}, {datetime.date}, {datetime.datetime})
"""A column's categories are all of one kind: the encoder compares them with each other."""
LARGEST_TIME = 2.0**62
"""Microseconds; a cut point of a date or a duration beyond it could not be written as one."""


class DocumentError(Exception):
    """What in a document is wrong, and where in it; completed with the name of the file."""


def network_to_document(network: Network) -> dict[str, Json]:
    """Everything a network is; a DocumentError names a state that cannot be kept."""
    head: dict[str, Json] = {"format": FORMAT, "versions": {"tanager": __version__}, "target": network.target}
    return {**head, "columns": write_columns(network.columns), **network_parts(network)}


def network_from_document(document: Json) -> Network:
    """The network a document describes; a DocumentError says what is wrong with it and where."""
    content = check_form(document, "network", FORMAT, ("target", "columns", "parents", "tables"), "write it again")
    columns = parse_columns(content["columns"])
    if not columns:
        raise DocumentError("columns is empty: the network has no node")
    target = content["target"]
    if target is not None:
        text(target, "target", (columns[-1].name,))
    return read_network_parts(columns, content, cast(str | None, target))


def network_parts(network: Network) -> dict[str, Json]:
    """The parents and the tables."""
    return {
        "parents": [list(parents) for parents in network.dag.parents],
        "tables": [table.tolist() for table in network.tables],
    }


def read_network_parts(columns: tuple[ColumnSchema, ...], document: Mapping[str, Json], target: str | None) -> Network:
    """The network over these columns whose parents and tables `network_parts` wrote."""
    tables = sequence(document.get("tables"), "tables", len(columns))
    read = [_table(table, f"tables[{node}]") for node, table in enumerate(tables)]
    return Network(columns, dag(document.get("parents"), "parents", len(columns)), tuple(read), target)


def check_form(document: Json, kind: str, number: int, keys: tuple[str, ...], remedy: str) -> dict[str, Json]:
    """The document, if it has the format number and the keys of its kind; `remedy` helps one of another number."""
    content = mapping(document, "the document")
    if "format" not in content:
        raise DocumentError(f"it has no 'format' number, so it is not a Tanager {kind}")
    form = content["format"]
    if type(form) is not int or form != number:
        raise DocumentError(f"its format is {shorten(form)}; this version reads format {number}: {remedy}")
    absent = [key for key in ("versions", *keys) if key not in content]
    if absent:
        raise DocumentError(f"{', '.join(map(repr, absent))} is not there")
    for name, version in mapping(content["versions"], "versions").items():
        text(version, f"versions.{name}")
    return content


def write_columns(columns: tuple[ColumnSchema, ...]) -> Json:
    """The columns in their order."""
    return [_write_column(column) for column in columns]


def parse_columns(document: Json) -> tuple[ColumnSchema, ...]:
    """The columns in their order, each name once."""
    columns = tuple(
        _read_column(column, f"columns[{node}]") for node, column in enumerate(sequence(document, "columns"))
    )
    if len({column.name for column in columns}) < len(columns):
        raise DocumentError("columns has two columns of the same name")
    return columns


def _write_column(column: ColumnSchema) -> Json:
    document: dict[str, Json] = {
        "name": column.name,
        "kind": column.kind,
        "unit": column.unit,
        "gap_state": column.missing_state,
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
    gap = flag(column.get("gap_state", False), f"{where}.gap_state")
    if kind == "categorical":
        ordered = flag(column.get("ordered", False), f"{where}.ordered")
        categories = _categories(column.get("categories"), f"{where}.categories")
        return ColumnSchema(name, kind, categories, unit=unit, missing_state=gap, ordered=ordered)
    cuts = tuple(map(float, numbers(column.get("cuts"), f"{where}.cuts")))
    if any(low >= high for low, high in pairwise(cuts)):
        raise DocumentError(f"{where}.cuts must increase")
    if unit != "number" and any(abs(cut) > LARGEST_TIME for cut in cuts):
        raise DocumentError(f"{where}.cuts has a {unit} out of range")
    groups = _groups(column.get("groups", []), len(cuts) + 1, f"{where}.groups")
    return ColumnSchema(name, kind, cuts=cuts, unit=unit, missing_state=gap, groups=groups)


def _groups(document: Json, n_bins: int, where: str) -> tuple[int, ...]:
    """The coarse bin of each bin: none, or from 0 in steps of at most one."""
    groups = tuple(integers(document, where))
    if groups and (len(groups) != n_bins or groups[0] != 0):
        raise DocumentError(f"{where} must hold a number for each of {n_bins} bins, beginning with 0")
    if any(high - low not in (0, 1) for low, high in pairwise(groups)):
        raise DocumentError(f"{where} must increase in steps of at most one")
    return groups


def _categories(document: Json, where: str) -> tuple[Category, ...]:
    values = [from_json(value, where, {}) for value in sequence(document, where)]
    types = set(map(type, values))
    zoned = {getattr(value, "tzinfo", None) is not None for value in values}
    if not any(types <= valid for valid in CATEGORY_TYPES) or len(zoned) > 1:
        raise DocumentError(f"{where} must all be texts, booleans, numbers, dates or times")
    if types <= {int, float}:
        codes = numbers(cast(Json, values), where)
        if any(type(value) is int and not -(2**63) <= value < 2**64 for value in codes):
            raise DocumentError(f"{where} has a whole number of more than 64 bits")
    categories = cast(list[Category], values)
    if len(set(categories)) < len(categories) or not are_told_apart(categories):
        raise DocumentError(f"{where} has a category twice")
    return tuple(categories)


def _table(document: Json, where: str) -> Array:
    rows = [numbers(row, where) for row in sequence(document, where)]
    if len(set(map(len, rows))) > 1:
        raise DocumentError(f"{where} has rows of different lengths")
    return np.array(rows, dtype=np.float64)


def _non_finite(text: str) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError(text)
    return float(text)


TAGGED: dict[str, tuple[type, Callable[[Any], str], Callable[[str], object]]] = {
    "float": (float, str, _non_finite),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
}
"""Values that stand as a text below a key: their type, and how they are written and read."""


def to_json(value: object, where: str, parts: PartTypes) -> Json:
    """The JSON form of a value, or a DocumentError that names it. `parts` are the classes a file may name."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    for key, (kind, write, _) in TAGGED.items():
        if isinstance(value, kind):
            return {key: write(value)}
    if isinstance(value, list):
        return [to_json(item, where, parts) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(item, where, parts) for item in value]}
    if isinstance(value, set | frozenset):  # whose order differs from run to run; a file's must not
        return {"set": sorted((to_json(item, where, parts) for item in value), key=json.dumps)}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {"dict": {key: to_json(item, where, parts) for key, item in value.items()}}
        return {"items": [[to_json(key, where, parts), to_json(item, where, parts)] for key, item in value.items()]}
    if isinstance(value, Dag):
        return {"dag": [list(parents) for parents in value.parents]}
    name = type(value).__name__
    if parts.get(name) is not type(value):
        raise DocumentError(f"{where} is {shorten(value)}, which a model file cannot keep")
    if hasattr(value, "to_dict"):
        return {"part": name, "document": value.to_dict()}
    if is_dataclass(value):
        options = {field.name: getattr(value, field.name) for field in fields(value) if field.compare}
    else:
        options = cast(BaseEstimator, value).get_params(deep=False)
    return {
        "part": name,
        "options": {key: to_json(option, f"{where}.{key}", parts) for key, option in options.items()},
    }


def from_json(document: Json, where: str, parts: PartTypes) -> object:
    """The value a JSON form stands for; the inverse of `to_json`, lists for arrays."""
    match document:
        case list():
            return [from_json(item, where, parts) for item in document]
        case float() if not math.isfinite(document):
            raise DocumentError(f"{where} holds a number too large for a float")
        case dict() if set(document) in ({"part", "options"}, {"part", "document"}):
            return _part(document, where, parts)
        case dict():
            return _tagged(document, where, parts)
    return document


def _tagged(document: dict[str, Json], where: str, parts: PartTypes) -> object:
    """The value below the one key of an object."""
    key, content = next(iter(document.items())) if len(document) == 1 else ("", None)
    if key == "dag" and isinstance(content, list):
        return dag(content, f"{where}.dag")
    if key == "dict" and isinstance(content, dict):
        return {name: from_json(item, where, parts) for name, item in content.items()}
    values: list[Any] = [from_json(item, where, parts) for item in content] if isinstance(content, list) else []
    try:
        if key in TAGGED and isinstance(content, str):
            return TAGGED[key][2](content)
        if key in ("tuple", "set") and isinstance(content, list):
            return tuple(values) if key == "tuple" else set(values)
        if (
            key == "items"
            and isinstance(content, list)
            and all(isinstance(pair, list) and len(pair) == 2 for pair in values)
        ):
            return dict(values)
    except (TypeError, ValueError):  # a list as a key; a text that is no date
        pass
    raise DocumentError(f"{where} holds {shorten(document)}, which stands for no known value")


def _part(document: dict[str, Json], where: str, parts: PartTypes) -> object:
    name = document["part"]
    if not isinstance(name, str) or name not in parts:
        raise DocumentError(f"{where} names the part {shorten(name)}; expected one of {', '.join(parts)}")
    kind: Any = parts[name]
    if "document" in document:
        if not hasattr(kind, "from_dict"):
            raise DocumentError(f"{where} gives {name} a document; it has options")
        try:
            return kind.from_dict(mapping(document["document"], where))
        except DataError as error:
            raise DocumentError(f"{where}: {str(error).removesuffix('.')}") from None
    options = mapping(document["options"], where)
    values = {key: from_json(item, f"{where}.{key}", parts) for key, item in options.items()}
    try:
        return kind(**values)
    except TypeError:
        raise DocumentError(f"{where} gives {name} options it does not have: {', '.join(values)}") from None


def mapping(document: Json, where: str) -> dict[str, Json]:
    """The document, if it is an object."""
    if not isinstance(document, dict):
        raise DocumentError(f"{where} must be an object, got {shorten(document)}")
    return document


def sequence(document: Json, where: str, length: int | None = None) -> list[Json]:
    """The document, if it is a list, of that length where one is given."""
    if not isinstance(document, list):
        raise DocumentError(f"{where} must be a list, got {shorten(document)}")
    if length is not None and len(document) != length:
        raise DocumentError(f"{where} has {len(document)} entries, expected {length}")
    return document


def text(document: Json, where: str, valid: tuple[str, ...] | None = None) -> str:
    """The document, if it is a text, one of the valid ones where they are given."""
    if not isinstance(document, str) or (valid is not None and document not in valid):
        expected = "a text" if valid is None else f"one of {', '.join(valid)}"
        raise DocumentError(f"{where} must be {expected}, got {shorten(document)}")
    return document


def flag(document: Json, where: str) -> bool:
    """The document, if it is true or false."""
    if not isinstance(document, bool):
        raise DocumentError(f"{where} must be true or false, got {shorten(document)}")
    return document


def dag(document: Json, where: str, n_nodes: int | None = None) -> Dag:
    """The structure, if the document is a list of each node's parents, of that length where one is given."""
    parents = [integers(nodes, f"{where}[{node}]") for node, nodes in enumerate(sequence(document, where, n_nodes))]
    for node, nodes in enumerate(parents):
        if sorted(set(nodes)) != nodes:
            raise DocumentError(f"{where}[{node}] must hold node numbers, ascending")
    return Dag(tuple(map(tuple, parents)))


def integers(document: Json, where: str, length: int | None = None) -> list[int]:
    """The document, if it is a list of whole numbers."""
    values = sequence(document, where, length)
    if not set(map(type, values)) <= {int}:
        raise DocumentError(f"{where} must hold whole numbers only")
    return cast(list[int], values)


def numbers(document: Json, where: str) -> list[float]:
    """The document, if it is a list of finite numbers."""
    values = sequence(document, where)
    if not set(map(type, values)) <= {int, float} or not all(map(_is_finite, cast(list[float], values))):
        raise DocumentError(f"{where} must hold finite numbers only")
    return cast(list[float], values)


def arrays(document: Json, length: int, depth: int, where: str) -> list[Array]:
    """That many arrays of `depth` dimensions."""
    return [
        array(each, depth, f"{where}[{position}]") for position, each in enumerate(sequence(document, where, length))
    ]


def array(document: Json, depth: int, where: str) -> Array:
    """The document, if it is finite numbers in lists of lists, `depth` deep."""
    if depth == 1:
        return np.array(numbers(document, where), dtype=np.float64)
    parts = [array(each, depth - 1, where) for each in sequence(document, where)]
    if len({part.shape for part in parts}) != 1:
        raise DocumentError(f"{where} must hold rows of one length")
    return np.stack(parts)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer above every float
        return False


def shorten(document: object) -> str:
    """A few characters of a document, for messages."""
    words = f"{type(document).__name__} of {len(document)}" if isinstance(document, dict | list) else repr(document)
    return words if len(words) <= 60 else words[:57] + "..."
