"""The page of a network of effects in a real browser: shapes, pairs, typed numbers; against the network itself."""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from sklearn.datasets import make_moons

from report.models import mixed_table, table, with_hidden_node
from report.test_page import NASTY
from tanager import AdditiveClassifier, report
from tanager.additive.importance import class_odds, effect_strength
from tanager.classifiers.base import encode_table

MINUS = "\N{MINUS SIGN}"
DRAWN = "return [...document.querySelectorAll('.reach:not(.away)')].map((edge) => Number(edge.dataset.pair))"


@pytest.fixture(scope="module")
def model():
    X, y = mixed_table(3, n_rows=1_500)
    return AdditiveClassifier(pairs=8, trees=False).fit(X, y), X, y


@pytest.fixture(scope="module")
def path(model, tmp_path_factory) -> Path:
    return report(*model, path=tmp_path_factory.mktemp("report") / "page.html")


def test_shapes_are_ranked_by_importance(page, path, model):
    network = model[0].model_
    strength = effect_strength(network)
    page.open(path)
    names = page.texts("#shapes .card .link")
    mains, pairs = strength[: len(network.mains)], strength[len(network.mains) :]
    expected = [network.nodes[k] for k in np.argsort(-mains, kind="stable")]
    expected += [" & ".join(network.nodes[k] for k in network.pairs[p]) for p in np.argsort(-pairs, kind="stable")]
    assert names == expected[: len(names)]
    assert len(names) == len(mains) + min(12, len(pairs))


@pytest.mark.parametrize("label", [0, 2])
def test_curves_and_bars_have_the_log_odds_of_the_network(page, path, model, label):
    network = model[0].model_
    page.open(path)
    page.run(
        f"const c = document.getElementById('shape-class'); c.value = {label}; c.dispatchEvent(new Event('change'))"
    )
    page.run("document.getElementById('shapes').scrollIntoView()")
    for name in ("age", "town"):
        page.wait(f"return !!{CARD % name}?.querySelector('svg')")
        said = page.run(f"return [...{CARD % name}.querySelectorAll('title')].map((each) => each.textContent)")
        odds = class_odds(network.main(name))[:, label]
        shares = network.densities[network.number(name)]
        start = np.log(rate := model[0].class_count_[label] / model[0].class_count_.sum()) - np.log1p(-rate)
        wanted = {
            str(state): (f"{abs(value):.2f}", round(100 * expit(start + value)), f"{100 * share:.1f}")
            for state, value, share in zip(network.states[name], odds, shares, strict=True)
        }
        found = {}
        for words in said:
            state, value, chance, share = re.fullmatch(
                rf"(.*): [{MINUS}+]?([\d.]+)(?: ± [\d.]+)?, chance (\d+) %, (.*) % of the rows", words
            ).groups()
            found[state] = (value, int(chance), share)
        assert found == wanted
        signs = {words.split(": ")[0]: MINUS in words.split(": ")[1] for words in said}
        assert all(signs[str(s)] == (v < 0) for s, v in zip(network.states[name], odds, strict=True) if abs(v) > 0.006)


CARD = (
    "[...document.querySelectorAll('.shapes .card')].find((card) => card.querySelector('.link').textContent === '%s')"
)


def test_heat_maps_have_the_log_odds_of_the_pair(page, path, model):
    network = model[0].model_
    parent, child = (network.nodes[k] for k in network.pairs[0])
    page.open(path, "#pair=0&vs=0")
    assert page.text("#details h3") == f"{parent} & {child}"
    favoured = page.run("return window.tanagerReport.store.favoured")
    said = page.texts("#details title")
    odds = class_odds(network.pair(parent, child))[..., favoured]
    rows, columns = (network.columns[network.number(name)].coarse.states for name in (parent, child))
    shown_odds = [re.sub(rf"[{MINUS}+]|, \d+ rows?$", "", words).rsplit(": ", 1) for words in said]
    coarse = network.coarsen(encode_table(*model[:2])[1])[:, network.pairs[0]].astype(int)
    counted = np.zeros(odds.shape, dtype=int)
    np.add.at(counted, tuple(coarse.T), 1)
    assert [int(re.search(r", (\d+) rows?$", words)[1]) for words in said] == counted.ravel().tolist()
    assert [words for words, _ in shown_odds] == [f"{a} and {b}" for a in rows for b in columns]
    np.testing.assert_allclose(
        [float(number.split()[0]) for _, number in shown_odds], np.abs(odds).ravel(), rtol=0, atol=0.00501
    )


