"""Pairs that a user chooses are the pairs of the model, in Python, in a file and in the command."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager import OptionError, PairwiseClassifier, load_model, save_model
from tanager.cli.main import run


@pytest.fixture(scope="module")
def table():
    """Every two of three attributes say together what none says alone; a fourth says nothing."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (1500, 4))
    odds = 2 * (x[:, 0] ^ x[:, 1]) + 2 * (x[:, 1] ^ x[:, 2]) + 2 * (x[:, 0] ^ x[:, 2]) - 2.5
    y = np.where(rng.random(1500) < 1 / (1 + np.exp(-odds)), "yes", "no")
    words = np.array(["low", "high"])[x]
    return pd.DataFrame(words, columns=["b", "a", "d", "c"]), pd.Series(y, name="y")


def named_pairs(clf):
    return {frozenset(clf.network_.nodes[node] for node in pair) for pair in clf.network_.pairs}


def test_pairs_given_are_those_in_the_model(table, tmp_path):
    X, y = table
    clf = PairwiseClassifier(pairs=[("a", "b"), (1, 2)]).fit(X, y)
    assert named_pairs(clf) == {frozenset("ab"), frozenset("ad")}
    assert clf.network_.forest is None
    save_model(clf, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").get_params()["pairs"] == [("a", "b"), (1, 2)]


def test_pairs_forbidden_are_not_in_the_model(table):
    clf = PairwiseClassifier(forbidden_pairs=[("d", "a")]).fit(*table)
    assert frozenset("ad") not in named_pairs(clf) >= {frozenset("ab"), frozenset("bd")}
    assert clf.network_.forest is None


def test_an_attribute_without_interactions_acts_alone(table):
    clf = PairwiseClassifier(interactions=["a", "d", "c"]).fit(*table)
    assert frozenset("ad") in named_pairs(clf)
    assert not any("b" in pair for pair in named_pairs(clf))


def test_the_command_takes_pairs_as_python_does(table, tmp_path, monkeypatch):
    X, y = table
    monkeypatch.chdir(tmp_path)
    X.assign(y=y).to_csv("table.csv", index=False)
    structure = "pairwise(pairs=[('a', 'b')], forbidden_pairs=[('a', 'd')])"
    assert run(["fit", "table.csv", "--class", "y", "--structure", structure, "-o", "m.json"]) == 0
    assert named_pairs(load_model("m.json")) == {frozenset("ab")}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": [("a", "a")]}, "pairs joins 'a' to itself"),
        ({"pairs": [("a", "e")]}, "pairs names 'e'"),
        ({"pairs": "ab"}, "pairs='ab' is not valid; expected a list"),
        ({"pairs": [("a", "y")]}, "leave the class out"),
        ({"pairs": [("a", "b")], "forbidden_pairs": [("b", "a")]}, "forbidden_pairs or interactions exclude it"),
        ({"forbidden_pairs": [("a", "a")]}, "forbidden_pairs joins 'a' to itself"),
        ({"interactions": False}, "interactions=False is not valid; expected a list"),
        ({"interactions": "a"}, "interactions='a' is not valid"),
        ({"interactions": {"a": False}}, "expected a list of the columns that may be in a pair"),
        ({"interactions": ["a", "y"]}, "interactions names the class"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_words(table, options, words):
    with pytest.raises(OptionError) as refused:
        PairwiseClassifier(**options).fit(*table)
    assert words in str(refused.value)
