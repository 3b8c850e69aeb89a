"""Value counts and sketches of them against counting by hand, and bins of equal weight against quantiles."""

from __future__ import annotations

import math
from collections import defaultdict
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tanager.table.value_counts import ValueCounts, ValueSketch, bin_cuts, count_values, midpoints, quantile_cuts

# Integers take the path without a sort, fractions and large ranges the other one.
columns = st.sampled_from(
    [
        st.integers(-3, 3).map(float),
        st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1.0]),
        st.sampled_from([-1e300, -2.0, 7.0, 2.0**53, 2.0**60]),
        st.floats(allow_nan=False),
    ]
)
rows = columns.flatmap(
    lambda values: st.lists(
        st.tuples(values | st.just(math.nan), st.integers(0, 4), st.sampled_from([0.0, 1.0, 2.0, 5.0])), max_size=40
    )
)


def count_by_hand(rows: list[tuple[float, int, float]]) -> list[tuple[float, int, float]]:
    totals: dict[tuple[float, int], float] = defaultdict(float)
    for value, label, weight in rows:
        if not math.isnan(value) and weight > 0:
            totals[value, label] += weight
    return [(value, label, total) for (value, label), total in sorted(totals.items())]


def counts_of(rows: list[tuple[float, int, float]], n_classes: int = 5) -> ValueCounts:
    column, classes, weights = (np.array(part) for part in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    return count_values(column, classes.astype(np.uint8), weights, n_classes=n_classes)


def listed(counts: ValueCounts) -> list[tuple[float, int, float]]:
    return list(zip(counts.values.tolist(), counts.classes.tolist(), counts.weights.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(rows, st.sampled_from([5, 1000]))
def test_counts_equal_counting_by_hand(rows, n_classes):
    assert listed(counts_of(rows, n_classes)) == count_by_hand(rows)
    ones = [(value, label, 1.0) for value, label, _ in rows]
    column, classes = (np.array([row[k] for row in rows]) for k in (0, 1))
    assert not rows or listed(count_values(column, classes, n_classes=n_classes)) == count_by_hand(ones)


@settings(max_examples=100, deadline=None)
@given(rows, rows)
def test_merging_equals_counting_all_rows_at_once(some, others):
    merged, whole = counts_of(some).merge(counts_of(others)), counts_of(some + others)
    assert listed(merged) == listed(whole)
    counted = [value for value, _, weight in some + others if weight > 0 and not math.isnan(value)]
    assert merged.n_rows == whole.n_rows == len(counted)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, np.uint64, np.float16, np.float32])
@pytest.mark.parametrize("column", [[0, 1, 1, 0], [0, 100, 7, 100]])
def test_the_dtype_of_the_column_does_not_matter(column, dtype):
    classes = np.array([0, 1, 1, 2])
    counts = count_values(np.array(column, dtype=dtype), classes, n_classes=3)
    assert counts.values.dtype == np.float64
    reals = np.array(column, dtype=dtype).astype(float).tolist()
    assert listed(counts) == count_by_hand(list(zip(reals, classes.tolist(), [1.0] * 4, strict=True)))


def test_integers_that_are_one_float_are_one_value():
    counts = count_values(np.array([2**60, 2**60 + 1, 0]), np.zeros(3, dtype=int), n_classes=1)
    assert listed(counts) == [(0.0, 0, 1.0), (2.0**60, 0, 2.0)]


def test_negative_zero_is_zero():
    for column in ([-0.0, 0.0, -0.0], [-0.0, 0.5, 0.0]):
        counts = count_values(np.array(column), np.zeros(3, dtype=int), n_classes=1)
        assert counts.weights[0] == np.count_nonzero(np.array(column) == 0)
        assert not np.signbit(counts.values).any()


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_midpoint_is_above_the_lower_value_and_not_above_the_higher(a, b):
    assume(a != b)
    for low, high in (sorted((a, b)), (a, math.nextafter(a, math.inf))):
        cut = float(midpoints(np.array([low]), np.array([high]))[0])
        assert low < cut <= high


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


def test_constant_and_empty_columns_have_no_cut():
    assert cuts_of([4.0] * 9, 5).size == 0
    assert cuts_of([np.nan] * 9, 5).size == 0


ORDERS = {
    "shuffled": lambda values, rng: rng.permutation(values),
    "ascending": lambda values, rng: np.sort(values),
    "descending": lambda values, rng: -np.sort(-values),
    "ends first": lambda values, rng: values[np.argsort(-abs(values - np.median(values)))],
}


def add_in_batches(sketch: ValueSketch, values: np.ndarray, classes: np.ndarray, n_batches: int) -> None:
    for rows in np.array_split(np.arange(len(values)), n_batches):
        sketch.add(count_values(values[rows], classes[rows], n_classes=2))


def stated_error(n_rows: int, n_batches: int, n_groups: int) -> float:
    return (1 + ceil(log2(n_batches))) * n_rows / n_groups


def worst_shortfall(sketch: ValueSketch, values: np.ndarray, chosen: np.ndarray, of_class: int | None) -> float:
    """Most rows at or below a value that the sketch misses; negative where it has too many."""
    found = sketch.counts()
    own = np.ones(len(found.values), dtype=bool) if of_class is None else found.classes == of_class
    places, weights = found.values[own], np.cumsum(found.weights[own])
    estimated = np.append(0.0, weights)[np.searchsorted(places, values, side="right")]
    short = np.searchsorted(np.sort(values[chosen]), values, side="right") - estimated
    assert short.min() >= 0  # a value is never taken for a smaller one
    return float(short.max())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ties", [False, True])
def test_ranks_are_right_to_the_stated_error_in_every_order(order, ties):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=20_000), 2) if ties else rng.lognormal(size=20_000)
    values = ORDERS[order](values, rng)
    classes = (rng.random(len(values)) < 0.2).astype(np.uint8)
    sketch = ValueSketch(n_groups=256)
    n_batches = 37
    add_in_batches(sketch, values, classes, n_batches)
    error = stated_error(len(values), n_batches, 256)
    assert worst_shortfall(sketch, values, np.ones(len(values), dtype=bool), None) <= error
    for c in range(2):
        assert worst_shortfall(sketch, values, classes == c, c) <= error
