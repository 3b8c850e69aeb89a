"""Rows are assigned to folds one by one and at random, by what they hold; a row of any weight to one fold."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import tanager
from classifiers.stream_tables import mixed_table, split
from oracle import batch_of, random_batch
from tanager import BayesianNetworkClassifier
from tanager.additive.folds import Sample
from tanager.errors import DataWarning
from tanager.table import folds
from tanager.table.folds import RowKinds, split_rows
from tanager.table.rows import row_keys

seeds = st.integers(0, 1000)


def kinds_of(counts, strata=None):
    """A kind of rows for each of the counts."""
    strata = np.zeros(len(counts), dtype=np.uint8) if strata is None else strata
    codes = np.arange(len(counts), dtype=np.uint16)[:, np.newaxis].repeat(counts, axis=0)
    return RowKinds.of(codes, strata.repeat(counts), np.ones(len(codes)), 1.0)


def row_by_row(batch):
    """Each row with its class and its weight."""
    return [*zip(batch.codes.tolist(), batch.class_codes.tolist(), batch.row_weights.tolist(), strict=True)]


@given(seeds)
def test_keys_are_equal_where_rows_are(seed):
    generator = np.random.default_rng(seed)
    codes, strata = generator.integers(0, 3, (60, 3)).astype(np.uint8), generator.integers(0, 2, 60).astype(np.uint8)
    weights = generator.integers(1, 3, 60).astype(float)
    keys = row_keys(codes, strata, weights)
    rows = [*map(tuple, np.column_stack([codes, strata, weights]).tolist())]
    assert len(set(keys.tolist())) == len(set(rows)) == len(set(zip(rows, keys.tolist(), strict=True)))


@given(seeds, st.integers(2, 5))
def test_folds_have_all_rows_and_differ_by_one_at_most_in_each_stratum(seed, n_folds):
    generator = np.random.default_rng(seed)
    kinds = kinds_of(generator.integers(1, 5, 20), generator.integers(0, 3, 20).astype(np.uint8))
    assigned = kinds.assign(n_folds, seed)
    assert (assigned.sum(axis=1) == kinds.counts).all()
    assert np.ptp(assigned.sum(axis=0)) <= 1
    for stratum in range(3):
        assert np.ptp(assigned[kinds.strata == stratum].sum(axis=0)) <= 1


@pytest.mark.parametrize("rows_per_kind", [0, 1_000], ids=["marginals", "count"])
def test_the_rows_of_a_kind_in_a_fold_are_hypergeometric(rows_per_kind, monkeypatch):
    monkeypatch.setattr(folds, "ROWS_PER_KIND", rows_per_kind)
    kinds, n_draws = kinds_of([6, 1, 2]), 2_000
    largest = kinds.counts.argmax()
    for fold in range(3):
        found = Counter(int(kinds.assign(3, seed)[largest, fold]) for seed in range(n_draws))
        for number in range(4):
            expected = hypergeom(9, 6, 3).pmf(number)
            assert abs(found[number] / n_draws - expected) < 4.0 * np.sqrt(expected * (1 - expected) / n_draws)


@pytest.mark.parametrize("most_drawn_from", [10**9, 100])
def test_two_parts_are_drawn_with_strata_as_frequent_as_among_all(most_drawn_from, monkeypatch):
    monkeypatch.setattr(folds, "MAX_ROWS_DRAWN_FROM", most_drawn_from)
    counts = np.array([600, 300, 100]) if most_drawn_from < 1_000 else np.ones(1_000, dtype=int)
    strata = np.repeat([0, 1, 2], [1] * 3 if most_drawn_from < 1_000 else [600, 300, 100]).astype(np.uint8)
    kinds = kinds_of(counts, strata)
    size = 50 if len(kinds.counts) == 1_000 else 10
    parts = kinds.draw(size, 0).T
    assert (parts.sum(axis=0) <= kinds.counts).all()
    shares = [np.bincount(kinds.strata, part).tolist() for part in parts]
    assert shares == [[0.6 * size, 0.3 * size, 0.1 * size]] * 2


@given(seeds, st.booleans())
@settings(max_examples=30, deadline=None)
def test_every_row_is_held_out_once_and_fitted_on_otherwise_but_those_alone_in_their_class(seed, weighted):
    plain = random_batch(seed, 30, (2, 2, 3))
    again = np.random.default_rng(seed).integers(0, 30, 40)  # equal rows among them
    weights = np.random.default_rng(seed).integers(1, 4, 30)[again] / 2 if weighted else None
    batch = replace(batch_of(plain.codes[again], plain.class_codes[again], plain.n_states), weights=weights)
    total, held_out = total_weights([batch]), Counter()
    for training, validation in split_rows(batch, 1_000, seed):
        assert total_weights([training, validation]) == total
        held_out += total_weights([validation])
    sizes = np.bincount(batch.class_codes, minlength=3)
    alone = {row for row in total if sizes[row[-1]] == 1}
    assert held_out == Counter({row: weight for row, weight in total.items() if row not in alone})


def total_weights(batches):
    total = Counter()
    for batch in batches:
        for codes, label, weight in row_by_row(batch):
            total[(*codes, label)] += weight
    return total


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_a_row_of_any_weight_is_in_one_fold(seed):
    generator = np.random.default_rng(seed)
    codes = np.arange(60, dtype=np.uint8)[:, np.newaxis]
    batch = batch_of(codes, generator.integers(0, 2, 60).astype(np.uint8), (60, 2))
    batch = replace(batch, weights=np.exp(generator.normal(0, 3, 60)))
    for training, validation in split_rows(batch, 1_000, seed):
        assert not set(training.codes[:, 0].tolist()) & set(validation.codes[:, 0].tolist())


@pytest.mark.parametrize("scale", [1e-6, 0.5, 1.0, 2.0, 1e3])
@pytest.mark.parametrize("most_rows", [1_000, 40])
def test_folds_depend_neither_on_the_order_of_rows_nor_on_the_unit_of_weights(scale, most_rows):
    generator = np.random.default_rng(1)
    batch = random_batch(1, 200, (3, 4, 3, 2))
    batch = replace(batch, weights=generator.choice([0.3, 1.0, 1.7, 2 / 3], 200))
    shuffled = batch.take(generator.permutation(200))
    other = replace(shuffled, weights=shuffled.weights * scale)
    for ours, theirs in zip(split_rows(batch, most_rows, 0), split_rows(other, most_rows, 0), strict=True):
        for part, same in zip(ours, theirs, strict=True):
            assert part.codes.tolist() == same.codes.tolist()
            np.testing.assert_allclose(part.row_weights * scale, same.row_weights, rtol=1e-12)


def test_constant_weights_give_the_folds_of_rows_without_weights():
    batch = random_batch(2, 200, (3, 4, 2))
    weighted = replace(batch, weights=np.full(200, 0.1))
    for ours, theirs in zip(split_rows(batch, 1_000, 0), split_rows(weighted, 1_000, 0), strict=True):
        for part, same in zip(ours, theirs, strict=True):
            assert part.codes.tolist() == same.codes.tolist()


@pytest.mark.parametrize("scale", [1e-6, 1 / 3, 7.0])
def test_the_additive_model_takes_the_same_rows_in_the_same_order_whatever_the_unit_of_weights(scale):
    batch = replace(random_batch(3, 300, (9, 9, 2)), weights=np.random.default_rng(0).choice([0.3, 0.7, 1.9], 300))
    one, other = (Sample.of(replace(batch, weights=by * batch.weights), np.arange(2)) for by in (1.0, scale))
    assert one.codes.tolist() == other.codes.tolist()
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


@pytest.mark.parametrize("make", [BayesianNetworkClassifier, tanager.AdditiveClassifier])
def test_weight_zero_is_a_row_left_out(make):
    X, y = split(mixed_table(300, gaps=0.1))
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    kept = np.flatnonzero(weights)
    weighted = make().fit(X, y, weights)
    without = make().fit(X.take(kept), y.iloc[kept], weights[kept])
    assert (weighted.predict_proba(X) == without.predict_proba(X)).all()


def test_the_mean_of_the_weights_is_warned_of_once_where_it_is_far_from_one():
    X, y = split(mixed_table(200))
    for weight in (0.2, 9.0):
        BayesianNetworkClassifier(parameters="frequency").fit(X, y, np.full(200, weight))
    for weight, rows in ((0.05, "10"), (40.0, "8,000")):
        with pytest.warns(DataWarning, match=f"these 200 rows as {rows}\\. .* divide them by their mean") as found:
            BayesianNetworkClassifier(parameters="frequency").fit(X, y, np.full(200, weight))
        assert len(found) == 1
