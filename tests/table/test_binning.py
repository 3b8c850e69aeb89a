"""Fine bins lie inside coarse ones; cuts learnt again from some rows are those of a schema of these rows alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.table.binning import fine_bins, learn_column, n_bins
from tanager.table.columns import NumericColumn
from tanager.table.discretizer import Discretizer, choose_discretizer, mdl_cuts
from tanager.table.encoder import encode_rows, learn_schema
from tanager.table.schema import ColumnSchema
from tanager.table.training_table import read_training
from tanager.table.value_counts import bin_cuts, count_values, quantile_cuts

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=120)


def column(
    values: np.ndarray, classes: np.ndarray, missing_state: bool = False, fine: bool = True
) -> tuple[ColumnSchema, np.ndarray]:
    """The column and its MDL cuts."""
    counts = count_values(values, classes, n_classes=2)
    schema = learn_column(NumericColumn("x", values), counts, missing_state, Discretizer(mdl_cuts), 2, fine)
    return schema, mdl_cuts(counts, 2)


@given(VALUES, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_coarse_code_of_a_value_is_that_of_its_fine_bin(values, random, missing_state):
    x = np.array(values)
    schema, found = column(x, np.array([random.random() < 0.5 for _ in values], dtype=np.uint8), missing_state)
    coarse = np.array(schema.coarse.cuts)
    assert set(found) <= set(coarse)
    fine = np.searchsorted(schema.cuts, x, side="right")
    np.testing.assert_array_equal(schema.coarse_codes[fine], np.searchsorted(coarse, x, side="right"))
    assert schema.coarse_codes[schema.missing_code] == schema.coarse.missing_code
    assert schema.coarse_codes[schema.empty_code] == schema.coarse.empty_code


@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_there_are_at_most_so_many_bins_beyond_the_coarse_cuts_and_none_is_empty(values):
    x = np.array(values)
    schema, found = column(x, (x > 0).astype(np.uint8))
    n_fine, n_coarse = n_bins(len(x))
    assert len(schema.cuts) <= n_fine - 1 + n_coarse - 1 + len(found)
    assert len(schema.coarse.cuts) <= n_coarse - 1 + len(found)
    assert set(np.searchsorted(schema.cuts, x, side="right")) == set(range(schema.n_states))


@pytest.mark.parametrize("n_repeats", [1, 4])
def test_a_column_that_tells_nothing_alone_is_cut_at_quantiles_for_pairs(n_repeats):
    x = np.tile(np.arange(90.0), 2 * n_repeats)
    schema, found = column(x, np.repeat([0, 1], 90 * n_repeats).astype(np.uint8))
    assert len(found) == 0
    _, n_coarse = n_bins(len(x))
    levels = np.quantile(x, np.arange(1, n_coarse) / n_coarse, method="inverted_cdf")
    assert schema.coarse.cuts == tuple(levels + 0.5)


@given(st.integers(1, 10**9), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_the_numbers_of_bins_grow_smoothly_with_the_rows(n_rows, more):
    """Five rows more are never worth two bins more: 16 ((n + 5)^.2 - n^.2) is below 1 from 32 rows on."""
    for few, many in zip(n_bins(n_rows), n_bins(n_rows + more), strict=True):
        assert few <= many
        assert many <= few + 1 or n_rows < 32


@pytest.mark.parametrize(("n_rows", "n_fine", "n_coarse"), [(1, 16, 4), (32, 32, 8), (1024, 64, 16), (3125, 80, 20)])
def test_a_column_of_more_rows_has_more_bins_of_equal_weight(n_rows, n_fine, n_coarse):
    """The fifth roots of these numbers of rows are whole: 1, 2, 4 and 5."""
    assert n_bins(n_rows) == (n_fine, n_coarse)
    x = np.random.default_rng(0).permutation(n_rows).astype(float)
    missing = np.full(7 * n_rows, np.nan)
    classes = np.arange(8 * n_rows).astype(np.uint8) % 2
    counts = count_values(np.concatenate([x, missing]), classes, n_classes=2)
    cuts, _ = fine_bins(np.empty(0), counts)
    sizes = np.bincount(np.searchsorted(cuts, x, side="right"))
    assert len(cuts) + 1 == min(n_rows, n_fine)
    assert np.ptp(sizes) <= 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.sampled_from([1.0, 0.3, 1e-6, 1e6]), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_the_number_of_bins_is_one_of_rows_and_the_unit_of_the_weights_does_not_matter(seeds, unit, n_classes):
    rng = np.random.default_rng(seeds)
    n_rows = int(rng.integers(2, 400))
    x, classes = rng.integers(-30, 30, n_rows) / 4, rng.integers(0, n_classes, n_rows)
    relative = rng.integers(1, 4, n_rows).astype(float)
    one, other = (count_values(x, classes, scale * relative, n_classes=n_classes) for scale in (1.0, unit))
    assert one.n_rows == other.n_rows == n_rows
    for cut in (bin_cuts, quantile_cuts):
        np.testing.assert_array_equal(cut(one, 8), cut(other, 8))
    for ours, theirs in zip(fine_bins(np.empty(0), one), fine_bins(np.empty(0), other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
    schema, found = column(x, (x > 20).astype(np.uint8), fine=False)
    assert schema.cuts == tuple(found) == (20.5,)
    assert schema.groups == ()


@pytest.mark.parametrize("x", [np.full(5, 2.0), np.full(3, np.nan)], ids=["constant", "empty"])
def test_a_column_without_two_values_has_one_bin(x):
    schema, _ = column(x, np.zeros(len(x), dtype=np.uint8))
    assert schema.n_states == 1
    assert schema.coarse is schema


def rows_of(seed, n_rows=60):
    """Numbers that tell something of the class, others that tell nothing, ties and gaps."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n_rows)
    X = np.column_stack([generator.normal(size=n_rows) + 2 * y, generator.integers(0, 5, n_rows) + 2.0 * y, -y])
    X[generator.random(X.shape) < 0.1] = np.nan
    return X, y, generator.integers(1, 4, n_rows).astype(np.float64)


