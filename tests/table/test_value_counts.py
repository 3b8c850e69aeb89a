"""Laws of the value counts: they count, they add up, and a midpoint lies between its neighbours."""

from __future__ import annotations

import math
import tracemalloc
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tanager.table.value_counts import ValueCounts, count_values, midpoints

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


@settings(max_examples=50, deadline=None)
@given(rows)
def test_rows_without_weights_weigh_one(rows):
    assume(rows)
    column, classes, _ = (np.array(part) for part in zip(*rows, strict=True))
    unweighted = listed(count_values(column, classes, n_classes=5))
    assert unweighted == count_by_hand([(value, label, 1.0) for value, label, _ in rows])


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


@pytest.mark.parametrize("whole_numbers", [True, False])
def test_memory_does_not_grow_with_the_number_of_classes(whole_numbers):
    n_rows, n_classes = 20_000, 10_000
    rng = np.random.default_rng(0)
    column = rng.permutation(n_rows).astype(float) * (1.0 if whole_numbers else 0.3)
    classes = rng.integers(0, n_classes, n_rows)
    tracemalloc.start()
    counts = count_values(column, classes, n_classes=n_classes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.values.size == n_rows
    assert peak < 200 * n_rows  # a table of values by classes would take 80,000 bytes a row


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_midpoint_is_above_the_lower_value_and_not_above_the_higher(a, b):
    assume(a != b)
    low, high = sorted((a, b))
    cut = float(midpoints(np.array([low]), np.array([high]))[0])
    assert low < cut <= high


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e308))
def test_the_midpoint_of_adjacent_floats_is_the_higher_or_between(low):
    high = math.nextafter(low, math.inf)
    assert midpoints(np.array([low]), np.array([high])).tolist() == [high]


def test_the_midpoint_of_ordinary_numbers_is_halfway():
    low, high = np.array([1.0, -3.0, 0.1]), np.array([2.0, 3.0, 0.7])
    assert midpoints(low, high).tolist() == ((low + high) / 2).tolist()
