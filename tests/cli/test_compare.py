"""`tanager compare` on a table: what it prints and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from tanager import BayesianNetworkClassifier
from tanager.cli.main import run
from tanager.files.read_table import read_table


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The attributes and the class of a.csv in the working folder."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{k % 5},{'pq'[k % 3 == 0]}" for k in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(["x,z,y", *rows]))
    found = read_table("a.csv")
    return found.select(["x", "z"]), found.column("y").to_numpy()


def compare(*arguments):
    return run(["compare", *arguments, "--data", "a.csv", "--class", "y"])


def test_errors_and_losses_are_those_of_the_folds_and_their_means(table, capsys):
    X, y = table
    assert compare("nb=naive-bayes:frequency", "tan:ll:frequency", "--folds", "4") == 0
    out = capsys.readouterr().out
    errors, losses = ([float(cell) for cell in line.split()[1:]] for line in out.splitlines() if line.startswith("nb"))
    wrong, lost = [], []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(y, y):
        clf = BayesianNetworkClassifier("naive-bayes", parameters="frequency").fit(X.take(train), y[train])
        wrong.append(100 * np.mean(clf.predict(X.take(test)) != y[test]))
        lost.append(log_loss(y[test], clf.predict_proba(X.take(test))))
    assert errors == pytest.approx([np.mean(wrong), np.std(wrong, ddof=1), *wrong], rel=1e-3)
    assert losses == pytest.approx([np.mean(lost), np.std(lost, ddof=1), *lost], rel=1e-3)


def test_json_has_every_measure_of_classifiers_by_import_path_too(table, capsys):
    X, y = table
    forest = "forest=sklearn.ensemble.RandomForestClassifier(n_estimators=5)"
    assert compare(forest, "sklearn.svm.LinearSVC", "--folds", "2", "--seed", "3", "--json") == 0
    found = json.loads(capsys.readouterr().out)["classifiers"]
    assert set(found["forest"]) == {"error", "log_loss", "brier", "auc", "fit_seconds"}
    assert found["sklearn.svm.LinearSVC"]["log_loss"] == [None, None]
    matrix = np.column_stack([X.column(name).to_numpy() for name in X.column_names])
    for k, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=3).split(y, y)):
        scaled = (matrix - matrix[train].mean(axis=0)) / matrix[train].std(axis=0)
        own = RandomForestClassifier(5, random_state=3).fit(scaled[train], y[train])
        assert found["forest"]["error"][k] == pytest.approx(np.mean(own.predict(scaled[test]) != y[test]))


def test_one_that_fails_is_named_and_nothing_measured_is_an_error(table, capsys):
    bad = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=0)"
    assert compare("naive-bayes", bad, "--folds", "2") == 0
    assert f"warning: {bad} failed: " in capsys.readouterr().err
    assert compare(bad, "--folds", "2") == 2
    assert f"nothing could be measured; {bad}: " in capsys.readouterr().err
