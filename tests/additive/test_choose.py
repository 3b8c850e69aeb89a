"""What is chosen on folds: weights by grid search, sizes and centres by hand, and tables whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from additive.small_terms import COLUMNS, design, small_objective
from oracle import batch_of
from tanager import AdditiveClassifier
from tanager.additive.bases import Terms
from tanager.additive.choose import (
    NEGLIGIBLE,
    PSEUDO_ROWS,
    ROUGH,
    Fitter,
    Search,
    fitter_on,
    naive_bayes,
)
from tanager.additive.folds import Folds, Sample
from tanager.table.schema import ColumnSchema

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def two_of_many(seed, n_rows, n_columns):
    """Two informative columns among many; the log-loss of the truth is .3753."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] + rng.logistic(size=n_rows) / 2 > 0).astype(int)


def log_loss(clf, X, y):
    return -clf.predict_log_proba(X)[np.arange(len(y)), y].mean()


def small_folds(seed, n_rows=240, n_classes=2, informative=True):
    """Categories and curves of which two matter, on folds."""
    rng = np.random.default_rng(seed)
    columns = (
        ColumnSchema("curve", "numeric", cuts=tuple(range(11))),
        ColumnSchema("kind", "categorical", ("a", "b", "c")),
        ColumnSchema("noise", "numeric", cuts=tuple(range(11))),
        ColumnSchema("other", "categorical", ("a", "b", "c", "d")),
    )
    codes = np.column_stack([rng.integers(0, column.n_states, n_rows) for column in columns])
    odds = 0.4 * (codes[:, 0] - 5.5) + 1.0 * (codes[:, 1] == 1) if informative else np.zeros(n_rows)
    classes = (rng.random(n_rows) < expit(odds)).astype(int) + (n_classes == 3) * (rng.random(n_rows) < 0.2)
    sample = Sample.of(batch_of(codes, classes, (*(c.n_states for c in columns), n_classes)), np.arange(4))
    shares = [np.bincount(sample.codes[:, a], sample.totals, c.n_states) / n_rows for a, c in enumerate(columns)]
    return Folds.of(sample, n_classes), Terms.of(columns, shares, n_rows)


@CLASSES
def test_the_best_weight_is_that_of_a_fine_grid(n_classes):
    folds, _ = small_folds(1, n_classes=n_classes)
    rng, n_columns = np.random.default_rng(2), 1 if n_classes == 2 else n_classes
    grid = np.linspace(0, 1, 401)
    inner = 0
    for scale in (0.1, 0.5, 1.0, 3.0):
        truth = np.eye(n_classes)[folds.classes][:, -n_columns:] - 0.5
        first, second = (scale * (truth + rng.normal(scale=2.0, size=truth.shape)) for _ in range(2))
        losses = [folds.mean(folds.losses((1 - w) * first + w * second)) for w in grid]
        found = folds.best_weight(first, second)
        assert found == pytest.approx(grid[np.argmin(losses)], abs=2 * ROUGH + 1 / 400)
        inner += 0.05 < found < 0.95
    assert inner > 1


@CLASSES
def test_the_size_of_a_term_is_its_standard_deviation_over_the_rows(n_classes):
    objective = small_objective(4, n_classes, n_fits=1)
    fitter = Fitter(objective, np.ones((len(objective.terms.terms), 1), dtype=bool))
    effects = np.random.default_rng(5).normal(size=objective.shape)
    sizes, X = fitter.sizes(effects), design(objective.terms, objective.codes)
    weights = objective.weights[:, 0]
    for k in range(len(objective.terms.terms)):
        own = slice(objective.terms.first_effect[k], objective.terms.first_effect[k + 1])
        added = X[:, own] @ effects[own, :, 0]
        mean = np.average(added, axis=0, weights=weights)
        variance = np.average((added - mean) ** 2, axis=0, weights=weights).sum()
        assert sizes[k, 0] == pytest.approx(np.sqrt(variance))


