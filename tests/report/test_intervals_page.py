"""Intervals on the page in a real browser, against `predict_interval` and `explain`."""

from __future__ import annotations

import numpy as np
import pytest

from report.models import class_with_parents, mixed_table, random_codes, rows_of, table
from tanager import AdditiveClassifier, NaiveBayesClassifier, TANClassifier, explain, report
from tanager.report import write_page

MINUS = "\N{MINUS SIGN}"
OF = """
    const { intervals, posterior } = window.tanagerReport;
    return arguments[0].map((codes) => intervals.of(codes, Array.from(posterior(codes)), -1));
"""


def fit(kind: str):
    if kind == "tables":
        X, y = table(3, n_rows=150)
        return TANClassifier().fit(X, y), X, y
    X, y = mixed_table(3, n_rows=200, n_classes=2 if kind == "two classes" else 3, gaps=0.05)
    return AdditiveClassifier(pairs=8, trees=False, missing="average").fit(X, y), X, y


def check_any_evidence(page, clf, path, atol):
    page.open(path)
    codes = random_codes(clf.model_, 12)
    codes[0] = -1
    found = np.array(page.run(OF, codes.tolist()))
    expected = clf.predict_interval(rows_of(clf.model_, codes[:, :-1]))
    np.testing.assert_allclose(found[..., 0], expected.lower, rtol=0, atol=atol)
    np.testing.assert_allclose(found[..., 1], expected.upper, rtol=0, atol=atol)
    assert (expected.upper - expected.lower).max() > 0.1


@pytest.mark.parametrize("kind", ["two classes", "three classes", "tables"])
def test_intervals_of_any_evidence_are_those_of_predict_interval(page, kind, tmp_path):
    clf, X, y = fit(kind)
    clf.prepare_intervals(X, y)
    # The page keeps two bytes of each number of the factor.
    check_any_evidence(page, clf, report(clf, X, path=tmp_path / "page.html"), 2e-4)


@pytest.mark.parametrize("kind", ["naive Bayes", "tree", "class with parents"])
def test_dirichlet_intervals_of_any_evidence_too(page, kind, tmp_path):
    X, y = table(4)
    clf = class_with_parents() if kind == "class with parents" else TANClassifier()
    clf = NaiveBayesClassifier() if kind == "naive Bayes" else clf.set_params(parameters="frequency")
    clf.fit(X, y).prepare_intervals(X, y)
    assert clf.posterior_.kind == "dirichlet"
    check_any_evidence(page, clf, report(clf, X, path=tmp_path / "page.html"), 1e-7)


def test_a_loaded_row_shows_its_interval_and_the_margins_of_its_parts(page, tmp_path):
    clf, X, y = fit("two classes")
    clf.prepare_intervals(X, y)
    page.open(report(clf, X, y, tmp_path / "page.html"))
    row = int(np.flatnonzero(X.notna().all(axis=1))[0])
    page.run("window.tanagerReport.store.lock(0)")
    page.load_row(row)
    expected = clf.predict_interval(X.iloc[[row]])
    shown = page.run("return [...document.querySelectorAll('.ends-words')].map((each) => each.title.split(' to '))")
    np.testing.assert_allclose(np.array(shown, float)[:, 0], expected.lower[0], atol=2e-4)
    np.testing.assert_allclose(np.array(shown, float)[:, 1], expected.upper[0], atol=2e-4)
    parts = {each.attribute: each.margin for each in explain(clf, X.iloc[[row]])[0].contributions}
    lines = page.run(
        "return [...document.querySelectorAll('.waterfall li')].filter((each) => each.querySelector('.margin'))"
        ".map((each) => [each.querySelector('.label').firstChild, each.querySelector('.margin')])"
        ".map((both) => both.map((each) => each.textContent))"
    )
    assert len(lines) >= 5
    for name, words in lines:
        assert float(words.strip(" ±")) == pytest.approx(parts[name], abs=0.0051)
    # A corrected model is another one.
    page.run("window.tanagerReport.edits.add({what: 'remove', attributes: ['job'], reason: 'r', who: '', when: ''})")
    assert "prepared again" in page.text("#interval-words")
    assert page.count(".waterfall .margin") == 0


@pytest.mark.parametrize("method", ["dirichlet", "reference"])
def test_where_the_posterior_does_not_fit_the_rows_of_the_page_have_intervals(page, method, tmp_path, monkeypatch):
    X, y = table(3, n_rows=60)
    clf = NaiveBayesClassifier().fit(X, y).prepare_intervals(X, y, method=method)
    for name in ("ROOM_FOR_ALL", "ROOM_FOR_POSTERIOR"):
        monkeypatch.setattr(write_page, name, 10)
    page.open(report(clf, X, path=tmp_path / "page.html"))
    assert "predict_interval" in page.text("#interval-words")
    page.load_row(7)
    shown = page.run("return [...document.querySelectorAll('.ends-words')].map((each) => each.title.split(' to '))")
    expected = clf.predict_interval(X.iloc[[7]])
    np.testing.assert_allclose(
        np.array(shown, float), np.column_stack([expected.lower[0], expected.upper[0]]), atol=1e-5
    )


def test_heat_maps_ring_the_cells_whose_band_reaches_across_zero(page, tmp_path):
    X, y = mixed_table(3, n_rows=1_500)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(X, y)
    assert clf.model_.pairs
    clf.prepare_intervals(X, y)
    page.open(report(clf, X, y, tmp_path / "page.html"), "#pair=0")
    names = [clf.model_.nodes[k] for k in clf.model_.pairs[0]]
    page.wait("return document.querySelectorAll('#details .cell').length > 0")
    cells = page.run(
        "return [...document.querySelectorAll('#details .shape g')]"
        ".map((each) => [each.querySelector('title').textContent, each.querySelector('.uncertain') !== null])"
    )
    label = page.run("return window.tanagerReport.store.favoured")
    found = clf.effect_interval(*names, level=0.9544997)  # two standard deviations of a normal
    one, other = (clf.model_.columns[k].coarse.states for k in clf.model_.pairs[0])
    middle, half = found.median[..., label], (found.upper - found.lower)[..., label] / 2
    expected = {f"{a} and {b}": (middle[i, j], half[i, j]) for i, a in enumerate(one) for j, b in enumerate(other)}
    assert len(cells) > 4
    for words, ringed in cells:
        name, figures = words.split(": ", 1)
        value, margin = expected[name]
        shown = [float(each) for each in figures.split(",")[0].replace(MINUS, "-").split(" ± ")]
        assert shown == pytest.approx([value, margin], abs=0.0051)
        assert ringed == (abs(value) < margin)
