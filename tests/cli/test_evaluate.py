"""`tanager evaluate`, `compare` and `stability`: what Python measures; intervals that Python gives."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from cli.iris_table import NAMES, SPECIES
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    cross_validate_model,
    load_model,
    stability,
)
from tanager.cli.main import run
from tanager.files.read_table import read_table
from tanager.files.write_table import write_table
from tanager.metrics import Predictions, Quality

FAST = ["--structure", "naive-bayes", "--parameters", "frequency"]


def test_a_model_on_rows_is_measured_as_python_measures_it(iris, capsys):
    run(["fit", "iris.csv", "--class", "species", "-o", "m.json", *FAST])
    write_table(iris.take(list(range(40, 120))), "test.csv")
    assert run(["evaluate", "test.csv", "--model", "m.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    clf, truth = load_model("m.json"), np.repeat([0, 1, 2], 50)[40:120]
    predictions = Predictions(clf.predict_proba(iris.select(NAMES))[40:120], truth, np.zeros(80, dtype=np.intp))
    expected = Quality.of(predictions, clf.classes_, np.full(3, 1 / 3), "rows given to the model").to_dict()
    assert found == {"rows": 80, "attributes": 4, **json.loads(json.dumps(expected))}
    assert run(["evaluate", "test.csv", "--model", "m.json"]) == 0
    out, err = capsys.readouterr()
    assert f"{found['log_loss']['value']:.3f}" in out
    assert err == ""


def test_a_model_judged_on_its_own_training_rows_is_pointed_out(iris, capsys):
    run(["fit", "iris.csv", "--class", "species", "-o", "m.json", *FAST])
    assert run(["evaluate", "iris.csv", "--model", "m.json"]) == 0
    assert "the model was learnt from just these rows" in capsys.readouterr().err


def test_folds_are_measured_as_python_measures_them(iris, capsys):
    command = ["evaluate", "iris.csv", "--class", "species", "--folds", "4", "--seed", "5", "--json"]
    assert run(command) == 0
    clf = AdditiveClassifier(random_state=5)
    expected = cross_validate_model(clf, iris.select(NAMES), SPECIES, cv=4, random_state=5).to_dict()
    found = json.loads(capsys.readouterr().out)
    assert found == {"rows": 150, "attributes": 4, **json.loads(json.dumps(expected))}


def test_fit_keeps_the_quality_that_evaluate_finds(iris, capsys):
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--seed", "2", *FAST, "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)["quality"]
    assert run(["evaluate", "iris.csv", "--class", "species", "--seed", "2", *FAST, "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert evaluated == {"rows": 150, "attributes": 4, **fitted}
    assert load_model("m.json").quality_.to_dict() == fitted
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--no-validate", *FAST]) == 0
    assert load_model("m.json").quality_ is None


def test_what_a_reader_needs_comes_first_and_no_word_of_the_trade(iris, capsys):
    assert run(["evaluate", "iris.csv", "--class", "species", "--folds", "3", *FAST]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    words = ["iris.csv: 150 rows", "3 folds", "Missed most often", "base rate", "accuracy", "predicted virginica"]
    places = [out.index(word) for word in [*words, "sensitivity", "Calibration"]]
    assert places == sorted(places)
    assert "cll" not in out
    assert "train" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_event_comes_first_is_kept_in_the_model_and_refused_before_a_fit_if_no_class(iris, capsys):
    command = ["fit", "iris.csv", "--class", "species", *FAST, "-o", "m.json", "--event"]
    assert run([*command, "virginica"]) == 0
    assert run(["explain", "m.json"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "of 50 cases of virginica (95 % interval " in words
    assert words.index("alarms") < words.index("accuracy")
    assert load_model("m.json").quality_.event == "virginica"
    assert run(["evaluate", "iris.csv", "--model", "m.json", "--json"]) == 0
    event = json.loads(capsys.readouterr().out)["event"]
    assert (event["class"], event["rarer"], event["found"]["of"]) == ("virginica", False, 50)
    for refused in ([*command, "rose"], [*command, "virginica", "--no-validate"]):
        assert run(refused) == 2
        assert "--event" in capsys.readouterr().err


def test_groups_and_times_say_how_rows_are_held_out_and_are_no_attributes(iris, capsys):
    days = [f"2024-0{1 + k % 7}-{1 + k % 28:02d}" for k in range(150)]
    write_table(
        iris.append_column("site", [[f"s{k % 7}" for k in range(150)]]).append_column("day", [days]), "more.csv"
    )
    command = ["evaluate", "more.csv", "--class", "species", *FAST, "--json"]
    assert run([*command, "--group", "site", "--drop", "day"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["attributes"], found["split"]) == (4, "5 folds of 7 groups")
    assert run([*command, "--time", "day", "--drop", "site", "--folds", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["attributes"], found["split"]) == (4, "2 periods, each judged by a model of the rows before it")
    assert 90 <= found["rows_judged"] <= 110
    assert run([*command, "--repeats", "3", "--drop", "day", "--drop", "site"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["rows_judged"], len(found["auc"]["folds"])) == (150, 450, 15)


def test_a_class_rarer_than_the_folds_is_measured_with_a_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + "u,a\nv,b\n" * 10 + "w,c\n")
    assert run(["evaluate", "a.csv", "--class", "y", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "has a class with fewer than 10 rows: 'c'. Hint" in err.splitlines()[0]
    assert err.splitlines()[1:] == [
        "tanager: warning: the rarest class has fewer rows (1) than there are folds (5): some are without it."
    ]
    assert np.isfinite(json.loads(out)["log_loss"]["value"])


def test_a_table_too_small_to_be_validated_is_fitted_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\nu,a\nv,b\nu,a\n")
    assert run(["fit", "a.csv", "--class", "y", "-o", "m.json", *FAST]) == 0
    assert load_model("m.json").quality_ is None


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


KEPT = [*FAST, "--no-validate"]


def test_intervals_of_the_command_are_those_of_the_model(iris, capsys):
    assert run(["fit", "iris.csv", "--class", "species", "-o", "m.json", "--intervals", *KEPT]) == 0
    assert run(["predict", "m.json", "iris.csv", "--interval", "0.8", "-o", "out.csv"]) == 0
    found = read_table("out.csv")
    clf = load_model("m.json")
    X = iris.drop_columns(["species"])
    wanted = clf.predict_interval(X, 0.8)
    for code, label in enumerate(clf.classes_):
        name = f"P(species={label})"
        np.testing.assert_allclose(found[name].to_numpy(), clf.predict_proba(X)[:, code])
        np.testing.assert_allclose(found[f"{name} lower"].to_numpy(), wanted.lower[:, code])
        np.testing.assert_allclose(found[f"{name} upper"].to_numpy(), wanted.upper[:, code])
    assert run(["explain", "m.json", "iris.csv", "--row", "2"]) == 0
    assert "±" in capsys.readouterr().out


def test_stability_of_the_command_is_that_of_python(iris, capsys):
    X, y = iris.drop_columns(["species"]), iris["species"].to_numpy()
    assert run(["stability", "iris.csv", "--class", "species", "--draws", "3", "--json", *FAST]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = stability(NaiveBayesClassifier(), X, y, n_draws=3)
    assert [line["attribute"] for line in found["attributes"]] == [wanted.attributes[k] for k in wanted.order]
