"""The opening, the threshold and the mistakes in a real browser, against Python; print, fold, and no request."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from report.models import mixed_table
from tanager import AdditiveClassifier, cross_validate_model, report

SET_THRESHOLD = (
    "const slider = document.getElementById('threshold');"
    "const table = JSON.parse(document.getElementById('content').textContent).quality.thresholds[arguments[0]];"
    "slider.value = table.thresholds.indexOf(arguments[1]); slider.dispatchEvent(new Event('input'))"
)


@pytest.fixture(scope="module")
def model():
    X, y = mixed_table(5, n_rows=300, n_classes=2, gaps=0.05)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(X, y)
    return clf, X, y, cross_validate_model(clf, X, y, cv=2)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory) -> Path:
    clf, X, y, quality = model
    file = tmp_path_factory.mktemp("report") / "page.html"
    return report(clf, X, y, file, quality=quality, title="Towns & <jobs>", event="class 1")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


@pytest.mark.parametrize("threshold", [0.02, 0.5, 0.87])
def test_the_threshold_shows_pythons_counts_rates_benefit_and_cost(page, path, model, threshold):
    clf, _, _, quality = model
    truth = quality.predictions.class_codes == 1
    said = quality.predictions.probabilities[:, 1] >= threshold
    (tn, fp), (fn, tp) = confusion_matrix(truth, said, labels=[False, True]).tolist()
    page.open(path)
    page.run(
        "const miss = document.getElementById('cost-miss'); miss.value = 5; miss.dispatchEvent(new Event('input'))"
    )
    page.run(SET_THRESHOLD, 1, threshold)
    assert [int(count) for count in page.texts(".confusion td")] == [tn, fp, fn, tp]
    figures = dict(
        page.run(
            "return [...document.querySelectorAll('[data-figure]')].map((each) => "
            "[each.dataset.figure, each.querySelector('strong').textContent])"
        )
    )
    rates = {
        "sensitivity": (tp, tp + fn),
        "specificity": (tn, tn + fp),
        "positive predictive value": (tp, tp + fp),
        "negative predictive value": (tn, tn + fn),
    }
    for name, (part, whole) in rates.items():
        assert figures[name] == (percent(part / whole) if whole else "\N{EN DASH}")
    n = len(truth)
    benefit, cost = tp / n - threshold / (1 - threshold) * fp / n, (fp + 5 * fn) / n
    for name, value in (("net benefit", benefit), ("cost per row", cost)):
        assert float(figures[name].replace("\N{MINUS SIGN}", "-")) == pytest.approx(value, rel=1e-3)
    assert str(clf.classes_[1]) in page.text("#threshold-words")


def test_mistakes_are_sorted_by_any_column_and_load_into_what_if(page, path, model):
    clf, X, _, quality = model
    wrong = np.flatnonzero(quality.predictions.probabilities.argmax(axis=1) != quality.predictions.class_codes)
    page.open(path)
    rows = "return [...document.querySelectorAll('#mistakes [data-row]')].map((each) => Number(each.dataset.row))"
    assert sorted(page.run(rows)) == wrong.tolist()
    page.run("document.querySelector('#mistakes .sort').click()")
    assert page.run(rows) == wrong.tolist()
    page.run("document.querySelector('#mistakes [data-row]').click()")
    np.testing.assert_allclose(page.probabilities(), clf.predict_proba(X.iloc[[wrong[0]]])[0], atol=1e-9)
    assert int(page.run("return document.getElementById('row-number').value")) == wrong[0]
    proba = quality.predictions.probabilities[wrong[0]]
    assert f"not seen this row predicts {clf.classes_[proba.argmax()]} ({percent(proba.max())})" in page.text("#rows")


def test_printed_it_has_two_to_four_pages_with_every_card_drawn(page, path):
    page.open(path)
    printed = page.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pages = re.findall(rb"/Type\s*/Page\b(?!s)", base64.b64decode(printed["data"]))
    assert 2 <= len(pages) <= 4
    page.run("dispatchEvent(new Event('beforeprint'))")
    empty = (
        "return [...document.querySelectorAll('#shapes .shapes > .card, #data .columns > .card')]"
        ".filter((each) => !each.querySelector('svg, .state-counts')).length"
    )
    assert page.run(empty) == 0
    assert page.count("#data .columns > .card > :nth-child(5)") == 0  # nothing is drawn twice


def test_on_a_phone_sections_fold_and_a_jump_opens_one(page, path):
    page.size(390)
    page.open(path)
    visible = "return [...document.querySelectorAll('main > section:not(.folded)')].map((each) => each.id)"
    assert page.run(visible) == ["opening", "what-if"]
    page.driver.find_element("link text", "Quality").click()
    assert "quality" in page.run(visible)
    page.run("document.querySelector('#data .fold').click()")
    assert page.run("return document.querySelector('#data .fold').getAttribute('aria-expanded')") == "true"
    assert page.run("return document.documentElement.scrollWidth") <= 390
    assert page.run("return document.querySelector('.top').offsetHeight") <= 0.08 * 844


def test_without_scripts_what_they_would_add_is_hidden_and_the_rest_is_there(page, path):
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.driver.get(path.as_uri())
        for name in ("event", "drivers", "shapes", "card", "loading"):
            assert page.element(f"#{name}").is_displayed()
        assert not page.element("#what-if").is_displayed()
        assert not page.element("#deciding").is_displayed()
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    page.open(path)
    assert page.element("#what-if").is_displayed()
    assert page.count("#loading") == 0


def test_no_request_leaves_the_page(page, path):
    page.open(path)
    page.run("scrollTo(0, document.body.scrollHeight)")
    assert page.run("return performance.getEntriesByType('resource').map((each) => each.name)") == []
