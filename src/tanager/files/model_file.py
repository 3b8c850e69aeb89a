"""Model files: a fitted classifier as one JSON document, checked when read; nothing in it is ever executed.

    {"format": 3, "versions": {...}, "classifier": "TANClassifier", "options": {...},
     "named": true, "hidden": 0, "class_dtype": "<U9", "class_count": [50.0, 50.0], "columns": [...],
     "parents": [...], "tables": [...], "imputation": null, "recipe": {...}, "structure_score": -12.5,
     "trace": {"part": "Trace", "options": {...}}, "quality": null, "decision": null, "issues": []}

"columns", "parents" and "tables" are those of the network (`tanager.network.document`), the class last; the columns
before it, as many as "hidden" says, are nodes only. In place of "parents" and "tables" an additive model has
"effects" (`tanager.additive.document`); a mixture has "members", each with a "weight", parents and tables; a
mean of all trees has "trees": the log weights of having no parent ("alone", null for trees) and of "edges" at
[parent][child], and "members" (`tanager.network.mixture`). "class_count" are the training rows of each class.
"imputation" says what an unknown cell may hold (`missing.average`); null where nothing is averaged over.
"structure_score" is null where nothing was scored. "recipe" is the preprocessing
(`tanager.check`); "issues" are those of high severity that it found in the training table.
`tanager.files.model_documents` describes "quality", "decision" and "posterior",
`tanager.files.edits_file` "edits"; a model without one of the last two has no such key.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, cast

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import tanager.classifiers
import tanager.parameters
import tanager.scores
import tanager.structure
from tanager.additive.document import effect_parts, read_effect_parts
from tanager.additive.model import AdditiveModel, AdditiveTrace, AnyModel
from tanager.additive.options import check_options
from tanager.arrays import Array
from tanager.check.preprocessing import NOTHING_TO_DO, Recipe
from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.learning import Trace
from tanager.counts.engine import ENGINES
from tanager.decide.classifiers import FixedDecisionClassifier
from tanager.errors import FileError, OptionError
from tanager.files.edits_file import read_revisions, write_revisions
from tanager.files.json_file import document_kind, parse_json, read_document, write_json
from tanager.files.model_documents import (
    read_decision,
    read_posterior,
    read_quality,
    write_decision,
    write_posterior,
    write_quality,
)
from tanager.files.trusted_types import with_subclasses
from tanager.metrics import Quality
from tanager.missing.average import LARGEST_CORRECTION, MISSING, N_DRAWS, Imputation, choose_rule, learn_imputation
from tanager.missing.rule import MissingRule
from tanager.network.document import (
    DocumentError,
    Json,
    array,
    arrays,
    check_form,
    flag,
    from_json,
    mapping,
    network_parts,
    parse_columns,
    read_network_parts,
    sequence,
    shorten,
    text,
    to_json,
    write_columns,
)
from tanager.network.mixture import MixtureNetwork, TreeAverageNetwork
from tanager.network.network import Network
from tanager.parameters import PARAMETERS
from tanager.parameters.protocol import ParameterTrace
from tanager.registry import check_option, resolve
from tanager.scores import SCORES
from tanager.structure import STRUCTURES, Step
from tanager.table.discretizer import MDLPDiscretizer, choose_discretizer
from tanager.table.encoder import TableEncoder
from tanager.table.rows import EncodedBatch
from tanager.table.schema import Category, ColumnSchema, TableSchema
from tanager.table.training_table import check_class_weight
from tanager.version import __version__

MODEL = document_kind("a model of Tanager", "classifier")
MODEL_FORMAT = 3
"""Number of the form above. A file of another number is refused, except networks of version 0.2, which have 2."""
KEYS = (
    *("classifier", "options", "named", "hidden", "columns", "class_dtype", "class_count", "recipe"),
    *("structure_score", "trace", "quality", "decision"),
)
FORMS = {
    "effects": ("effects",),
    "members": ("members",),
    "trees": ("trees",),
    "parents": ("parents", "tables"),
}
"""The key that tells the kind of a model, and the keys of that kind."""
LOST_OPTIONS = {
    "Conditional": ("penalty",),
    "AnDE": ("subsumption",),
    "HillClimb": ("tabu", "restarts"),
    "TreeAverage": ("forest",),
    "ACLL": ("alpha", "beta", "gamma"),
    "ACLLOptimal": ("alpha", "beta"),
}
"""Options of version 0.2 that a fitted model does without, by the part that had them."""
MAX_LABEL_BYTES = 1 << 28
LABEL_KINDS = tuple("biufUTMO")
PLAIN_OPTIONS: dict[str, tuple[type, ...]] = {
    "device": (str, type(None)),
    "n_jobs": (int, type(None)),
    "random_state": (int, type(None)),
    "verbose": (int, bool),
}
REMEDY = "fit it again: tanager fit TABLE -o MODEL"


def save_model(
    clf: TableClassifier | FixedDecisionClassifier,
    path: str | os.PathLike[str],
    *,
    quality: Quality | None = None,
    recipe: Recipe | None = None,
) -> None:
    """Write a fitted classifier to a JSON file, all at once: an error leaves an older file as it was.

    Parameters
    ----------
    clf : fitted classifier
        Of a classifier that decides, the one within is written with its decision, which `predict` then follows.
    path : str or path
        Of the file.
    quality : Quality or None
        As `cross_validate_model` gives it: `report` and `explain` show it for the rows learnt from. None keeps that of
        a classifier that was read from a file, `clf.quality_`.
    recipe : Recipe or None
        Of the table that the classifier was fitted to. None keeps `clf.recipe_`.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayesClassifier, load_model, save_model
    >>> clf = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/model.json")
    ...     same = load_model(f"{folder}/model.json")
    >>> same.predict([["a"], ["b"]]).tolist()
    ['yes', 'no']
    """
    check_is_fitted(clf)
    model = clf.to_model() if isinstance(clf, FixedDecisionClassifier) else clf
    if quality is not None and quality.classes.tolist() != model.classes_.tolist():
        raise OptionError(
            f"the quality is of a model of the classes {shorten(quality.classes.tolist())}, and this one has "
            f"{shorten(model.classes_.tolist())}.",
            hint="measure it with cross_validate_model(clf, X, y).",
        )
    try:
        document = to_document(model, quality, model.recipe_ if recipe is None else recipe)
    except DocumentError as error:
        raise FileError(
            f"cannot save the model to {str(path)!r}: {error}.",
            hint="set that option to a name or a value with set_params; the fitted model keeps what it has learnt.",
        ) from error
    write_json(path, "model", document)


def load_model(path: str | os.PathLike[str]) -> TableClassifier:
    """Read a classifier that `save_model` wrote; it predicts bit by bit the same.

    Parameters
    ----------
    path : str or path
        Of a file that `save_model` or `tanager fit` wrote.

    Returns
    -------
    TableClassifier
        Its `recipe_` is what tables go through before it sees them (`recipe_.apply`), perhaps nothing.
    """
    return read_document(path, "model", lambda content: from_document(parse_json(content)))


def to_document(
    clf: TableClassifier, quality: Quality | None = None, recipe: Recipe = NOTHING_TO_DO
) -> dict[str, Json]:
    """Everything needed to predict as `clf` does, and its quality; a DocumentError names what cannot be kept."""
    name = type(clf).__name__
    if CLASSIFIERS.get(name) is not type(clf):
        raise DocumentError(f"the classifier is a {name}, expected one of {', '.join(CLASSIFIERS)}")
    options, parts, model = clf.get_params(deep=False), known_parts(), clf.model_
    edits = write_revisions(clf.edits_, model, clf.missing_rule_, _write_imputation) if model.kind == "effects" else []
    return {
        "format": MODEL_FORMAT,
        "versions": {"tanager": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "classifier": name,
        "options": {key: to_json(value, f"option {key}", parts) for key, value in options.items()},
        "named": clf.encoder_.schema.named,
        "hidden": len(model.columns) - 1 - len(clf.encoder_.schema.attributes),
        # The width of NumPy's variable-width text is none of the dtype's business.
        "class_dtype": "T" if clf.classes_.dtype.kind == "T" else clf.classes_.dtype.str,
        "class_count": clf.class_count_.tolist(),
        "columns": write_columns(model.columns),
        **_write_model(model),
        "imputation": _write_imputation(clf.missing_rule_),
        "recipe": recipe.to_dict(),
        "structure_score": to_json(getattr(clf, "structure_score_", None), "structure_score_", {}),
        "trace": to_json(clf.trace_, "trace_", _traces()),
        "quality": write_quality(clf.quality_ if quality is None else quality),
        "decision": write_decision(clf.decision_, clf.classes_),
        "issues": list(clf.issues_),
        **write_posterior(clf.posterior_),
        **({"edits": edits} if edits else {}),
    }


def from_document(document: Json) -> TableClassifier:
    """The classifier a document describes; a DocumentError says what is wrong with it and where."""
    if is_network_of_0_2(document):
        document = as_format_3(document)
    form = next((key for key in FORMS if key in mapping(document, "the document")), "parents")
    content = check_form(document, "model", MODEL_FORMAT, (*KEYS, *FORMS[form]), REMEDY)
    clf = _read_classifier(content["classifier"], content["options"], form == "effects")
    columns = parse_columns(content["columns"])
    schema = _read_schema(columns, content["named"], content["hidden"])
    if form != "parents" and content["hidden"]:
        raise DocumentError("hidden must be 0: only a network of tables has hidden nodes")
    clf.classes_ = _read_classes(schema.target.categories, content["class_dtype"])
    clf.class_count_ = _read_class_count(content["class_count"], len(clf.classes_))
    clf.n_features_in_ = len(schema.attributes)
    if schema.named:
        clf.feature_names_in_ = np.array([column.name for column in schema.attributes], dtype=object)
    clf.encoder_ = TableEncoder(schema, unseen_is_error=clf.handle_unknown == "error")
    model = _read_model(form, columns, content)

    def rule_of(model: AnyModel, imputation: Json) -> MissingRule:
        return choose_rule(model, _read_imputation((*schema.attributes, schema.target), imputation), clf.missing)

    clf.missing_rule_ = rule_of(model, content.get("imputation"))
    if content.get("filling") is not None and isinstance(model, Network):
        clf.missing_rule_ = choose_rule(
            model, imputation_of_0_2(model, content["filling"], clf.class_count_), clf.missing
        )
    clf.model_ = model
    clf.trace_ = _read_trace(content["trace"], form == "effects")
    score = _number_or_null(from_json(content["structure_score"], "structure_score", {}), "structure_score")
    if isinstance(clf, BayesianNetworkClassifier):
        clf.structure_score_ = score
    elif score is not None:
        raise DocumentError("'structure_score' of an additive model must be null.")
    clf.recipe_ = Recipe.from_dict(content["recipe"])
    clf.quality_ = read_quality(content["quality"], clf.classes_)
    clf.decision_ = read_decision(content["decision"], clf.classes_)
    clf.issues_ = tuple(text(each, "issues") for each in sequence(content.get("issues", []), "issues"))
    clf.posterior_ = read_posterior(content.get("posterior"), model, schema.attributes)
    clf.edits_ = ()
    if model.kind == "effects":
        clf.edits_ = read_revisions(content.get("edits", []), model, content.get("imputation"), clf.classes_, rule_of)
    return clf


def _write_model(model: AnyModel) -> dict[str, Json]:
    """The values of the keys in `FORMS`."""
    if isinstance(model, AdditiveModel):
        return {"effects": effect_parts(model)}
    if isinstance(model, MixtureNetwork):
        weighted = zip(model.weights.tolist(), model.members, strict=True)
        return {"members": [{"weight": weight, **network_parts(member)} for weight, member in weighted]}
    if isinstance(model, TreeAverageNetwork):
        alone, *edges = model.log_weights.tolist()
        members: list[Json] = [dict(network_parts(member)) for member in model.members]
        return {"trees": {"alone": alone, "edges": edges, "members": members}}
    return network_parts(model)


def _read_model(form: str, columns: tuple[ColumnSchema, ...], content: dict[str, Json]) -> AnyModel:
    if form == "effects":
        return read_effect_parts(columns, content["effects"])
    if form == "members":
        members, networks = _read_members(columns, content["members"])
        weights = array([member.get("weight") for member in members], 1, "members.weight")
        if content.get("subsumption"):
            raise DocumentError(f"it leaves out cells by subsumption, which this version does not: {REMEDY}")
        return MixtureNetwork(networks, weights)
    if form == "trees":
        trees = mapping(content["trees"], "trees")
        edges, first = array(trees.get("edges"), 2, "trees.edges"), array(trees.get("alone"), 1, "trees.alone")
        if edges.shape != (len(first), len(first)):
            raise DocumentError("trees.edges and trees.alone must have a weight for every attribute")
        return TreeAverageNetwork(_read_members(columns, trees.get("members"))[1], np.vstack([first, edges]))
    return read_network_parts(columns, content, columns[-1].name)


def _read_members(
    columns: tuple[ColumnSchema, ...], document: Json
) -> tuple[list[dict[str, Json]], tuple[Network, ...]]:
    members = [mapping(member, "members") for member in sequence(document, "members")]
    if not members:
        raise DocumentError("members is empty: the mixture has no network")
    return members, tuple(read_network_parts(columns, each, columns[-1].name) for each in members)


def _write_imputation(rule: MissingRule) -> Json:
    imputation: Imputation | None = getattr(rule, "imputation", None)
    if imputation is None:
        return None
    return {
        "draws": imputation.n_draws,
        "shares": imputation.shares.tolist(),
        "tables": [table.tolist() for table in imputation.tables],
        "nothing": imputation.nothing.tolist(),
        "states": [entries.tolist() for entries in imputation.states],
    }


def _read_imputation(columns: Sequence[ColumnSchema], document: Json) -> Imputation | None:
    """What says what an unknown cell may hold, where the classifier averages over it."""
    if document is None:
        return None
    parts, n_attributes = mapping(document, "imputation"), len(columns) - 1
    tables, states = (arrays(parts.get(key), n_attributes, 2, f"imputation.{key}") for key in ("tables", "states"))
    shares, nothing = (array(parts.get(key), 1, f"imputation.{key}") for key in ("shares", "nothing"))
    if max(np.abs(corrections).max(initial=0.0) for corrections in (nothing, *states)) > LARGEST_CORRECTION:
        raise DocumentError(f"imputation holds a correction above {LARGEST_CORRECTION:g}")
    n_draws = parts.get("draws")
    if type(n_draws) is not int or not 0 < n_draws <= N_DRAWS:
        raise DocumentError(f"imputation.draws must be a number from 1 to {N_DRAWS}, got {shorten(n_draws)}")
    imputation = Imputation(n_draws, shares, tuple(tables), nothing, tuple(states))
    imputation.check(columns)
    return imputation


def _traces() -> dict[str, type]:
    """The classes of what a search and an optimiser leave, by name."""
    return {kind.__name__: kind for kind in (Trace, Step, *with_subclasses(ParameterTrace))}


def _read_trace(document: Json, additive: bool) -> Trace | AdditiveTrace:
    found: Any = from_json(document, "trace", _traces())
    match found:
        case AdditiveTrace() if additive:
            return found
        case Trace(tuple(steps), ParameterTrace()) if not additive and set(map(type, steps)) <= {Step}:
            return found
    raise DocumentError(f"trace must hold what was done to learn the model, got {shorten(document)}")


def _number_or_null(value: object, where: str) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise DocumentError(f"{where} must be a number or null, got {shorten(value)}")
    return None if value is None else float(cast(float, value))


def _read_schema(columns: tuple[ColumnSchema, ...], named: Json, hidden: Json) -> TableSchema:
    """The columns of a table: all but the hidden ones, which come before the class."""
    if len(columns) < 2:
        raise DocumentError("columns must hold at least one attribute and the class")
    if columns[-1].kind != "categorical" or len(columns[-1].categories) < 2:
        raise DocumentError("the class, the last of columns, must have at least two categories")
    if type(hidden) is not int or not 0 <= hidden < len(columns) - 1:
        raise DocumentError(f"hidden must be a number of attributes less than all, got {shorten(hidden)}")
    return TableSchema(columns[: len(columns) - 1 - hidden], columns[-1], flag(named, "named"))


def _read_classes(labels: tuple[Category, ...], document: Json) -> NDArray[np.generic]:
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


def _read_class_count(document: Json, n_classes: int) -> Array:
    counts = array(document, 1, "class_count")
    if len(counts) != n_classes or (counts < 0).any() or not counts.any():
        raise DocumentError(f"class_count must hold the rows of each of {n_classes} classes, got {shorten(document)}")
    return counts


def _read_classifier(name: Json, options: Json, additive: bool) -> TableClassifier:
    """The classifier with its options, not yet fitted."""
    valid = tuple(each for each, kind in CLASSIFIERS.items() if issubclass(kind, AdditiveClassifier) == additive)
    kind = CLASSIFIERS[text(name, "classifier", valid)]
    named = mapping(options, "options")
    clf = kind()
    unknown = sorted(set(named) - set(clf.get_params(deep=False)))
    if unknown:
        raise DocumentError(f"options has {', '.join(unknown)}, which {kind.__name__} does not have")
    for key, value in named.items():
        setattr(clf, key, from_json(value, f"options.{key}", known_parts()))
    _check_options(clf)
    return clf


def _check_options(clf: TableClassifier) -> None:
    """Check the options as `fit` does; predictions rely on some of them."""
    options = clf.get_params(deep=False)
    for key, valid in PLAIN_OPTIONS.items():
        if key in options and type(options[key]) not in valid:
            words = " or ".join(kind.__name__ for kind in valid)
            raise DocumentError(f"options.{key} is {shorten(options[key])}, expected {words}")
    choose_discretizer(options["discretizer"])
    check_class_weight(options["class_weight"])
    if isinstance(clf, AdditiveClassifier):
        check_options(clf.pairs, clf.trees, clf.missing, clf.handle_unknown)
        return
    checks: dict[str, Callable[[object], object]] = {
        "structure": lambda value: resolve("structure", value, STRUCTURES, "learn"),
        "criterion": lambda value: value is None or resolve("criterion", value, SCORES, "check_options"),
        "parameters": lambda value: resolve("parameters", value, PARAMETERS, "learn"),
        "engine": lambda value: check_option("engine", value, ENGINES),
        "missing": lambda value: check_option("missing", value, MISSING),
        "handle_unknown": lambda value: check_option("handle_unknown", value, ["average", "error"]),
    }
    for key in checks.keys() & options.keys():
        checks[key](options[key])


def _public(room: ModuleType, base: type) -> dict[str, type]:
    """The concrete classes of a kind among a room's public names."""
    items = {name: getattr(room, name) for name in room.__all__}
    return {
        name: item
        for name, item in items.items()
        if inspect.isclass(item) and issubclass(item, base) and not inspect.isabstract(item)
    }


