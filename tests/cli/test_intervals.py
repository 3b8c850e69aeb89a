"""`fit --intervals`, `predict --interval` and `stability`: the same numbers as in Python."""

from __future__ import annotations

import json

import numpy as np

from tanager import NaiveBayesClassifier, load_model, stability
from tanager.cli.main import run
from tanager.files.read_table import read_table

FAST = ["--structure", "naive-bayes", "--parameters", "frequency"]
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
