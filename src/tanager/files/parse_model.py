"""A JSON document -> a fitted classifier. Checks everything it reads; `write_model` describes the document."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from itertools import pairwise
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.classifiers.bayesian_network import Trace
from tanager.counts.engine import ENGINES
from tanager.files.json_values import DocumentError, Json, from_json, mapping, numbers, sequence, shorten, text
from tanager.files.model_parts import CLASSIFIERS, FORMAT, PARTS
from tanager.network.network import Network
from tanager.parameters import PARAMETERS
from tanager.registry import check_option, resolve
from tanager.scores import SCORES
from tanager.structure import STRUCTURES, Step
from tanager.structure.dag import Dag
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder
from tanager.table.schema import Category, ColumnSchema, Kind, TableSchema, Unit

KEYS = ("versions", "classifier", "options", "named", "columns", "class_dtype", "parents", "tables", "trace")
CATEGORY_TYPES = ({str}, {bool}, {int, float}, {datetime.date}, {datetime.datetime})
"""A column's categories are all of one kind: the encoder compares them with each other."""
LARGEST_TIME = 2.0**62
"""Microseconds; a cut point of a date or a duration beyond it could not be written as one."""
MOST_LABEL_BYTES = 1 << 28


def from_document(document: Json) -> BayesianNetworkClassifier:
    """The classifier a document describes; a DocumentError says what is wrong with it and where."""
    model = mapping(document, "the document")
    if "format" not in model:
        raise DocumentError("it has no 'format' number, so it is not a Tanager model")
    if type(model["format"]) is not int or model["format"] != FORMAT:
        raise DocumentError(f"its format is {shorten(model['format'])}; this version reads format {FORMAT}")
    absent = [key for key in (*KEYS, "structure_score") if key not in model]
    if absent:
        raise DocumentError(f"{', '.join(map(repr, absent))} is not there")
    for name, version in mapping(model["versions"], "versions").items():
        text(version, f"versions.{name}")
    clf = _classifier(model["classifier"], model["options"])
    schema = _schema(model["columns"], model["named"])
    clf.classes_ = _classes(schema.target.categories, model["class_dtype"])
    clf.n_features_in_ = len(schema.attributes)
    if schema.named:
        clf.feature_names_in_ = np.array([column.name for column in schema.attributes], dtype=object)
    clf.encoder_ = TableEncoder(schema, unseen_is_error=clf.handle_unknown == "error")
    clf.network_ = _network(schema, model["parents"], model["tables"])
    score = from_json(model["structure_score"], "structure_score", PARTS)
    if type(score) not in (int, float):
        raise DocumentError(f"structure_score must be a number, got {shorten(score)}")
    clf.structure_score_ = float(cast(float, score))
    clf.trace_ = _trace(model["trace"])
    return clf


def _classifier(name: Json, options: Json) -> BayesianNetworkClassifier:
    kind = CLASSIFIERS[text(name, "classifier", tuple(CLASSIFIERS))]
    given = mapping(options, "options")
    clf = kind()
    unknown = sorted(set(given) - set(clf.get_params(deep=False)))
    if unknown:
        raise DocumentError(f"options has {', '.join(unknown)}, which {kind.__name__} does not have")
    for key, value in given.items():
        setattr(clf, key, from_json(value, f"options.{key}", PARTS))
    _check_options(clf.get_params(deep=False))
    return clf


def _check_options(options: dict[str, object]) -> None:
    """What `fit` would find out about the options, now; a prediction relies on some of them."""
    checks: dict[str, Callable[[object], object]] = {
        "structure": lambda value: resolve("structure", value, STRUCTURES, "learn"),
        "score": lambda value: resolve("score", value, SCORES, "check_options"),
        "parameters": lambda value: resolve("parameters", value, PARAMETERS, "learn"),
        "discretizer": choose_discretizer,
        "engine": lambda value: check_option("engine", value, ENGINES),
        "missing": lambda value: check_option("missing", value, ["marginalize"]),
        "handle_unknown": lambda value: check_option("handle_unknown", value, ["marginalize", "error"]),
    }
    for key, valid in (("n_jobs", (int, type(None))), ("random_state", (int, type(None))), ("verbose", (int, bool))):
        if type(options[key]) not in valid:
            words = " or ".join(kind.__name__ for kind in valid)
            raise DocumentError(f"options.{key} is {shorten(options[key])}, expected {words}")
    for key, check in checks.items():
        if key in options:
            check(options[key])


