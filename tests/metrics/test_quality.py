"""Measures of probabilities against scikit-learn's, sums over rows, and limit cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from tanager.errors import OptionError
from tanager.metrics import Predictions, Quality, ReliabilityCurve, basic, bin_sums
from tanager.metrics.basic import (
    FLOOR,
    ClassArea,
    EventQuality,
    Share,
    accuracy,
    areas_under_roc,
    brier,
    confusion_matrix,
    event_code,
    log_loss,
    log_true,
    mean_area,
    measure,
    measure_intervals,
)
from tanager.metrics.quality import show


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
    found = measure(p, codes)
    assert found.accuracy == accuracy(p, codes) == metrics.accuracy_score(codes, p.argmax(axis=1))
    assert found.log_loss == pytest.approx(metrics.log_loss(codes, p, labels=labels))
    assert log_true(p, codes).tolist() == pytest.approx([math.log(row[c]) for row, c in zip(p, codes, strict=True)])
    one_by_one = [metrics.brier_score_loss(codes == k, p[:, k]) for k in labels]
    assert found.brier == pytest.approx(sum(one_by_one))
    np.testing.assert_array_equal(
        confusion_matrix(p, codes), metrics.confusion_matrix(codes, p.argmax(axis=1), labels=labels)
    )


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
    assert np.isnan(measure(p, np.array([0, 0, 0])).auc)


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


def quality_of(p: np.ndarray, codes: np.ndarray) -> Quality:
    n_classes = p.shape[1]
    rate = np.bincount(codes, minlength=n_classes) / len(codes)
    return Quality.of(Predictions(p, codes, np.zeros(len(codes), dtype=int)), np.arange(n_classes), rate, "by hand")


@given(predictions())
@settings(max_examples=20, deadline=None)
def test_the_measures_of_a_class_are_those_of_scikit_learn(case):
    p, codes = case
    said = p.argmax(axis=1)
    for k, found in enumerate(quality_of(p, codes).by_class()):
        expected = {
            "sensitivity": (codes == k, said == k),
            "specificity": (codes != k, said != k),
            "positive_predictive_value": (said == k, codes == k),
            "negative_predictive_value": (said != k, codes != k),
        }
        for name, (of, among) in expected.items():
            # The recall of one side is the predictive value with the sides exchanged.
            assert (found[name] is None) == (not of.any())
            assert found[name] is None or found[name] == pytest.approx(metrics.recall_score(of, among))


@given(predictions())
@settings(max_examples=20, deadline=None)
def test_a_quality_has_the_measures_of_scikit_learn_and_those_of_the_base_rate(case):
    p, codes = case
    found, labels = quality_of(p, codes), np.arange(p.shape[1])
    rates = np.bincount(codes) / len(codes)
    assert found.measures == measure(p, codes)
    assert found.base.log_loss == pytest.approx(metrics.log_loss(codes, np.tile(rates, (len(codes), 1)), labels=labels))
    assert found.base.accuracy == pytest.approx(rates.max())
    assert found.base.auc == pytest.approx(0.5)
    np.testing.assert_array_equal(found.confusion, metrics.confusion_matrix(codes, p.argmax(axis=1)))
    assert found.confidence == pytest.approx(np.mean([max(row) for row in p]))
    assert found.to_dict()["accuracy"]["value"] == metrics.accuracy_score(codes, p.argmax(axis=1))


@given(predictions(), st.data())
@settings(max_examples=30)
def test_an_area_with_weights_is_that_of_scikit_learn(case, data):
    p, codes = case
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(codes), max_size=len(codes))), dtype=float)
    area = ClassArea(p[:, 0], codes == 0)(weights)
    if weights[codes == 0].any() and weights[codes != 0].any():
        assert area == pytest.approx(metrics.roc_auc_score(codes == 0, p[:, 0], sample_weight=weights))
    else:
        assert np.isnan(area)


def test_intervals_are_percentiles_of_the_measures_of_tables_drawn_by_hand(monkeypatch):
    monkeypatch.setattr(basic, "MAX_DRAWS", 200)
    generator = np.random.default_rng(5)
    p, codes = generator.dirichlet([1, 1, 1], 40), generator.integers(0, 3, 40)
    units = np.arange(40) // 4
    low, high = measure_intervals(p, codes, units, random_state=9)
    again, drawn = np.random.default_rng(9), []
    for _ in range(200):
        rows = np.concatenate([np.flatnonzero(units == unit) for unit in again.integers(10, size=10)])
        drawn.append(measure(p[rows], codes[rows]))
    np.testing.assert_allclose(low, np.percentile(drawn, 2.5, axis=0))
    np.testing.assert_allclose(high, np.percentile(drawn, 97.5, axis=0))


def test_one_row_has_an_interval_of_no_width_and_no_area():
    found = quality_of(np.array([[0.2, 0.8]]), np.array([1]))
    assert found.low.log_loss == found.high.log_loss == pytest.approx(-math.log(0.8))
    assert np.isnan([found.measures.auc, found.low.auc]).all()
    assert found.to_dict()["auc"] == {"value": None, "low": None, "high": None, "base_rate": None, "folds": [None]}


@given(st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=2), min_size=2, max_size=2))
def test_the_event_counts_cases_and_alarms_as_scikit_learn_does(counts):
    truth = np.repeat([0, 0, 1, 1], np.ravel(counts))
    said = np.repeat([0, 1, 0, 1], np.ravel(counts))
    for code in (0, 1):
        found = EventQuality.of(np.array(counts), code, code)
        for share, score in ((found.found, metrics.recall_score), (found.right, metrics.precision_score)):
            expected = score(truth, said, pos_label=code, zero_division=np.nan) if len(truth) else math.nan
            assert share.part / share.whole == pytest.approx(expected) if share.whole else math.isnan(expected)
        assert (found.cases.part, found.cases.whole) == ((truth == code).sum(), len(truth))


@given(st.integers(0, 300), st.integers(1, 300))
def test_the_interval_of_a_share_solves_wilsons_equation(part, more):
    whole = part + more
    for end in Share(part, whole).interval:  # (p - end)^2 = z^2 end (1 - end) / n
        z = 1.959963984540054
        assert (part / whole - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / whole, abs=1e-9)


def test_a_share_reads_as_all_or_none_only_if_it_is():
    shares = [(0, 900), (1, 1000), (999, 1000), (900, 900), (430, 500), (0, 0)]
    assert [Share(*each).words for each in shares] == ["0", "0.1", "99.9", "100", "86", "none"]
    assert [show("accuracy", p) for p in (0.0, 1e-5, 0.99999, 1.0)] == ["0.0 %", "< 0.1 %", "> 99.9 %", "100.0 %"]
    assert [show("auc", p) for p in (0.0, 1e-5, 0.99999, 1.0)] == ["0.000", "< 0.001", "> 0.999", "1.000"]


def test_the_event_is_the_class_named_else_the_rarer_of_two():
    assert event_code(None, ["a", "b"], [3, 4]) == 0
    assert event_code(None, ["a", "b"], [4, 3]) == event_code(None, ["a", "b"], [3, 3]) == 1
    assert event_code("c", ["a", "b", "c"], [1, 1, 1]) == 2
    assert event_code(None, ["a", "b", "c"], [1, 2, 3]) is None
    with pytest.raises(OptionError, match=r"event 'd' is no class of the model; its classes are 'a', 'b'"):
        event_code("d", ["a", "b"], [1, 1])
