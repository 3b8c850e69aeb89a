"""Rows dealt to parts: by what they hold, unit by unit, at random."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from oracle import batch_of, random_batch
from tanager.table import folds
from tanager.table.folds import RowKinds, row_keys, split_rows

seeds = st.integers(0, 1000)


def kinds_of(weights, strata=None):
    strata = np.zeros(len(weights), dtype=np.uint8) if strata is None else strata
    codes = np.arange(len(weights), dtype=np.uint16)[:, np.newaxis]
    return RowKinds.of(row_keys(codes, strata), strata, np.array(weights, dtype=np.float64))


@given(seeds)
def test_keys_are_equal_where_rows_are(seed):
    generator = np.random.default_rng(seed)
    codes, strata = generator.integers(0, 3, (60, 3)).astype(np.uint8), generator.integers(0, 2, 60).astype(np.uint8)
    keys = row_keys(codes, strata)
    rows = [*map(tuple, np.column_stack([codes, strata]).tolist())]
    assert len(set(keys.tolist())) == len(set(rows)) == len(set(zip(rows, keys.tolist(), strict=True)))


@given(seeds, st.integers(2, 5), st.booleans())
def test_the_parts_have_all_units_and_differ_by_one_at_most_in_each_stratum(seed, n_parts, whole):
    generator = np.random.default_rng(seed)
    weights, strata = generator.integers(1, 5, 20) * (1.0 if whole else 0.75), generator.integers(0, 3, 20)
    kinds = kinds_of(weights, strata.astype(np.uint8))
    dealt = kinds.deal(n_parts, seed)
    np.testing.assert_allclose(dealt.sum(axis=1), kinds.weights)
    if whole:
        assert (dealt == np.rint(dealt)).all()
        assert np.ptp(dealt.sum(axis=0)) <= 1.0
        for stratum in range(3):
            assert np.ptp(dealt[kinds.strata == stratum].sum(axis=0)) <= 1.0


@pytest.mark.parametrize("units_per_kind", [0, 1_000], ids=["marginals", "count"])
def test_the_units_of_a_kind_in_a_part_are_hypergeometric(units_per_kind, monkeypatch):
    monkeypatch.setattr(folds, "UNITS_PER_KIND", units_per_kind)
    kinds, n_draws = kinds_of([6, 1, 2]), 2_000
    largest = kinds.weights.argmax()
    for part in range(3):
        found = Counter(int(kinds.deal(3, seed)[largest, part]) for seed in range(n_draws))
        for units in range(4):
            expected = hypergeom(9, 6, 3).pmf(units)
            assert abs(found[units] / n_draws - expected) < 4.0 * np.sqrt(expected * (1 - expected) / n_draws)


def test_two_parts_are_drawn_with_strata_as_frequent_as_among_all():
    strata = np.repeat([0, 1, 2], [600, 300, 100]).astype(np.uint8)
    kinds = kinds_of(np.ones(1_000), strata)
    parts = kinds.draw(50, 0).T
    assert set(parts.ravel().tolist()) == {0.0, 1.0}
    assert not (parts[0] * parts[1]).any()
    assert [np.bincount(kinds.strata, part).tolist() for part in parts] == [[30.0, 15.0, 5.0]] * 2


def test_weights_beyond_all_counting_are_dealt_in_larger_units():
    kinds = kinds_of([3e12, 1e12, 5.5])
    dealt = kinds.deal(3, 0)
    np.testing.assert_allclose(dealt.sum(axis=1), kinds.weights, rtol=1e-12)
    np.testing.assert_allclose(dealt.sum(axis=0), kinds.weights.sum() / 3, rtol=1e-6)


@given(seeds)
@settings(max_examples=20)
def test_fractions_whose_sum_is_a_whole_number_are_that_number_in_any_order(seed):
    order = np.random.default_rng(seed).permutation(10)
    weights = np.full(10, 0.1)
    weights[5:] = 0.3
    same = np.ones(10, dtype=np.uint64)
    sums = [RowKinds.of(same, same, own) for own in (weights, weights[order])]
    assert [own.n_units for own in sums] == [2, 2]
    np.testing.assert_allclose(sums[0].deal(2, seed), sums[1].deal(2, seed), atol=1e-12)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_folds_deal_out_every_unit_of_weight_and_a_weight_as_so_many_rows(seed):
    plain = random_batch(seed, 30, (2, 2, 3))
    number = np.random.default_rng(seed).integers(1, 4, 30)
    codes, classes = plain.codes.repeat(number, axis=0), plain.class_codes.repeat(number)
    whole = Counter(row_by_row(batch_of(codes, classes, plain.n_states)))
    dealt = Counter()
    weighted = split_rows(replace(plain, weights=number.astype(float)), 1_000, seed)
    for fold, repeated in zip(weighted, split_rows(batch_of(codes, classes, plain.n_states), 1_000, seed), strict=True):
        kept, held_out = (Counter(row_by_row(part)) for part in fold)
        assert kept + held_out == whole
        assert [kept, held_out] == [Counter(row_by_row(part)) for part in repeated]
        dealt += held_out
    alone = {c for c, n in Counter(row[-1] for row in whole.elements()).items() if n == 1}
    assert dealt == Counter({row: n for row, n in whole.items() if row[-1] not in alone})


def row_by_row(batch):
    """Each row with its class, as often as its weight says."""
    for codes, c, weight in zip(batch.codes.tolist(), batch.class_codes.tolist(), batch.row_weights, strict=True):
        assert weight == int(weight)
        yield from [(*codes, c)] * int(weight)
