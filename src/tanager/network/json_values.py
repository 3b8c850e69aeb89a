"""Values of options, categories and traces <-> JSON, each with its type. Nothing here can run code from a file.

A value JSON knows stands for itself; any other is an object with one telling key: {"date": "2024-02-29"},
{"datetime": ...}, {"float": "-inf"}, {"tuple": [...]}, {"set": [...]}, {"dict": {...}}, {"items": [[key, value], ...]},
which is a dict whose keys are not all texts, {"dag": [[2], [0, 2], []]}, the parents of each node,
{"part": "Tree", "options": {...}}, {"part": "Network", "document": {...}}, as its `to_dict` gives it.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tanager.errors import DataError
from tanager.structure.dag import Dag

Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
PartTypes = Mapping[str, type]


class DocumentError(Exception):
    """What in a model document is wrong, and where in it; completed with the name of the file."""


def to_json(value: object, where: str, parts: PartTypes) -> Json:
    """The JSON form of a value, or a DocumentError that names it. `parts` are the classes a file may name."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, datetime.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
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
    if parts.get(name) is type(value):
        if hasattr(value, "to_dict"):
            return {"part": name, "document": value.to_dict()}
        options: dict[str, object] = cast(BaseEstimator, value).get_params(deep=False)
        return {
            "part": name,
            "options": {key: to_json(option, f"{where}.{key}", parts) for key, option in options.items()},
        }
    raise DocumentError(f"{where} is {shorten(value)}, which a model file cannot keep")


def from_json(document: Json, where: str, parts: PartTypes) -> object:
    """The value a JSON form stands for; the inverse of `to_json`, lists for arrays."""
    if isinstance(document, list):
        return [from_json(item, where, parts) for item in document]
    if not isinstance(document, dict):
        if isinstance(document, float) and not math.isfinite(document):
            raise DocumentError(f"{where} holds a number too large for a float")
        return document
    if set(document) == {"part", "options"}:
        return _part(document["part"], document["options"], where, parts)
    if set(document) == {"part", "document"}:
        return _documented(document["part"], document["document"], where, parts)
    if len(document) == 1:
        ((kind, content),) = document.items()
        if isinstance(content, list):
            return _collection(kind, content, where, parts)
        if kind == "dict" and isinstance(content, dict):
            return {key: from_json(item, where, parts) for key, item in content.items()}
        if kind in READERS and isinstance(content, str):
            try:
                return READERS[kind](content)
            except ValueError:
                pass
    raise _unknown(document, where)


def _unknown(document: Json, where: str) -> DocumentError:
    return DocumentError(f"{where} holds {shorten(document)}, which stands for no known value")


def _collection(kind: str, content: list[Json], where: str, parts: PartTypes) -> object:
    if kind == "dag":
        return dag(content, f"{where}.dag")
    values = [from_json(item, where, parts) for item in content]
    try:
        if kind == "tuple":
            return tuple(values)
        if kind == "set":
            return set(values)
        if kind == "items" and all(isinstance(pair, list) and len(pair) == 2 for pair in values):
            return dict(cast(list[tuple[object, object]], values))
    except TypeError:  # a list as a key
        pass
    raise _unknown({kind: content}, where)


def _non_finite(text: str) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError(text)
    return float(text)


READERS: dict[str, Callable[[str], object]] = {
    "float": _non_finite,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
}


def _part(name: Json, options: Json, where: str, parts: PartTypes) -> object:
    kind = _known(name, where, parts)
    values = {key: from_json(item, f"{where}.{key}", parts) for key, item in mapping(options, where).items()}
    try:
        return kind(**values)
    except TypeError:
        raise DocumentError(f"{where} gives {name} options it does not have: {', '.join(values)}") from None


def _documented(name: Json, document: Json, where: str, parts: PartTypes) -> object:
    kind = _known(name, where, parts)
    if not hasattr(kind, "from_dict"):
        raise DocumentError(f"{where} gives {name} a document; it has options")
    try:
        return kind.from_dict(mapping(document, where))
    except DataError as error:
        raise DocumentError(f"{where}: {str(error).removesuffix('.')}") from None


def _known(name: Json, where: str, parts: PartTypes) -> type:
    if not isinstance(name, str) or name not in parts:
        raise DocumentError(f"{where} names the part {shorten(name)}; expected one of {', '.join(parts)}")
    return parts[name]


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


def dag(document: Json, where: str, n_nodes: int | None = None) -> Dag:
    """The structure, if the document is a list of each node's parents, of that length where one is given."""
    parents = enumerate(sequence(document, where, n_nodes))
    return Dag(tuple(_parents(nodes, f"{where}[{node}]") for node, nodes in parents))


def _parents(document: Json, where: str) -> tuple[int, ...]:
    found = sequence(document, where)
    if not set(map(type, found)) <= {int} or sorted(set(cast(list[int], found))) != found:
        raise DocumentError(f"{where} must hold node numbers, ascending")
    return tuple(cast(list[int], found))


def text(document: Json, where: str, valid: tuple[str, ...] | None = None) -> str:
    """The document, if it is a text, one of the valid ones where they are given."""
    if not isinstance(document, str) or (valid is not None and document not in valid):
        expected = "a text" if valid is None else f"one of {', '.join(valid)}"
        raise DocumentError(f"{where} must be {expected}, got {shorten(document)}")
    return document


def numbers(document: Json, where: str) -> list[float]:
    """The document, if it is a list of finite numbers."""
    values = sequence(document, where)
    if not set(map(type, values)) <= {int, float} or not all(map(_is_finite, cast(list[float], values))):
        raise DocumentError(f"{where} must hold finite numbers only")
    return cast(list[float], values)


def arrays(document: Json, length: int, depth: int, where: str) -> list[NDArray[np.float64]]:
    """That many arrays of `depth` dimensions."""
    return [
        array(each, depth, f"{where}[{position}]") for position, each in enumerate(sequence(document, where, length))
    ]


def array(document: Json, depth: int, where: str) -> NDArray[np.float64]:
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
