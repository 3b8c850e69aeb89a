"""Growing one tree against looking at every split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.trees.boost import bins_of
from tanager.trees.grow_kernels import grow_tree
from tanager.trees.split_kernels import gain_of_two, make_room, scan
from trees.grow_by_hand import Table, grow_by_hand

UNITS = 2.0**21


def grown(table, max_leaves, limits, max_attributes):
    """The values of the rows' leaves, the splits, and which codes go left in each."""
    n_splits, n_rows = max_leaves - 1, len(table.codes)
    nodes, left = np.zeros((n_splits, 3), np.int64), np.zeros((n_splits, table.n_codes.max()), bool)
    sums = np.stack([table.gradients, table.hessians]) * table.weights
    units = np.rint(UNITS * sums).astype(np.int64)
    starts, asked = np.concatenate([[0], np.cumsum(table.n_codes)]), np.arange(len(table.n_codes))
    rows = bins_of(table.codes, table.n_codes), (units[0] << 32) + units[1], np.arange(n_rows)
    histograms, leaf_of_row = np.empty((max_leaves, starts[-1]), np.int64), np.empty(n_rows, np.int64)
    how = (asked, starts, table.ordered, UNITS * np.array(limits), max_attributes, histograms)
    n_splits = grow_tree(*rows, *how, nodes, left, leaf_of_row)
    g, h = (np.bincount(leaf_of_row, own) for own in sums)
    return (-g / (h + limits[1]))[leaf_of_row], nodes[:n_splits], left[:n_splits]


@pytest.mark.parametrize("max_attributes", [1, 2, 4])
@pytest.mark.parametrize("limits", [(0.01, 1.0), (1.2, 0.3)])
@pytest.mark.parametrize("seed", range(5))
def test_a_tree_is_the_one_of_the_best_split_in_every_step(seed, limits, max_attributes):
    table = Table(seed)
    expected = grow_by_hand(table, 8, limits, max_attributes)
    np.testing.assert_allclose(grown(table, 8, limits, max_attributes)[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_of_attributes_of_two_states_is_the_one_of_the_best_split_in_every_step(seed, missing):
    table = Table(seed, ordered=(0, 0, 0, 0), n_codes=(3, 3, 3, 3), missing=missing)
    for limits in ((0.01, 1.0), (1.2, 0.3)):
        expected = grow_by_hand(table, 8, limits, 4)
        np.testing.assert_allclose(grown(table, 8, limits, 4)[0], expected, rtol=0, atol=1e-10)


SUMS = st.tuples(st.integers(-(2**20), 2**20), st.integers(0, 2**20)).filter(any)


@settings(deadline=None)
@given(SUMS, SUMS, st.sampled_from([0.0, 1.0, 1e5]), st.sampled_from([1e-9, 1.0, 1e5]))
def test_the_gain_of_two_categories_is_that_of_the_scan_of_all_to_the_last_digit(one, other, least_hessian, penalty):
    one, other = ((g << 32) + h for g, h in (one, other))
    limits = np.array([least_hessian, penalty])
    scanned = scan(np.array([one, 0, other]), one + other, 0, limits, make_room(np.array([0, 3])))[0]
    assert gain_of_two(one, other, one + other, limits) == scanned


@pytest.mark.parametrize("seed", range(5))
def test_no_subset_of_categories_is_better_than_the_one_found(seed):
    table = Table(seed, ordered=(0, 0), n_codes=(6, 5))
    limits = (0.01, 1e-12)
    expected = grow_by_hand(table, 2, limits, 2, every_subset=True)
    np.testing.assert_allclose(grown(table, 2, limits, 2)[0], expected, rtol=0, atol=1e-10)


def test_a_gap_goes_to_the_side_that_it_is_like():
    table = Table(0, n_rows=200, ordered=(4,), n_codes=(5,), missing=0.3)
    for like in (0, 3):
        table.gradients = np.where(np.isin(table.codes[:, 0], [like, 4]), 1.0, -1.0)
        _, nodes, left = grown(table, 2, (0.01, 1.0), 1)
        assert left[0, 4] == left[0, like] != left[0, 3 - like]
        assert nodes.tolist() == [[0, -1, -2]]


def test_where_no_split_gains_the_tree_is_one_leaf():
    table = Table(1)
    table.gradients[:] = 1.0
    table.hessians[:] = 0.2
    values, nodes, _ = grown(table, 8, (0.01, 0.0), 4)
    assert len(nodes) == 0
    np.testing.assert_allclose(values, -5.0)
