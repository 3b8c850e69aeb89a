"""A fitted classifier -> one JSON document.

    {"format": 2, "versions": {...}, "classifier": "TANClassifier", "options": {...},
     "named": true, "hidden": 0, "class_dtype": "<U9", "class_count": [50.0, 50.0], "columns": [...],
     "parents": [...], "tables": [...], "structure_score": -12.5, "trace": {"structure": [...], "parameters": {...}}}

The columns, the parents and the tables are those of the network (`tanager.network.document`), the class last, before it
as many as "hidden" says that are nodes only, no columns of the table. In place of parents and tables an additive model,
whose "format" is 3, has "effects" (`tanager.additive.document`), a mixture "members", each with a "weight", parents and
tables, and a mean of all trees "trees": the log weights of having no parent ("alone", null for trees) and of "edges" at
[parent][child], and "members", each with parents and tables (`tanager.network.tree_average`). "class_count" are the
training rows of each class. "filling" has the parents and tables of the network that says what a missing cell may hold,
the corrections of "nothing" and of "states", and their "shift" (`missing.filling`), or is null. "structure_score"
is null for a structure chosen without a criterion, and so are "gain" and "score" of a step of the trace that was not
scored. "recipe" is what is done to a table before the model sees it (`tanager.check`). "quality" is how good the model
is on rows new to it (`tanager.files.quality_document`), or null; "decision" how `predict` decides
(`tanager.files.decision_document`), or null. "posterior", where there is one, is how sure the model is
(`tanager.files.posterior_document`).
"edits" are corrections by hand and what was there before them (`tanager.files.edits_document`). A model without one of
the two has no such key.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import sklearn
from numpy.typing import NDArray

from tanager.additive.document import effect_parts
from tanager.additive.model import AdditiveModel, AnyModel
from tanager.additive.trace import AdditiveTrace
from tanager.check.preprocessing import NOTHING_TO_DO, Recipe
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.learning import Trace
from tanager.files.decision_document import write_decision
from tanager.files.edits_document import write_revisions
from tanager.files.model_parts import CLASSIFIERS, known_parts
from tanager.files.posterior_document import write_posterior
from tanager.files.quality_document import write_quality
from tanager.files.trace_document import write_trace
from tanager.metrics import Quality
from tanager.missing.filling import Filling
from tanager.missing.rule import GapRule
from tanager.network.document import DocumentError, Json, network_parts, to_json, write_columns
from tanager.network.mixture import MixtureNetwork
from tanager.network.tree_average import TreeAverageNetwork
from tanager.version import __version__

MODEL_FORMAT, ADDITIVE_FORMAT = 2, 3
"""Number of the form above, of networks and of additive models. A file of another number is refused."""


def to_document(
    clf: TableClassifier, quality: Quality | None = None, recipe: Recipe = NOTHING_TO_DO
) -> dict[str, Json]:
    """Everything needed to predict as `clf` does, and how good it is; a DocumentError names what cannot be kept."""
    name = type(clf).__name__
    edits = write_revisions(clf.edits_, clf.model_, clf.gaps_, _filling) if clf.model_.kind == "effects" else []
    if CLASSIFIERS.get(name) is not type(clf):
        raise DocumentError(f"the classifier is a {name}, expected one of {', '.join(CLASSIFIERS)}")
    options, parts = clf.get_params(deep=False), known_parts()
    return {
        "format": ADDITIVE_FORMAT if clf.model_.kind == "effects" else MODEL_FORMAT,
        "versions": {"tanager": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "classifier": name,
        "options": {key: to_json(value, f"option {key}", parts) for key, value in options.items()},
        "named": clf.encoder_.schema.named,
        "hidden": len(clf.model_.columns) - 1 - len(clf.encoder_.schema.attributes),
        "class_dtype": _dtype(clf.classes_),
        "class_count": clf.class_count_.tolist(),
        **_network(clf.model_),
        "filling": _filling(clf.gaps_),
        "recipe": recipe.to_dict(),
        "structure_score": to_json(getattr(clf, "structure_score_", None), "structure_score_", {}),
        "trace": _trace(clf.trace_),
        "quality": write_quality(clf.quality_ if quality is None else quality),
        "decision": write_decision(clf.decision_, clf.classes_),
        **write_posterior(clf.posterior_),
        **({"edits": edits} if edits else {}),
    }


def _trace(trace: Trace | AdditiveTrace) -> Json:
    if isinstance(trace, AdditiveTrace):
        return {"structure": [], "parameters": write_trace(trace)}
    steps: list[Json] = [to_json(asdict(step), "trace_", {}) for step in trace.structure]
    return {"structure": steps, "parameters": write_trace(trace.parameters)}


def _filling(rule: GapRule) -> Json:
    filling: Filling | None = getattr(rule, "filling", None)
    if filling is None:
        return None
    return {
        **network_parts(filling.filler),
        "nothing": filling.nothing.tolist(),
        "states": [entries.tolist() for entries in filling.states],
        "shift": filling.shift.tolist(),
    }


def _network(network: AnyModel) -> dict[str, Json]:
    if isinstance(network, AdditiveModel):
        return {"columns": write_columns(network.columns), "effects": effect_parts(network)}
    if isinstance(network, MixtureNetwork):
        weighted: list[Json] = [
            {"weight": weight, **network_parts(member)}
            for weight, member in zip(network.weights.tolist(), network.members, strict=True)
        ]
        rules: list[Json] = [] if network.subsumption is None else [said.tolist() for said in network.subsumption.said]
        return {"columns": write_columns(network.columns), "members": weighted, "subsumption": rules}
    if isinstance(network, TreeAverageNetwork):
        alone, *edges = network.log_weights.tolist()
        trees: dict[str, Json] = {
            "alone": None if np.isneginf(alone).all() else alone,
            "edges": edges,
            "members": [network_parts(member) for member in network.members],
        }
        return {"columns": write_columns(network.columns), "trees": trees}
    return {"columns": write_columns(network.columns), **network_parts(network)}


def _dtype(classes: NDArray[np.generic]) -> str:
    # The width of NumPy's variable-width text is none of the dtype's business.
    return "T" if classes.dtype.kind == "T" else classes.dtype.str
