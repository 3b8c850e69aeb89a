"""Bases and terms against dense matrices; a walk against the prior it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from additive.small_terms import COLUMNS, design, random_codes, small_terms
from tanager.additive.bases import Basis, coarse_shares, random_walk, step_size


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_walk_kept_whole_has_the_covariance_of_cumulative_sums(n):
    places = np.arange(n)
    sums = np.minimum.outer(places, places)  # of a walk from zero with steps of variance one
    centred = np.eye(n) - 1 / n
    walk = random_walk(n, n)
    assert walk.shape == (n, n - 1)
    np.testing.assert_allclose(walk @ walk.T, step_size(n) ** 2 * centred @ sums @ centred, atol=1e-12)


def test_the_parts_that_are_kept_of_a_walk_have_the_largest_variance():
    whole, some = random_walk(20, 20), random_walk(20, 6)
    np.testing.assert_allclose(some, whole[:, :6])
    variances = (whole**2).sum(axis=0)
    assert (np.diff(variances) < 0).all()


def test_more_bins_do_not_move_the_ends_of_a_walk_further_apart():
    spread = [((walk[-1] - walk[0]) ** 2).sum() for walk in (random_walk(n, n) for n in (5, 9, 50, 200))]
    np.testing.assert_allclose(spread, spread[0])


def test_a_curve_has_mean_zero_over_the_rows_that_have_a_value():
    rng = np.random.default_rng(4)
    for column in (COLUMNS[0], COLUMNS[2], COLUMNS[3]):
        shares = rng.dirichlet(np.ones(column.n_states))
        n_bins = column.n_states - column.missing_state
        curve = Basis.of(column, shares, 8).matrix[:n_bins]
        np.testing.assert_allclose(shares[:n_bins] @ curve, 0.0, atol=1e-12)


def test_a_curve_along_steps_may_be_any_that_never_turns():
    """Every non-decreasing curve of mean zero is reached by effects at or above zero."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.ones(9))
    basis = Basis.of(COLUMNS[0], shares, 4, direction=1)
    curve = np.cumsum(rng.exponential(size=9))
    curve -= shares @ curve
    effects = np.linalg.lstsq(basis.matrix, curve, rcond=None)[0]
    assert (effects > 0).all()
    np.testing.assert_allclose(basis.matrix @ effects, curve, atol=1e-10)


def test_effects_move_from_one_list_of_terms_to_another():
    rng = np.random.default_rng(8)
    whole = small_terms(rng)
    fewer = whole.only([(4,), (0,), (1, 4), (0, 1)])
    others = whole.only([(0,), (0, 1), (2, 3)])
    codes = random_codes(rng, 40)
    effects = rng.normal(size=(fewer.first_effect[-1], 2, 3))

    def scores(terms, values):
        return design(terms, codes) @ values.reshape(len(values), -1)

    np.testing.assert_allclose(scores(whole, whole.take(fewer, effects)), scores(fewer, effects), atol=1e-12)
    np.testing.assert_array_equal(fewer.take(whole, whole.take(fewer, effects)), effects)
    common = whole.only([(0,), (0, 1)])
    kept = others.take(fewer, effects)
    np.testing.assert_allclose(scores(others, kept), scores(common, common.take(fewer, effects)), atol=1e-12)


def test_shares_of_coarse_states_are_sums_over_their_fine_ones():
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    np.testing.assert_allclose(coarse_shares(COLUMNS[2], shares), [0.3, 0.55, 0.15])


@pytest.mark.parametrize("monotone", [(), (1, 0, -1, 1, 0)], ids=["free", "constrained"])
def test_cells_of_unknown_states_come_and_go_and_the_others_stay(monotone):
    """Effects are the same numbers in another order; a table without unknown is a part of the one with it."""
    rng = np.random.default_rng(12)
    known = small_terms(rng, monotone=monotone, unknown=False)
    whole = known.with_unknown(True)
    one, other = (dict(zip(each.terms, each.n_effects, strict=True)) for each in (known, whole))
    assert one == other
    effects = rng.normal(size=(known.first_effect[-1], 2))
    more = whole.take(known, effects)
    np.testing.assert_array_equal(known.take(whole, more), effects)
    few, many, at = known.expand(effects), whole.expand(more), {term: k for k, term in enumerate(whole.terms)}
    for k, term in enumerate(known.terms):
        own, n_states = few[known.first_cell[k] : known.first_cell[k + 1]], [b.n_cells for b in known.bases(term)]
        place = at[term]
        table = many[whole.first_cell[place] : whole.first_cell[place + 1]]
        table = table.reshape(*(n + 1 for n in n_states), 2)[tuple(slice(n) for n in n_states)]
        np.testing.assert_allclose(table.reshape(own.shape), own, atol=1e-12)
    assert (known.lower() is None) == (whole.lower() is None) == (not monotone)
    if monotone:
        bounds = whole.lower()[:, np.newaxis]
        np.testing.assert_array_equal(known.take(whole, np.maximum(bounds, -1.0))[:, 0], np.maximum(known.lower(), -1))
