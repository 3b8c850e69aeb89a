"""Corrections and changes of the decision on the page, against Python's."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from report.models import mixed_table, random_codes, rows_of, with_trees
from tanager import AdditiveClassifier, TANClassifier, apply_edits, counterfactuals, report
from tanager.decide import CostDecision, ThresholdDecision
from tanager.files import load_edits
from tanager.metrics.basic import accuracy, brier, log_loss


@pytest.fixture(scope="module", params=["average", "trees", "auto"])
def model(request):
    if request.param == "trees":
        return with_trees(2), *mixed_table(2, n_rows=150, gaps=0.1)
    X, y = mixed_table(3, n_rows=300, gaps=0.05)
    return AdditiveClassifier(pairs=8, trees=False, missing=request.param).fit(X, y), X, y


def patterns_of(network, number: int) -> np.ndarray:
    """Random evidence; a gap that is a state of its own is that state."""
    codes = random_codes(network, number, seed=1)
    gap = np.array([column.n_states - 1 if column.missing_state else -1 for column in network.columns])
    return np.where(codes < 0, gap, codes)


def edits_of(network) -> list[dict[str, object]]:
    """Each kind of edit, as the page writes it."""
    cuts = network.columns[1].cuts
    found: list[dict[str, object]] = [
        {"what": "flatten", "attributes": ["pay"], "from": cuts[2], "to": cuts[8]},
        {"what": "flatten", "attributes": ["town"], "states": ["Aa", "Dy"]},
        {"what": "monotone", "attributes": ["age"], "direction": "increasing", "of": "class 2"},
        {"what": "monotone", "attributes": ["pay"], "direction": "decreasing", "of": "class 0", "to": cuts[-3]},
    ]
    if network.pairs:
        found.append({"what": "remove", "attributes": [network.nodes[k] for k in network.pairs[-1]]})
    return [*found, {"what": "remove", "attributes": ["job"]}]


def test_the_page_corrects_a_model_as_python_does_and_saves_what_python_reads(page, model, tmp_path):
    clf, X, y = model
    page.open(report(clf, X, y, tmp_path / "page.html"))
    codes = patterns_of(clf.model_, 12)
    full = np.maximum(codes, 0)
    full[:, -1] = -1
    patterns = np.concatenate([codes, full])
    rows = rows_of(clf.model_, patterns[:, :-1])
    for edit in edits_of(clf.model_):
        page.run("window.tanagerReport.edits.add({...arguments[0], reason: 'r', who: 'w', when: '2024'})", edit)
    (tmp_path / "edits.json").write_text(page.run("return window.tanagerReport.edits.text()"))
    edited = apply_edits(clf, load_edits(tmp_path / "edits.json"))
    found = page.posterior(patterns.tolist())
    np.testing.assert_allclose(found, edited.predict_proba(rows), rtol=0, atol=1e-9)
    assert np.abs(edited.predict_proba(rows) - clf.predict_proba(rows)).max() > 0.01
    assert len(edited.edits_[0].edits) == len(edits_of(clf.model_))
    page.wait("return window.tanagerReport.edits.latest().after !== null")
    quality = page.run("return window.tanagerReport.edits.latest()")
    labels = np.searchsorted(clf.classes_, y)
    for when, now in (("before", clf), ("after", edited)):
        proba = now.predict_proba(X)
        assert quality[when]["rows"] == len(X)
        assert quality[when]["accuracy"] == pytest.approx(accuracy(proba, labels), abs=1e-9)
        assert quality[when]["log-loss"] == pytest.approx(log_loss(proba, labels), abs=1e-9)
        assert quality[when]["Brier score"] == pytest.approx(brier(proba, labels), abs=1e-9)
    while page.run("return document.querySelectorAll('.edits li').length"):
        page.run(
            "[...document.querySelectorAll('.corrections button')].find((b) => /last/.test(b.textContent)).click()"
        )
    np.testing.assert_allclose(page.posterior(patterns.tolist()), clf.predict_proba(rows), rtol=0, atol=1e-9)


def test_a_correction_is_made_by_hand_with_a_reason_and_downloaded(page, tmp_path):
    X, y = mixed_table(3, n_rows=300)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(X, y)
    page.open(report(clf, X, y, tmp_path / "page.html"))
    page.run("document.getElementById('correct').click(); document.getElementById('shapes').scrollIntoView()")
    button = "[...document.querySelectorAll('.edit-form button')].find((b) => b.textContent === '%s')"
    opener = "[...document.querySelectorAll('#shapes .edit')].find((b) => b.ariaLabel === 'Edit age')"
    page.wait(f"return !!{opener}")
    page.run(f"{opener}.click()")
    page.wait(f"return !!{button % 'Only rising'}")
    # The form is beside the picture, and the words that say of which rows the figures are can be read.
    beside = "const [form, picture] = ['.edit-form', '.card:has(.edit-form) > svg'].map((each) => "
    beside += "document.querySelector(each).getBoundingClientRect()); return form.left >= picture.right"
    assert page.run(beside)
    rows = page.element(".corrections thead th")
    assert rows.text == "on 300 training rows of this page"
    assert page.run("return arguments[0].scrollWidth <= arguments[0].clientWidth", rows)
    page.run(f"{button % 'Only rising'}.click()")
    assert "needs a reason" in page.text(".edit-form .note")
    page.element(".edit-form input").send_keys("it only grows with age")
    page.run(f"{button % 'Only rising'}.click()")
    assert page.text(".edits li").startswith("make age increasing for class")
    page.run(
        "window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return make(blob); };"
        "HTMLAnchorElement.prototype.click = () => {}; document.getElementById('save-edits').click()"
    )
    saved = json.loads(page.wait("return window.saved[0]"))
    (tmp_path / "edits.json").write_text(json.dumps(saved))
    edited = apply_edits(clf, load_edits(tmp_path / "edits.json"))
    assert edited.edits_[0].edits.edits[0].reason == "it only grows with age"
    opened = report(edited, X, y, tmp_path / "edited.html")
    page.open(opened)
    assert "it only grows with age" in page.text(".corrections")
    patterns = patterns_of(clf.model_, 5)
    expected = edited.predict_proba(rows_of(clf.model_, patterns[:, :-1]))
    np.testing.assert_allclose(page.posterior(patterns.tolist()), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["effects", "tables", "threshold", "costs"])
def test_the_page_finds_the_changes_that_python_finds(page, kind, tmp_path):
    X, y = mixed_table(5, n_rows=250, n_classes=2)
    X = X[["age", "town", "job"]].assign(age=X["age"] // 15 * 15)
    clf = (TANClassifier() if kind == "tables" else AdditiveClassifier(pairs=8, trees=False)).fit(X, y)
    classes = ("class 0", "class 1")
    if kind == "threshold":
        clf.decision_ = ThresholdDecision(classes, "class 1", 0.2)
    if kind == "costs":
        clf.decision_ = CostDecision(classes, ((0.0, 1.0), (2.0, 0.0)), 0.3)
    page.open(report(clf, X, y, tmp_path / "page.html"))
    rows = X.iloc[[0, 3, 8, 20]]
    words = [*classes, "ask a person"]
    for row, expected in zip(rows.index, counterfactuals(clf, rows, locked=["job"]), strict=True):
        page.run("const {store} = window.tanagerReport; store.state.locked.clear(); store.lock(2)")
        page.load_row(int(row))
        found = page.run(
            "const {store, changes} = window.tanagerReport; return changes(store.state.codes, new Set([2]))"
        )
        assert found["complete"]
        assert words[found["now"]] == expected.decided
        assert [change["size"] for change in found["changes"]] == pytest.approx([one.size for one in expected.changes])
        assert [{clf.model_.nodes[cell["node"]] for cell in change["cells"]} for change in found["changes"]] == [
            {cell.attribute for cell in change.cells} for change in expected.changes
        ]
        for k, change in enumerate(expected.changes):
            page.run("document.getElementById('change').click()")
            page.run(f"document.querySelectorAll('.changes .link')[{k}].click()")
            proba = page.run("const {posterior, store} = window.tanagerReport; return posterior(store.state.codes)")
            np.testing.assert_allclose(proba, list(change.probabilities.values()), rtol=0, atol=1e-9)
            assert f"changed from row {row}" in page.text("#known")
            page.run("document.getElementById('undo').click()")
    assert page.text("#decision").startswith("Decided: ") == (kind in ("threshold", "costs"))


def test_a_loaded_row_shows_its_own_numbers_and_changed_cells_show_them_too(page, tmp_path):
    X, y = mixed_table(3, n_rows=300, gaps=0.05)
    clf = AdditiveClassifier(pairs=8, trees=False).fit(X, y)
    page.open(report(clf, X, y, tmp_path / "page.html"))
    row = int(X["age"].notna().argmax())
    page.load_row(row)
    assert float(page.run("return document.getElementById('attribute-0').value")) == X.loc[row, "age"]
    assert float(page.run("return document.getElementById('attribute-1').value")) == X.loc[row, "pay"]
    slide = "const s = document.querySelector('.attribute input[type=range]'); s.value = 1000;"
    page.run(f"{slide} s.dispatchEvent(new Event('input'))")
    value = float(page.run("return document.getElementById('attribute-0').value"))
    changed = X.iloc[[row]].assign(age=value)
    proba = page.run("const {posterior, store} = window.tanagerReport; return posterior(store.state.codes)")
    np.testing.assert_allclose(proba, clf.predict_proba(changed)[0], rtol=0, atol=1e-9)
    assert value > X["age"].quantile(0.9)
    assert page.text(".own-value") == f"row {row}: {X.loc[row, 'age']:g}"
    page.run("document.querySelector('.own-value').click()")
    assert page.run("return document.querySelector('.own-value').hidden")
    page.load_row(99999)
    assert "there is no row 99999" in page.text("#rows")


def test_axe_finds_nothing_in_forms_and_changes(page, axe, tmp_path):
    X, y = mixed_table(3, n_rows=200)
    page.open(report(AdditiveClassifier(pairs=8, trees=False).fit(X, y), X, y, tmp_path / "page.html"))
    page.run("document.getElementById('correct').click(); document.getElementById('shapes').scrollIntoView()")
    for name in ("town", "age"):  # the second form takes the place of the first
        opener = f"[...document.querySelectorAll('#shapes .edit')].find((b) => b.ariaLabel === 'Edit {name}')"
        page.wait(f"return !!{opener}")
        page.run(f"{opener}.click()")
    page.run("window.tanagerReport.edits.add({what: 'remove', attributes: ['noise'], reason: 'r'})")
    page.load_row(3)
    page.run("document.querySelector('.attribute input[type=range]').dispatchEvent(new Event('input'))")
    page.run("document.getElementById('change').click()")
    page.wait("return document.querySelectorAll('.changes li').length > 0 && document.querySelector('.edit-form')")
    assert page.violations(axe) == []


def test_dates_are_typed_and_shown_as_dates_and_a_gap_may_be_a_state(page, tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("timedelta64[D]")
    X = pd.DataFrame(
        {
            "day": days.astype("datetime64[s]"),
            "moment": (days + rng.integers(0, 86_400, n).astype("timedelta64[s]")).astype("datetime64[s]"),
            "wait": rng.integers(1, 90_000, n).astype("timedelta64[s]"),
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    y = np.where((days > np.datetime64("2024-06-01")) ^ (rng.random(n) < 0.1), "late", "early")
    clf = AdditiveClassifier(trees=False).fit(X, y)
    page.open(report(clf, X, y, tmp_path / "page.html"))
    row = int(X["x"].isna().argmax())
    page.load_row(row)
    assert page.run("return document.getElementById('attribute-0').value")[:10] == str(days[row])
    assert page.run("return document.getElementById('attribute-3').placeholder") == "missing"
    proba = "const {posterior, store} = window.tanagerReport; return posterior(store.state.codes)"
    np.testing.assert_allclose(page.run(proba), clf.predict_proba(X.iloc[[row]])[0], rtol=0, atol=1e-9)
    day = "2024-02-03" if days[row] > np.datetime64("2024-06-01") else "2024-09-03"
    kind = page.run("return document.getElementById('attribute-0').type")
    typed = day if kind == "date" else f"{day}T00:00:00"
    put = "const f = document.getElementById('attribute-0'); f.value = arguments[0];"
    page.run(f"{put} f.dispatchEvent(new Event('change'))", typed)
    changed = X.iloc[[row]].assign(day=pd.Timestamp(day))
    np.testing.assert_allclose(page.run(proba), clf.predict_proba(changed)[0], rtol=0, atol=1e-9)
    assert not np.allclose(clf.predict_proba(changed), clf.predict_proba(X.iloc[[row]]))
    assert str(days[row]) in page.text(".own-value")
