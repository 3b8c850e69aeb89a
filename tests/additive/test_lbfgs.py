"""L-BFGS of several problems at once, against SciPy and against linear algebra."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit

from tanager.additive.lbfgs import minimize

SEEDS = st.integers(0, 10_000)
PRECISION = float(np.finfo(np.float64).eps)


class Quadratics:
    """1/2 x' A x - b' x for each problem, A positive definite and ill-conditioned; x of shape (n, 2, n_problems)."""

    def __init__(self, seed, n=6, n_problems=3, condition=100.0):
        rng = np.random.default_rng(seed)
        self.shape, self.numbers = (n, 2, n_problems), np.arange(n_problems)
        self.matrices, self.targets = [], rng.normal(size=(n_problems, 2 * n))
        for _ in range(n_problems):
            turn = np.linalg.qr(rng.normal(size=(2 * n, 2 * n)))[0]
            self.matrices.append(turn @ np.diag(np.geomspace(1, condition, 2 * n)) @ turn.T)

    def one(self, problem, x):
        product = self.matrices[problem] @ x
        return x @ product / 2 - self.targets[problem] @ x, product - self.targets[problem]

    def only(self, kept):
        fewer = copy.copy(self)
        fewer.numbers = self.numbers[kept]
        return fewer

    def __call__(self, points):
        found = [self.one(k, points[:, :, at].reshape(-1)) for at, k in enumerate(self.numbers)]
        gradients = np.stack([gradient.reshape(points.shape[:2]) for _, gradient in found], axis=2)
        return np.array([value for value, _ in found]), gradients


class Logistics(Quadratics):
    """Ridge-penalised logistic losses."""

    def __init__(self, seed, n=4, n_problems=2, strength=0.1):
        rng = np.random.default_rng(seed)
        self.shape, self.numbers, self.strength = (n, 2, n_problems), np.arange(n_problems), strength
        self.rows = rng.normal(size=(n_problems, 40, 2 * n)) * np.geomspace(0.2, 5, 2 * n)
        self.labels = rng.random((n_problems, 40)) < 0.5

    def one(self, problem, x):
        scores, labels = self.rows[problem] @ x, self.labels[problem]
        value = np.logaddexp(0, scores).sum() - scores[labels].sum() + self.strength * x @ x / 2
        return value, self.rows[problem].T @ (expit(scores) - labels) + self.strength * x


def descend(problem, start=None, lower=None, tolerance=1e-12, max_steps=1_000):
    start = np.zeros(problem.shape) if start is None else start
    return minimize(problem, start, np.ones(start.shape), tolerance, max_steps, PRECISION, lower)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_quadratic_is_descended_to_the_solution_of_its_equations(seed):
    problem = Quadratics(seed)
    start = np.random.default_rng(seed).normal(size=problem.shape)
    found = descend(problem, start)
    assert found.converged
    for k, (matrix, target) in enumerate(zip(problem.matrices, problem.targets, strict=True)):
        np.testing.assert_allclose(found.points[:, :, k].reshape(-1), np.linalg.solve(matrix, target), atol=1e-5)


@pytest.mark.parametrize("kind", [Quadratics, Logistics])
def test_problems_side_by_side_end_where_each_ends_alone(kind):
    problem = kind(5, n_problems=3)
    together = descend(problem)
    for k in range(3):
        alone = descend(problem.only(np.arange(3) == k), np.zeros((*problem.shape[:2], 1)))
        np.testing.assert_allclose(alone.points[:, :, 0], together.points[:, :, k], rtol=0, atol=1e-8)


@given(SEEDS, st.sampled_from([Quadratics, Logistics]), st.sampled_from([0.0, 0.6]))
@settings(max_examples=40, deadline=None)
def test_the_least_point_is_that_of_scipy_with_and_without_bounds(seed, kind, share):
    problem, rng = kind(seed), np.random.default_rng(seed + 1)
    n, _, n_problems = problem.shape
    lower = np.where(rng.random((n, 2, 1)) < share, rng.normal(scale=0.1, size=(n, 2, 1)), -np.inf)
    start = np.maximum(np.zeros(problem.shape), lower)
    found = descend(problem, start, lower)
    assert (found.points >= lower).all()
    assert found.converged
    bounds = [(low, None) for low in lower.reshape(-1)]
    for k in range(n_problems):
        oracle = scipy_minimize(
            lambda x, k=k: problem.one(k, x),
            start[:, :, k].reshape(-1),
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 100_000},
        )
        np.testing.assert_allclose(found.values[k], oracle.fun, rtol=0, atol=1e-8 * (1 + abs(oracle.fun)))


def test_what_has_no_scale_stays_where_it_is():
    problem = Quadratics(2)
    scale = np.ones(problem.shape)
    scale[:2] = 0.0
    start = np.random.default_rng(0).normal(size=problem.shape)

    class Fixed(Quadratics):
        def __call__(self, points):
            values, gradient = super().__call__(points)
            return values, gradient * (scale[:, :, :1] > 0)

    found = minimize(Fixed(2), start, scale, 1e-12, 500, PRECISION)
    np.testing.assert_array_equal(found.points[:2], start[:2])
    for k, (matrix, target) in enumerate(zip(problem.matrices, problem.targets, strict=True)):
        x = found.points[:, :, k].reshape(-1)
        np.testing.assert_allclose((matrix @ x - target)[4:], 0.0, atol=1e-4)


def test_values_never_rise_and_steps_are_counted():
    problem = Logistics(3)
    values = [descend(problem, max_steps=steps).values for steps in range(12)]
    assert (np.diff(values, axis=0) <= 1e-12).all()
    some = descend(problem, max_steps=4)
    assert some.n_steps == 4
    assert not some.converged


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
def test_what_a_step_must_gain_is_a_part_of_the_value(tolerance):
    """So that a problem in other units takes the same steps."""
    problem = Logistics(7)
    found = descend(problem, tolerance=tolerance)
    assert found.converged
    assert (found.decrease <= tolerance * found.values).all()
    before = descend(problem, tolerance=tolerance, max_steps=found.n_steps - 1)
    assert not before.converged
    assert (before.decrease > tolerance * before.values).any()

    class Heavy(Logistics):
        def __call__(self, points):
            values, gradient = super().__call__(points)
            return 1_024 * values, 1_024 * gradient

    scale = np.full(problem.shape, 1 / 1_024)
    again = minimize(Heavy(7), np.zeros(problem.shape), scale, tolerance, 1_000, PRECISION)
    assert again.n_steps == found.n_steps
    np.testing.assert_array_equal(again.points, found.points)


def test_at_the_optimum_it_stops_at_once():
    problem = Quadratics(6)
    start = np.stack(
        [np.linalg.solve(a, b).reshape(-1, 2) for a, b in zip(problem.matrices, problem.targets, strict=True)], axis=2
    )
    found = descend(problem, start)
    assert found.converged
    assert found.n_steps == 0
    np.testing.assert_array_equal(found.points, start)
