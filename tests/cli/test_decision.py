"""Costs and thresholds in the command: what `fit` is told is what `predict` does, and what Python would decide."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from tanager import (
    BayesianNetworkClassifier,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    load_model,
)
from tanager.cli.main import run
from tanager.decide import ThresholdDecision, measure_decision, tune_for_sensitivity, tune_for_specificity
from tanager.files.read_table import read_table

FAST = ["--structure", "naive-bayes", "--parameters", "frequency"]
FIT = ["fit", "iris.csv", "--class", "species", *FAST, "-o", "m.json"]
COSTS = ["--cost", "virginica:versicolor=30", "--cost", "setosa:virginica=2"]


def decided(capsys, *options):
    """What `predict` says of the table, an object for every row."""
    capsys.readouterr()
    assert run(["predict", "m.json", "iris.csv", "--json", *options]) == 0
    return [row["species"] for row in json.loads(capsys.readouterr().out)]


def test_costs_decide_as_in_python_and_can_be_left_aside(iris, capsys):
    assert run([*FIT, *COSTS, "--ask", "0.4"]) == 0
    X, y = iris.drop_columns(["species"]), np.array(iris["species"].to_pylist())
    costs = {("virginica", "versicolor"): 30, ("setosa", "virginica"): 2}
    expected = FixedDecisionClassifier(NaiveBayesClassifier(), costs=costs, ask=0.4).fit(X, y)
    assert decided(capsys) == expected.predict(X).tolist()
    assert None in decided(capsys)
    assert decided(capsys, "--no-decision") == expected.estimator_.predict(X).tolist()
    assert run(["predict", "m.json", "iris.csv", "--proba", "-o", "p.parquet"]) == 0
    shares = np.array([column.to_pylist() for column in pq.read_table("p.parquet").columns[1:]]).T
    np.testing.assert_array_equal(shares, expected.predict_proba(X))
    assert run(["predict", "m.json", "iris.csv", "-o", "classes.parquet"]) == 0
    assert pq.read_table("classes.parquet")["species"].to_pylist() == decided(capsys)
    assert run(["predict", "m.json", "iris.csv", "--stream", "-o", "classes.csv"]) == 0
    assert read_table("classes.csv")["species"].null_count == decided(capsys).count(None)


@pytest.mark.parametrize("wanted", ["sensitivity", "specificity"])
def test_a_threshold_is_tuned_as_in_python(iris, capsys, wanted):
    assert run([*FIT, f"--{wanted}", "virginica=0.98", "--seed", "4", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["decision"]
    X, y = iris.drop_columns(["species"]), np.array(iris["species"].to_pylist())
    folds = StratifiedKFold(5, shuffle=True, random_state=4)
    held_out = cross_val_predict(NaiveBayesClassifier(), X.to_pandas(), y, cv=folds, method="predict_proba")
    tune = {"sensitivity": tune_for_sensitivity, "specificity": tune_for_specificity}[wanted]
    classes, truth = np.unique(y, return_inverse=True)
    expected = ThresholdDecision(tuple(classes.tolist()), "virginica", tune(held_out, truth, 2, 0.98))
    assert load_model("m.json").decision_ == expected
    assert shown == measure_decision(expected, held_out, truth).to_dict()


def test_a_stream_decides_by_what_is_given(iris, capsys):
    assert run([*FIT, "--threshold", "virginica=0.01", "--stream"]) == 0
    p = load_model("m.json").predict_proba(iris.drop_columns(["species"]))[:, 2]
    assert [label == "virginica" for label in decided(capsys)] == (p >= 0.01).tolist()


def test_evaluate_and_explain_speak_of_the_decision(iris, capsys):
    assert run([*FIT, *COSTS]) == 0
    capsys.readouterr()
    assert run(["evaluate", "iris.csv", "--model", "m.json"]) == 0
    assert "Decision: least expected cost with setosa:virginica=2, virginica:versicolor=30" in capsys.readouterr().out
    assert run(["evaluate", "iris.csv", "--model", "m.json", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)["decision"]["rules"]
    assert [each["rule"] for each in rules][:2] == ["this decision", "most probable class"]
    assert run(["explain", "m.json", "iris.csv", "--row", "7"]) == 0
    assert "decided: setosa, expected to cost" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "virginca:setosa=3"], "'virginca'"),
        (["--cost", "virginica:setosa=3", "--cost", "virginica:setosa=4"], "--cost says twice"),
        (["--cost", "virginica:setosa=nan"], "the cost is nan"),
        (["--threshold", "setosa=.2", "--threshold", "setosa=.9"], "--threshold is given 2 times"),
        (["--sensitivity", "setosa=.2", "--sensitivity", "setosa=.9"], "--sensitivity is given 2 times"),
        (["--cost", "virginica:setosa=-3"], "the cost is -3.0; expected a number from zero up"),
        (["--cost", "virginica:setosa"], "expected CLASS=NUMBER"),
        (["--cost", "virginica=3"], "expected TRUE:DECIDED=COST"),
        (["--ask", "-1"], "ask: the cost is -1.0"),
        (["--threshold", "setosa=7"], "--threshold=7 is not valid"),
        (["--threshold", "rose=0.2"], "'rose'"),
        (["--sensitivity", "setosa=2"], "--sensitivity=2 is not valid"),
        (["--specificity", "setosa=0"], "--specificity=0 is not valid"),
        (["--sensitivity", "rose=0.9"], "'rose'"),
        (["--sensitivity", "setosa=0.9", "--cost", "setosa:virginica=2"], "--cost or --ask and --sensitivity each say"),
        (["--sensitivity", "setosa=0.9", "--stream"], "no rows are held out to tune a threshold on"),
        (["--specificity", "setosa=0.9", "--no-validate"], "no rows are held out to tune a threshold on"),
    ],
)
def test_unusable_decisions_are_refused_in_one_line_before_anything_is_learnt(
    iris, capsys, monkeypatch, options, message
):
    monkeypatch.setattr(BayesianNetworkClassifier, "fit", lambda *_: pytest.fail("it was fitted"))
    assert run([*FIT, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