def _schema(columns: Json, named: Json) -> TableSchema:
    if not isinstance(named, bool):
        raise DocumentError(f"named must be true or false, got {shorten(named)}")
    read = [_column(column, f"columns[{node}]") for node, column in enumerate(sequence(columns, "columns"))]
    if len(read) < 2:
        raise DocumentError("columns must hold at least one attribute and the class")
    names = [column.name for column in read]
    if len(set(names)) < len(names):
        raise DocumentError("columns has two columns of the same name")
    if read[-1].kind != "categorical" or len(read[-1].categories) < 2:
        raise DocumentError("the class, the last of columns, must have at least two categories")
    return TableSchema(tuple(read[:-1]), read[-1], named)


def _column(document: Json, where: str) -> ColumnSchema:
    column = mapping(document, where)
    name = text(column.get("name"), f"{where}.name")
    kind = cast(Kind, text(column.get("kind"), f"{where}.kind", get_args(Kind)))
    unit = cast(Unit, text(column.get("unit"), f"{where}.unit", get_args(Unit)))
    if kind == "categorical":
        return ColumnSchema(name, kind, categories=_categories(column.get("categories"), where), unit=unit)
    cuts = numbers(column.get("cuts"), f"{where}.cuts")
    if any(low >= high for low, high in pairwise(cuts)):
        raise DocumentError(f"{where}.cuts must increase")
    if unit != "number" and any(abs(cut) > LARGEST_TIME for cut in cuts):
        raise DocumentError(f"{where}.cuts has a {unit} out of range")
    return ColumnSchema(name, kind, cuts=tuple(map(float, cuts)), unit=unit)


def _categories(document: Json, where: str) -> tuple[Category, ...]:
    values = [from_json(value, f"{where}.categories", PARTS) for value in sequence(document, f"{where}.categories")]
    types = set(map(type, values))
    if not any(types <= valid for valid in CATEGORY_TYPES):
        raise DocumentError(f"{where}.categories must all be texts, booleans, numbers, dates or times")
    if types <= {int, float}:
        numbers(cast(Json, values), f"{where}.categories")
    categories = cast(list[Category], values)
    if len(set(categories)) < len(categories):
        raise DocumentError(f"{where}.categories has a category twice")
    return tuple(categories)


def _classes(labels: tuple[Category, ...], document: Json) -> NDArray[np.generic]:
    """The labels as an array of the dtype they had; it must hold each of them unchanged."""
    try:
        dtype = np.dtype(text(document, "class_dtype"))
        if dtype.kind not in "biufUTMO" or dtype.itemsize * len(labels) > MOST_LABEL_BYTES:
            raise ValueError
        classes = np.array(labels, dtype=dtype)
        if [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
            raise ValueError
    except (TypeError, ValueError, OverflowError, SyntaxError):
        raise DocumentError(f"class_dtype {shorten(document)} does not fit the classes") from None
    return classes


def _network(schema: TableSchema, parents: Json, tables: Json) -> Network:
    columns = (*schema.attributes, schema.target)
    own = [
        _parents(document, f"parents[{node}]")
        for node, document in enumerate(sequence(parents, "parents", len(columns)))
    ]
    read = [
        _table(document, f"tables[{node}]") for node, document in enumerate(sequence(tables, "tables", len(columns)))
    ]
    return Network(columns, Dag(tuple(own)), tuple(read), schema.target.name)


def _parents(document: Json, where: str) -> tuple[int, ...]:
    found = sequence(document, where)
    if not set(map(type, found)) <= {int} or sorted(set(cast(list[int], found))) != found:
        raise DocumentError(f"{where} must hold node numbers, ascending")
    return tuple(cast(list[int], found))


def _table(document: Json, where: str) -> NDArray[np.float64]:
    rows = [numbers(row, where) for row in sequence(document, where)]
    if len(set(map(len, rows))) > 1:
        raise DocumentError(f"{where} has rows of different lengths")
    return np.array(rows, dtype=np.float64)


def _trace(document: Json) -> Trace:
    trace = mapping(document, "trace")
    parameters = from_json(trace.get("parameters"), "trace.parameters", PARTS)
    if not isinstance(parameters, dict):
        raise DocumentError("trace.parameters must be a dict")
    steps = [from_json(step, "trace.structure", PARTS) for step in sequence(trace.get("structure"), "trace.structure")]
    return Trace(tuple(map(_step, steps)), parameters)


def _step(step: object) -> Step:
    match step:
        case {"action": str(action), "gain": int() | float() as gain, "score": int() | float() as score}:
            return Step(action, float(gain), float(score))
    raise DocumentError("trace.structure must hold steps with an action, a gain and a score")
