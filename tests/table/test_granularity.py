"""Two granularities: fine bins lie inside coarse ones, and codes of both agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.table.discretize_mdl import mdl_cuts
from tanager.table.granularity import (
    MANY_ROWS,
    MAX_PAIRED,
    MOST_CELLS,
    MOST_COARSE,
    N_COARSE,
    N_FINE,
    N_FINE_OF_MANY,
    fine_bins,
    n_coarse_bins,
)
from tanager.table.schema import ColumnSchema
from tanager.table.value_counts import count_values

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=120)


def column(
    values: np.ndarray, classes: np.ndarray, gap_state: bool = False, n_coarse: int = 8
) -> tuple[ColumnSchema, np.ndarray]:
    """The column and its MDL cuts."""
    counts = count_values(values, classes, n_classes=2)
    found = mdl_cuts(counts, 2)
    cuts, groups = fine_bins(found, counts, n_coarse)
    return ColumnSchema("x", "numeric", cuts=tuple(cuts), groups=groups, gap_state=gap_state), found


@given(VALUES, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_coarse_code_of_a_value_is_that_of_its_fine_bin(values, random, gap_state):
    x = np.array(values)
    schema, found = column(x, np.array([random.random() < 0.5 for _ in values], dtype=np.uint8), gap_state)
    coarse = np.array(schema.coarse.cuts)
    assert set(found) <= set(coarse)
    fine = np.searchsorted(schema.cuts, x, side="right")
    np.testing.assert_array_equal(schema.coarse_codes[fine], np.searchsorted(coarse, x, side="right"))
    assert schema.coarse_codes[schema.missing_code] == schema.coarse.missing_code
    assert schema.coarse_codes[schema.gap_code] == schema.coarse.gap_code


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_there_are_at_most_so_many_bins_beyond_the_coarse_cuts_and_none_is_empty(values):
    x = np.array(values)
    schema, found = column(x, (x > 0).astype(np.uint8))
    assert len(schema.cuts) <= N_FINE - 1 + len(found)
    assert len(schema.coarse.cuts) <= 7 + len(found)
    assert set(np.searchsorted(schema.cuts, x, side="right")) == set(range(schema.n_states))


@pytest.mark.parametrize(("n_coarse", "cuts"), [(2, (4.5,)), (5, (1.5, 3.5, 5.5, 7.5))])
def test_a_column_that_tells_nothing_alone_is_cut_at_quantiles_for_pairs(n_coarse, cuts):
    x = np.tile(np.arange(10.0), 4)
    schema, found = column(x, np.repeat([0, 1], 20).astype(np.uint8), n_coarse=n_coarse)
    assert len(found) == 0
    assert schema.coarse.cuts == cuts


@given(st.integers(1, 30_000))
@settings(max_examples=100, deadline=None)
def test_the_tables_of_all_pairs_fit_and_columns_are_cut_no_more_coarsely_for_it(n_attributes):
    n_bins, n_paired = n_coarse_bins(n_attributes, fine=True), min(n_attributes, MAX_PAIRED)
    cells = n_paired * (n_paired - 1) / 2 * n_bins**2
    assert cells <= MOST_CELLS
    assert n_bins == N_COARSE[0] or 4 * cells > MOST_CELLS, "no coarser than it must be"


@pytest.mark.parametrize(
    ("n_rows", "n_fine", "n_coarse"), [(MANY_ROWS - 1, N_FINE, MOST_COARSE), (MANY_ROWS, N_FINE_OF_MANY, N_COARSE[0])]
)
def test_many_rows_are_cut_more_finely(n_rows, n_fine, n_coarse):
    x = np.random.default_rng(0).permutation(n_rows).astype(float)
    schema, _ = column(x, np.arange(n_rows).astype(np.uint8) % 2, n_coarse=N_COARSE[0])
    assert (schema.n_states, schema.coarse.n_states) == (n_fine, n_coarse)
    of_state = np.bincount(np.searchsorted(schema.cuts, x, side="right"))
    assert np.ptp(of_state) <= 1  # quantiles: as many rows in each


def test_by_default_no_cut_of_effects_has_seen_a_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y, other = rng.integers(0, 2, 200), (X[:, 0] > 0.3).astype(int)
    schemas = [AdditiveClassifier().fit(X, each).encoder_.schema for each in (y, other)]
    assert schemas[0].attributes == schemas[1].attributes
    of_tables = [BayesianNetworkClassifier("naive-bayes").fit(X, each).encoder_.schema for each in (y, other)]
    assert of_tables[0].attributes != of_tables[1].attributes


def test_without_fine_bins_the_cuts_are_the_discretisers():
    x = np.arange(40.0)
    schema, found = column(x, (x > 20).astype(np.uint8), n_coarse=n_coarse_bins(1, fine=False))
    assert schema.cuts == tuple(found) == (20.5,)
    assert schema.groups == ()


@pytest.mark.parametrize("x", [np.full(5, 2.0), np.full(3, np.nan)], ids=["constant", "empty"])
def test_a_column_without_two_values_has_one_bin(x):
    schema, _ = column(x, np.zeros(len(x), dtype=np.uint8))
    assert schema.n_states == 1
    assert schema.coarse is schema
