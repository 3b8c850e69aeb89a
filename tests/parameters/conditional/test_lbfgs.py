"""L-BFGS: its compact memory against the two loops of Nocedal, and minima that are known."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from tanager.parameters.conditional import descent
from tanager.parameters.conditional.descent import Memory, walk_down


def two_loops(pairs, gradient):
    """The inverse Hessian of the pairs (step, change) times a gradient (Nocedal 1980)."""
    left, shares = gradient.copy(), []
    for step, change in reversed(pairs):
        shares.append(step @ left / (step @ change))
        left -= shares[-1] * change
    step, change = pairs[-1]
    result = left * (step @ change) / (change @ change)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        result += (share - change @ result / (step @ change)) * step
    return result


@pytest.mark.parametrize("n_steps", [1, 5, 20, 21, 43])
def test_the_memory_is_that_of_the_two_loops_over_the_latest_steps(n_steps, monkeypatch):
    monkeypatch.setattr(descent, "MAX_STEPS", 20)
    rng = np.random.default_rng(n_steps)
    half = rng.normal(size=(30, 30))
    hessian = half @ half.T + np.eye(30)
    memory, pairs = Memory(30), []
    for step in rng.normal(size=(n_steps, 30)):
        pairs.append((step, hessian @ step))
        memory.add(*pairs[-1])
    gradient = rng.normal(size=30)
    assert 15 <= memory.n_steps <= 20 or memory.n_steps == n_steps
    np.testing.assert_allclose(memory.times_inverse(gradient), two_loops(pairs[-memory.n_steps :], gradient), rtol=1e-6)


def test_a_step_along_which_the_slope_falls_is_not_remembered():
    memory = Memory(2)
    memory.add(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    assert memory.n_steps == 0


def test_the_walk_follows_a_bent_valley_to_its_end_and_never_climbs():
    seen = []
    for point, value, gradient in walk_down(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0, -0.5, 2.0]), 500):
        seen.append((point, value))
        if np.abs(gradient).max() < 1e-8:
            break
    values = [value for _, value in seen]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(seen[-1][0], 1.0, atol=1e-7)
