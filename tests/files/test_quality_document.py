"""The quality in a model file: it comes back as it was, changes no prediction, and cannot say what its rows do not."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.mixed_table import CATEGORICAL, LABELS, MIXED
from tanager import FileError, TANClassifier, cross_validate_model, load_model, save_model
from tanager.errors import OptionError
from tanager.files.model_file import to_document
from tanager.metrics import Measures, Predictions, Quality


@pytest.fixture(scope="module")
def model() -> TANClassifier:
    options = {"criterion": "bic", "parameters": "frequency", "categorical_features": CATEGORICAL}
    return TANClassifier(**options).fit(MIXED, LABELS)


@pytest.fixture(scope="module")
def quality(model) -> Quality:
    return cross_validate_model(model, MIXED, LABELS, folds=3)


@pytest.fixture(scope="module")
def document(model, quality) -> dict:
    return json.loads(json.dumps(to_document(model, quality)))


def assert_same(one: Quality, other: Quality) -> None:
    for name in ("split", "measures", "low", "high", "base", "confidence", "calibration_error", "digest"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("classes", "base_rate", "confusion"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("probabilities", "class_codes", "folds"):
        np.testing.assert_array_equal(getattr(one.predictions, name), getattr(other.predictions, name))
    assert str(one) == str(other)
    assert one.to_dict() == other.to_dict()


def test_a_model_comes_back_with_its_quality_and_predicts_the_same(model, quality, tmp_path):
    save_model(model, tmp_path / "with.json", quality=quality)
    save_model(model, tmp_path / "without.json")
    assert model.quality_ is None
    found, without = load_model(tmp_path / "with.json"), load_model(tmp_path / "without.json")
    assert_same(found.quality_, quality)
    assert without.quality_ is None
    np.testing.assert_array_equal(found.predict_proba(MIXED), without.predict_proba(MIXED))
    save_model(found, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "with.json").read_bytes()
    assert found.fit(MIXED, LABELS).quality_ is None


def test_no_cell_of_an_attribute_is_in_the_quality(model, quality):
    kept = to_document(model, quality)["quality"]
    assert kept["probabilities"] == quality.predictions.probabilities.tolist()
    words = json.dumps(kept)
    assert not any(json.dumps(cell) in words for cell in ("ä", "b,", "2024-02-28"))


def test_of_many_predictions_a_sample_is_kept_and_the_measures_of_all(model, tmp_path):
    generator = np.random.default_rng(1)
    p, codes = generator.dirichlet([2, 1], 12_000), generator.integers(0, 2, 12_000)
    found = Quality.of(Predictions(p, codes, codes), model.classes_, np.array([0.5, 0.5]), "by hand")
    save_model(model, tmp_path / "m.json", quality=found)
    again = load_model(tmp_path / "m.json").quality_
    assert (again.measures, again.n_rows) == (found.measures, 12_000)
    assert again.predictions.probabilities.shape == (10_000, 2)
    rows = {tuple(row) for row in p.tolist()}
    assert all(tuple(row) in rows for row in again.predictions.probabilities.tolist())
    save_model(load_model(tmp_path / "m.json"), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_a_quality_of_other_classes_is_not_saved(model, quality, tmp_path):
    other = replace(quality, classes=np.array(["a", "b"]))
    with pytest.raises(OptionError, match="of a model of the classes"):
        save_model(model, tmp_path / "m.json", quality=other)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("measures", "accuracy", 0), 0.999, "not those of its probabilities"),
        (("measures", "log_loss", 0), 0.001, "not those of its probabilities"),
        (("measures", "brier", 3), 0.1, "not those of its probabilities"),
        (("measures", "brier", 1), -0.1, "not negative"),
        (("measures", "accuracy", 1), None, "four numbers"),
        (("measures", "auc"), [1.0], "expected 4"),
        (("measures",), {}, "must hold accuracy"),
        (("confusion", 0, 0), 5, "quality"),
        (("confusion", 0, 0), -1, "whole numbers"),
        (("confusion",), [[1]], "expected 2"),
        (("confidence",), 0.5, "not those of its probabilities"),
        (("calibration_error",), 2, "from 0 to 1"),
        (("base_rate",), [0.5, 0.6], "sum to one"),
        (("base_rate",), [0.4, 0.6], "not those of its probabilities"),
        (("probabilities", 0), [0.5, 0.6], "sum to one"),
        (("probabilities", 0), [0.5], "one length"),
        (("probabilities",), [], "quality"),
        (("class_codes", 0), 2, "whole numbers from 0 to 1"),
        (("class_codes", 0), True, "whole numbers"),
        (("folds",), [0], "expected 60"),
        (("split",), "x" * 1000, "quality"),
        (("digest",), 7, "quality.digest must be a text"),
        (("more",), 7, "quality must hold"),
        ((), [], "must be an object"),
    ],
)
def test_a_fault_is_refused_and_named(document, tmp_path, place, value, words):
    changed = copy.deepcopy(document)
    node, steps = changed, ("quality", *place)
    for step in steps[:-1]:
        node = node[step]
    node[steps[-1]] = value
    (tmp_path / "m.json").write_text(json.dumps(changed))
    with pytest.raises(FileError, match="is not a model that can be read") as caught:
        load_model(tmp_path / "m.json")
    assert words in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_single_value_changed_is_refused_or_changes_no_measure(document, model, tmp_path_factory, data):
    changed = copy.deepcopy(document)
    node, place = changed, ["quality"]
    while isinstance(node[place[-1]], dict | list):
        node = node[place[-1]]
        place.append(data.draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node)))))
    node[place[-1]] = data.draw(st.none() | st.booleans() | st.integers(-2, 3) | st.floats(0, 1) | st.text(max_size=3))
    path = tmp_path_factory.mktemp("fuzz") / "m.json"
    path.write_text(json.dumps(changed))
    try:
        found = load_model(path)
    except FileError:
        return
    expected = Measures(*(document["quality"]["measures"][name][0] for name in Measures._fields))
    np.testing.assert_allclose(found.quality_.measures, expected, rtol=1e-6)
    assert str(found.quality_)
    np.testing.assert_array_equal(found.predict_proba(MIXED), model.predict_proba(MIXED))
