"""Laws of equal-weight bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table.value_counts import bin_cuts, count_values, quantile_cuts

values = st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.5, 3.0, 4.0, 9.0]), min_size=1, max_size=60)


def cuts_of(column, n_bins, weights=None, cut=quantile_cuts):
    column = np.asarray(column, dtype=float)
    weights = None if weights is None else np.asarray(weights, dtype=float)
    return cut(count_values(column, np.arange(column.size) % 3, weights, n_classes=3), n_bins)


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


@pytest.mark.parametrize("cut", [quantile_cuts, bin_cuts])
@settings(max_examples=100, deadline=None)
@given(column=values, n_bins=st.integers(1, 8))
def test_no_bin_is_empty(column, n_bins, cut):
    cuts = cuts_of(column, n_bins, cut=cut)
    assert cuts.size < n_bins
    assert set(np.searchsorted(cuts, column, side="right").tolist()) == set(range(cuts.size + 1))


@pytest.mark.parametrize("cut", [quantile_cuts, bin_cuts])
@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=30), n_bins=st.integers(1, 6)
)
def test_whole_weights_equal_repeated_rows(rows, n_bins, cut):
    column, weights = np.array(rows).T
    repeated = np.repeat(column, weights)
    assert cuts_of(column, n_bins, weights, cut).tolist() == cuts_of(repeated, n_bins, cut=cut).tolist()


@settings(max_examples=100, deadline=None)
@given(values, st.integers(1, 6))
def test_values_no_more_frequent_than_others_are_cut_at_quantiles(column, n_bins):
    even = np.repeat(np.unique(column), 3)
    if np.unique(column).size > n_bins:
        assert cuts_of(even, n_bins, cut=bin_cuts).tolist() == cuts_of(even, n_bins).tolist()


@pytest.mark.parametrize("n_zeros", [0, 10, 900, 100_000])
def test_a_frequent_value_takes_no_bin_from_the_others(n_zeros):
    others = np.arange(1.0, 101.0)
    cuts = cuts_of(np.concatenate([np.zeros(n_zeros), others]), 11, cut=bin_cuts)
    bins = np.bincount(np.searchsorted(cuts, others, side="right"))
    assert bins.max() <= 11
    assert (cuts[0] == 0.5) == (n_zeros >= 10)


def test_a_few_values_have_a_bin_each_however_rare():
    assert cuts_of([0.0] * 1000 + [1.0, 5.0, 9.0], 4, cut=bin_cuts).tolist() == [0.5, 3.0, 7.0]


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
