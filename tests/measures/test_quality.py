"""Measures of probabilities against scikit-learn's, sums over rows, and limit cases."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from tanager.measures import (
    FLOOR,
    ReliabilityCurve,
    accuracy,
    areas_under_roc,
    bin_sums,
    brier,
    confusion_matrix,
    log_loss,
    log_true,
    mean_area,
    measure_quality,
)


@st.composite
def predictions(draw, min_classes=2):
    """P(class | row) and the codes of the true classes; every class has a row, and equal probabilities occur."""
    n_classes = draw(st.integers(min_classes, 4))
    codes = [*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), max_size=12))]
    row = st.lists(st.integers(1, 4), min_size=n_classes, max_size=n_classes)
    counts = np.array(draw(st.lists(row, min_size=len(codes), max_size=len(codes))), dtype=float)
    return counts / counts.sum(axis=1, keepdims=True), np.array(codes)


@given(predictions())
@settings(max_examples=50)
def test_measures_are_those_of_scikit_learn(case):
    p, codes = case
    labels = np.arange(p.shape[1])
    found = measure_quality(p, codes)
    assert found.accuracy == accuracy(p, codes) == metrics.accuracy_score(codes, p.argmax(axis=1))
    assert found.log_loss == pytest.approx(metrics.log_loss(codes, p, labels=labels))
    one_by_one = [metrics.brier_score_loss(codes == k, p[:, k]) for k in labels]
    assert found.brier == pytest.approx(sum(one_by_one))
    np.testing.assert_array_equal(
        confusion_matrix(p, codes), metrics.confusion_matrix(codes, p.argmax(axis=1), labels=labels)
    )


@given(predictions())
@settings(max_examples=50)
def test_an_area_is_the_share_of_pairs_in_their_right_order_ties_counted_half(case):
    p, codes = case
    for k, area in enumerate(areas_under_roc(p, codes)):
        pairs = [*product(p[codes == k, k], p[codes != k, k])]
        assert area == pytest.approx(np.mean([(a > b) + (a == b) / 2 for a, b in pairs]))


@given(predictions())
@settings(max_examples=20)
def test_log_loss_and_brier_score_are_sums_over_rows(case):
    p, codes = case
    assert -log_true(p, codes).sum() == pytest.approx(len(codes) * log_loss(p, codes))
    assert log_true(p, codes).tolist() == pytest.approx([math.log(row[c]) for row, c in zip(p, codes, strict=True)])
    by_row = [sum((row[k] - (k == c)) ** 2 for k in range(len(row))) for row, c in zip(p, codes, strict=True)]
    assert brier(p, codes) == pytest.approx(np.mean(by_row))


def test_two_classes_have_the_ordinary_area():
    y, p = np.array([0, 0, 1, 1, 1]), np.array([0.1, 0.6, 0.6, 0.8, 0.3])
    assert measure_quality(np.column_stack([1 - p, p]), y).auc == pytest.approx(metrics.roc_auc_score(y, p))


def test_a_probability_of_zero_for_what_happened_costs_the_floor():
    p = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert log_loss(p, np.array([0, 1])) == pytest.approx(-math.log(FLOOR) / 2)
    assert brier(p, np.array([0, 0])) == 2.0


def test_a_class_of_every_row_or_of_none_has_no_area_and_is_left_out_of_the_mean():
    p = np.array([[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])
    areas = areas_under_roc(p, np.array([0, 1, 0]))
    assert areas[:2].tolist() == [1.0, 1.0]
    assert np.isnan(areas[2])
    assert mean_area(areas) == 1.0
    assert np.isnan(measure_quality(p, np.array([0, 0, 0])).auc)


@given(predictions(), predictions())
@settings(max_examples=20)
def test_bins_of_two_tables_add_up_to_those_of_both(one, other):
    edges = np.linspace(0, 1, 6)
    predicted = [p[:, 0] for p, _ in (one, other)]
    happened = [codes == 0 for _, codes in (one, other)]
    both = bin_sums(np.concatenate(predicted), np.concatenate(happened), edges)
    apart = [bin_sums(p, h, edges) for p, h in zip(predicted, happened, strict=True)]
    np.testing.assert_allclose(both, sum(apart))
    curve = ReliabilityCurve.of_sums(both, edges)
    assert np.dot(curve.count, curve.mean_predicted) == pytest.approx(np.concatenate(predicted).sum())
    assert np.dot(curve.count, curve.observed) == pytest.approx(np.concatenate(happened).sum())
