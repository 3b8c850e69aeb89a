"""The iris table, with names of columns and classes in words."""

from __future__ import annotations

import pyarrow as pa
from sklearn.datasets import load_iris

IRIS = load_iris()
SPECIES = IRIS.target_names[IRIS.target]
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def iris_table() -> pa.Table:
    return pa.table(list(IRIS.data.T.copy()), names=NAMES).append_column("species", [SPECIES.tolist()])
