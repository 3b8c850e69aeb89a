"""The page in a real browser: what a reader does with mouse, keyboard and address bar, and what it shows then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from report.models import table
from tanager import NaiveBayesClassifier, TANClassifier, explain, report

NASTY = (
    '"><script>window.hacked = 1</script>',
    "</script><img src=x onerror='window.hacked = 1'>",
    "{{ 7 * 7 }} \\u003cb\\u003e & &lt;i&gt;",
    "\N{GRINNING FACE} \N{HEBREW LETTER ALEF} \N{LINE SEPARATOR}",
    "n" * 200,
    "__proto__",
)


@pytest.fixture(scope="module")
def model():
    X, y = table(2)
    return TANClassifier().fit(X, y), X, y


@pytest.fixture(scope="module")
def path(model, tmp_path_factory) -> Path:
    return report(*model, path=tmp_path_factory.mktemp("report") / "page.html")


def predicted(clf, **known: str) -> list[float]:
    """P(class | known attributes), all others missing."""
    row = {name: [known.get(name)] for name in clf.feature_names_in_}
    return clf.predict_proba(pd.DataFrame(row, dtype=object))[0].tolist()


def test_setting_and_clearing_evidence_moves_the_probabilities(page, path, model):
    clf = model[0]
    page.open(path)
    np.testing.assert_allclose(page.probabilities(), predicted(clf), rtol=1e-9)
    Select(page.element("#attribute-1")).select_by_visible_text("s2")
    Select(page.element("#attribute-4")).select_by_visible_text("s0")
    expected = predicted(clf, b="s2", e="s0")
    np.testing.assert_allclose(page.probabilities(), expected, rtol=1e-9)
    assert clf.classes_[np.argmax(expected)] in page.text("#verdict")
    assert "2 of 7" in page.text("#known")
    Select(page.element("#attribute-4")).select_by_visible_text("not given")
    np.testing.assert_allclose(page.probabilities(), predicted(clf, b="s2"), rtol=1e-9)
    page.element("#clear").click()
    np.testing.assert_allclose(page.probabilities(), predicted(clf), rtol=1e-9)


def test_any_row_can_be_loaded_and_has_the_probabilities_of_predict_proba(page, path, model):
    clf, X, y = model
    expected = clf.predict_proba(X)
    page.open(path)
    number = page.element("#row-number")
    for row in (0, 7, len(X) - 1):
        number.clear()
        number.send_keys(str(row), Keys.TAB)
        np.testing.assert_allclose(page.probabilities(), expected[row], rtol=1e-9)
        assert y[row] in page.text("#rows")
    page.driver.find_element("xpath", "//button[text()='Next error']").click()
    wrong = np.flatnonzero(clf.predict(X) != y)
    assert number.get_property("value") == str(wrong[0])  # after the last row the search starts again
    np.testing.assert_allclose(page.probabilities(), expected[wrong[0]], rtol=1e-9)


def test_the_address_holds_the_state_and_gives_it_back(page, path, model):
    page.open(path)
    Select(page.element("#attribute-1")).select_by_visible_text("s2")
    page.element("[data-node='3']").click()
    Select(page.element("#against")).select_by_visible_text("class 0")
    before = page.probabilities()
    fragment = page.run("return location.hash")
    page.open(path, fragment)
    assert page.probabilities() == before
    assert Select(page.element("#attribute-1")).first_selected_option.text == "s2"
    assert page.text("#details h3") == "d"
    assert Select(page.element("#against")).first_selected_option.text == "class 0"
    page.run("location.hash = 'e=1.0-0.1'")
    page.wait("return document.querySelector('#attribute-0').value === '1'")
    np.testing.assert_allclose(page.probabilities(), predicted(model[0], b="s0", a="s1"), rtol=1e-9)


@pytest.mark.parametrize(
    "fragment", ["#e=99.0", "#e=0.99-1.x", "#pin=999&vs=77&row=12345678", "#e=-1.-1&pin=-3", "#=%"]
)
def test_an_address_that_makes_no_sense_is_ignored(page, path, model, fragment):
    page.open(path, fragment)
    np.testing.assert_allclose(page.probabilities(), predicted(model[0]), rtol=1e-9)


def test_a_jump_to_a_section_keeps_the_evidence(page, path):
    page.open(path, "#e=1.2")
    before = page.probabilities()
    page.driver.find_element("link text", "Card").click()
    assert page.run("return location.hash") == "#card"
    assert page.probabilities() == before


def test_hovering_shows_the_table_of_a_node_and_a_click_pins_it(page, path, model):
    page.open(path)
    assert not page.element("#tip").is_displayed()
    node = page.element("[data-node='2']")
    ActionChains(page.driver).move_to_element(node).perform()
    tip = page.element("#tip")
    assert tip.is_displayed()
    expected = model[0].network_.table("c")
    figures = [float(cell.text) for cell in tip.find_elements("css selector", "td")]
    n_states = len(expected.states)
    shown_rows = np.array(figures).reshape(-1, n_states)
    np.testing.assert_allclose(shown_rows, expected.probabilities[: len(shown_rows)], atol=5e-5)
    node.click()
    assert page.text("#details h3") == "c"
    assert page.count("#details tbody tr") == len(expected.probabilities)
    ActionChains(page.driver).move_to_element(page.element("#title")).perform()
    assert not tip.is_displayed()
    assert page.text("#details h3") == "c"


def test_the_graph_is_panned_by_dragging_and_zoomed_by_buttons(page, path):
    page.open(path)
    page.run("document.getElementById('graph').scrollIntoView({block: 'center'})")
    place = "return document.querySelector('[data-node=\"0\"]').getBoundingClientRect().toJSON()"
    start = page.run(place)
    graph = page.element("#graph")
    corner = (-graph.size["width"] // 2 + 5, -graph.size["height"] // 2 + 5)
    ActionChains(page.driver).move_to_element_with_offset(graph, *corner).click_and_hold().move_by_offset(
        60, 40
    ).release().perform()
    moved = page.run(place)
    assert (moved["x"] - start["x"], moved["y"] - start["y"]) == pytest.approx((60, 40), abs=1)
    page.element("#zoom-in").click()
    assert page.run(place)["width"] == pytest.approx(1.25 * start["width"], rel=0.01)
    page.element("#zoom-fit").click()
    assert page.run(place)["x"] == pytest.approx(start["x"], abs=1)


def test_the_graph_works_by_keyboard(page, path):
    page.open(path)
    page.run("document.querySelector('.node.class').focus()")
    keys = ActionChains(page.driver)
    keys.send_keys(Keys.ARROW_DOWN).perform()
    focused = page.run("return document.activeElement.dataset.node")
    assert focused != "7"
    keys.send_keys(Keys.ENTER).perform()
    assert page.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.text("#details h3") == "abcdefg"[int(focused)]
    keys.send_keys(Keys.ESCAPE, Keys.ESCAPE).perform()  # first the tip, then the pin
    assert "a node for its table" in page.text("#details")


def test_searching_lights_up_what_matches_and_enter_pins_it(page, path):
    page.open(path)
    page.element("#search").send_keys("G")
    faded = page.run("return [...document.querySelectorAll('.node.faded')].map((node) => Number(node.dataset.node))")
    assert faded == [0, 1, 2, 3, 4, 5, 7]
    assert [label.text for label in page.driver.find_elements("css selector", ".attribute label") if label.text] == [
        "g"
    ]
    page.element("#search").send_keys(Keys.ENTER)
    assert page.text("#details h3") == "g"
    page.element("#search").send_keys("zzz")
    assert page.text("#found") == "none found"


def test_the_waterfall_begins_as_explain_does_and_adds_up_to_the_log_odds(page, path, model):
    clf, _, _ = model
    codes = {0: 1, 1: 2, 4: 0, 6: 0}
    cells = {column.name: [column.states[codes[k]]] for k, column in enumerate(clf.network_.columns) if k in codes}
    expected = explain(clf, pd.DataFrame(cells, columns=clf.feature_names_in_, dtype=object))[0].first_lines
    page.open(path, "#e=" + "-".join(f"{node}.{code}" for node, code in codes.items()))
    lines = page.run(
        "return [...document.querySelectorAll('.waterfall li')].map((li) => "
        "[li.querySelector('.label').title, Number(li.querySelector('.figure').title)])"
    )
    assert [label for label, _ in lines[:2]] == [label for label, _ in expected]
    values = [value for _, value in lines]
    assert values[:2] == pytest.approx([value for _, value in expected], abs=1e-9)
    # Base rate, baseline, four attributes, the unknown at their means, what is missing, the sum.
    assert len(values) == 9
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=1e-9)
    probabilities = sorted(page.probabilities())
    assert values[-1] == pytest.approx(np.log(probabilities[-1] / probabilities[-2]), abs=1e-9)


def test_quality_and_data_are_shown(page, path, model):
    clf, X, y = model
    page.open(path)
    assert f"{100 * clf.score(X, y):.1f} %" in page.text("#opening")
    counts = [int(count) for count in page.texts(".confusion td")]
    labels = sorted(set(y))
    expected = [[int(((y == t) & (clf.predict(X) == p)).sum()) for p in labels] for t in labels]
    assert counts == [count for row in expected for count in row]
    assert (page.count("#quality .chart"), page.count("#data .column")) == (3, 7)
    page.run("document.querySelector('#data').scrollIntoView()")
    page.wait("return document.querySelectorAll('#data .histogram rect').length")


def test_nothing_of_a_name_becomes_markup_or_runs(page, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(NASTY[:4], 200) for name in NASTY})
    y = pd.Series(rng.choice(NASTY[1:3], 200), name="</title><script>window.hacked = 1</script>")
    page.open(report(TANClassifier().fit(X, y), X, y, path=tmp_path / "page.html"), "#e=0.1-1.2&pin=1")
    for k in range(len(NASTY)):
        ActionChains(page.driver).move_to_element(page.element(f"[data-node='{k}']")).click().perform()
    page.run("document.querySelectorAll('section').forEach((section) => section.scrollIntoView())")
    assert page.run("return window.hacked") is None
    assert page.run(
        "return [document.images.length, document.scripts.length, document.querySelectorAll('b, i').length]"
    ) == [0, 2, 0]
    assert page.driver.title == f"Predicting {y.name}"
    assert [label.text for label in page.driver.find_elements("css selector", ".attribute label")] == [
        " ".join(name.split()) for name in NASTY
    ]
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_markup_that_got_in_would_still_not_run_or_load(page, path):
    page.open(path)
    page.run("document.querySelector('#summary').innerHTML = '<img src=x onerror=\"window.hacked = 1\">'")
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s);"
    )
    refused = page.run("return fetch('https://example.org/').then(() => 'sent', (error) => error.name)")
    assert refused == "TypeError"
    assert page.run("return window.hacked") is None
    log = [entry["message"] for entry in page.driver.get_log("browser")]
    assert log
    assert all("Content Security Policy" in message for message in log)


def test_a_report_without_data_has_the_model_alone(page, tmp_path):
    clf = NaiveBayesClassifier().fit(*table(1))
    page.open(report(clf, path=tmp_path / "page.html"))
    np.testing.assert_allclose(page.probabilities(), list(clf.network_.query("y").values()), rtol=1e-9)
    assert page.count("#quality, #data, #rows") == 0
    assert page.texts("nav a") == ["What-if", "Network", "Card"]


def test_rows_without_classes_can_be_loaded(page, tmp_path):
    X, y = table(1)
    clf = NaiveBayesClassifier().fit(X, y)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    page.open(report(clf, X, path=tmp_path / "page.html"))
    page.driver.find_element("xpath", "//button[text()='Next']").click()
    np.testing.assert_allclose(page.probabilities(), clf.predict_proba(X)[0], rtol=1e-9)
    assert page.texts("nav a") == ["What-if", "Network", "Data", "Card"]


def test_a_class_named_like_an_attribute_is_told_apart(page, tmp_path):
    X, y = table(1)
    clf = TANClassifier().fit(X, y.rename("a"))
    page.open(report(clf, X, y.rename("a"), path=tmp_path / "page.html"), "#e=0.1")
    assert page.text("#outcome-title") == "Probability of a_"
    np.testing.assert_allclose(page.probabilities(), predicted(clf, a="s1"), rtol=1e-9)
