"""The Laplace posterior against Hessians made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from tanager import AdditiveClassifier, NaiveBayesClassifier, OptionError, TANClassifier
from tanager.parameters import Conditional
from uncertainty.tables_of_rows import categories, numbers_and_letters


def one_hot(codes, n_states):
    parts = [np.eye(n_states)[column] for column in codes.T]
    return np.concatenate([*parts, np.ones((len(codes), 1))], axis=1)


def test_two_classes_have_the_deviation_of_a_penalised_logistic_regression():
    rng = np.random.default_rng(0)
    X = categories(rng, 200, 3, 3)
    y = (rng.random(200) < np.where(X["x0"] == "s0", 0.7, 0.4)).astype(int)
    clf = NaiveBayesClassifier(parameters=Conditional(strength=2.0)).fit(X, y)
    clf.prepare_intervals(X, y, method="laplace")
    _, codes = clf.encode(X)
    design, p = one_hot(codes, 3), clf.predict_proba(X)[:, 1]
    # An effect on either of two classes of strength s is one of s / 2 on their log odds; the intercept is free.
    precision = np.append(np.full(9, 1.0), 1e-9)
    hessian = (design * (p * (1 - p))[:, np.newaxis]).T @ design + np.diag(precision)
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", design, np.linalg.inv(hessian), design))
    found = clf.posterior_.deviations(codes, np.log(clf.predict_proba(X)))
    np.testing.assert_allclose(found, np.column_stack([wanted, wanted]), rtol=1e-5)


def test_several_classes_have_the_deviation_of_a_softmax_by_finite_differences():
    rng = np.random.default_rng(1)
    X = categories(rng, 120, 2, 2)
    y = rng.integers(3, size=120)
    clf = NaiveBayesClassifier(parameters=Conditional(strength=1.5)).fit(X, y)
    clf.prepare_intervals(X, y, method="laplace")
    _, codes = clf.encode(X)
    design, n_effects = one_hot(codes, 2), 5
    logs = clf.predict_log_proba(X)
    # Any weights that give the model's own P: the Hessian depends on P alone.
    at = np.linalg.lstsq(design, logs, rcond=None)[0].reshape(-1)
    precision = np.repeat([1.5, 1.5, 1.5, 1.5, 1e-7], 3)

    def slope(weights):
        p = np.exp(log_softmax(design @ weights.reshape(n_effects, 3), axis=1))
        return (design.T @ (p - np.eye(3)[y])).reshape(-1) + precision * weights

    step = 1e-5
    hessian = np.array([(slope(at + step * e) - slope(at - step * e)) / (2 * step) for e in np.eye(15)])
    covariance = np.linalg.inv(hessian)
    p = np.exp(logs)
    for c in range(3):
        slopes = -p / (1 - p[:, [c]])
        slopes[:, c] = 1.0
        gradient = (design[:, :, np.newaxis] * slopes[:, np.newaxis]).reshape(len(p), -1)
        wanted = np.sqrt(np.einsum("ij,jk,ik->i", gradient, covariance, gradient))
        np.testing.assert_allclose(clf.posterior_.deviations(codes, logs)[:, c], wanted, rtol=1e-3)


def test_tables_of_naive_bayes_have_the_deviation_of_the_same_regression():
    rng = np.random.default_rng(2)
    X = categories(rng, 150, 3, 2)
    y = (rng.random(150) < np.where(X["x0"] == "s0", 0.7, 0.4)).astype(int)
    clf = TANClassifier(parameters=Conditional(strength=[2.0, np.inf])).fit(X, y)
    clf.prepare_intervals(X, y, method="laplace")
    _, codes = clf.encode(X)
    design, p = one_hot(codes, 3), clf.predict_proba(X)[:, 1]
    hessian = (design * (p * (1 - p))[:, np.newaxis]).T @ design + np.diag(np.append(np.ones(6), 1e-9))
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", design, np.linalg.inv(hessian), design))
    found = clf.posterior_.deviations(codes, np.log(clf.predict_proba(X)))[:, 1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_ninety_percent_of_truths_drawn_from_the_prior_are_within():
    rng, hits = np.random.default_rng(3), []
    for _ in range(30):
        X = categories(rng, 120, 4, 3)
        effects = rng.normal(size=(3, 4)) * np.sqrt(2.0 / 1.0)  # strength 1 on either class
        codes = np.array([[int(cell[1]) for cell in line] for line in X.to_numpy()])
        truth = expit(effects[np.arange(3), codes].sum(axis=1))
        y = (rng.random(120) < truth).astype(int)
        clf = NaiveBayesClassifier(parameters=Conditional(strength=1.0)).fit(X, y)
        found = clf.prepare_intervals(X, y, method="laplace").predict_interval(X)
        hits.append(np.mean((found.lower[:, 1] <= truth) & (truth <= found.upper[:, 1])))
    assert 0.86 <= np.mean(hits) <= 0.94


@pytest.mark.parametrize("names", [("b",), ("b", "c"), ("c", "b")])
def test_bands_of_effects_lie_around_the_effects(names):
    X, _ = numbers_and_letters(300, 0)
    y = np.where(X["b"] * X["c"] > np.random.default_rng(0).logistic(0, 0.2, len(X)), "yes", "no")
    clf = AdditiveClassifier(pairs=[("b", "c")]).fit(X, y)
    for method in ("bootstrap", "broad"):
        found = clf.prepare_intervals(X, y, method=method, n_draws=3).effect_interval(*names)
        network = clf.model_
        shown = network.main("b") if len(names) == 1 else network.pair(*names)
        np.testing.assert_allclose(found.median[..., 1], shown[..., 1] - shown[..., 0])
        assert (found.lower < found.median).any()
        assert np.isfinite(found.upper).all()
        assert len(network.spreads) == 3


@pytest.mark.parametrize("method", ["laplace", "dirichlet"])
def test_an_additive_model_has_no_posterior_of_tables(method):
    X, y = numbers_and_letters(100, 0)
    clf = AdditiveClassifier(trees=False).fit(X, y)
    with pytest.raises(OptionError, match=rf"method='{method}' is not defined for AdditiveClassifier\(trees=False\)"):
        clf.prepare_intervals(X, y, method=method)
