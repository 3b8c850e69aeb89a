"""Samples and folds: by what rows hold, not by where they stand."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from cut_rows import CutRows
from oracle import batch_of, random_batch, take_rows
from tanager.additive import folds as folds_module
from tanager.additive.folds import N_FOLDS, Folds, Sample

SEEDS = st.integers(0, 10_000)
STATES = (3, 2, 4, 3)


def sample_of(batch):
    return Sample.of(batch, np.arange(batch.n_attributes))


def folds_of(sample, n_classes, most):
    """Folds of about so many of the rows."""
    with mock.patch.object(folds_module, "ALL_ROWS", most**2 / sample.n_rows):
        return Folds.of(sample, n_classes)


def rows_of(sample):
    """What each distinct row holds -> its number."""
    lines = zip(sample.codes.tolist(), sample.classes.tolist(), sample.weights.tolist(), strict=True)
    return {(*codes, label, weight): k for k, (codes, label, weight) in enumerate(lines)}


def distinct_batch(seed, n_rows, weighted=False):
    """Rows that all differ: the first attributes number them."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(n_rows)
    codes = np.column_stack([numbers % 250, numbers // 250, rng.integers(0, 3, n_rows)])
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    return batch_of(codes, rng.integers(0, 2, n_rows), (250, 250, 3, 2), weights)


@given(SEEDS, st.booleans())
@settings(max_examples=10, deadline=None)
def test_a_sample_holds_every_distinct_row_once_and_how_often_it_occurs(seed, weighted):
    batch = random_batch(seed, 60, STATES, gaps=0.2)
    if weighted:
        weights = np.random.default_rng(seed).integers(1, 3, 60)
        batch = batch_of(batch.codes, batch.class_codes, STATES, weights)
    sample = sample_of(batch)
    counted: dict[tuple, int] = {}
    for codes, label, weight in zip(batch.codes.tolist(), batch.class_codes, batch.row_weights, strict=True):
        key = (*codes, int(label), float(weight) * (60 / batch.row_weights.sum()))
        counted[key] = counted.get(key, 0) + 1
    assert {key: int(sample.counts[k]) for key, k in rows_of(sample).items()} == counted
    assert sample.n_rows == 60
    assert sample.totals.sum() == pytest.approx(60)


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_rows_in_any_order_give_the_same_sample_and_folds(seed):
    batch = random_batch(seed, 80, STATES, gaps=0.1, weighted=seed % 2 == 0)
    shuffled = take_rows(batch, np.random.default_rng(seed).permutation(80))
    one, other = (folds_of(sample_of(rows), STATES[-1], 50) for rows in (batch, shuffled))
    for name in ("codes", "classes", "counts", "weights"):
        np.testing.assert_array_equal(getattr(one.sample, name), getattr(other.sample, name))
    np.testing.assert_array_equal(one.held_out, other.held_out)


@given(SEEDS, st.integers(5, 200))
@settings(max_examples=20, deadline=None)
def test_every_row_is_held_out_once_and_learnt_from_in_the_other_folds(seed, most):
    batch = random_batch(seed, 90, STATES, weighted=seed % 2 == 0)
    folds = folds_of(sample_of(batch), STATES[-1], most)
    of_class = np.bincount(folds.sample.classes, folds.sample.counts, minlength=STATES[-1])
    several = (of_class > 1)[folds.sample.classes]
    np.testing.assert_array_equal(folds.held_out.sum(axis=1), np.where(several, folds.sample.counts, 0))
    whole = folds.sample.totals[:, np.newaxis]
    validation = folds.held_out * folds.sample.weights[:, np.newaxis]
    np.testing.assert_allclose(folds.training + validation, np.broadcast_to(whole, folds.training.shape))
    assert folds.sample.n_rows == (90 if most >= 90 else pytest.approx(most, abs=STATES[-1]))


def test_folds_have_equally_many_rows_of_every_class():
    batch = random_batch(3, 300, STATES)
    folds = Folds.of(sample_of(batch), STATES[-1])
    for label in range(STATES[-1]):
        held_out = folds.held_out[folds.sample.classes == label].sum(axis=0)
        assert held_out.max() - held_out.min() <= 1


@given(SEEDS)
@settings(max_examples=10, deadline=None)
def test_fewer_rows_are_a_part_of_more_rows_in_the_same_folds(seed):
    sample = sample_of(random_batch(seed, 200, STATES, weighted=seed % 2 == 0))
    few, many = (folds_of(sample, STATES[-1], most) for most in (60, 120))
    places = rows_of(many.sample)
    for key, k in rows_of(few.sample).items():
        assert (few.held_out[k] <= many.held_out[places[key]]).all()
    assert few.sample.n_rows < many.sample.n_rows < sample.n_rows


def test_equal_rows_are_assigned_at_random():
    """Among others of their class they do not go to the folds in turn."""
    batch = random_batch(5, 400, (2, 2, 2))
    held_out = Folds.of(sample_of(batch), 2).held_out
    spread = held_out.max(axis=1) - held_out.min(axis=1)
    assert spread.max() > 2
    expected = held_out.sum(axis=1, keepdims=True) / N_FOLDS
    assert (np.abs(held_out - expected) <= 5 * np.sqrt(expected)).all()


def test_a_class_of_one_row_never_validates():
    batch = batch_of(np.arange(31)[:, np.newaxis] % 7, [2, *([0, 1] * 15)], (7, 3))
    folds = Folds.of(sample_of(batch), 3)
    alone = folds.sample.classes == 2
    assert alone.sum() == 1
    assert not folds.held_out[alone].any()
    np.testing.assert_array_equal(folds.training[alone], 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_losses_are_those_of_the_validation_rows_and_a_quarter_of_a_row_of_any_class(n_classes):
    """Of a mean row, over all folds: as many as a fit is certain of, the loss of being wrong is in it."""
    rng = np.random.default_rng(12)
    states = (*STATES[:-1], n_classes)
    folds = Folds.of(sample_of(random_batch(12, 50, states)), n_classes)
    scores = 3 * rng.normal(size=(len(folds.sample), 1 if n_classes == 2 else n_classes, N_FOLDS))
    every = np.concatenate([np.zeros_like(scores), scores], axis=1) if n_classes == 2 else scores
    lost = -log_softmax(every, axis=1)
    own = np.take_along_axis(lost, folds.sample.classes[:, np.newaxis, np.newaxis], axis=1)[:, 0]
    n = folds.held_out.sum()
    expected = ((folds.held_out * own).sum() + (folds.held_out * lost.mean(axis=1)).sum() / n / 4) / n
    assert folds.mean(folds.losses(folds.validated(scores))) == pytest.approx(expected)


def test_a_loss_is_the_weighted_mean_over_validation_rows_and_errors_above_the_t_value_of_paired_differences():
    rng = np.random.default_rng(8)
    folds = Folds.of(sample_of(random_batch(8, 60, STATES, weighted=True)), STATES[-1])
    losses, others = rng.exponential(size=(2, *folds.held_out.shape))
    each, own, weights = [], [], np.repeat(folds.sample.weights, folds.held_out.sum(axis=1))
    for row, fold in np.ndindex(*losses.shape):
        weight, times = folds.sample.weights[row], folds.held_out[row, fold]
        each += [weight * (losses - others)[row, fold]] * times
        own += [weight * losses[row, fold]] * times
    expected = np.mean(each) / (np.std(each, ddof=1) / np.sqrt(len(each)))
    losses, others = losses[folds.held_out > 0], others[folds.held_out > 0]
    assert folds.mean(losses) == pytest.approx(sum(own) / weights.sum())
    assert folds.errors_above(losses, others) == pytest.approx(expected)
    assert folds.errors_above(others, losses) == pytest.approx(-expected)
    assert folds.errors_above(losses, losses) == 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_rows_about_the_most_are_drawn_the_same_in_memory_on_disk_and_in_any_order(weighted, monkeypatch):
    batch = distinct_batch(9, 4_000, weighted)
    monkeypatch.setattr(folds_module, "MAX_FITTED", 1_000)
    drawn = sample_of(batch)
    assert abs(drawn.n_rows - 1_000) < 5 * np.sqrt(1_000)
    assert (drawn.counts == 1).all()
    shuffled = take_rows(batch, np.random.default_rng(0).permutation(4_000))
    for other in (sample_of(CutRows.of(batch)), sample_of(shuffled)):
        for name in ("codes", "classes", "counts", "weights"):
            np.testing.assert_array_equal(getattr(other, name), getattr(drawn, name))


def test_of_many_copies_of_a_row_a_share_is_drawn(monkeypatch):
    batch = batch_of(np.arange(6_000)[:, np.newaxis] % 3, np.zeros(6_000), (3, 1))
    monkeypatch.setattr(folds_module, "MAX_FITTED", 1_500)
    drawn = sample_of(batch)
    assert len(drawn) == 3
    assert (np.abs(drawn.counts - 500) < 5 * np.sqrt(500)).all()


def test_the_first_rows_of_a_sample_are_a_random_part_of_it():
    sample = sample_of(distinct_batch(11, 3_000))
    some = sample.at_most(300)
    assert len(some) == 300
    assert abs(some.classes.mean() - sample.classes.mean()) < 5 * 0.5 / np.sqrt(300)
    assert abs(some.codes[:, 0].mean() - sample.codes[:, 0].mean()) < 5 * sample.codes[:, 0].std() / np.sqrt(300)
    assert len(sample.at_most(10_000)) == len(sample)
