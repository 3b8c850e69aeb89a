"""Sets of classes: p-values by counting, and how often the true class is in the set."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.errors import OptionError
from tanager.metrics.conformal import KnownRows, make_sets, needed_rows, uncertified_note

CLASSES = np.array(["a", "b", "c"])


def draw(generator, n_rows, shares=(0.6, 0.3, 0.1)):
    """Rows of a model that is wrong: its probabilities are sharper than the truth and lean to one class."""
    codes = generator.choice(3, n_rows, p=shares)
    logs = 1.5 * np.eye(3)[codes] + generator.normal(size=(n_rows, 3))
    odds = np.exp(2.0 * logs + [0.5, 0.0, -0.5])
    return odds / odds.sum(axis=1, keepdims=True), codes


def sets_of(known, codes, new, level=0.9, repeats=None):
    return make_sets([KnownRows.of(known, codes, repeats)], [new], CLASSES, level)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(0, 40), st.booleans())
def test_a_p_value_counts_the_known_rows_of_the_class_that_are_no_more_probable(seed, n_known, coarse):
    generator = np.random.default_rng(seed)
    (known, codes), (new, _) = draw(generator, n_known), draw(generator, 7)
    if coarse:  # ties
        known, new = np.round(known, 1), np.round(new, 1)
    found = sets_of(known, codes, new)
    for row in range(7):
        for c in range(3):
            own = [p[c] for p, code in zip(known, codes, strict=True) if code == c]
            expected = (1 + sum(p <= new[row, c] for p in own)) / (len(own) + 1)
            assert found.p_values[row, c] == pytest.approx(expected, rel=1e-12)
            assert found.members[row, c] == (expected > 0.1 + 1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16))
def test_sets_nest_as_the_level_grows(seed):
    generator = np.random.default_rng(seed)
    found = sets_of(*draw(generator, 50), draw(generator, 20)[0])
    levels = np.sort(generator.random(5)).clip(0.01, 0.99)
    for low, high in pairwise(levels):
        assert (found.at(low).members <= found.at(high).members).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16))
def test_order_of_rows_and_classes_changes_nothing(seed):
    generator = np.random.default_rng(seed)
    (known, codes), (new, _) = draw(generator, 60), draw(generator, 9)
    found = sets_of(known, codes, new)
    rows, classes = generator.permutation(60), generator.permutation(3)
    place = np.argsort(classes)
    other = make_sets(
        [KnownRows.of(known[rows][:, classes], place[codes[rows]])], [new[:, classes]], CLASSES[classes], 0.9
    )
    np.testing.assert_array_equal(other.p_values, found.p_values[:, classes])
    assert [set(labels) for labels in other.labels] == [set(labels) for labels in found.labels]


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_split_sets_hold_the_true_class_of_every_class_as_often_as_asked_for(alpha):
    generator = np.random.default_rng(0)
    held = np.zeros((500, 3))
    sizes = []
    for split in range(500):
        (known, codes), (new, truth) = draw(generator, 300), draw(generator, 600)
        found = sets_of(known, codes, new, 1 - alpha)
        inside = found.members[np.arange(600), truth]
        held[split] = [inside[truth == c].mean() for c in range(3)]
        sizes.append(found.sizes.mean())
    coverage = held.mean(axis=0)
    assert (coverage >= 1 - alpha - 0.01).all()
    # It is at most 1 - alpha + 1 / (rows of the class + 1): the sets are no larger than they must be.
    assert (coverage <= 1 - alpha + 1 / (300 * np.array([0.6, 0.3, 0.1])) + 0.01).all()
    assert np.mean(sizes) < 2.5


def test_a_class_of_too_few_rows_is_in_every_set_and_said():
    generator = np.random.default_rng(1)
    new, _ = draw(generator, 30)
    known = np.tile([0.98, 0.01, 0.01], (38, 1))
    codes = np.repeat([0, 1], [19, 19])[: 19 + 18]
    found = sets_of(known[: len(codes)], codes, new, 0.95)
    assert found.uncertified == ("b", "c")  # 18 rows and none; 19 are enough for a
    assert found.members[:, 1:].all()
    assert needed_rows(0.95) == 19
    assert "'b', 'c', of which fewer than 19 rows are known" in str(found)
    assert uncertified_note((), 0.95) == ""
    assert found.at(0.5).uncertified == ("c",)


@pytest.mark.parametrize(("level", "n_rows"), [(0.9, 9), (0.95, 19), (0.99, 99), (0.8, 4), (0.5, 1)])
def test_a_class_can_be_left_out_from_the_first_number_of_rows_that_allows_it(level, n_rows):
    known, codes = np.tile([0.9, 0.05, 0.05], (n_rows, 1)), np.zeros(n_rows, dtype=int)
    new = np.array([[0.1, 0.8, 0.1]])
    assert needed_rows(level) == n_rows
    assert not sets_of(known, codes, new, level).members[0, 0]
    assert sets_of(known[1:], codes[1:], new, level).members[0, 0]


def test_sets_may_be_empty_and_full():
    known = np.repeat(np.eye(3) * 0.94 + 0.02, 30, axis=0)
    codes = np.repeat([0, 1, 2], 30)
    found = sets_of(known, codes, np.array([[0.4, 0.3, 0.3], [0.97, 0.02, 0.01]]))
    assert found.labels == [(), ("a",)]
    assert found.sizes.tolist() == [0, 1]
    assert found.at(0.99).labels == [("a", "b", "c")] * 2
    assert str(found) == "0.9 sets of 2 rows: 1 with one class, 1 empty"


def test_rows_that_were_judged_several_times_count_once():
    generator = np.random.default_rng(2)
    (known, codes), (new, _) = draw(generator, 40), draw(generator, 10)
    once = sets_of(known, codes, new)
    thrice = sets_of(np.repeat(known, 3, axis=0), np.repeat(codes, 3), new, repeats=np.full(3, 3.0))
    np.testing.assert_allclose(thrice.p_values, once.p_values, rtol=1e-12)
    assert thrice.uncertified == once.uncertified


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95, float("nan")])
def test_a_level_that_is_no_share_is_refused(level):
    known, codes = draw(np.random.default_rng(3), 10)
    with pytest.raises(OptionError, match="is no share of rows; expected a number above 0 and below 1"):
        sets_of(known, codes, known, level)
