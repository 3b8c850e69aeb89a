"""Laws of equal-weight bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table.value_counts import count_values, quantile_cuts

values = st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.5, 3.0, 4.0, 9.0]), min_size=1, max_size=60)


def cuts_of(column, n_bins, weights=None):
    column = np.asarray(column, dtype=float)
    weights = None if weights is None else np.asarray(weights, dtype=float)
    return quantile_cuts(count_values(column, np.arange(column.size) % 3, weights, n_classes=3), n_bins)


@settings(max_examples=100, deadline=None)
@given(values, st.integers(1, 8))
def test_each_cut_follows_an_inverted_cdf_quantile_of_the_rows(column, n_bins):
    levels = np.arange(1, n_bins) / n_bins
    distinct = np.unique(column)
    expected = {float(q) for q in np.quantile(column, levels, method="inverted_cdf")} if distinct.size > 1 else set()
    if distinct[-1] in expected:  # nothing lies above the largest value: the cut comes before it
        expected = expected - {distinct[-1]} | {distinct[-2]}
    below = [distinct[distinct < cut].max() for cut in cuts_of(column, n_bins)]
    assert below == sorted(expected)


@settings(max_examples=100, deadline=None)
@given(values, st.integers(1, 8))
def test_no_bin_is_empty(column, n_bins):
    cuts = cuts_of(column, n_bins)
    assert cuts.size < n_bins
    assert set(np.searchsorted(cuts, column, side="right").tolist()) == set(range(cuts.size + 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=30), st.integers(1, 6))
def test_whole_weights_equal_repeated_rows(rows, n_bins):
    column, weights = np.array(rows).T
    assert cuts_of(column, n_bins, weights).tolist() == cuts_of(np.repeat(column, weights), n_bins).tolist()


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.3, 1e-9, 1e9])
def test_the_scale_of_the_weights_does_not_matter(scale):
    column = np.arange(30) / 7
    assert cuts_of(column, 10, np.full(30, scale)).tolist() == cuts_of(column, 10).tolist()


def test_distinct_values_fall_into_bins_of_equal_size():
    column = np.random.default_rng(0).permutation(100) / 3
    bins = np.searchsorted(cuts_of(column, 5), column, side="right")
    assert np.bincount(bins).tolist() == [20] * 5


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_two_values_are_always_told_apart(share):
    column = np.where(np.arange(1000) < 1000 * share, 0.0, 1.0)
    assert cuts_of(column, 5).tolist() == [0.5]


def test_constant_and_empty_columns_have_no_cut():
    assert cuts_of([4.0] * 9, 5).size == 0
    assert cuts_of([np.nan] * 9, 5).size == 0
