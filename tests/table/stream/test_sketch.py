"""A sketch's ranks against those of the sorted values themselves."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table.value_counts import ValueSketch, count_values

ORDERS = {
    "shuffled": lambda values, rng: rng.permutation(values),
    "ascending": lambda values, rng: np.sort(values),
    "descending": lambda values, rng: -np.sort(-values),
    "ends first": lambda values, rng: values[np.argsort(-abs(values - np.median(values)))],
}


def add_in_batches(sketch: ValueSketch, values: np.ndarray, classes: np.ndarray, n_batches: int) -> None:
    for rows in np.array_split(np.arange(len(values)), n_batches):
        sketch.add(count_values(values[rows], classes[rows], n_classes=2))


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
    assert sketch.error <= (1 + ceil(log2(n_batches))) * len(values) / 256
    assert worst_shortfall(sketch, values, np.ones(len(values), dtype=bool), None) <= sketch.error
    for c in range(2):
        assert worst_shortfall(sketch, values, classes == c, c) <= sketch.error


def test_few_values_are_kept_exactly():
    rng = np.random.default_rng(1)
    values, classes = rng.integers(0, 200, 5_000).astype(float), rng.integers(0, 2, 5_000)
    sketch = ValueSketch(n_groups=256)
    add_in_batches(sketch, values, classes, 11)
    exact = count_values(values, classes, n_classes=2)
    assert sketch.error == 0.0
    for name in ("values", "classes", "weights"):
        np.testing.assert_array_equal(getattr(sketch.counts(), name), getattr(exact, name))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=40), min_size=1, max_size=20))
def test_no_row_is_lost_and_ranks_stay_within_the_error(batches):
    sketch = ValueSketch(n_groups=4)
    for batch in batches:
        sketch.add(count_values(np.array(batch), np.zeros(len(batch), dtype=np.intp), n_classes=1))
    values = np.array([value for batch in batches for value in batch])
    assert sketch.counts().weights.sum() == len(values)
    if len(values):
        assert worst_shortfall(sketch, values, np.ones(len(values), dtype=bool), None) <= sketch.error


def test_a_heavy_value_keeps_its_place():
    values = np.concatenate([np.full(5_000, 0.5), np.random.default_rng(2).random(5_000)])
    sketch = ValueSketch(n_groups=64)
    add_in_batches(sketch, values, np.zeros(len(values), dtype=np.intp), 1)
    found = sketch.counts()
    assert found.weights[found.values == 0.5].sum() >= 5_000