def test_heat_maps_of_numbers_have_every_bin_and_labels_that_do_not_overlap(page, tmp_path):
    X, y = make_moons(2_000, noise=0.2, random_state=0)
    clf = AdditiveClassifier(pairs=1, trees=False).fit(pd.DataFrame(X, columns=["x", "y"]), y)
    n_bins = [column.coarse.n_states for column in clf.model_.columns[:-1]]
    assert min(n_bins) > 8
    page.open(report(clf, pd.DataFrame(X, columns=["x", "y"]), y, path=tmp_path / "page.html"))
    page.run("document.getElementById('shapes').scrollIntoView()")
    page.wait("return document.querySelectorAll('#shapes .cell').length")
    assert len(page.texts("#shapes g:has(> .cell)")) == np.prod(n_bins)
    tops = page.run(
        "return [...document.querySelectorAll('#shapes svg:has(.cell) > .tick:not([transform])')]"
        ".map((label) => label.getBoundingClientRect().top)"
    )
    assert len(tops) > 3
    assert min(np.diff(tops)) > 8


def test_a_number_can_be_typed_and_falls_into_its_bin(page, path, model):
    clf, X, _ = model
    network = clf.model_
    page.open(path)
    for k, name in enumerate(network.nodes[:-1]):
        if network.columns[k].kind == "numeric":
            field = page.element(f"#attribute-{k}")
            field.send_keys(str(X.loc[4, name]), Keys.TAB)
        else:
            code = network.code(name, X.loc[4, name])
            page.run(f"window.tanagerReport.store.set({k}, {code})")
    np.testing.assert_allclose(page.probabilities(), clf.predict_proba(X.iloc[[4]])[0], atol=1e-9)
    field = page.element("#attribute-0")
    assert network.code("age", X.loc[4, "age"]) > 0
    assert float(field.get_attribute("value")) == X.loc[4, "age"]
    page.run("window.tanagerReport.store.set(0, 0)")
    assert field.get_attribute("value") == ""
    field.send_keys("forty", Keys.TAB)
    assert field.get_attribute("aria-invalid") == "true"
    assert page.run("return window.tanagerReport.store.state.codes[0]") == 0
    field.clear()
    cut = network.columns[0].cuts[3]  # belongs to the bin above
    field.send_keys(repr(cut), Keys.TAB)
    assert page.run("return window.tanagerReport.store.state.codes[0]") == network.code("age", cut) == 4


def test_nodes_show_their_curve_and_edges_their_heat_map(page, path):
    page.open(path)
    page.run("document.getElementById('graph').scrollIntoView({block: 'center'})")
    ActionChains(page.driver).move_to_element(page.element('.node[data-node="0"] rect')).perform()
    assert "age" in page.text("#tip")
    assert page.count("#tip .shape polyline") == 1
    ActionChains(page.driver).move_by_offset(0, 400).perform()
    # A point on the first edge that nothing else covers.
    place = page.run(
        "const edge = document.querySelector('.reach:not(.away)'), to = edge.getScreenCTM();"
        "for (let t = 0.05; t < 1; t += 0.05) {"
        "  const at = edge.getPointAtLength(t * edge.getTotalLength()).matrixTransform(to);"
        "  if (document.elementFromPoint(at.x, at.y) === edge) return [at.x, at.y, Number(edge.dataset.pair)];"
        "}"
    )
    x, y, pair = place
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        options = {"type": kind, "x": x, "y": y, "button": "none" if kind == "mouseMoved" else "left", "clickCount": 1}
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", options)
        if kind == "mouseMoved":
            page.wait("return !document.getElementById('tip').hidden")
            assert page.count("#tip .cell") >= 4
    assert f"pair={pair}" in page.run("return location.hash")
    assert page.count("#details .cell") >= 4


def test_the_strongest_pairs_are_drawn_first_and_all_on_demand(page, tmp_path):
    X, y = table(8, n_columns=20, n_rows=400)
    clf = AdditiveClassifier(pairs=12).fit(X, y)
    network = clf.model_
    page.open(report(clf, path=tmp_path / "page.html"))
    strength = effect_strength(network)[len(network.mains) :]
    assert sorted(page.run(DRAWN)) == sorted(np.argsort(-strength, kind="stable")[:20].tolist())
    page.run(
        "const drawn = document.getElementById('pairs-drawn');"
        "drawn.value = drawn.max; drawn.dispatchEvent(new Event('input'))"
    )
    assert sorted(page.run(DRAWN)) == list(range(len(network.pairs)))


def test_what_is_missing_is_a_part_of_its_own_and_the_parts_add_up(page, path, model):
    clf, X, _ = model
    network = clf.model_
    page.open(path, f"#e=0.{network.code('age', X.loc[0, 'age'])}")
    words = page.texts("#waterfall li .label")
    assert any(each.startswith("what is not given") for each in words)
    values = [
        float(each)
        for each in page.run("return [...document.querySelectorAll('#waterfall li .figure')].map((each) => each.title)")
    ]
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=1e-9)
    gappy = X.iloc[[0]].assign(pay=np.nan, town=None, job=None, noise=np.nan)
    found = np.sort(clf.predict_log_proba(gappy)[0])
    assert values[-1] == pytest.approx(found[-1] - found[-2], abs=1e-9)


