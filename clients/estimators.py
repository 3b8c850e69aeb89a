"""A small table of numbers, missing values and text, and every public estimator fitted to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone

import tanager
from tanager import classifiers

ESTIMATORS = {name: getattr(classifiers, name)() for name in classifiers.__all__ if "Cl" in name}
ESTIMATORS["FixedDecisionClassifier"] = tanager.FixedDecisionClassifier(
    tanager.NaiveBayesClassifier(), costs={("ill", "well"): 10}
)


def arrow_table(n_rows: int = 300) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Two numeric columns, one of them with missing values, and one of text; two classes that depend on them."""
    rng = np.random.default_rng(0)
    size, weight = rng.normal(size=(2, n_rows))
    kind = np.where(size + rng.normal(size=n_rows) > 0, "big", "small")
    y = np.where(size + weight + (kind == "big") + rng.normal(size=n_rows) > 0.5, "ill", "well")
    present = rng.random(n_rows) > 0.1
    return pa.table({"size": size, "weight": pa.array(weight, mask=~present), "kind": kind}), y


def frame(n_rows: int = 300) -> tuple[Any, np.ndarray[Any, Any]]:
    """The same as a pandas frame."""
    X, y = arrow_table(n_rows)
    return X.to_pandas(), y


def fitted(name: str) -> Any:
    X, y = frame()
    return clone(ESTIMATORS[name]).fit(X, y)


def check_same(found: Any, expected: Any) -> None:
    """The same estimator, and for every row the same bits."""
    X, _ = frame()
    assert repr(found) == repr(expected)
    assert found.predict(X).tolist() == expected.predict(X).tolist()
    assert found.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()
