"""What is learnt for averaging: corrections that reach their targets, whatever the last digits of the fit."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from gaps.by_hand import averaged_by_hand, random_filler, random_filling
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from additive.random_forests import random_forest
from explain.effect_networks import effect_network
from random_networks import random_network
from tanager import AdditiveClassifier, TANClassifier, load_model, save_model
from tanager.errors import DataError
from tanager.missing.completions import Completions
from tanager.missing.corrections import learn_corrections, solve_corrections
from tanager.missing.filler import spread_numbers
from tanager.missing.filling import Filling
from tanager.parameters import Conditional

SEEDS = st.integers(0, 2**32 - 1)


def averages(seed, n=4, n_completions=50, n_classes=3):
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.ones(n_completions), size=n)
    posterior = generator.dirichlet(np.full(n_classes, 0.7), size=(n, n_completions))
    return weights, posterior, generator.dirichlet(np.full(n_classes, 5.0), size=n)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_with_next_to_no_prior_the_bent_average_is_the_target(seed):
    weights, posterior, target = averages(seed)
    found = solve_corrections(weights, posterior, target, np.zeros(3), np.full(4, 1e-9))
    for w, p, u, goal in zip(weights, posterior, found, target, strict=True):
        bent = w * np.exp(p @ u)
        assert bent @ p / bent.sum() == pytest.approx(goal, abs=1e-5)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_corrections_are_the_minimum_that_another_optimiser_finds(seed):
    weights, posterior, target = averages(seed)
    centre, ridge = np.array([0.5, -0.2, 0.1]), np.array([0.01, 0.1, 1.0, 10.0])
    found = solve_corrections(weights, posterior, target, centre, ridge)
    for w, p, u, goal, r in zip(weights, posterior, found, target, ridge, strict=True):

        def value(v, w=w, p=p, goal=goal, r=r):
            return np.log(w @ np.exp(p @ v)) - v @ goal + r / 2 * ((v - centre) ** 2).sum()

        best = minimize(value, centre, method="BFGS", options={"gtol": 1e-8})
        assert value(u) <= best.fun + 1e-9


@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_one_cell_known_gives_the_frequencies_of_its_rows_in_every_state_that_trees_tell_apart(seed, trees):
    """States of one coarse state too; the frequencies are those of other corrections, so that they can be reached."""
    network = effect_network(seed, 3)
    if trees:
        n_codes = [n + 1 for n in network.n_states[:-1]]
        network = replace(network, forest=random_forest(seed, [4, 6, 9, 5], n_codes, 3))
    goal = random_filling(network, seed, scale=1.0)
    unknown, n_rows = network.n_states[:-1], 1e9
    rows = [[(*unknown[:i], k, *unknown[i + 1 :]) for k in range(n)] for i, n in enumerate(unknown)]
    wanted = [np.array([averaged_by_hand(network, goal, row) for row in own]) for own in rows]
    classes = averaged_by_hand(network, goal, unknown)
    completions = Completions(network, goal.filler)
    found = Filling(goal.filler, *learn_corrections(completions, n_rows * classes, [n_rows * own for own in wanted]))
    np.testing.assert_allclose(averaged_by_hand(network, found, unknown), classes, atol=1e-12)
    for own, targets in zip(rows, wanted, strict=True):
        answers = np.array([averaged_by_hand(network, found, row) for row in own])
        np.testing.assert_allclose(answers, targets, atol=0.01)  # what the least ridge leaves


def test_spread_numbers_fill_the_interval_and_the_square_evenly():
    numbers = spread_numbers(512, 12)
    for column in numbers.T:
        assert np.abs(np.sort(column) - (np.arange(512) + 0.5) / 512).max() < 0.02
    assert np.abs(np.corrcoef(numbers.T) - np.eye(12)).max() < 0.15


def test_corrections_of_other_shapes_are_refused():
    network = random_network(0, [3, 2, 2], density=0.0)
    filling = Filling(random_filler(network, 0), np.zeros(2), (np.zeros((4, 2)), np.zeros((2, 2))), np.zeros(2))
    with pytest.raises(DataError, match=r"shape \(2, 2\); its states and the classes need \(3, 2\)"):
        filling.check(network.columns)


def test_a_filling_is_learnt_when_the_first_gap_is_met_and_is_the_same_before_and_after_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf, other = AdditiveClassifier().fit(X, y), AdditiveClassifier().fit(X, y)
    clf.predict_proba(X)
    assert "filling" not in vars(clf.gaps_)
    gappy = np.where(np.eye(4, dtype=bool)[np.arange(len(X)) % 4], np.nan, X)
    save_model(clf, tmp_path / "model.json")
    expected = other.predict_proba(gappy)
    assert "filling" in vars(other.gaps_)
    for model in (clf, load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(other))):
        np.testing.assert_array_equal(model.predict_proba(gappy), expected)


def test_corrections_of_heavy_rows_towards_what_no_completion_reaches_are_the_same_after_a_file(tmp_path):
    """Noise has no effect, so each completion says the same; rows of great weight have next to no prior."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(str), rng.integers(0, 2, 60)
    clf = TANClassifier(parameters=Conditional(strength=np.inf)).fit(X, y, sample_weight=np.full(60, 1e9))
    assert np.ptp(clf.predict_proba(X), axis=0).max() < 1e-9
    save_model(clf, tmp_path / "model.json")
    gappy = np.where(np.eye(2, dtype=bool)[np.arange(60) % 2], None, X)
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict_proba(gappy), clf.predict_proba(gappy))
