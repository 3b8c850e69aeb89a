"""Model files: a loaded model is the saved one; what cannot be kept is refused before anything is written."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import KBinsDiscretizer

from files.mixed_table import CATEGORICAL, LABELS, MIXED, N_ROWS, mixed_model
from files.test_model_faults import change
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    cross_validate_model,
    load_model,
    read_network,
    save_model,
)
from tanager.classifiers.base import TableClassifier
from tanager.cli.main import run
from tanager.errors import FileError, OptionError, TanagerError
from tanager.files.model_file import CLASSIFIERS, to_document
from tanager.metrics import Predictions, Quality
from tanager.parameters import Frequency
from tanager.scores import ACLL, BDeu
from tanager.structure import Dag, Fixed, Tree


def saved(clf: TableClassifier, tmp_path: Path, **options: object) -> TableClassifier:
    """The classifier after a round trip through a file."""
    save_model(clf, tmp_path / "model.json", **options)
    return load_model(tmp_path / "model.json")


def test_a_loaded_model_predicts_bit_by_bit_the_same(tmp_path):
    tables = [load_iris(return_X_y=True), load_breast_cancer(return_X_y=True), (MIXED, LABELS)]
    for X, y in tables:
        for make in CLASSIFIERS.values():
            clf = make().fit(X, y)
            loaded = saved(clf, tmp_path)
            assert type(loaded) is make
            np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X), strict=True)
            np.testing.assert_array_equal(loaded.predict(X), clf.predict(X), strict=True)


@pytest.mark.parametrize("name", ["tan-cond", "aode", "kdb"])
def test_a_network_of_version_0_2_predicts_what_it_predicted_there(tmp_path, name):
    """`networks_of_0_2.json` was written by version 0.2: models of iris, and P(class | row) of every tenth row."""
    written = json.loads(Path(__file__).with_name("networks_of_0_2.json").read_text())[name]
    if name == "aode":  # with an option that has gone since
        options = {"n": 1, "weights": "equal", "subsumption": None}
        written["document"]["options"]["structure"] = {"part": "AnDE", "options": options}
    (tmp_path / "model.json").write_text(json.dumps(written["document"]))
    X = load_iris(as_frame=True).data[::10]
    clf = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(clf.predict_proba(X), written["probabilities"], rtol=0, atol=1e-12)
    unknown = clf.predict_proba(X.assign(**dict.fromkeys(X.columns, np.nan)))
    np.testing.assert_allclose(unknown, 1 / 3, atol=0.005)  # the class frequencies
    save_model(clf, tmp_path / "again.json")
    np.testing.assert_array_equal(load_model(tmp_path / "again.json").predict_proba(X), clf.predict_proba(X))


def test_an_additive_model_of_version_0_2_is_refused_in_one_line(tmp_path, capsys):
    path, (X, y) = tmp_path / "model.json", load_iris(return_X_y=True)
    old = {**to_document(AdditiveClassifier(trees=False).fit(X, y)), "format": 2}
    path.write_text(json.dumps(old))
    with pytest.raises(FileError, match="reads format 3: fit it again: tanager fit TABLE -o MODEL") as refused:
        load_model(path)
    assert "\n" not in str(refused.value)
    assert run(["predict", str(path), str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_everything_a_fit_leaves_is_there_after_loading(tmp_path):
    clf = mixed_model()
    loaded = saved(clf, tmp_path)
    assert loaded.get_params() == clf.get_params()
    for name in ("encoder_", "trace_", "structure_score_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(clf, name)
    for name in ("columns", "dag", "target"):
        assert getattr(loaded.network_, name) == getattr(clf.network_, name)
    np.testing.assert_array_equal(loaded.feature_names_in_, clf.feature_names_in_, strict=True)
    assert {name for name in vars(clf) if name.endswith("_")} <= set(vars(loaded))
    types = [[type(value) for value in column.categories] for column in loaded.network_.columns]
    assert types == [[type(value) for value in column.categories] for column in clf.network_.columns]
    kinds = {kind for column in types for kind in column}
    assert kinds == {str, bool, int, float, datetime.date, datetime.datetime}


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([3, 2**63], dtype=np.uint64),
        np.array([False, True]),
        np.array([0.0, 1.0], dtype=np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_class_labels_keep_their_dtype(tmp_path, labels):
    clf = NaiveBayesClassifier().fit(MIXED, labels[np.arange(N_ROWS) % 2])
    loaded = saved(clf, tmp_path)
    np.testing.assert_array_equal(loaded.classes_, clf.classes_, strict=True)
    assert [type(label) for label in loaded.classes_] == [type(label) for label in clf.classes_]


def test_part_objects_and_lists_among_the_options_are_kept(tmp_path):
    clf = BayesianNetworkClassifier(
        Tree(root="flag", forbidden_edges=[("flag", "code")]),
        ACLL(b=float("inf"), pseudo_count=0.25),
        Frequency(smoothing="friedman", alpha=2.5),
        categorical_features=CATEGORICAL,
        handle_unknown="error",
        n_jobs=1,
    )
    clf.set_params(criterion=BDeu()).fit(MIXED, LABELS)
    clf.set_params(criterion=ACLL(b=float("inf"), pseudo_count=0.25))
    loaded = saved(clf, tmp_path)
    assert repr(loaded) == repr(clf)
    assert loaded.structure.forbidden_edges == [("flag", "code")]
    assert loaded.get_params()["criterion__b"] == float("inf")
    assert loaded.encoder_.unseen_is_error
    np.testing.assert_array_equal(loaded.predict_proba(MIXED), clf.predict_proba(MIXED))


@pytest.mark.parametrize(
    "structure",
    [
        Fixed({"text": ["flag"], "code": []}),
        Fixed({2: [0], 4: [2]}),
        Fixed({(0, 2), (2, 4)}),
        Fixed(Dag.augmented_naive_bayes([(), (), (0,), (), (2,), (), (), ()])),
        Tree(forbidden_edges=frozenset({("flag", "code"), ("text", "code")}), root="flag"),
    ],
    ids=lambda structure: type(getattr(structure, "edges", frozenset())).__name__,
)
def test_edges_are_kept_in_whatever_form_they_were_given(tmp_path, structure):
    clf = BayesianNetworkClassifier(structure, parameters="frequency", categorical_features=CATEGORICAL)
    clf.fit(MIXED, LABELS)
    loaded = saved(clf, tmp_path)
    assert loaded.structure.get_params() == structure.get_params()
    again = clone(loaded).fit(MIXED, LABELS)
    assert again.network_.dag == clf.network_.dag
    save_model(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_a_loaded_naive_bayes_says_that_a_file_holds_no_counts_to_add_to(tmp_path):
    save_model(NaiveBayesClassifier().fit(MIXED, LABELS), tmp_path / "model.json")
    with pytest.raises(TanagerError, match="read from a file"):
        load_model(tmp_path / "model.json").partial_fit(MIXED, LABELS)


def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    with pytest.raises(FileError, match="discretizer"):
        save_model(NaiveBayesClassifier(discretizer=KBinsDiscretizer(3, strategy="uniform")).fit(MIXED, LABELS), path)
    with pytest.raises(NotFittedError):
        save_model(NaiveBayesClassifier(), path)

    class Mine(NaiveBayesClassifier):
        pass

    with pytest.raises(FileError, match="Mine"):
        save_model(Mine().fit(MIXED, LABELS), path)
    with pytest.raises(FileError, match="does not exist"):
        save_model(mixed_model(), tmp_path / "absent" / "model.json")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("model.json", "old")]


@pytest.fixture(scope="module")
def additive() -> AdditiveClassifier:
    """With a pair that decides."""
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (200, 2)), columns=["a", "b"]).astype(str)
    return AdditiveClassifier(trees=False).fit(X, X["a"] != X["b"])


def test_a_model_of_effects_is_no_network_of_tables(additive, tmp_path):
    save_model(additive, tmp_path / "model.json")
    with pytest.raises(FileError, match="an additive model, which is no network of tables"):
        read_network(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda effects: effects["mains"].pop(), "effects.mains"),
        (lambda effects: [effects[name].append(effects[name][0]) for name in ("pairs", "tables")], "twice"),
        (lambda effects: effects["tables"][0].pop(), "shape"),
        (lambda effects: effects["mains"][0][0].__setitem__(0, "much"), r"effects.mains\[0\]"),
    ],
)
def test_a_fault_in_the_effects_is_named(additive, change, message, tmp_path):
    changed = json.loads(json.dumps(to_document(additive)))
    change(changed["effects"])
    (tmp_path / "model.json").write_text(json.dumps(changed))
    with pytest.raises(FileError, match=message):
        load_model(tmp_path / "model.json")


@pytest.fixture(scope="module")
def model() -> TANClassifier:
    options = {"criterion": "bic", "parameters": "frequency", "categorical_features": CATEGORICAL}
    return TANClassifier(**options).fit(MIXED, LABELS)


@pytest.fixture(scope="module")
def quality(model) -> Quality:
    return replace(cross_validate_model(model, MIXED, LABELS, cv=3), event=model.classes_.tolist()[0])


@pytest.fixture(scope="module")
def document(model, quality) -> dict:
    return json.loads(json.dumps(to_document(model, quality)))


def assert_same(one: Quality, other: Quality) -> None:
    for name in ("split", "measures", "low", "high", "base", "confidence", "calibration_error", "digest", "event"):
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
        (("measures", "brier", 1), -0.1, "not negative"),
        (("measures",), {}, "must hold accuracy"),
        (("confusion", 0, 0), 5, "quality"),
        (("base_rate",), [0.5, 0.6], "sum to one"),
        (("class_codes", 0), 2, "whole numbers from 0 to 1"),
        (("folds",), [0], "expected 60"),
        (("event",), "no class", "quality.event must be null or a class"),
        (("more",), 7, "quality must hold"),
        ((), [], "must be an object"),
    ],
)
def test_a_fault_is_refused_and_named(document, tmp_path, place, value, words):
    (tmp_path / "m.json").write_text(change(document, ("quality", *place), value))
    with pytest.raises(FileError, match="is not a model that can be read") as caught:
        load_model(tmp_path / "m.json")
    assert words in str(caught.value)