CLASSIFIERS: dict[str, type[TableClassifier]] = _public(tanager.classifiers, TableClassifier)
PUBLISHED: dict[str, type] = {
    **_public(tanager.structure, BaseEstimator),
    **_public(tanager.scores, BaseEstimator),
    **_public(tanager.parameters, BaseEstimator),
    MDLPDiscretizer.__name__: MDLPDiscretizer,
    Network.__name__: Network,  # whose structure `Fixed` takes
}


def known_parts() -> dict[str, type]:
    """Parts by the name of their class; those of a user's own once they have a line in a registry."""
    registered = (*STRUCTURES.values(), *SCORES.values(), *PARAMETERS.values())
    return PUBLISHED | {part.__name__: part for part in registered if inspect.isclass(part)}


def is_network_of_0_2(document: Json) -> bool:
    """Additive models of 0.2 have "effects": they are another model, and are not read."""
    return isinstance(document, dict) and document.get("format") == MODEL_FORMAT - 1 and "effects" not in document


def as_format_3(document: Json) -> Json:
    """The document with today's keys, without its trace and without options that learners have lost."""
    content = mapping(document, "the document")
    options = dict(mapping(content.get("options"), "options"))
    for role in ("structure", "criterion", "parameters"):
        part = options.get(role)
        if isinstance(part, dict) and part.get("part") in LOST_OPTIONS:
            inner, lost = mapping(part.get("options"), f"options.{role}"), LOST_OPTIONS[str(part["part"])]
            kept: dict[str, Json] = {key: value for key, value in inner.items() if key not in lost}
            options[role] = {**part, "options": kept}
    if options.get("handle_unknown") == "marginalize":
        options["handle_unknown"] = "average"
    return {
        **content,
        "format": MODEL_FORMAT,
        "options": options,
        "trace": to_json(Trace((), ParameterTrace()), "trace", _traces()),
    }


def imputation_of_0_2(model: Network, filling: Json, class_count: Array) -> Imputation:
    """What unknown cells may hold, by the P(attribute | class) of "filling", which was a tree of frequencies."""
    tree = read_network_parts(model.columns, mapping(filling, "filling"), model.columns[-1].name)
    target = len(tree.nodes) - 1
    by_class: dict[int, Array] = {}
    for node in (node for node in tree.dag.order if node != target):
        cells = tree.tables[node].reshape(-1, tree.n_states[-1], tree.n_states[node])
        above = next((by_class[parent] for parent in tree.dag.parents[node] if parent != target), None)
        by_class[node] = cells[0] if above is None else np.einsum("cp,pcx->cx", above, cells)
    counts = [(by_class[node] * class_count[:, np.newaxis]).T for node in range(target)]
    return learn_imputation(model, EncodedBatch.empty(model.n_states), class_count, counts, range(target + 1))