@CLASSES
def test_the_centre_is_the_smoothed_log_ratio_of_naive_bayes_for_categories_alone(n_classes):
    objective = small_objective(6, n_classes, n_fits=2, n_rows=90)
    found, terms = naive_bayes(objective), objective.terms
    for k, term in enumerate(terms.terms):
        own = found[terms.first_effect[k] : terms.first_effect[k + 1]]
        if len(term) > 1 or COLUMNS[term[0]].has_order:
            assert not own.any()
            continue
        for fit in range(2):
            counts, n_states = np.zeros((COLUMNS[term[0]].n_states, n_classes)), COLUMNS[term[0]].n_states
            known = objective.codes[:, term[0]] < n_states
            cells = objective.codes[known, term[0]], objective.classes[known]
            np.add.at(counts, cells, objective.weights[known, fit])
            share = counts.sum(axis=1) / counts.sum()
            smoothed = (counts + PSEUDO_ROWS * share[:, np.newaxis]) / (counts.sum(axis=0) + PSEUDO_ROWS)
            expected = np.log(smoothed / share[:, np.newaxis])
            if n_classes == 2:
                expected = expected[:, 1:] - expected[:, :1]
            np.testing.assert_allclose(own[:, :, fit], expected, atol=1e-10)


def test_a_fit_on_folds_is_that_of_the_training_rows_of_each_fold_alone():
    folds, terms = small_folds(7)
    fitter = fitter_on(folds, terms, 2, None)
    strengths = fitter.strengths(2.0, None)
    found = fitter.fit(strengths, fitter.objective.start(), tolerance=1e-7)
    X = design(terms, folds.sample.codes)
    for fold in range(3):
        weights = folds.training[:, fold]

        def value(w, weights=weights):
            odds = X @ w[:-1] + w[-1]
            residuals = weights * (expit(odds) - folds.sample.classes)
            total = weights @ np.logaddexp(0, odds * (1 - 2 * folds.sample.classes)) + w[:-1] @ w[:-1] / 2
            return total, np.append(X.T @ residuals + w[:-1], residuals.sum())  # half of lambda = 2

        alone = minimize(value, np.zeros(X.shape[1] + 1), jac=True, options={"gtol": 1e-8})
        np.testing.assert_allclose(found.values[fold], alone.fun, rtol=1e-5)
        np.testing.assert_allclose(found.points[:, 0, fold], alone.x, atol=0.02)


@CLASSES
@pytest.mark.parametrize("n_small", [2, 7], ids=["few dropped", "most dropped"])
def test_terms_are_reweighted_by_the_inverse_squares_of_their_sizes(n_classes, n_small):
    """Negligible ones are dropped, in all fits from the fitter and in one from its factors."""
    objective = small_objective(14, n_classes, n_fits=2)
    terms = objective.terms
    fitter = Fitter(objective, np.ones((len(terms.terms), 2), dtype=bool))
    effects = np.random.default_rng(15).normal(size=objective.shape)
    for k in range(n_small):
        effects[terms.first_effect[k] : terms.first_effect[k + 1]] *= 1e-3
    last = slice(terms.first_effect[n_small], terms.first_effect[n_small + 1])
    effects[last, :, 0] *= 10.0
    effects[last, :, 1] *= 1e-3  # in the second fit only
    sizes = fitter.sizes(effects)
    relative = sizes / sizes.max(axis=0)
    expected = np.where(relative < NEGLIGIBLE, np.inf, relative**-2.0)
    assert np.isinf(expected[:n_small]).all()
    assert np.isinf(expected[n_small]).tolist() == [False, True]
    fewer, factors = fitter.reweighted(effects)
    kept = [k for k, term in enumerate(terms.terms) if term in fewer.terms.terms]
    assert set(range(len(terms.terms))) - set(kept) <= set(range(n_small))
    assert (len(kept) < len(terms.terms)) == (n_small == 7)
    assert fewer.terms.terms == tuple(terms.terms[k] for k in kept)
    np.testing.assert_allclose(factors, expected[kept])
    taken = fewer.take(fitter, effects)
    np.testing.assert_allclose(fewer.sizes(taken), sizes[kept])


