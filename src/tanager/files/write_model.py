"""A fitted classifier -> one JSON document.

    {"format": 1, "versions": {...}, "classifier": "TANClassifier", "options": {...},
     "named": true, "class_dtype": "<U9", "columns": [...], "parents": [...], "tables": [...],
     "structure_score": -12.5, "trace": {"structure": [...], "parameters": {...}}}

The columns, the parents and the tables are those of the network (`tanager.network.document`), the class last.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import sklearn
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.files.model_parts import CLASSIFIERS, PARTS
from tanager.network.document import FORMAT, network_parts
from tanager.network.json_values import DocumentError, Json, to_json
from tanager.version import __version__


def to_document(clf: BayesianNetworkClassifier) -> dict[str, Json]:
    """Everything needed to predict as `clf` does; a DocumentError names what cannot be kept."""
    name = type(clf).__name__
    if CLASSIFIERS.get(name) is not type(clf):
        raise DocumentError(f"the classifier is a {name}, expected one of {', '.join(CLASSIFIERS)}")
    options = clf.get_params(deep=False)
    return {
        "format": FORMAT,
        "versions": {"tanager": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "classifier": name,
        "options": {key: to_json(value, f"option {key}", PARTS) for key, value in options.items()},
        "named": clf.encoder_.schema.named,
        "class_dtype": _dtype(clf.classes_),
        **network_parts(clf.network_),
        "structure_score": to_json(clf.structure_score_, "structure_score_", PARTS),
        "trace": {
            "structure": [to_json(asdict(step), "trace_", PARTS) for step in clf.trace_.structure],
            "parameters": to_json(clf.trace_.parameters, "trace_", PARTS),
        },
    }


def _dtype(classes: NDArray[np.generic]) -> str:
    # The width of NumPy's variable-width text is none of the dtype's business.
    return "T" if classes.dtype.kind == "T" else classes.dtype.str
