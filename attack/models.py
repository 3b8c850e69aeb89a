"""The documents that are changed in one value: a model of every form, and every part that a file may have."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    apply_edits,
    cross_validate_model,
)
from tanager.additive.forest import Forest
from tanager.check.preprocessing import NOTHING_TO_DO, Recipe
from tanager.classifiers.base import TableClassifier
from tanager.decide import CostDecision, ThresholdDecision
from tanager.edits import Edit
from tanager.files.model_file import to_document
from tanager.missing.rule import Expected
from tanager.structure import AnDE

ROWS = pa.table(
    {
        "colour": ["red", "blue", "red", "green"] * 6,
        "flag": [True, False, False, True] * 6,
        "size": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] * 4,
    }
)
CLASSES = ["yes", "no", "maybe"] * 8
TWO_CLASSES = ["yes", "no", "no", "yes", "yes", "no"] * 4
MENDING = Recipe.from_dict(
    {
        "class": "y",
        "missing": ["?"],
        "steps": [
            {"step": "merge", "column": "colour", "texts": ["red"]},
            {"step": "number", "column": "weight", "thousands": ",", "decimal": "."},
            {"step": "drop", "column": "gone"},
        ],
    }
)


def tables() -> BayesianNetworkClassifier:
    return TANClassifier(discretizer="quantile", parameters="frequency").fit(ROWS, CLASSES)


def effects() -> AdditiveClassifier:
    """Curves and pairs that average over gaps."""
    return AdditiveClassifier().fit(ROWS, CLASSES)


def trees() -> AdditiveClassifier:
    """Effects with two trees, of which one asks for two attributes."""
    clf = AdditiveClassifier().fit(ROWS, CLASSES)
    n_codes = np.array([column.n_states + 1 for column in clf.model_.columns[:-1]])
    attributes = np.array([[0, 2, -1], [1, -1, -1]])
    left = np.zeros((*attributes.shape, max(n_codes)), dtype=bool)
    left[:, :, :2] = True
    values = np.array([[0, 0, 0.25, -0.5, 0.75, 0, 0], [0, 0.5, -0.5, 0, 0, 0, 0]])
    weights = np.array([[0, 0, 8.0, 4.0, 12.0, 0, 0], [0, 12.0, 12.0, 0, 0, 0, 0]])
    forest = Forest.of_heaps(attributes, left, values, weights, np.array([0, 1]), n_codes, 3)
    network = replace(clf.model_, forest=forest)
    clf.missing_rule_ = Expected(network)
    clf.model_ = network
    return clf


def mixture() -> BayesianNetworkClassifier:
    return BayesianNetworkClassifier(AnDE(), parameters="frequency", discretizer="quantile").fit(ROWS, CLASSES)


def forests() -> BayesianNetworkClassifier:
    return BayesianNetworkClassifier("tree-average", parameters="frequency", discretizer="quantile").fit(ROWS, CLASSES)


def sure() -> BayesianNetworkClassifier:
    """Tables with a decision by costs, and their uncertainty."""
    clf = tables().prepare_intervals(ROWS, CLASSES)
    clf.decision_ = CostDecision(tuple(clf.classes_.tolist()), np.array([[0.0, 1, 2], [10, 0, 1], [3, 2, 0]]), 0.5)
    return clf


def corrected() -> AdditiveClassifier:
    """Effects with a quality and a threshold, corrected by hand."""
    clf = AdditiveClassifier().fit(ROWS, TWO_CLASSES)
    clf.quality_ = cross_validate_model(NaiveBayesClassifier().fit(ROWS, TWO_CLASSES), ROWS, TWO_CLASSES)
    clf = apply_edits(clf, [Edit.flatten("size", 1, 3, reason="few rows"), Edit.remove("flag", reason="forbidden")])
    clf.decision_ = ThresholdDecision(("no", "yes"), "yes", 0.25)
    return clf


def reference() -> AdditiveClassifier:
    """Effects of one column, and their uncertainty."""
    clf = AdditiveClassifier().fit(ROWS.select(["flag"]), TWO_CLASSES)
    return clf.prepare_intervals(ROWS.select(["flag"]), TWO_CLASSES)


MODELS: dict[str, Callable[[], TableClassifier]] = {
    "tables": tables,
    "effects": effects,
    "trees": trees,
    "mixture": mixture,
    "forests": forests,
    "sure": sure,
    "corrected": corrected,
    "reference": reference,
}


@cache
def document(name: str) -> dict[str, Any]:
    """What the file of a model holds."""
    clf = MODELS[name]()
    return json.loads(json.dumps(to_document(clf, recipe=MENDING if name == "tables" else NOTHING_TO_DO)))