def test_a_term_that_a_fold_has_not_is_exactly_zero_there():
    folds, terms = small_folds(9)
    pairs = [((0, 1),), ((0, 1), (2, 3)), ((1, 3),)]
    fitter = fitter_on(folds, terms, 2, pairs)
    found = fitter.fit(fitter.strengths(1.0, 1.0), fitter.objective.start()).points
    sizes = fitter.sizes(found)
    for k, term in enumerate(fitter.terms.terms):
        for fold, own in enumerate(pairs):
            assert (sizes[k, fold] > 0) == (len(term) == 1 or term in own)


def test_a_mixture_is_a_weighted_mean_and_no_worse_than_its_best():
    folds, terms = small_folds(10)
    search = Search(folds, terms, 2, lambda sample, weights, most: ((0, 1), (0, 3))[:most])
    mixture = search.choose(2)
    assert sum(mixture.weights) == pytest.approx(1.0)
    assert min(mixture.weights) > 0
    scores = sum(w * each.scores for w, each in zip(mixture.weights, mixture.candidates, strict=True))
    np.testing.assert_allclose(mixture.scores, scores, atol=1e-9)
    assert mixture.loss <= min(each.loss for each in mixture.candidates) + 1e-12
    assert {variant for variant, _ in search.tried} >= {each.variant.describe() for each in mixture.candidates}


@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_are_asked_for_are_in_the_model_even_of_noise(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    given = AdditiveClassifier(pairs=[(1, 3)]).fit(X, y)
    assert {tuple(sorted(pair)) for pair in given.model_.pairs} == {(1, 3)}
    assert len(AdditiveClassifier(pairs=2, trees=False).fit(X, y).model_.pairs) == 2


@CLASSES
def test_a_variant_made_again_on_the_same_folds_is_the_same(n_classes):
    folds, terms = small_folds(12, n_classes=n_classes)
    search = Search(folds, terms, n_classes, lambda sample, weights, most: ((0, 1),))
    origin = fitter_on(folds, terms, n_classes, [((0, 1),)] * folds.held_out.shape[1])
    for candidate in search.choose(1).candidates:
        fitter, minimum = origin.replay(candidate.variant, origin.objective.start(), 1e-4)
        losses = folds.losses(folds.validated(fitter.objective.scores(minimum.points)))
        assert folds.mean(losses) == pytest.approx(candidate.loss, rel=1e-2)  # fits on folds end at a part of 1e-3


def test_on_noise_there_are_no_pairs_and_the_loss_is_the_entropy():
    excess = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(600, 6)), rng.integers(0, 2, 600)
        clf = AdditiveClassifier(trees=False).fit(X, y)
        assert not clf.model_.pairs
        excess.append(log_loss(clf, rng.normal(size=(4_000, 6)), rng.integers(0, 2, 4_000)) - np.log(2))
    assert np.mean(excess) < 0.003


@pytest.mark.parametrize("seed", range(3))
def test_of_200_columns_the_two_that_matter_are_kept_and_few_others(seed):
    clf = AdditiveClassifier(trees=False).fit(*two_of_many(seed, 500, 200))
    names = {column.name for column, main in zip(clf.model_.columns, clf.model_.mains, strict=False) if main.any()}
    assert names >= {"x0", "x1"}
    assert len(names) <= 6
    assert set(clf.trace_.zero_attributes) == {f"x{k}" for k in range(200)} - names
    assert log_loss(clf, *two_of_many(seed + 100, 20_000, 200)) < 0.41


@pytest.mark.parametrize("n_rows", [700, 3_000])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_that_gives_the_class_away_is_shown_by_its_curve_and_needs_no_trees(kind, n_rows):
    rng = np.random.default_rng(n_rows)
    X, y = rng.normal(size=(n_rows, 8)), rng.integers(0, 2, n_rows)
    X[:, 0] = (rng.random(n_rows) + y) if kind == "number" else y
    clf = AdditiveClassifier(categorical_features=[0] if kind == "category" else None).fit(X, y)
    assert clf.tree_share_ == 0.0
    assert clf.feature_importances_[0] > 0.9 * clf.feature_importances_.sum()
