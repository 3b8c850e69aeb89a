"""Laws of the proof of how near a descent in blocks came, where rows are certain."""

import numpy as np
import pytest

from tanager.parameters.effects.block_gap import duality_gap, solve_intercepts


@pytest.mark.parametrize("n_odds", [1, 3])
def test_a_row_whose_class_has_no_probability_left_hides_no_gap(n_odds):
    """A norm of 2 holds a slope of 1, so that an effect of 3 is 3 * (2 - 1) above the optimum, which is zero."""
    p = np.array([[0.0, 0.4]]) if n_odds == 1 else np.array([[0.0, 0.4], [0.7, 0.4], [0.3, 0.2]])
    u, slopes = [np.array([[3.0]])], [np.array([[-1.0]])]
    gap = duality_gap(p, np.array([0, 0]), np.ones(2), u, slopes, np.zeros(1), np.array([2.0]))
    assert gap == pytest.approx(3.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intercepts_solved_for_leave_no_slope_where_rows_are_certain_and_wrong(n_classes):
    """All rows have the same log odds, 30 in favour of the first class: free intercepts make P the frequencies."""
    classes = np.array([0] * 90 + [1] * 6 + [n_classes - 1] * 4)
    scores = np.zeros((1 if n_classes == 2 else 3, 100))
    scores[0] = 30.0
    _, p = solve_intercepts(scores, classes, np.ones(100), np.ones(len(scores)))
    frequencies = np.bincount(classes) / 100
    np.testing.assert_allclose(p, np.repeat(frequencies[: len(p), np.newaxis], 100, axis=1), atol=1e-6)
