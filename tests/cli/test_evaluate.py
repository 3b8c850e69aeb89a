"""`tanager evaluate`: the measures are scikit-learn's, by folds or of a model on new rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from cli.iris_table import IRIS, NAMES, SPECIES
from tanager import BayesianNetworkClassifier, load_model
from tanager.cli.main import run
from tanager.files.write_table import write_table


def test_evaluate_measures_a_model_on_rows_as_scikit_learn_does(iris, capsys):
    run(["fit", "iris.csv", "--class", "species", "-o", "m.json"])
    write_table(iris.take(list(range(40, 120))), "test.csv")
    assert run(["evaluate", "test.csv", "--model", "m.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    p = load_model("m.json").predict_proba(iris.select(NAMES))[40:120]
    truth = SPECIES[40:120]
    labels = ["setosa", "versicolor", "virginica"]
    assert found["rows"] == 80
    assert found["accuracy"] == accuracy_score(truth, np.array(labels)[p.argmax(axis=1)])
    assert found["log_loss"] == pytest.approx(log_loss(truth, p, labels=labels))
    assert found["auc"] == pytest.approx(roc_auc_score(truth, p, multi_class="ovr", labels=labels))
    assert run(["evaluate", "test.csv", "--model", "m.json"]) == 0
    assert f"{found['log_loss']:.4f}" in capsys.readouterr().out


def test_evaluate_equals_scikit_learns_measures_fold_by_fold(iris, capsys):
    command = ["evaluate", "iris.csv", "--class", "species", "--folds", "4", "--seed", "5", "--json"]
    assert run(command) == 0
    result = json.loads(capsys.readouterr().out)
    X = iris.select(NAMES)
    expected: dict[str, list[float]] = {"accuracy": [], "log_loss": [], "brier": [], "auc": []}
    for train, test in StratifiedKFold(4, shuffle=True, random_state=5).split(IRIS.data, SPECIES):
        clf = BayesianNetworkClassifier(random_state=5).fit(X.take(train), SPECIES[train])
        p = clf.predict_proba(X.take(test))
        expected["accuracy"].append(accuracy_score(SPECIES[test], clf.predict(X.take(test))))
        expected["log_loss"].append(log_loss(SPECIES[test], p))
        expected["brier"].append(np.mean(np.sum((p - np.eye(3)[IRIS.target[test]]) ** 2, axis=1)))
        expected["auc"].append(roc_auc_score(SPECIES[test], p, multi_class="ovr"))
    for name, folds in expected.items():
        assert result[name]["folds"] == pytest.approx(folds, rel=1e-12)
        assert result[name]["mean"] == pytest.approx(np.mean(folds))
        assert result[name]["std"] == pytest.approx(np.std(folds, ddof=1))
    assert all(seconds > 0 for name in ("fit_seconds", "predict_seconds") for seconds in result[name]["folds"])
    assert result["rows"] == 150


def test_evaluate_prints_a_table_with_every_measure(iris, capsys):
    assert run(["evaluate", "iris.csv", "--class", "species", "--structure", "naive-bayes", "--folds", "3"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(word in out for word in ("naive-bayes", "accuracy", "log loss", "brier", "auc", "fit seconds", "±"))


def test_a_class_rarer_than_the_folds_is_measured_with_a_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + "u,a\nv,b\n" * 10 + "w,c\n")
    assert run(["evaluate", "a.csv", "--class", "y", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "tanager: warning: a class has only 1 rows, fewer than the 5 folds: some folds are without it."
    ]
    assert np.isfinite(json.loads(out)["log_loss"]["mean"])
