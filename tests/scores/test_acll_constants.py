"""The constants of aCLL: the published table, closed forms, and the sampling the papers used."""

from __future__ import annotations

from math import log, pi

import numpy as np
import pytest
from scipy.special import spence

from scores.by_rows import Rows
from tanager.scores import ACLL, Line
from tanager.scores.acll_constants import (
    dirichlet_line,
    dirichlet_slopes,
    uniform_beta,
    uniform_line,
)
from tanager.scores.fcll import LAMBDA, RHO, dirichlet_constants
from tanager.structure.dag import Dag

UNIFORM = {
    2: -0.3387664832879,
    3: -0.2001731557269,
    4: -0.1423142912198,
    5: -0.1105477038126,
    10: -0.0524072466330,
    26: -0.0195693570924,
}
DIRICHLET = {
    2: (-0.391941711812, 0.617950235613),
    3: (-0.239921184211, 0.598261394403),
    5: (-0.134349563641, 0.375098544413),
    26: (-0.0236082907271, -0.915654602355),
}


@pytest.mark.parametrize("n_classes", UNIFORM)
def test_beta_under_the_uniform_assumption(n_classes: int) -> None:
    assert uniform_beta(n_classes) == pytest.approx(UNIFORM[n_classes], abs=1e-10)


@pytest.mark.parametrize("n_classes", DIRICHLET)
def test_beta_and_gamma_under_the_dirichlet_assumption(n_classes: int) -> None:
    beta, gamma = DIRICHLET[n_classes]
    line = dirichlet_line(n_classes, 1, 1, 1000)
    assert line.beta == pytest.approx(beta, abs=1e-10)
    assert line.alpha == pytest.approx(1 + beta, abs=1e-10)
    assert line.gamma == pytest.approx(gamma, abs=1e-10)


@pytest.mark.parametrize("p", [1.0, 0.05])
def test_the_line_of_two_classes_is_that_of_theorems_1_to_3(p: float) -> None:
    """fCLL 2011, eqs. 8 to 10 and theorem 3 in nats, with the -2 under the root (erratum)."""
    line = uniform_line(2, p)
    assert line.alpha == pytest.approx((pi**2 + 6) / 24, abs=1e-13)
    assert line.gamma == pytest.approx(pi**2 / 12 - 2 * log(2) - (pi**2 - 6) / 12 * log(p), abs=1e-12)
    assert line.mean == pytest.approx(0.5 - 2 * log(2), abs=1e-13)
    assert line.variance == pytest.approx((36 + 36 * pi**2 - pi**4) / 288 - 2 * log(2) ** 2, abs=1e-12)
    assert line.standard_error / log(2) == pytest.approx(0.352, abs=5e-4)
    assert line.relative_error == pytest.approx(0.275, abs=5e-4)