@given(st.integers(0, 1000), st.sampled_from(["auto", "category"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_cuts_are_those_of_the_rows_kept_alone(seed, missing, weighted):
    X, y, weights = rows_of(seed)
    weights = weights if weighted else None
    clf = BayesianNetworkClassifier("tan", parameters="conditional", missing=missing)
    kept = np.random.default_rng(seed + 1).random(len(y)) < 0.7
    kept[:4], y[:2], y[2:4] = True, 0, 1
    values = clf._read(X, y, weights, clf._row_needs()).values
    ours = values.cut(values.rows.take(kept), values.rows.take(~kept))
    whole = read_training(X, y, weights)
    missing_states = missing == "category"
    cut = choose_discretizer("mdlp")
    part = whole.table.take(kept)
    own_weights = None if weights is None else weights[kept]
    schema = learn_schema(part, whole.target, whole.class_codes[kept], own_weights, cut, missing_states=missing_states)
    for found, rows in zip(ours, (kept, ~kept), strict=True):
        table = whole.table.take(rows)
        expected = encode_rows(table, range(len(table.names)), schema, whole.class_codes[rows], None)
        for node, column in enumerate(schema.attributes):
            if (
                column.missing_state or not missing_states
            ):  # a gap that only the rows held out have is no state of the part
                assert found.n_states[node] == column.n_states
                np.testing.assert_array_equal(found.column(node), expected.column(node))


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"structure": "tan", "parameters": "conditional"}, True),
        ({"structure": "tan", "parameters": "conditional", "discretizer": "quantile"}, False),
        ({"structure": "tan", "parameters": "conditional", "categorical_features": "all"}, False),
        ({"structure": "tan", "parameters": "frequency"}, False),
    ],
    ids=str,
)
def test_values_are_kept_only_where_cuts_have_seen_the_class_and_rows_are_held_out(options, asked):
    X, y, _ = rows_of(0)
    clf = BayesianNetworkClassifier(**options)
    assert (clf._read(X, y, None, clf._row_needs()).values is not None) == asked


def test_of_many_rows_no_values_are_kept_whatever_their_weights():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(6_000, 1)), generator.integers(0, 2, 6_000)
    clf = BayesianNetworkClassifier("naive-bayes", parameters="conditional")
    rows = [(X, y, None), (X, y, np.full(6_000, 2.0)), (X.repeat(2, axis=0), y.repeat(2), None)]
    assert [clf._read(*each, clf._row_needs()).values is not None for each in rows] == [True, True, False]
