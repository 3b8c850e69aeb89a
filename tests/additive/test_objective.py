"""The objective against dense matrices, finite differences and scikit-learn."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from additive.small_terms import design, small_objective
from tanager.additive import objective as objective_module
from tanager.additive.bases import Terms
from tanager.additive.lbfgs import minimize
from tanager.additive.objective import (
    Objective,
    PenalizedLoss,
    loss_and_residuals,
    probabilities,
    row_losses,
)
from tanager.runtime.resources import thread_limit
from tanager.table.schema import ColumnSchema

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
UNKNOWN = pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])


class Penalty(NamedTuple):
    strength: np.ndarray
    centre: np.ndarray | float = 0.0


def random_penalty(objective, seed, fixed=0.0, centred=True):
    rng = np.random.default_rng(seed)
    n_effects, n_columns, n_fits = objective.shape
    strength = rng.uniform(0.1, 5.0, (n_effects - 1, n_fits))
    strength[rng.random(strength.shape) < fixed] = np.inf
    return Penalty(strength, rng.normal(size=(n_effects - 1, n_columns, n_fits)) if centred else 0.0)


def random_effects(objective, seed, penalty=None):
    effects = np.random.default_rng(seed).normal(size=objective.shape)
    if penalty is not None:
        effects[:-1] *= np.isfinite(penalty.strength)[:, np.newaxis]
    return effects


def penalized(objective, effects, penalty):
    return PenalizedLoss(objective, *penalty)(effects)


def by_hand(objective, effects, penalty):
    """(n_fits,) values, with dense matrices and a log odds for every class."""
    X, rows = design(objective.terms, objective.codes), np.arange(len(objective.classes))
    found = []
    for fit in range(objective.n_folds):
        scores = X @ effects[:-1, :, fit] + effects[-1, :, fit]
        away = effects[:-1, :, fit] - (penalty.centre[:, :, fit] if np.ndim(penalty.centre) else 0.0)
        if objective.n_classes == 2:  # half of the log odds to each class, which both are penalised
            scores, away = np.hstack([-scores, scores]) / 2, np.hstack([-away, away]) / 2
        losses = -log_softmax(scores, axis=1)[rows, objective.classes]
        finite = np.isfinite(penalty.strength[:, fit])
        squares = penalty.strength[finite, fit] @ away[finite] ** 2
        found.append(objective.weights[:, fit] @ losses + squares.sum() / 2)
    return np.array(found)


@CLASSES
@UNKNOWN
def test_the_value_is_the_penalised_loss_of_dense_matrices(n_classes, unknown):
    objective = small_objective(1, n_classes, unknown=unknown)
    for fixed in (0.0, 0.3):
        penalty = random_penalty(objective, 2, fixed)
        effects = random_effects(objective, 3, penalty)
        np.testing.assert_allclose(
            penalized(objective, effects, penalty)[0], by_hand(objective, effects, penalty), rtol=1e-12
        )


@CLASSES
@UNKNOWN
@pytest.mark.parametrize("fixed", [0.0, 0.3])
def test_the_gradient_is_that_of_finite_differences(n_classes, unknown, fixed):
    objective = small_objective(4, n_classes, unknown=unknown)
    penalty = random_penalty(objective, 5, fixed)
    effects = random_effects(objective, 6, penalty)
    _, gradient = penalized(objective, effects, penalty)
    rng, step = np.random.default_rng(7), 1e-5
    free = np.ones(objective.shape, dtype=bool)
    free[:-1] &= np.isfinite(penalty.strength)[:, np.newaxis]
    assert not gradient[~free].any()
    for _ in range(8):
        direction = rng.normal(size=objective.shape) * free
        high, low = (penalized(objective, effects + sign * step * direction, penalty)[0] for sign in (1, -1))
        slopes = (gradient * direction).sum(axis=(0, 1))
        np.testing.assert_allclose(slopes, (high - low) / (2 * step), rtol=1e-6, atol=1e-5)


@CLASSES
def test_a_row_of_weight_two_is_the_row_twice(n_classes):
    objective = small_objective(21, n_classes)
    penalty, effects = random_penalty(objective, 22), random_effects(objective, 23)
    times = np.where(np.arange(len(objective.classes)) % 3 == 0, 2, 1)
    heavy, twice = (
        Objective(objective.terms, codes, classes, weights, n_classes)
        for codes, classes, weights in (
            (objective.codes, objective.classes, times[:, np.newaxis] * objective.weights),
            tuple(np.repeat(each, times, axis=0) for each in (objective.codes, objective.classes, objective.weights)),
        )
    )
    for found, expected in zip(penalized(twice, effects, penalty), penalized(heavy, effects, penalty), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@CLASSES
def test_single_precision_agrees_with_double(n_classes):
    double, single = (small_objective(11, n_classes, single=single) for single in (False, True))
    penalty = random_penalty(double, 12)
    effects = random_effects(double, 13)
    (values, gradient), (other_values, other_gradient) = (
        penalized(each, effects, penalty) for each in (double, single)
    )
    np.testing.assert_allclose(other_values, values, rtol=1e-4)
    np.testing.assert_allclose(other_gradient, gradient, rtol=0, atol=1e-4 * np.abs(gradient).max())
    losses = [row_losses(each.scores(effects)[:, :, 0], each.classes) for each in (single, double)]
    np.testing.assert_allclose(*losses, rtol=0, atol=1e-4)


@CLASSES
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_that_every_pass_makes_again_give_the_same_numbers(n_classes, threads, monkeypatch):
    whole = small_objective(14, n_classes)
    penalty = random_penalty(whole, 15)
    effects = random_effects(whole, 16)
    for limits in ({"MAX_KEPT": 0}, {"MAX_ENTRIES": 50}, {"MAX_KEPT": 0, "MAX_ENTRIES": 12, "TILE_BYTES": 300}):
        with monkeypatch.context() as patched, thread_limit(threads):
            for name, value in limits.items():
                patched.setattr(objective_module, name, value)
            cut = small_objective(14, n_classes)
            if "MAX_ENTRIES" in limits:
                assert len(cut._blocks) > 3
            for found, expected in zip(
                penalized(cut, effects, penalty), penalized(whole, effects, penalty), strict=True
            ):
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
            np.testing.assert_allclose(cut.scores(effects), whole.scores(effects), rtol=0, atol=1e-9)
            np.testing.assert_allclose(cut.class_counts, whole.class_counts, rtol=0, atol=1e-9)
            np.testing.assert_allclose(cut.rows_moved, whole.rows_moved, rtol=0, atol=1e-9)


@CLASSES
def test_the_optimum_is_that_of_scikit_learn(n_classes):
    """Categories alone, one-hot, with the same L2 penalty on every effect."""
    rng = np.random.default_rng(19)
    columns = [ColumnSchema(f"x{k}", "categorical", tuple(range(n))) for k, n in enumerate((2, 3, 4))]
    codes = np.stack([rng.integers(0, column.n_states, 80) for column in columns], axis=1)
    classes = (codes.sum(axis=1) + rng.integers(0, 2, 80)) % n_classes
    weights, strength = rng.uniform(0.5, 2.0, 80), 0.7
    shares = [np.bincount(own, weights) / weights.sum() for own in codes.T]
    objective = Objective(Terms.of(columns, shares, 80), codes, classes, weights[:, np.newaxis], n_classes)
    problem = PenalizedLoss(objective, np.full((9, 1), strength))
    found = minimize(problem, objective.start(), problem.scale, 1e-15, 2_000, 1e-16)
    # The penalty on each of two classes is half of it on their log odds.
    oracle = LogisticRegression(C=1 / (strength / 2 if n_classes == 2 else strength), tol=1e-12, max_iter=10_000)
    one_hot = np.hstack([np.eye(column.n_states)[own] for column, own in zip(columns, codes.T, strict=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own line search at the last digit
        oracle.fit(one_hot, classes, weights)
    p = probabilities(objective.scores(found.points))[:, :, 0]
    expected = oracle.predict_proba(one_hot)
    np.testing.assert_allclose(p, expected[:, 1:] if n_classes == 2 else expected, atol=1e-5)


def test_scores_of_any_size_have_finite_losses():
    for scores in (np.array([[[1e4]], [[-1e4]]]), np.array([[[1e4], [-1e4], [0.0]], [[-1e4], [1e4], [0.0]]])):
        classes = np.array([0, 1])
        first = scores[:, :, 0]
        for values in (row_losses(first, classes), row_losses(first, classes, 0.5), probabilities(scores)):
            assert np.isfinite(values).all()
        values, residuals = loss_and_residuals(scores, classes, np.ones((2, 1)))
        assert np.isfinite(values).all()
        assert np.isfinite(residuals).all()