def test_the_variance_that_the_paper_takes_for_a_relative_error() -> None:
    """METHODS, erratum 2: 0.13917 for Dirichlet(1, 1, 1000), as in example 3.7; E f = -1."""
    line = dirichlet_line(2, 1, 1, 1000)
    assert line.variance == pytest.approx(0.13917, abs=5e-6)
    assert line.mean == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize("law", ["uniform", "symmetric", "asymmetric"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_line_is_that_of_a_regression_on_samples(law: str, n_classes: int) -> None:
    """Algorithms 1 and 2; for eq. 23 the own class has a slope of its own."""
    random = np.random.default_rng(n_classes)
    own = 2.0 if law == "asymmetric" else 1.0
    if law == "uniform":
        u, line = random.random((400_000, n_classes)), uniform_line(n_classes)
    else:
        y = random.gamma([own] + [1.0] * (n_classes - 1) + [30.0], size=(400_000, n_classes + 1))
        u, line = (y / y.sum(axis=1, keepdims=True))[:, :-1], dirichlet_line(n_classes, own, 1, 30)
    sampled = sampled_line(u, symmetric=law != "asymmetric")
    for name in ("alpha", "beta", "gamma", "mean", "variance"):
        assert getattr(sampled, name) == pytest.approx(getattr(line, name), abs=0.012), name


def sampled_line(u: np.ndarray, symmetric: bool) -> Line:
    """By regression on samples u (n_samples, n_classes) of any law, the own class first (aCLL 2013, algorithm 1).

    A `symmetric` law has one slope for all classes (theorem 3.2); otherwise the other classes share one.
    """
    logs, ones = np.log(u), np.ones(len(u))
    share = logs[:, 0] - np.log(u.sum(axis=1))
    own, others = logs[:, 0], logs[:, 1:].sum(axis=1)
    if symmetric:
        (beta, gamma), *_ = np.linalg.lstsq(np.column_stack([own + others, ones]), share - own, rcond=None)
        alpha = 1.0 + beta
    else:
        (alpha, beta, gamma), *_ = np.linalg.lstsq(np.column_stack([own, others, ones]), share, rcond=None)
    left = share - alpha * own - beta * others - gamma
    return Line(alpha, beta, gamma, share.mean(), left @ left / len(left))


def test_beta_for_two_and_three_classes_in_closed_form() -> None:
    """fCLL 2011, eq. 9, and aCLL 2013, example 3.4: beta is the negative of what is printed there."""

    def dilogarithm(z: float) -> float:
        return float(spence(1 - z))

    inner = -11 + 9 * log(3) - 12 * log(2) + 60 * log(2) ** 2 + 72 * dilogarithm(-2) + 24 * dilogarithm(1 / 4)
    printed = (-15 * pi**2 - 2 * inner) / 36
    assert printed > 0
    assert uniform_beta(2) == pytest.approx((pi**2 - 18) / 24, abs=1e-14)
    assert uniform_beta(3) == pytest.approx(-printed, abs=1e-14)


@pytest.mark.parametrize("n_classes", [100, 1_000, 65_000])
def test_beta_for_many_classes_tends_to_one_half_of_minus_one_over_them(n_classes: int) -> None:
    """-log sum U_c is then linear in the U_c about s/2: slope -Cov(U, log U) / (s E[U] Var log U) for U on [0, 1]."""
    # Cov(U, log U) = 1/4, E[U] = 1/2, Var log U = 1.
    assert uniform_beta(n_classes) * n_classes == pytest.approx(-0.5, abs=1 / n_classes)


def test_one_class_has_a_beta_of_minus_one() -> None:
    """A = -log U and B = log U."""
    assert uniform_beta(1) == pytest.approx(-1, abs=1e-14)
    assert dirichlet_slopes(1, 2.5, 2.5, 40)[0] == pytest.approx(-1, abs=1e-14)


def test_the_example_of_theorem_3_9_needs_a_smaller_pseudo_count_than_five() -> None:
    """METHODS, erratum 4: the paper's table scores the same in both directions with N' = 5, and differently with 1."""
    rows = Rows(((0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1)), (1.0,) * 4, (2, 2, 2))
    forward, backward = (Dag.augmented_naive_bayes(parents).families for parents in ([(), (0,)], [(1,), ()]))
    five, one = ACLL(pseudo_count=5), ACLL(pseudo_count=1)
    assert five.total(forward, rows.store()) == pytest.approx(-2.6822, abs=5e-5)
    assert five.total(backward, rows.store()) == pytest.approx(-2.6822, abs=5e-5)
    assert one.total(forward, rows.store()) == pytest.approx(-2.1003, abs=5e-5)
    assert one.total(backward, rows.store()) == pytest.approx(-2.2240, abs=5e-5)


@pytest.mark.parametrize(("n_classes", "a", "b"), [(2, 1.0, 1.0), (4, 0.7, 3.0)])
def test_the_constants_of_fcll_are_those_of_a_regression_on_draws(n_classes, a, b):
    draws = np.random.default_rng(0).dirichlet([a] * n_classes + [b], size=400_000)
    u, v = draws[:, 0], draws[:, 1:n_classes].sum(axis=1)
    line = sampled_line(np.column_stack([u, v]), symmetric=False)
    w = u / (u + v)
    expected = (line.alpha, line.beta, *np.polyfit(np.log(w), np.log(w / (1 - w)), 1))
    assert dirichlet_constants(n_classes, a, b) == pytest.approx(expected, abs=0.02)


def test_lambda_and_rho_of_two_classes_that_are_equally_likely_are_those_of_the_paper():
    assert dirichlet_constants(2, 1.0, 1.0)[2:] == pytest.approx((LAMBDA, RHO), rel=1e-12)
