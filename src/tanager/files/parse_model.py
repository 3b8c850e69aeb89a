"""A JSON document -> a fitted classifier. Checks everything it reads; `write_model` describes the document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.additive.document import read_effect_parts
from tanager.additive.model import AnyModel
from tanager.additive.options import check_options
from tanager.additive.trace import AdditiveTrace
from tanager.check.preprocessing import Recipe
from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.learning import Trace
from tanager.counts.engine import ENGINES
from tanager.files.decision_document import read_decision
from tanager.files.edits_document import read_revisions
from tanager.files.model_parts import CLASSIFIERS, known_parts
from tanager.files.posterior_document import read_posterior
from tanager.files.quality_document import read_quality
from tanager.files.trace_document import read_trace
from tanager.files.write_model import ADDITIVE_FORMAT, MODEL_FORMAT
from tanager.missing.choose import MISSING, choose_rule, with_rule
from tanager.missing.corrections import LARGEST_CORRECTION
from tanager.missing.filling import Filling
from tanager.missing.rule import GapRule
from tanager.network.document import (
    DocumentError,
    Json,
    array,
    arrays,
    check_form,
    from_json,
    mapping,
    parse_columns,
    read_network_parts,
    sequence,
    shorten,
    text,
)
from tanager.network.mixture import MixtureNetwork
from tanager.network.network import Network
from tanager.network.tree_average import TreeAverageNetwork
from tanager.parameters import PARAMETERS
from tanager.registry import check_option, resolve
from tanager.scores import SCORES
from tanager.structure import STRUCTURES, Step
from tanager.structure.averaged import Subsumption
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder
from tanager.table.schema import Category, ColumnSchema, TableSchema
from tanager.table.training_table import read_weighting

KEYS = (
    "classifier",
    "options",
    "named",
    "hidden",
    "columns",
    "class_dtype",
    "class_count",
    "filling",
    "recipe",
    "structure_score",
    "trace",
    "quality",
    "decision",
)
MAX_LABEL_BYTES = 1 << 28
LABEL_KINDS = tuple("biufUTMO")
REMEDY = "make it again with `tanager fit`, or with fit and save_model"
OLD_ADDITIVE = "additive models of version 0.2 are not read any more; fit it again: tanager fit TABLE -o MODEL"
FORMS = {"effects": ("effects",), "members": ("members", "subsumption"), "trees": ("trees",)}
"""What says the kind of a network, and what else goes with it; a network of tables has none of these."""


def from_document(document: Json) -> TableClassifier:
    """The classifier a document describes; a DocumentError says what is wrong with it and where."""
    found = mapping(document, "the document")
    form = next((key for key in FORMS if key in found), "tables")
    keys = (*KEYS, *FORMS.get(form, ("parents", "tables")))
    if form == "effects" and found.get("format") == MODEL_FORMAT:
        raise DocumentError(OLD_ADDITIVE)
    number = ADDITIVE_FORMAT if form == "effects" else MODEL_FORMAT
    model = check_form(document, "model", number, keys, REMEDY)
    clf = _classifier(model["classifier"], model["options"], form == "effects")
    columns = _columns(model["columns"])
    schema = _schema(columns, model["named"], model["hidden"])
    if form != "tables" and model["hidden"]:
        raise DocumentError("hidden must be 0: only a network of tables has hidden nodes")
    clf.classes_ = _classes(schema.target.categories, model["class_dtype"])
    clf.class_count_ = _class_count(model["class_count"], len(clf.classes_))
    clf.n_features_in_ = len(schema.attributes)
    if schema.named:
        clf.feature_names_in_ = np.array([column.name for column in schema.attributes], dtype=object)
    clf.encoder_ = TableEncoder(schema, unseen_is_error=clf.handle_unknown == "error")
    network: AnyModel
    if form == "effects":
        network = read_effect_parts(columns, model["effects"])
    elif form == "members":
        network = _mixture(columns, model["members"], model["subsumption"], schema.target.name)
    elif form == "trees":
        network = _trees(columns, model["trees"], schema.target.name)
    else:
        network = read_network_parts(columns, model, schema.target.name)

    def rule_of(network: AnyModel, filling: Json) -> GapRule:
        return choose_rule(network, _filling((*schema.attributes, schema.target), filling), clf.missing)

    clf.gaps_ = rule_of(network, model["filling"])
    clf.model_ = with_rule(network, clf.gaps_)
    score = _number_or_null(from_json(model["structure_score"], "structure_score", {}), "structure_score")
    clf.trace_ = _trace(model["trace"])
    if isinstance(clf, BayesianNetworkClassifier):
        clf.structure_score_ = score
    clf.recipe_ = Recipe.from_dict(model["recipe"])
    clf.quality_ = read_quality(model["quality"], clf.classes_)
    clf.decision_ = read_decision(model["decision"], clf.classes_)
    clf.posterior_ = read_posterior(model.get("posterior"), network, schema.attributes)
    clf.edits_ = ()
    if network.kind == "effects":
        clf.edits_ = read_revisions(model.get("edits", []), network, model["filling"], clf.classes_, rule_of)
    return clf


def _mixture(columns: tuple[ColumnSchema, ...], document: Json, rules: Json, target: str) -> MixtureNetwork:
    weights = [mapping(member, "members").get("weight") for member in sequence(document, "members")]
    said = _subsumption(columns[:-1], rules) if rules else None
    return MixtureNetwork(_members(columns, document, target), array(weights, 1, "members.weight"), said)


def _subsumption(attributes: Sequence[ColumnSchema], document: Json) -> Subsumption:
    """What each state of an attribute says of the others; -1 where it says nothing."""
    said = arrays(document, len(attributes), 2, "subsumption")
    if [rows.shape for rows in said] != [(column.n_states, len(attributes)) for column in attributes]:
        raise DocumentError("subsumption must have a row for each state and a column for each attribute")
    for column, cells in zip(attributes, np.concatenate(said).T, strict=True):
        if not np.isin(cells, np.arange(-1, column.n_states)).all():
            raise DocumentError(f"subsumption must hold states of {column.name!r} in its column, or -1")
    return Subsumption(tuple(rows.astype(np.int64) for rows in said))


def _trees(columns: tuple[ColumnSchema, ...], document: Json, target: str) -> TreeAverageNetwork:
    trees = mapping(document, "trees")
    edges = array(trees.get("edges"), 2, "trees.edges")
    alone = trees.get("alone")
    first = np.full(edges.shape[1], -np.inf) if alone is None else array(alone, 1, "trees.alone")
    if edges.shape != (len(first), len(first)):
        raise DocumentError("trees.edges and trees.alone must have a weight for every attribute")
    return TreeAverageNetwork(_members(columns, trees.get("members"), target), np.vstack([first, edges]))


def _members(columns: tuple[ColumnSchema, ...], document: Json, target: str) -> tuple[Network, ...]:
    members = [mapping(member, "members") for member in sequence(document, "members")]
    if not members:
        raise DocumentError("members is empty: the mixture has no network")
    return tuple(read_network_parts(columns, each, target) for each in members)


def _filling(columns: Sequence[ColumnSchema], document: Json) -> Filling | None:
    """What says what a missing cell may hold, where the classifier averages over it."""
    if document is None:
        return None
    found = mapping(document, "filling")
    coarse = tuple(column.coarse for column in columns)
    filler = read_network_parts(coarse, found, coarse[-1].name)
    states = arrays(found.get("states"), len(columns) - 1, 2, "filling.states")
    nothing = array(found.get("nothing"), 1, "filling.nothing")
    # Files of earlier versions have none.
    shift = array(found["shift"], 1, "filling.shift") if "shift" in found else np.zeros_like(nothing)
    if max(np.abs(corrections).max(initial=0.0) for corrections in (nothing, shift, *states)) > LARGEST_CORRECTION:
        raise DocumentError(f"filling holds a correction above {LARGEST_CORRECTION:g}, which leaves no probability")
    filling = Filling(filler, nothing, tuple(states), shift)
    filling.check(columns)
    return filling


def _classifier(name: Json, options: Json, additive: bool) -> TableClassifier:
    valid = tuple(each for each, kind in CLASSIFIERS.items() if issubclass(kind, AdditiveClassifier) == additive)
    kind = CLASSIFIERS[text(name, "classifier", valid)]
    given = _without_dropped(mapping(options, "options"))
    clf = kind()
    unknown = sorted(set(given) - set(clf.get_params(deep=False)))
    if unknown:
        raise DocumentError(f"options has {', '.join(unknown)}, which {kind.__name__} does not have")
    for key, value in given.items():
        setattr(clf, key, from_json(value, f"options.{key}", known_parts()))
    _check_options(clf)
    return clf


def _without_dropped(options: dict[str, Json]) -> dict[str, Json]:
    """The options without those that parts had in version 0.2 and that changed nothing of a network."""
    parameters = options.get("parameters")
    if isinstance(parameters, dict) and parameters.get("part") == "Conditional":
        inner = mapping(parameters.get("options"), "options.parameters")
        kept: dict[str, Json] = {key: value for key, value in inner.items() if key != "penalty"}
        return {**options, "parameters": {**parameters, "options": kept}}
    return options


def _check_options(clf: TableClassifier) -> None:
    """What `fit` would find out about the options, now; a prediction relies on some of them."""
    options, additive = clf.get_params(deep=False), isinstance(clf, AdditiveClassifier)
    if isinstance(clf, AdditiveClassifier):
        check_options(clf.pairs, clf.trees, clf.missing, clf.handle_unknown)
    checks: dict[str, Callable[[object], object]] = {
        "structure": lambda value: resolve("structure", value, STRUCTURES, "learn"),
        "criterion": lambda value: value is None or resolve("criterion", value, SCORES, "check_options"),
        "parameters": lambda value: resolve("parameters", value, PARAMETERS, "learn"),
        "discretizer": choose_discretizer,
        "engine": lambda value: check_option("engine", value, ENGINES),
        "missing": lambda value: additive or check_option("missing", value, MISSING),
        "handle_unknown": lambda value: additive or check_option("handle_unknown", value, ["marginalize", "error"]),
        "class_weight": lambda value: value in (None, "balanced") or read_weighting(value),
    }
    for key, valid in (
        ("device", (str, type(None))),
        ("n_jobs", (int, type(None))),
        ("random_state", (int, type(None))),
        ("verbose", (int, bool)),
    ):
        if key in options and type(options[key]) not in valid:
            words = " or ".join(kind.__name__ for kind in valid)
            raise DocumentError(f"options.{key} is {shorten(options[key])}, expected {words}")
    for key, check in checks.items():
        if key in options:
            check(options[key])


def _columns(document: Json) -> tuple[ColumnSchema, ...]:
    columns = parse_columns(document)
    if len(columns) < 2:
        raise DocumentError("columns must hold at least one attribute and the class")
    if columns[-1].kind != "categorical" or len(columns[-1].categories) < 2:
        raise DocumentError("the class, the last of columns, must have at least two categories")
    return columns


def _schema(columns: tuple[ColumnSchema, ...], named: Json, hidden: Json) -> TableSchema:
    """The columns of a table: all but the hidden ones, which come before the class."""
    if not isinstance(named, bool):
        raise DocumentError(f"named must be true or false, got {shorten(named)}")
    if type(hidden) is not int or not 0 <= hidden < len(columns) - 1:
        raise DocumentError(f"hidden must be a number of attributes less than all, got {shorten(hidden)}")
    return TableSchema(columns[: len(columns) - 1 - hidden], columns[-1], named)


def _classes(labels: tuple[Category, ...], document: Json) -> NDArray[np.generic]:
    """The labels as an array of the dtype they had; it must hold each of them unchanged."""
    try:
        code = text(document, "class_dtype")
        dtype = np.dtype(code) if code.lstrip("<>|=")[:1] in LABEL_KINDS else np.dtype(np.void)
        if dtype.kind not in LABEL_KINDS or dtype.itemsize * len(labels) > MAX_LABEL_BYTES:
            raise ValueError
        classes = np.array(labels, dtype=dtype)
        if [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
            raise ValueError
        ascend = bool((classes[:-1] < classes[1:]).all())
    except (TypeError, ValueError, OverflowError, SyntaxError):
        raise DocumentError(f"class_dtype {shorten(document)} does not fit the classes") from None
    if not ascend:
        raise DocumentError("the categories of the class must ascend: rows are looked up in them")
    return classes


def _class_count(document: Json, n_classes: int) -> NDArray[np.float64]:
    counts = sequence(document, "class_count")
    valid = all(type(count) in (int, float) and 0 <= cast(float, count) < np.inf for count in counts)
    if len(counts) != n_classes or not valid or not any(counts):
        raise DocumentError(f"class_count must hold the rows of each of {n_classes} classes, got {shorten(document)}")
    return np.array(counts, dtype=np.float64)


def _trace(document: Json) -> Trace | AdditiveTrace:
    trace = mapping(document, "trace")
    steps = tuple(map(_step, sequence(trace.get("structure"), "trace.structure")))
    noted = read_trace(trace.get("parameters"))
    return noted if isinstance(noted, AdditiveTrace) else Trace(steps, noted)


def _step(document: Json) -> Step:
    match from_json(document, "trace.structure", {}):
        case {"action": str(action), "gain": gain, "score": score}:
            return Step(
                action, _number_or_null(gain, "the gain of a step"), _number_or_null(score, "the score of a step")
            )
    raise DocumentError("trace.structure must hold steps with an action, a gain and a score")


def _number_or_null(value: object, where: str) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise DocumentError(f"{where} must be a number or null, got {shorten(value)}")
    return None if value is None else float(cast(float, value))
