"""Pairs that a user chooses are the pairs of the model, in Python, in a file and in the command."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, OptionError, load_model, save_model
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
    return {frozenset(clf.model_.nodes[node] for node in pair) for pair in clf.model_.pairs}


def test_pairs_given_are_those_in_the_model(table, tmp_path):
    X, y = table
    clf = AdditiveClassifier(pairs=[("a", "b"), (1, 2)]).fit(X, y)
    assert named_pairs(clf) == {frozenset("ab"), frozenset("ad")}
    assert clf.model_.forest is None
    save_model(clf, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").get_params()["pairs"] == [("a", "b"), (1, 2)]


def test_pairs_forbidden_are_not_in_the_model(table):
    clf = AdditiveClassifier(forbidden_pairs=[("d", "a")]).fit(*table)
    assert frozenset("ad") not in named_pairs(clf) >= {frozenset("ab"), frozenset("bd")}
    assert clf.model_.forest is None


@pytest.mark.parametrize(("number", "trees"), [(0, False), (0, True), (2, False), (2, True)])
def test_a_number_of_pairs_is_the_most_that_there_are(table, number, trees):
    assert len(AdditiveClassifier(pairs=number, trees=trees).fit(*table).model_.pairs) <= number


def test_the_command_takes_a_number_of_pairs_as_python_does(table, tmp_path, monkeypatch):
    X, y = table
    monkeypatch.chdir(tmp_path)
    X.assign(y=y).to_csv("table.csv", index=False)
    assert run(["fit", "table.csv", "--class", "y", "--pairs", "2", "--no-trees", "--no-validate", "-o", "m.json"]) == 0
    expected = AdditiveClassifier(pairs=2, trees=False, random_state=0).fit(X, y)
    assert named_pairs(load_model("m.json")) == named_pairs(expected)
    np.testing.assert_array_equal(load_model("m.json").predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": [("a", "a")]}, "pairs joins 'a' to itself"),
        ({"pairs": [("a", "e")]}, "pairs names 'e'"),
        ({"pairs": "ab"}, "pairs='ab' is not valid; expected 'auto', a number from 0, or a list of pairs"),
        ({"pairs": -1}, "pairs=-1 is not valid"),
        ({"pairs": True}, "pairs=True is not valid"),
        ({"trees": "no"}, "trees='no' is not valid; expected True or False"),
        ({"pairs": [("a", "y")]}, "leave the class out"),
        ({"pairs": [("a", "b")], "forbidden_pairs": [("b", "a")]}, "is in pairs and in forbidden_pairs"),
        ({"forbidden_pairs": [("a", "a")]}, "forbidden_pairs joins 'a' to itself"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_words(table, options, words):
    with pytest.raises(OptionError) as refused:
        AdditiveClassifier(**options).fit(*table)
    assert words in str(refused.value)
