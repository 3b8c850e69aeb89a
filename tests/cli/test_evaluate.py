"""`tanager evaluate`: what Python measures, by folds or of a model on new rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli.iris_table import NAMES, SPECIES
from tanager import AdditiveClassifier, cross_validate_model, load_model
from tanager.cli.main import run
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
    assert "of 100 cases of virginica (95 % interval " in words
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


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_a_class_column_of_blanks_is_refused_in_a_line(tmp_path, monkeypatch, capsys, blank, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + f"1,{blank}\n2,{blank}\n" * 10)
    more = ["-o", "m.json"] if command == "fit" else []
    assert run([command, "a.csv", "--class", "y", *more]) == 2
    err = capsys.readouterr().err
    assert ("the class column holds nothing but blanks in 20 rows" if blank else "missing in 20 rows, all") in err
    assert not (tmp_path / "m.json").exists()


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