def test_nasty_names_stay_text(page, tmp_path):
    X, y = mixed_table(4)
    X["job"] = X["job"].map(dict(zip(["none", "half", "full"], NASTY[:3], strict=True)))
    X.columns = list(NASTY[:5])
    clf = AdditiveClassifier(pairs=8).fit(X, y.map(lambda label: f"<b>{label}</b>"))
    page.open(report(clf, X, y.map(lambda label: f"<b>{label}</b>"), path=tmp_path / "page.html"), "#pair=0")
    page.run("document.getElementById('shapes').scrollIntoView()")
    page.wait("return document.querySelectorAll('#shapes svg').length > 3")
    assert page.run("return window.hacked") is None
    assert page.count("main b, main img, main i") == 0
    assert set(page.texts("#shapes .card .link")) >= set(NASTY[:5])


def test_forty_one_attributes_fit_into_three_megabytes(page, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1_000, 41)), columns=[f"attribute {k}" for k in range(41)])
    score = X.iloc[:, :10].sum(axis=1) + 2 * np.sign(X.iloc[:, 0] * X.iloc[:, 1])
    y = pd.Series(np.digitize(score, [-2, 2]), name="y")
    clf = AdditiveClassifier(pairs=24, discretizer="quantile").fit(X, y)
    network = clf.model_
    pairs = list(combinations(range(41), 2))[:230]
    shapes = [[network.columns[k].coarse.n_states + 1 for k in pair] for pair in pairs]
    tables = tuple(rng.normal(size=(*shape, 3)) for shape in shapes)
    clf.model_ = replace(network, pairs=tuple(pairs), tables=tables, pair_densities=())
    clf.missing_rule_ = replace(clf.missing_rule_, network=clf.model_)
    path = report(clf, X.iloc[1:], y.iloc[1:], path=tmp_path / "page.html")  # of all rows it would cross-validate
    assert path.stat().st_size < 3_000_000
    page.open(path)
    assert page.count(".node:not(.away)") == 31


def test_hidden_nodes_have_no_column_in_the_data_and_rows_load_all_the_same(page, tmp_path):
    clf = with_hidden_node()
    X, y = table(4, n_columns=5)
    X = X.drop(columns="c")
    page.open(report(clf, X, y, path=tmp_path / "page.html"))
    assert len(page.texts("#data .column h3")) == 4
    page.element("#row-number").send_keys("7", Keys.TAB)
    np.testing.assert_allclose(page.probabilities(), clf.predict_proba(X)[7], atol=1e-9)


def test_attributes_that_hardly_matter_are_named_and_have_no_card_and_flat_ones_one_on_demand(page, model, tmp_path):
    clf, X, y = copy(model[0]), *model[1:]
    network = clf.model_
    idle = network.nodes[network.pairs[0][0]]
    flat = next(name for name in network.nodes if name != idle)
    sizes = {idle: 1e-6, flat: 0.003 / effect_strength(network)[network.nodes.index(flat)]}
    mains = tuple(sizes.get(name, 1.0) * own for name, own in zip(network.nodes, network.mains, strict=False))
    kept = [k for k, pair in enumerate(network.pairs) if idle not in (network.nodes[pair[0]], network.nodes[pair[1]])]
    pairs, tables = tuple(network.pairs[k] for k in kept), tuple(network.tables[k] for k in kept)
    clf.model_ = replace(network, mains=mains, pairs=pairs, tables=tables, pair_densities=(), forest=None)
    clf.missing_rule_ = replace(clf.missing_rule_, network=clf.model_)
    page.open(report(clf, X, y, path=tmp_path / "page.html"))
    assert page.texts("#idle li") == [idle]
    assert idle not in page.texts("#shapes .card .link")
    assert idle not in page.texts(".node:not(.away) .name")
    # One that is flat in a picture comes on demand.
    assert flat not in page.texts("#shapes .card .link")
    page.run("[...document.querySelectorAll('#shapes > button')].at(-1).click()")
    assert flat in page.texts("#shapes .card .link")


def test_a_click_on_the_map_of_a_pair_enlarges_it(page, path):
    page.open(path)
    page.run("document.getElementById('twos').scrollIntoView()")
    page.wait("return document.querySelector('.zoomable svg')")
    page.run("document.querySelector('.zoomable').click()")
    assert page.count("dialog[open] .cell") > 0
    page.run("document.querySelector('dialog button').click()")
    page.wait("return !document.querySelector('dialog')")
