"""Model files of networks of effects: they predict the same after a round trip, and faults are named."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, load_model, read_network, save_model
from tanager.errors import FileError


@pytest.fixture
def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=200),
            "when": np.datetime64("2021-01-01") + rng.integers(0, 300, 200),
            "grade": pd.Categorical.from_codes(rng.integers(0, 3, 200), ["low", "mid", "high"], ordered=True),
            "sort": rng.choice(["a", "b"], 200),
        }
    )
    y = np.where((X["x"] > 0) ^ (X["sort"] == "a") ^ (rng.random(200) < 0.1), "yes", "no")
    X.loc[::7, "x"] = np.nan
    return X, y


@pytest.mark.parametrize("missing", ["auto", "average"])
def test_a_model_of_effects_predicts_bit_by_bit_the_same_after_a_round_trip(table, missing, tmp_path):
    X, y = table
    clf = AdditiveClassifier(missing=missing).fit(X, y)
    assert clf.model_.pairs
    save_model(clf, tmp_path / "model.json")
    same = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
    assert same.model_.columns == clf.model_.columns
    assert same.trace_ == clf.trace_


def test_a_model_of_effects_is_no_network_of_tables(table, tmp_path):
    save_model(AdditiveClassifier().fit(*table), tmp_path / "model.json")
    with pytest.raises(FileError, match="an additive model, which is no network of tables"):
        read_network(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda effects: effects["mains"].pop(), "effects.mains"),
        (lambda effects: effects["intercept"].append(0.0), "intercept"),
        (lambda effects: effects["pairs"].__setitem__(0, [0, 0]), r"effects.pairs\[0\]"),
        (lambda effects: [effects[name].append(effects[name][0]) for name in ("pairs", "tables")], "twice"),
        (lambda effects: effects["tables"][0].pop(), "shape"),
        (lambda effects: effects["mains"][0][0].pop(), "one length"),
        (lambda effects: effects.pop("densities"), "effects.densities"),
        (lambda effects: effects["mains"][0][0].__setitem__(0, "much"), r"effects.mains\[0\]"),
    ],
)
def test_a_fault_in_the_effects_is_named(table, change, message, tmp_path):
    path = tmp_path / "model.json"
    save_model(AdditiveClassifier().fit(*table), path)
    document = json.loads(path.read_text())
    change(document["effects"])
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match=message):
        load_model(path)
