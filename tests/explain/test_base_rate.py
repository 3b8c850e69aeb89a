"""The first lines of an explanation: the base rate is the class frequency, the baseline what the model has besides."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from all_parts import PARTS, make_classifier
from random_networks import joint, random_network
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    explain,
    load_model,
    save_model,
)
from tanager.structure import Fixed


def table(seed: int, n_rows: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    y = generator.choice(["few", "many", "some"], n_rows, p=[0.1, 0.6, 0.3])
    codes = np.where(generator.random((n_rows, 3)) < 0.4, (y == "few")[:, None], generator.integers(0, 3, (n_rows, 3)))
    X = pd.DataFrame(codes.astype(str), columns=["a", "b", "c"])
    return X.mask(generator.random(X.shape) < 0.05), y


def frequency_odds(y: np.ndarray, explanation) -> np.ndarray:
    """Counted by hand."""
    shares = np.array([np.mean(y == name) for name in explanation.classes])
    return np.log(shares[explanation.favoured] / shares[explanation.against])


MEANS = ("aode", "tree-average")
"""Means of networks, whose log odds are no sum of parts."""
MODELS = [
    *(
        make_classifier(structure, parameters=parameters)
        for structure, parameters in [*PARTS, ("additive", "")]
        if structure not in MEANS
    ),
    *(
        BayesianNetworkClassifier(structure, parameters=parameters, missing=missing)
        for structure in ("naive-bayes", "tan", "kdb", Fixed([("a", "b"), ("b", "class"), ("class", "c")]))
        for parameters in ("frequency", "conditional")
        for missing in ("skip", "average", "marginalize", "category")
    ),
    AdditiveClassifier(missing="average", trees=False),
]


@pytest.mark.parametrize("clf", MODELS, ids=repr)
def test_base_rate_and_contributions_add_up_to_the_log_odds_predicted_and_a_file_keeps_them(clf, tmp_path):
    X, y = table(1)
    clf = clone(clf).fit(X, y)
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    logs, rows = clf.predict_log_proba(X), np.arange(len(X))
    np.testing.assert_array_equal(loaded.predict_log_proba(X), logs)
    np.testing.assert_array_equal(loaded.class_count_, clf.class_count_)
    for against in (None, "few", "many"):
        found, again = explain(clf, X, against=against), explain(loaded, X, against=against)
        np.testing.assert_array_equal(again.contributions, found.contributions)
        np.testing.assert_array_equal(again.base_rate, found.base_rate)
        np.testing.assert_allclose(found.base_rate, frequency_odds(y, found), rtol=0, atol=1e-12)
        added = found.base_rate + found.baseline + found.contributions.sum(axis=1) + found.remainder
        predicted = logs[rows, found.favoured] - logs[rows, found.against]
        np.testing.assert_allclose(added, predicted, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.log_odds, predicted, rtol=0, atol=1e-9)
        assert not found.remainder[X.notna().all(axis=1)].any()
        for row in found:
            parts = [row.base_rate, row.baseline, *(each.log_odds for each in row.contributions)]
            assert sum(parts) == pytest.approx(row.log_odds, abs=1e-9)
        if against is None:
            np.testing.assert_array_equal(clf.classes_[found.favoured], clf.predict(X))
            assert str(found[0]).splitlines()[1].split("  ")[-1] == "base rate of class"


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["few", "many", "some", None]))
def test_the_baseline_of_effects_is_their_intercept_less_the_base_rate(seed, against):
    X, y = table(seed)
    clf = AdditiveClassifier().fit(X, y)
    found, intercept = explain(clf, X, against=against), clf.model_.intercept
    np.testing.assert_allclose(found.base_rate, frequency_odds(y, found), rtol=0, atol=1e-12)
    expected = intercept[found.favoured] - intercept[found.against] - found.base_rate
    np.testing.assert_allclose(found.baseline, expected, rtol=0, atol=1e-12)
    assert found[0].source == "an average row"


def test_a_row_of_weight_two_counts_twice_and_a_class_without_rows_as_half_a_row():
    X, y = table(4)
    weights = np.where(y == "few", 2.0, 1.0)
    found = explain(NaiveBayesClassifier().fit(X, y, weights), X)
    shares = np.array([weights[y == name].sum() for name in found.classes])
    np.testing.assert_allclose(found.base_rate, np.log(shares[found.favoured] / shares[found.against]), atol=1e-12)
    clf = NaiveBayesClassifier().partial_fit(X, y, classes=["few", "many", "none", "some"])
    row = explain(clf, X[:1], against="none")[0]
    assert row.base_rate == pytest.approx(np.log((y == row.favoured).sum() / 0.5))
    assert row.base_rate + row.baseline + sum(each.log_odds for each in row.contributions) == pytest.approx(
        row.log_odds
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_base_rate_of_a_network_alone_is_its_own_class_probability(seed):
    network = random_network(seed, [2, 3, 2, 3])
    shares = np.zeros(3)
    for state, p in joint(network).items():
        shares[state[-1]] += p
    found = explain(network, pd.DataFrame({"n0": ["s0", "s1"]}))
    expected = np.log(shares[found.favoured] / shares[found.against])
    np.testing.assert_allclose(found.base_rate, expected, rtol=0, atol=1e-9)
