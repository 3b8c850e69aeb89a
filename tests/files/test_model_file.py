"""Model files: a loaded model is the saved one; what cannot be kept is refused before anything is written."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import KBinsDiscretizer

from files.mixed_table import CATEGORICAL, LABELS, MIXED, N_ROWS, mixed_model
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, load_model, save_model
from tanager.errors import FileError, TanagerError
from tanager.files.model_file import CLASSIFIERS
from tanager.parameters import Frequency
from tanager.scores import ACLL, BDeu
from tanager.structure import Dag, Fixed, Tree


def test_a_loaded_model_predicts_bit_by_bit_the_same(tmp_path):
    tables = [load_iris(return_X_y=True), load_breast_cancer(return_X_y=True), (MIXED, LABELS)]
    for X, y in tables:
        for make in CLASSIFIERS.values():
            clf = make().fit(X, y)
            save_model(clf, tmp_path / "model.json")
            loaded = load_model(tmp_path / "model.json")
            assert type(loaded) is make
            np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X), strict=True)
            np.testing.assert_array_equal(loaded.predict(X), clf.predict(X), strict=True)


def test_a_network_whose_trace_is_of_version_0_2_is_read(tmp_path):
    path, (X, y) = tmp_path / "model.json", load_iris(return_X_y=True)
    clf = BayesianNetworkClassifier("naive-bayes", parameters="conditional").fit(X, y)
    save_model(clf, path)
    document = json.loads(path.read_text())
    document["trace"]["parameters"]["mean_of_fits"] = 1
    path.write_text(json.dumps(document))
    assert load_model(path).trace_ == clf.trace_


def test_categories_keep_their_values_and_types(tmp_path):
    clf = mixed_model()
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.encoder_ == clf.encoder_
    assert loaded.network_.columns == clf.network_.columns
    types = [[type(value) for value in column.categories] for column in loaded.network_.columns]
    assert types == [[type(value) for value in column.categories] for column in clf.network_.columns]
    kinds = {kind for column in types for kind in column}
    assert kinds == {str, bool, int, float, datetime.date, datetime.datetime}
    assert {column.unit for column in loaded.network_.columns} == {"number", "date"}


def test_everything_a_fit_leaves_is_there_after_loading(tmp_path):
    clf = mixed_model()
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == clf.get_params()
    assert loaded.network_.dag == clf.network_.dag
    assert loaded.network_.target == clf.network_.target
    assert loaded.trace_ == clf.trace_
    assert loaded.trace_.structure
    assert loaded.structure_score_ == clf.structure_score_
    assert loaded.n_features_in_ == clf.n_features_in_
    np.testing.assert_array_equal(loaded.feature_names_in_, clf.feature_names_in_, strict=True)
    assert {name for name in vars(clf) if name.endswith("_")} <= set(vars(loaded))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype="<U30"),
        np.array(["no", "yes"], dtype=object),
        np.array([-1, 1], dtype=np.int8),
        np.array([3, 2**63], dtype=np.uint64),
        np.array([False, True]),
        np.array([0.0, 1.0], dtype=np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_class_labels_keep_their_dtype(tmp_path, labels):
    clf = NaiveBayesClassifier().fit(MIXED, labels[np.arange(N_ROWS) % 2])
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
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
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
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
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.structure.get_params() == structure.get_params()
    again = clone(loaded).fit(MIXED, LABELS)
    assert again.network_.dag == clf.network_.dag
    save_model(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_saving_a_loaded_model_writes_the_same_file(tmp_path):
    save_model(mixed_model(), tmp_path / "first.json")
    save_model(load_model(tmp_path / "first.json"), tmp_path / "second.json")
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()


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
