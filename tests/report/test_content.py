"""What goes into the page: safe text, exact numbers, and figures that other libraries agree with."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    roc_auc_score,
)

from all_parts import make_classifier
from report.models import mixed_table, table
from tanager import (
    AdditiveClassifier,
    DataError,
    NaiveBayesClassifier,
    TANClassifier,
    report,
)
from tanager.report import data_section
from tanager.report.json_page import pack, pack_rounded, to_page_json
from tanager.report.write_page import collect, render


@pytest.fixture(scope="module")
def model():
    X, y = table(7, n_rows=400)
    return TANClassifier().fit(X[:200], y[:200]), X[200:].reset_index(drop=True), y[200:].reset_index(drop=True)


@pytest.fixture(scope="module")
def content(model):
    return collect(*model)


@settings(max_examples=100)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.dictionaries(st.text(), inner)))
def test_json_for_a_page_says_the_same_and_has_no_character_of_markup(value):
    text = to_page_json(value)
    assert json.loads(text) == value
    assert not set("<>&") & set(text)
    assert text.isascii()


@settings(max_examples=30)
@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_packed_numbers_come_back_bit_by_bit(values):
    found = np.frombuffer(zlib.decompress(base64.b64decode(pack(np.array(values)))), dtype="<f8")
    assert found.tolist() == values


@settings(max_examples=30)
@given(st.lists(st.floats(-50, 50), min_size=1))
def test_rounded_numbers_come_back_to_within_half_of_their_last_bit(values):
    shuffled = np.frombuffer(zlib.decompress(base64.b64decode(pack_rounded(np.array(values)))), dtype=np.uint8)
    found = np.ascontiguousarray(shuffled.reshape(8, -1).T).view("<f8").ravel()
    np.testing.assert_allclose(found, values, rtol=0, atol=2.0**-45)


def test_the_page_is_one_file_that_names_no_address(content):
    page = render(content)
    assert len(page.encode()) < 3_000_000
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "src=" not in page
    assert page == render(content)  # the same model gives the same page


def test_the_base_rate_log_loss_is_that_of_the_class_frequencies(model, content):
    clf, _, y = model
    _, learnt_from = table(7, n_rows=400)
    shares = learnt_from[:200].value_counts(normalize=True)
    assert content["quality"]["base_rate"]["log_loss"] == pytest.approx(-np.log(shares[y]).mean())
    assert content["base"]["log_rates"] == pytest.approx(np.log(shares[clf.classes_]).tolist())


def test_curves_have_the_areas_of_scikit_learn(model, content):
    clf, X, y = model
    for k, curve in enumerate(content["quality"]["curves"]):
        truth, p = y == clf.classes_[k], clf.predict_proba(X)[:, k]
        false_rate, true_rate = curve["roc"]
        assert np.trapezoid(true_rate, false_rate) == pytest.approx(roc_auc_score(truth, p), abs=2e-3)
        recall, precision = map(np.array, curve["pr"])
        area = float(np.sum(np.diff(recall) * precision[1:]))
        assert area == pytest.approx(average_precision_score(truth, p), abs=2e-2)
        shares = np.array(curve["calibration"])
        assert shares[:, 2].sum() == len(y)
        assert np.average(shares[:, 1], weights=shares[:, 2]) == pytest.approx(truth.mean(), abs=1e-4)


def test_bars_count_every_cell_that_is_there():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"x": rng.normal(size=300) + y, "c": rng.choice(["u", "v"], 300), "empty": np.full(300, 1.0)})
    clf = NaiveBayesClassifier().fit(X, y)
    X.loc[:9, "x"] = np.nan
    X.loc[:4, "c"] = None
    X.loc[5:7, "c"] = "new"
    x, c, constant = collect(clf, X, y)["columns"]
    assert (x["missing"], x["unseen"], np.sum(x["bars"])) == (10, 0, 290)
    assert (c["missing"], c["unseen"], np.sum(c["bars"])) == (5, 3, 292)
    assert (constant["missing"], np.sum(constant["bars"])) == (0, 300)
    for k in (0, 1):
        assert np.array(x["bars"])[:, k].sum() == (y[10:] == k).sum()
    assert x["cut_labels"] == [f"{cut:.6g}" for cut in clf.model_.columns[0].cuts]
    assert all(0 <= place <= 1 for place in x["cuts"])


def test_dates_and_durations_have_ends_in_their_own_words():
    days = pd.date_range("2020-01-01", periods=60, freq="D")
    X = pd.DataFrame({"day": days, "wait": pd.to_timedelta(np.arange(60), "h")})
    y = np.arange(60) >= 30
    day, wait = collect(NaiveBayesClassifier().fit(X, y), X, y)["columns"]
    assert day["edges"][0].startswith("2020-01-01")
    assert day["cut_labels"][0].startswith("2020-01-30")
    assert "day" in wait["edges"][1]


def test_rows_that_would_make_the_page_too_large_are_thinned_evenly(model, monkeypatch):
    clf, X, y = model
    monkeypatch.setattr(data_section, "MAX_CODE_BYTES", 500)
    rows = collect(clf, X, y)["rows"]
    assert rows["every"] > 1
    assert rows["kept"] == len(range(0, len(X), rows["every"]))
    codes = np.frombuffer(zlib.decompress(base64.b64decode(rows["codes"])), dtype=np.uint8).reshape(rows["kept"], -1)
    assert codes[1].tolist() == [clf.model_.code(name, X.loc[rows["every"], name]) for name in clf.model_.nodes[:-1]]


@pytest.mark.parametrize(
    ("structure", "missing", "meaning"),
    [
        ("tan", "auto", "averaged over"),
        ("tan", "marginalize", "summed out"),
        ("tan", "skip", "left out"),
        ("tan", "category", "averaged over"),
        ("additive", "auto", "averaged over"),
        ("additive", "average", "averaged over"),
    ],
)
def test_the_page_knows_what_a_missing_cell_means_to_the_model(structure, missing, meaning):
    X, y = mixed_table(1)
    clf = make_classifier(structure, missing=missing).fit(X, y)
    found = collect(clf)["missing"]
    assert (found["meaning"], found["words"]) == (meaning, clf.missing_rule_.sentence)


def test_histograms_of_a_network_of_effects_have_the_coarse_cuts():
    X, y = mixed_table(2)
    clf = AdditiveClassifier().fit(X, y)
    age = clf.model_.columns[0]
    assert len(age.cuts) > len(age.coarse.cuts)
    assert collect(clf, X, y)["columns"][0]["cut_labels"] == [f"{cut:.6g}" for cut in age.coarse.cuts]


def test_classes_without_rows_and_unknown_classes_are_refused(model):
    clf, X, y = model
    with pytest.raises(DataError, match="without the rows X"):
        report(clf, y=y)
    with pytest.raises(DataError, match="'class 9'"):
        report(clf, X, y.where(y != "class 1", "class 9"))


def test_only_options_that_differ_from_the_default_are_listed():
    X, y = table(7, n_rows=100)
    assert collect(TANClassifier().fit(X, y))["about"]["options"] == []
    clf = TANClassifier(criterion="bic", random_state=3).fit(X, y)
    assert collect(clf)["about"]["options"] == [["criterion", "bic"], ["random_state", "3"]]
    assert "Options that were set: criterion=bic, random_state=3." in dict(collect(clf)["card"]["sections"])["Model"]


def test_an_older_page_stays_when_the_new_one_cannot_be_made(model, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("older")
    with pytest.raises(ValueError, match="feature names should match"):
        report(model[0], model[1][["a", "b"]], model[2], path=path)
    assert path.read_text() == "older"
