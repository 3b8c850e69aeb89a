"""The tests of the papers: against scipy, against their definitions, against published tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from experiments.studies.statistics import (
    binomial_error,
    critical_difference,
    holm,
    mean_ranks,
    wilcoxon,
    win_tie_loss,
)
from tanager.errors import DataError

# Demšar 2006, table 6: AUC of four classifiers on 14 sets, whose mean ranks he gives as 3.143, 2.000, 2.893, 1.964.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],  # he ranks by more digits than he prints
        [0.957, 0.978, 0.946, 0.970],
    ]
)
values = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=12)


def by_definition(first, second):
    """Z of the signed ranks of second - first, written out."""
    gains = [b - a for a, b in zip(first, second, strict=True) if a != b]
    sizes = sorted(abs(gain) for gain in gains)
    ranks = [np.mean([place + 1 for place, size in enumerate(sizes) if size == abs(gain)]) for gain in gains]
    positive = sum(rank for rank, gain in zip(ranks, gains, strict=True) if gain > 0)
    return (positive - sum(ranks) / 2) / np.sqrt(sum(rank**2 for rank in ranks) / 4)


@settings(max_examples=60, deadline=None)
@given(values)
def test_z_is_that_of_the_signed_ranks(pairs):
    first, second = np.array(pairs, dtype=float).T
    found = wilcoxon(first, second)
    if (first == second).all():
        assert (found.z, found.p) == (0, 0.5)
    else:
        assert found.z == pytest.approx(by_definition(first, second), abs=1e-12)
        assert found.p == pytest.approx(stats.norm.sf(abs(found.z)))
    assert found.n == len(pairs)


@settings(max_examples=20, deadline=None)
@given(values)
def test_turning_the_pair_or_the_measure_round_turns_the_sign(pairs):
    first, second = np.array(pairs, dtype=float).T
    z = wilcoxon(first, second).z
    assert wilcoxon(second, first).z == pytest.approx(-z)
    assert wilcoxon(first, second, less_is_better=False).z == pytest.approx(-z)
    wins, ties, losses = win_tie_loss(first, second)
    assert (wins, losses) == (int((first < second).sum()), int((first > second).sum()))
    assert wins + ties + losses == len(pairs)


def test_sets_without_a_value_are_left_out_and_rounding_is_no_difference():
    first, second = [0.1, np.nan, 0.3, 0.2, 0.1 + 1e-15], [0.2, 0.1, 0.5, np.nan, 0.1]
    assert wilcoxon(first, second) == wilcoxon([0.1, 0.3, 0.1], [0.2, 0.5, 0.1])
    assert win_tie_loss(first, second) == (2, 1, 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_largest_scaled_p_among_those_not_larger(p):
    ranks = {value: sum(other < value for other in p) for value in p}
    expected = [min(1.0, max((len(p) - ranks[other]) * other for other in p if other <= value)) for value in p]
    np.testing.assert_allclose(holm(p), expected)


def test_mean_ranks_and_friedmans_test_equal_the_published_example():
    ranks = mean_ranks(("a", "b", "c", "d"), DEMSAR, less_is_better=False)
    np.testing.assert_allclose(ranks.mean, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert ranks.order == [3, 1, 2, 0]
    assert ranks.critical_difference == pytest.approx(1.25, abs=5e-3)
    # Without ties Friedman's statistic would be the published 9.28; scipy corrects for them.
    assert ranks.p == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).pvalue)


def test_critical_differences_are_those_of_the_published_table():
    q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]  # Demšar 2006, table 5a
    for k, quantile in enumerate(q, start=2):
        assert critical_difference(k, 10) == pytest.approx(quantile * np.sqrt(k * (k + 1) / 60), rel=1e-3)


def test_cliques_are_the_longest_runs_within_the_critical_difference():
    ranks = mean_ranks(("a", "b", "c"), np.tile([1.0, 2.0, 3.0], (40, 1)))
    assert ranks.critical_difference < 1
    assert ranks.cliques() == []
    few = mean_ranks(("a", "b", "c"), np.tile([1.0, 2.0, 3.0], (5, 1)))
    assert 1 < few.critical_difference < 2
    assert few.cliques() == [(0, 1), (1, 2)]


def test_ranks_need_a_common_set():
    with pytest.raises(DataError, match="common set"):
        mean_ranks(("a", "b"), np.array([[1.0, np.nan]]))


def test_the_standard_error_of_a_share_is_that_of_simulated_shares():
    shares = np.random.default_rng(0).binomial(200, 0.3, size=100_000) / 200
    assert binomial_error(0.3, 200) == pytest.approx(shares.std(), rel=0.01)
