"""How the page looks: sizes, schemes, wide and long content, accessibility; measured in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys

from report.models import mixed_table, table
from tanager import AdditiveClassifier, NaiveBayesClassifier, TANClassifier, report
from tanager.additive.importance import class_odds

FRAGMENTS = [("tables", "#e=0.1-1.2-4.0&pin=3"), ("effects", "#e=0.1-2.2&pin=0"), ("effects", "#pair=0")]
"""A kind of page, and what is pinned on it."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """The page of a network of tables, and of an additive model with pairs."""
    folder = tmp_path_factory.mktemp("report")
    models = {"tables": (TANClassifier(), table(2)), "effects": (AdditiveClassifier(pairs=8), mixed_table(3))}
    return {kind: report(clf.fit(*rows), *rows, path=folder / f"{kind}.html") for kind, (clf, rows) in models.items()}


@pytest.fixture(scope="module")
def path(pages) -> Path:
    return pages["tables"]


OUTSIDE = """
return [...document.querySelectorAll(arguments[0])].filter((each) => {
  const inner = each.getBoundingClientRect(), outer = each.closest(arguments[1]).getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
}).map((each) => each.textContent)
"""
"""What of the first selector reaches out of its box, the second."""


@pytest.fixture(scope="module")
def certain(tmp_path_factory) -> Path:
    """The page of a model that one column makes nearly certain, with a few errors; the others are noise."""
    rng = np.random.default_rng(0)
    X, y = table(6, n_rows=500, n_columns=30, n_classes=2)
    X = X.apply(rng.permutation)
    wrong = rng.random(len(y)) < 0.02
    X["told"] = np.where(wrong, y[::-1], y)
    X["number"] = (10 * y.str[-1].astype(float) + rng.integers(0, 10, len(y))).where(~wrong, 5.0)
    y = y.map(lambda label: f"{label} of the two")
    clf = AdditiveClassifier(pairs=0, trees=False).fit(X, y)
    mains = clf.model_.mains
    largest = max(np.abs(class_odds(main)).max() for main in mains)  # just below a tick, which is then at the edge
    clf.model_ = replace(clf.model_, mains=tuple(9.9 / largest * main for main in mains))
    clf.missing_rule_ = replace(clf.missing_rule_, network=clf.model_)
    return report(clf, X, y, path=tmp_path_factory.mktemp("report") / "page.html")


@pytest.mark.parametrize("width", [390, 1300])
def test_no_label_of_a_shape_leaves_its_picture(page, certain, width):
    page.size(width)
    page.open(certain)
    page.run("document.getElementById('shapes').scrollIntoView()")
    page.run("document.querySelectorAll('.folded .fold').forEach((each) => each.click())")
    page.wait("return document.querySelector('#shapes .tick')")
    assert any("> 99 %" in words for words in page.texts("#shapes .tick"))
    assert page.run(OUTSIDE, "#shapes .tick", "svg") == []


def test_figures_and_tables_fit_their_cards(page, certain):
    page.open(certain)
    assert page.run(OUTSIDE, "#mistakes td, .confusion td, .drivers td, .tile .ends span", ".card, .tile") == []
    ends = "const box = (each) => document.querySelector(each).getBoundingClientRect();"
    place = page.run(ends + "return [box('.scale .base-mark:nth-of-type(3)').right, box('.tile .ends').right]")
    assert place[0] == pytest.approx(place[1], abs=8)  # "perfect" is written where the scale ends


def test_cut_points_of_pairs_are_drawn_where_there_are_pairs_alone(page, certain, pages):
    for path, drawn in ((pages["effects"], True), (certain, False)):
        page.open(path)
        page.run("document.querySelector('#columns .column:has(.histogram), #columns .column').scrollIntoView()")
        page.run("dispatchEvent(new Event('beforeprint'))")
        page.wait("return document.querySelector('#columns rect')")
        assert (page.count("#columns .cut") > 0) == drawn
        assert ("Vertical lines" in page.text("#columns")) == drawn


def test_attributes_without_any_effect_are_left_out_of_what_if_until_they_are_asked_for(page, certain):
    page.open(certain)
    visible = "return [...document.querySelectorAll('.attribute:not([hidden]) label')].map((each) => each.textContent)"
    idle = page.texts("#idle li")
    assert idle
    assert not set(idle) & set(page.run(visible))
    assert f"{len(idle)} attributes without any effect" in page.text("#left-out")
    page.element("#find-evidence").send_keys(idle[0])
    assert idle[0] in page.run(visible)


def test_dark_mode_follows_the_system_and_the_button(page, path):
    background = "return getComputedStyle(document.body).backgroundColor"
    page.open(path)
    light = page.run(background)
    page.prefer("dark")
    dark = page.run(background)
    assert _brightness(dark) < 60 < 200 < _brightness(light)
    assert _brightness(page.run("return getComputedStyle(document.body).color")) > 200
    page.element("#theme").click()  # auto -> light
    assert page.run(background) == light
    page.prefer("light")
    page.element("#theme").click()  # light -> dark
    assert page.run(background) == dark
    page.open(path)
    assert page.run(background) == dark  # remembered
    page.run("localStorage.clear()")


def test_of_two_hundred_attributes_the_strongest_are_drawn_and_search_finds_the_others(page, tmp_path):
    X, y = table(5, n_columns=200)
    clf = TANClassifier().fit(X, y)
    path = report(clf, X, y, path=tmp_path / "page.html")
    assert path.stat().st_size < 3_000_000
    page.open(path)
    drawn = "return [...document.querySelectorAll('.node:not(.away)')].map((node) => Number(node.dataset.node))"
    part = page.run(drawn)
    assert 20 < len(part) <= 41
    hidden = next(k for k in range(200) if k not in part)
    page.element("#search").send_keys(f"attribute {hidden}", Keys.ENTER)
    assert page.text("#details h3") == f"attribute {hidden}"
    assert len(page.run(drawn)) == 201
    page.element("#part").click()
    assert page.run(drawn) == part


@pytest.mark.parametrize("width", [400, 800, 1300])
@pytest.mark.parametrize(("kind", "fragment"), FRAGMENTS)
def test_the_page_never_scrolls_sideways(page, pages, kind, fragment, width):
    page.size(width)
    page.open(pages[kind], fragment)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_many_classes_with_long_names_are_told_apart_and_scroll_only_their_matrix(page, tmp_path):
    X, y = table(3, n_classes=14)
    names = pd.Series([f"a rather long name of {label}" for label in y], name="y")
    clf = NaiveBayesClassifier().fit(X, names)
    page.open(report(clf, X, names, path=tmp_path / "page.html"))
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    cut_off = (
        "return [...document.querySelectorAll('#classes .label')].filter((e) => e.scrollWidth > e.clientWidth).length"
    )
    assert page.run(cut_off) == 0
    assert page.count(".confusion td") == 14 * 14


def test_gaps_are_counted_attribute_by_attribute_the_emptiest_first(page, tmp_path):
    X, y = table(1)
    clf = NaiveBayesClassifier().fit(X, y)
    rng = np.random.default_rng(0)
    X = X.mask(rng.random(X.shape) < np.array([0, 0.9, 0.1, 0.5, 0, 0.2, 0.7]))
    page.open(report(clf, X, y, path=tmp_path / "page.html"))
    shown_rows = page.run(
        "return [...document.querySelectorAll('.missing-cells li')].map("
        "(row) => [row.querySelector('.label').innerText, row.querySelector('.figure').innerText])"
    )
    shares = X.isna().mean().sort_values(ascending=False)
    assert shown_rows == [[name, f"{100 * share:.1f} %"] for name, share in shares.items() if share]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 1300), ("light", 420)])
@pytest.mark.parametrize(("kind", "fragment"), FRAGMENTS)
def test_axe_finds_nothing(page, pages, kind, fragment, scheme, width, axe):
    page.prefer(scheme)
    page.size(width)
    page.open(pages[kind], fragment)
    if kind == "effects":
        page.run("document.querySelectorAll('.folded .fold').forEach((each) => each.click())")
        page.run("document.getElementById('shapes').scrollIntoView()")
        page.wait("return document.querySelectorAll('#shapes svg').length > 3")
    assert page.violations(axe) == []


def _brightness(colour: str) -> float:
    """Mean of red, green and blue, 0 to 255."""
    return float(np.mean([float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]))
