"""A fitted classifier -> one JSON document.

    {"format": 1, "versions": {...}, "classifier": "TANClassifier", "options": {...},
     "named": true, "columns": [{...} for every attribute, then the class], "class_dtype": "<U9",
     "parents": [[2], [0, 2], []], "tables": [[[p, ...], ...], ...],
     "structure_score": -12.5, "trace": {"structure": [...], "parameters": {...}}}

Nodes are numbered by column, the class last. A table has a row per parent configuration and a cell per state. Numbers
are written so that they are read back bit by bit; `json_values` says how other values are.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import sklearn
from numpy.typing import NDArray

import tanager
from tanager.classifiers import BayesianNetworkClassifier
from tanager.files.json_values import DocumentError, Json, to_json
from tanager.files.model_parts import CLASSIFIERS, FORMAT, PARTS
from tanager.table.schema import ColumnSchema


def to_document(clf: BayesianNetworkClassifier) -> dict[str, Json]:
    """Everything needed to predict as `clf` does; a DocumentError names what cannot be kept."""
    name = type(clf).__name__
    if CLASSIFIERS.get(name) is not type(clf):
        raise DocumentError(f"the classifier is a {name}, expected one of {', '.join(CLASSIFIERS)}")
    network = clf.network_
    options = clf.get_params(deep=False)
    return {
        "format": FORMAT,
        "versions": {"tanager": tanager.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "classifier": name,
        "options": {key: to_json(value, f"option {key}", PARTS) for key, value in options.items()},
        "named": clf.encoder_.schema.named,
        "columns": [_column(column) for column in network.columns],
        "class_dtype": _dtype(clf.classes_),
        "parents": [list(parents) for parents in network.dag.parents],
        "tables": [table.tolist() for table in network.tables],
        "structure_score": to_json(clf.structure_score_, "structure_score_", PARTS),
        "trace": {
            "structure": [to_json(asdict(step), "trace_", PARTS) for step in clf.trace_.structure],
            "parameters": to_json(clf.trace_.parameters, "trace_", PARTS),
        },
    }


def _column(column: ColumnSchema) -> Json:
    document: dict[str, Json] = {"name": column.name, "kind": column.kind, "unit": column.unit}
    if column.kind == "numeric":
        document["cuts"] = list(column.cuts)
    else:
        document["categories"] = [to_json(value, f"column {column.name!r}", PARTS) for value in column.categories]
    return document


def _dtype(classes: NDArray[np.generic]) -> str:
    # The width of NumPy's variable-width text is none of the dtype's business.
    return "T" if classes.dtype.kind == "T" else classes.dtype.str
