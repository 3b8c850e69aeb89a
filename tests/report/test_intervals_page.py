"""Intervals on the page in a real browser, against `predict_interval` and `explain`."""

from __future__ import annotations

import numpy as np
import pytest

from report.models import mixed_table, table
from tanager import AdditiveClassifier, NaiveBayesClassifier, explain, report

MINUS = "\N{MINUS SIGN}"


def test_a_loaded_row_shows_its_interval_and_the_margins_of_its_parts(page, tmp_path):
    X, y = mixed_table(3, n_rows=200, n_classes=2, gaps=0.05)
    clf = AdditiveClassifier(pairs=8, trees=False, missing="average").fit(X, y).prepare_intervals(X, y)
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
def test_the_rows_of_the_page_have_intervals_and_other_evidence_has_none(page, method, tmp_path):
    X, y = table(3, n_rows=60)
    clf = NaiveBayesClassifier().fit(X, y).prepare_intervals(X, y, method=method)
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
