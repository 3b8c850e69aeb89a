"""AdditiveClassifier: what it says of itself, its effects, trees and pairs, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from additive.random_forests import walk
from report.models import mixed_table, with_trees
from tanager import (
    AdditiveClassifier,
    OptionError,
    counterfactuals,
    load_model,
    report,
    save_model,
)
from tanager.classifiers.base import encode_table
from tanager.cli.main import run
from tanager.report.write_page import collect
from tanager.table import read_columns


@pytest.fixture(scope="module")
def rows():
    return mixed_table(4, n_rows=3_000, n_classes=3, gaps=0.05)


@pytest.fixture(scope="module")
def boosted():
    return with_trees(4)


@pytest.fixture(scope="module")
def readable(rows):
    return AdditiveClassifier(trees=False).fit(*rows)


def odds(scores):
    """Of each class against the mean of the others."""
    others = (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
    return scores - others


def test_the_share_of_trees_is_that_of_the_training_rows_counted_one_by_one(boosted, rows):
    model = boosted.model_
    _, codes = encode_table(boosted, rows[0])
    trees = np.array([walk(model.forest, row) for row in codes.tolist()])
    terms = odds(model.log_joint(codes) - trees)
    trees = odds(trees)
    trees, terms = (np.abs(each - each.mean(axis=0)).sum() for each in (trees, terms))
    assert boosted.tree_share_ == pytest.approx(trees / (trees + terms), abs=1e-9)
    assert 0.0 < boosted.tree_share_ < 1.0


def test_the_share_of_trees_is_the_same_in_a_stream_in_a_file_and_on_the_page(boosted, rows, tmp_path):
    X, y = rows
    batches = (part.assign(y=y.loc[part.index]) for part in (X.iloc[:700], X.iloc[700:]))
    streamed = AdditiveClassifier().fit(batches, "y")
    assert streamed.tree_share_ == pytest.approx(boosted.tree_share_, abs=1e-5)
    save_model(boosted, tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    assert read.tree_share_ == boosted.tree_share_
    assert read.model_.summary == boosted.model_.summary
    content = collect(boosted)
    assert content["about"]["model"] == content["card"]["model"]
    assert content["about"]["model"].lower() == boosted.model_.summary.lower()
    report(boosted, path=tmp_path / "page.html", card=tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text().splitlines()[2] == f"{content['about']['model']}."


def test_the_first_line_says_what_the_model_is_made_of(boosted, readable, capsys):
    trees = round(100 * boosted.tree_share_)
    first = repr(boosted).splitlines()[0]
    assert first == (
        f"additive model: 5 attributes, {len(boosted.model_.pairs)} pair{'s' * (len(boosted.model_.pairs) != 1)}; "
        f"{100 - trees} % of the log odds from readable terms, {trees} % from boosted trees"
    )
    assert repr(readable).splitlines()[0].endswith("pairs; 100 % of the log odds from readable terms")
    X, y = mixed_table(1, n_rows=100)
    clf = AdditiveClassifier(verbose=1).fit(X, y)
    assert capsys.readouterr().out.splitlines()[0] == clf.model_.summary


def test_effects_are_the_terms_of_the_model_and_shares_those_of_the_rows(readable, rows):
    X, _ = rows
    table, model = readable.effects_, readable.model_
    assert list(table.columns) == ["term", "state", "class", "value", "share"]
    assert model.pairs
    names = [*X.columns, *(f"{model.nodes[i]} x {model.nodes[j]}" for i, j in model.pairs)]
    assert list(dict.fromkeys(table["term"])) == names
    towns = table[(table["term"] == "town") & (table["class"] == "class 0")].set_index("state")
    expected = X["town"].fillna("(missing)").value_counts(normalize=True)
    for state, share in expected.items():
        assert towns.loc[state, "share"] == pytest.approx(share, abs=1e-12)
        assert towns.loc[state, "value"] == model.main("town")[model.code("town", state), 0]
    sums = table[table["class"] == "class 0"].groupby("term")["share"].sum()
    assert sums.to_numpy() == pytest.approx(1.0)
    _, codes = encode_table(readable, X)
    coarse = model.coarsen(codes)
    for (i, j), cells in zip(model.pairs, model.pair_densities, strict=True):
        counted = np.zeros_like(cells)
        np.add.at(counted, (coarse[:, i], coarse[:, j]), 1.0 / len(X))
        np.testing.assert_allclose(cells, counted, atol=1e-12)


@pytest.mark.parametrize(("installed", "kind"), [(("polars",), "polars"), ((), "builtins")])
def test_effects_are_a_frame_of_the_library_that_is_installed(readable, monkeypatch, installed, kind):
    monkeypatch.setattr(read_columns, "find_spec", lambda name: True if name in installed else None)
    assert type(readable.effects_).__module__.split(".")[0] == kind


def test_no_change_to_missing_is_proposed_and_a_missing_cell_stays(rows):
    clf = AdditiveClassifier(trees=False).fit(*rows)
    X = rows[0][rows[0].isna().any(axis=1)].head(12)
    for row, found in enumerate(counterfactuals(clf, X)):
        for change in found.changes:
            for cell in change.cells:
                assert cell.after != "(missing)"
                assert not pd.isna(X.iloc[row][cell.attribute])


def test_none_in_a_query_is_the_missing_state_where_there_is_one():
    X = pd.DataFrame({"a": ["x", "y", None] * 40, "b": ["u", "v"] * 60})
    clf = AdditiveClassifier(trees=False).fit(X, (X["a"].isna()).astype(int))
    label = clf.model_.columns[0].states[-1]
    assert clf.query({"a": None}) == clf.query({"a": label}) != clf.query()
    with pytest.raises(OptionError, match="node 'b' has no state None"):
        clf.query({"b": None})


@pytest.mark.parametrize(("option", "value"), [("missing", "category"), ("handle_unknown", "marginalize")])
def test_only_the_meanings_of_the_contract_are_taken(rows, option, value):
    with pytest.raises(OptionError, match=f"{option}='{value}' is not known"):
        AdditiveClassifier(**{option: value}).fit(*rows)


def test_a_category_unseen_in_training_is_averaged_over_or_an_error(rows):
    X, y = rows[0].dropna(), rows[1][rows[0].notna().all(axis=1)]
    unseen, unknown = (X.head(3).assign(town=town) for town in ("Zz", None))
    clf = AdditiveClassifier(trees=False).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(unseen), clf.predict_proba(unknown), atol=1e-12)
    with pytest.raises(ValueError, match="Zz"):
        AdditiveClassifier(trees=False, handle_unknown="error").fit(X, y).predict(unseen)


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


def test_the_command_takes_a_number_of_pairs_as_python_does_and_says_first_what_the_model_is(
    table, tmp_path, monkeypatch
):
    (X, y), said = table, []
    monkeypatch.setattr("tanager.cli.fit.say", said.append)
    monkeypatch.chdir(tmp_path)
    X.assign(y=y).to_csv("table.csv", index=False)
    assert run(["fit", "table.csv", "--class", "y", "--pairs", "2", "--no-trees", "--no-validate", "-o", "m.json"]) == 0
    expected = AdditiveClassifier(pairs=2, trees=False, random_state=0).fit(X, y)
    assert named_pairs(load_model("m.json")) == named_pairs(expected)
    np.testing.assert_array_equal(load_model("m.json").predict_proba(X), expected.predict_proba(X))
    assert said[0] == load_model("m.json").model_.summary


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pairs": [("a", "a")]}, "pairs joins 'a' to itself"),
        ({"pairs": [("a", "e")]}, "pairs names 'e'"),
        ({"pairs": "ab"}, "pairs='ab' is not valid; expected 'auto', a number from 0, or a list of pairs"),
        ({"pairs": True}, "pairs=True is not valid"),
        ({"trees": "no"}, "trees='no' is not valid; expected True or False"),
        ({"pairs": [("a", "y")]}, "leave the class out"),
        ({"pairs": [("a", "b")], "forbidden_pairs": [("b", "a")]}, "is in pairs and in forbidden_pairs"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_words(table, options, words):
    with pytest.raises(OptionError) as refused:
        AdditiveClassifier(**options).fit(*table)
    assert words in str(refused.value)
