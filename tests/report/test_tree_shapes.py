"""What the page draws of trees, against enumeration of every row there can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, report
from tanager.additive.importance import class_odds, tree_mains
from tanager.report.model_section import describe_effects


@pytest.fixture(scope="module")
def model():
    """A number in bins of two sizes and three categories; two of them and the number count only together."""
    rng = np.random.default_rng(0)
    n = 1_500
    x, a, b, c = rng.integers(0, 40, n), rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    score = 2.5 * np.where((x > 20) ^ (a == 1) ^ (b == 1), 1, -1) + 0.6 * (c - 1) * (x > 10)
    y = np.array(["no", "yes"])[(score + rng.logistic(size=n) > 0).astype(int)]
    X = pd.DataFrame({"x": x.astype(float), "a": a.astype(str), "b": b.astype(str), "c": c.astype(str)})
    clf = AdditiveClassifier(missing="average").fit(X, y)
    assert clf.model_.forest is not None
    assert clf.model_.columns[0].groups
    return clf, X, pd.Series(y, name="y")


@pytest.fixture(scope="module")
def path(model, tmp_path_factory) -> Path:
    clf, X, y = model
    return report(clf, X.iloc[1:], y.iloc[1:], tmp_path_factory.mktemp("report") / "page.html")


def parts_of_sets(network) -> dict[tuple[int, ...], np.ndarray]:
    """The part of each set of attributes, (states, ..., classes), by means over all rows of fine states."""
    shape = network.n_states[:-1]
    rows = np.array(list(product(*map(range, shape))), dtype=np.uint8)
    whole = network.forest.scores(rows).reshape(*shape, -1)

    def mean_given(kept: tuple[int, ...]) -> np.ndarray:
        found = whole
        for axis in range(len(shape)):
            if axis not in kept:
                weights = network.densities[axis].reshape([-1 if k == axis else 1 for k in range(whole.ndim)])
                found = (found * weights).sum(axis=axis, keepdims=True)
        return found

    found: dict[tuple[int, ...], np.ndarray] = {}
    for size in range(4):
        for kept in combinations(range(len(shape)), size):
            smaller = [part for own, part in found.items() if set(own) < set(kept)]
            found[kept] = mean_given(kept) - sum(smaller, np.zeros(1))
    return {kept: part.reshape(*(shape[k] for k in kept), -1) for kept, part in found.items()}


def coarsened(network, kept, part) -> np.ndarray:
    """The mean of a part over the fine states in each coarse one, by their shares."""
    for axis, attribute in enumerate(kept):
        column, density = network.columns[attribute], network.densities[attribute]
        groups = column.coarse_codes[:-1]
        shares = np.stack([(groups == g) * density for g in range(column.coarse.n_states)])
        shares /= shares.sum(axis=1, keepdims=True)
        part = np.moveaxis(np.tensordot(shares, part, axes=(1, axis)), 0, axis)
    return part


def test_the_part_of_an_attribute_alone_is_its_mean_over_all_others(page, model, path):
    network = model[0].model_
    parts = parts_of_sets(network)
    found = tree_mains(network)
    page.open(path)
    drawn = page.run("return window.tanagerReport.treeShapes().alone.map((part) => Array.from(part))")
    for attribute, own in enumerate(found):
        np.testing.assert_allclose(own, parts[attribute,], atol=1e-12)
        np.testing.assert_allclose(np.reshape(drawn[attribute], own.shape), own, atol=1e-9)


def test_pairs_and_threes_are_what_their_attributes_say_beyond_their_parts(page, model, path):
    network = model[0].model_
    parts = parts_of_sets(network)
    page.open(path)
    ranked = page.run("return window.tanagerReport.treeShapes().pairs(6)")
    found = {tuple(pair): None for pair in ranked}
    assert set(found) <= set(combinations(range(4), 2))
    strengths = []
    for pair in found:
        part = np.array(page.run("return Array.from(window.tanagerReport.treeShapes().pair(arguments[0]).part)", pair))
        expected = coarsened(network, pair, parts[pair])
        np.testing.assert_allclose(part.reshape(expected.shape), expected, atol=1e-9)
        chances = [
            np.bincount(network.columns[k].coarse_codes[:-1], network.densities[k], minlength=n)
            for k, n in zip(pair, expected.shape[:2], strict=True)
        ]
        strengths.append(np.sqrt(chances[0] @ (class_odds(expected) ** 2).mean(axis=-1) @ chances[1]))
    assert strengths == sorted(strengths, reverse=True)
    triples = page.run("return window.tanagerReport.treeShapes().triples(6)")
    # Of x, a and b, the class says most of all: they count only together.
    assert triples[0]["set"] == [0, 1, 2]
    first = triples[0]
    expected = coarsened(network, (0, 1, 2), parts[0, 1, 2])
    assert first["third"] == 2
    for code, panel in enumerate(first["panels"]):
        assert panel["name"] == str(network.columns[2].states[code])
        table = np.reshape(panel["pair"]["table"], (expected.shape[0] + 1, expected.shape[1] + 1, -1))
        np.testing.assert_allclose(table[:-1, :-1], expected[:, :, code], atol=1e-9)
        assert not table[-1].any()


def test_threes_are_small_multiples_on_one_scale(page, path):
    page.open(path)
    page.run("document.getElementById('triples').scrollIntoView()")
    page.wait("return document.querySelectorAll('#triples .panels svg').length > 0")
    heading = page.text("#triples .card h3")
    assert heading == "x & a & b"
    assert page.run("return document.querySelector('#triples .panels').children.length") == 2
    heats = page.run(
        "return [...document.querySelector('#triples .panels').querySelectorAll('.cell')]"
        ".map((cell) => Number(cell.style.getPropertyValue('--heat')))"
    )
    assert max(heats) == 1.0


def test_no_band_is_spoken_of_where_none_is_drawn(model):
    network = model[0].model_
    for size, said in (0.0, False), (0.1, True):
        spreads = tuple(np.full((len(main) - 1, main.shape[1]), size) for main in network.mains)
        assert describe_effects(replace(network, spreads=spreads))["has_spreads"] is said
