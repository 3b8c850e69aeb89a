"""A decision costs least of all decisions, by brute force; a threshold is the best of all thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import DataError, OptionError
from tanager.decide import (
    CostDecision,
    ThresholdDecision,
    measure_decision,
    tune_for_costs,
    tune_for_sensitivity,
    tune_for_specificity,
)
from tanager.decide.decision import read_costs

LETTERS = "abcdef"


def draw(seed, n_classes, n_rows=40, decimals=None):
    """Probabilities, with ties where they have few decimals, true classes that go with them, costs, weights."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.7), n_rows)
    if decimals is not None:
        probabilities[:, 0] = probabilities[:, 0].round(decimals)
    truth = np.array([rng.choice(n_classes, p=row / row.sum()) for row in probabilities])
    costs = rng.integers(0, 9, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    return probabilities, truth, tuple(map(tuple, costs.tolist())), rng.integers(0, 4, n_rows) / 2.0


def all_thresholds(p):
    """One between every two neighbours, one for everybody, one for nobody."""
    values = np.unique(p)
    return [0.0, *((values[1:] + values[:-1]) / 2), *values, 1.5]


def cost_of(threshold, probabilities, truth, costs, weights):
    """By hand, row by row, for a threshold of the first class."""
    total = 0.0
    for row, c, weight in zip(probabilities, truth, weights, strict=True):
        k = 0 if row[0] >= threshold else max(range(1, len(row)), key=lambda k: row[k])
        total += weight * costs[c][k]
    return total


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_a_cost_decision_is_the_class_that_is_expected_to_cost_least(seed, n_classes):
    probabilities, _, costs, _ = draw(seed, n_classes)
    decided = CostDecision(tuple(LETTERS[:n_classes]), costs).choose(probabilities)
    for row, k in zip(probabilities, decided, strict=True):
        expected = [sum(row[c] * costs[c][j] for c in range(n_classes)) for j in range(n_classes)]
        assert expected[k] <= min(expected) + 1e-12


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0.01, 0.9))
def test_a_person_is_asked_by_chows_rule(seed, n_classes, price):
    probabilities, *_ = draw(seed, n_classes)
    rule = CostDecision(tuple(LETTERS[:n_classes]), read_costs(None, LETTERS[:n_classes]), price)
    decided = rule.choose(probabilities)
    for row, k in zip(probabilities, decided, strict=True):
        if abs(1 - row.max() - price) > 1e-12:
            assert k == (n_classes if 1 - row.max() > price else row.argmax())


def test_asking_is_never_worth_more_than_the_best_guess_and_free_asking_always_is():
    probabilities, *_ = draw(0, 3)
    costs = read_costs(None, "abc")
    assert (CostDecision(("a", "b", "c"), costs, 1.0).choose(probabilities) < 3).all()
    assert (CostDecision(("a", "b", "c"), costs, 0.0).choose(probabilities) == 3).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from([None, 1]))
def test_a_tuned_threshold_costs_least_of_all_thresholds(seed, n_classes, decimals):
    probabilities, truth, costs, weights = draw(seed, n_classes, decimals=decimals)
    found = tune_for_costs(probabilities, truth, 0, costs, weights)
    best = min(cost_of(t, probabilities, truth, costs, weights) for t in all_thresholds(probabilities[:, 0]))
    assert cost_of(found, probabilities, truth, costs, weights) == pytest.approx(best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 1.0), st.sampled_from([None, 1]))
def test_the_threshold_for_a_sensitivity_is_the_highest_that_has_it(seed, wanted, decimals):
    probabilities, truth, _, _ = draw(seed, 2, decimals=decimals)
    p, ill = probabilities[:, 0], truth == 0
    if not ill.any() or ill.all():
        return
    found = tune_for_sensitivity(probabilities, truth, 0, wanted)
    reached = {t: (p[ill] >= t).mean() for t in all_thresholds(p)}
    best = max(t for t, share in reached.items() if share >= wanted - 1e-12)
    assert ((p >= found) == (p >= best)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.9), st.sampled_from([None, 1]))
def test_the_threshold_for_a_specificity_is_the_lowest_that_has_it(seed, wanted, decimals):
    probabilities, truth, _, _ = draw(seed, 2, decimals=decimals)
    p, healthy = probabilities[:, 0], truth != 0
    if not healthy.any() or healthy.all():
        return
    below = {t: (p[healthy] < t).mean() for t in all_thresholds(p)}
    best = min(t for t, share in below.items() if share >= wanted - 1e-12)
    if (p < best).all():
        with pytest.raises(DataError, match="no row reaches a threshold"):
            tune_for_specificity(probabilities, truth, 0, wanted)
    else:
        assert ((p >= tune_for_specificity(probabilities, truth, 0, wanted)) == (p >= best)).all()


@given(st.floats(0.01, 0.99))
def test_a_threshold_is_right_for_the_costs_it_stands_for(threshold):
    rule = ThresholdDecision(("a", "b"), "b", threshold)
    probabilities, *_ = draw(3, 2)
    clear = np.abs(probabilities[:, 1] - threshold) > 1e-9
    by_costs = CostDecision(("a", "b"), rule.cost_table).choose(probabilities)
    assert (rule.choose(probabilities) == by_costs)[clear].all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_the_distance_is_what_the_next_best_decision_would_cost_more(seed, n_classes):
    probabilities, _, costs, _ = draw(seed, n_classes)
    rule = CostDecision(tuple(LETTERS[:n_classes]), costs, ask=1.0)
    for row, found in zip(probabilities, rule.explain(probabilities), strict=True):
        options = {LETTERS[k]: sum(row[c] * costs[c][k] for c in range(n_classes)) for k in range(n_classes)}
        options["ask a person"] = 1.0
        assert options[found.other] - options[found.decided] == pytest.approx(found.distance, abs=1e-12)
        assert sorted(options.values())[1] == pytest.approx(options[found.other], abs=1e-12)


def test_at_the_distance_from_a_threshold_the_decision_changes():
    rule = ThresholdDecision(("a", "b", "c"), "b", 0.25)
    probabilities, *_ = draw(5, 3)
    for p, found in zip(probabilities[:, 1], rule.explain(probabilities), strict=True):
        assert found.distance == pytest.approx(abs(p - 0.25))
        assert (found.decided == "b") == (p >= 0.25)
        assert "b" in (found.decided, found.other)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_net_benefit_is_that_of_decision_curves(seed):
    probabilities, truth, _, weights = draw(seed, 2)
    weights[0] = 1.0
    t = 0.3
    found = measure_decision(ThresholdDecision(("a", "b"), "b", t), probabilities, truth, weights)
    ill, alarm = truth == 1, probabilities[:, 1] >= t
    by_name = {each.rule: each.net_benefit for each in found.rules}

    def benefit(treated):
        return (weights @ (treated & ill) - t / (1 - t) * weights @ (treated & ~ill)) / weights.sum()

    assert by_name["this decision"] == pytest.approx(benefit(alarm))
    assert by_name["everyone b"] == pytest.approx(benefit(np.ones(40, dtype=bool)))
    assert by_name["no one b"] == pytest.approx(0.0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_costs_shown_are_those_of_rows_one_by_one(n_classes):
    probabilities, truth, costs, weights = draw(7, n_classes)
    rule = CostDecision(tuple(LETTERS[:n_classes]), costs, ask=1.5)
    found = measure_decision(rule, probabilities, truth, weights)
    chosen = rule.choose(probabilities)
    by_hand = [1.5 if k == n_classes else costs[c][k] for c, k in zip(truth, chosen, strict=True)]
    assert found.rules[0].cost == pytest.approx(weights @ by_hand / weights.sum())
    plain = [costs[c][k] for c, k in zip(truth, probabilities.argmax(axis=1), strict=True)]
    assert found.rules[1].cost == pytest.approx(weights @ plain / weights.sum())
    assert found.asked == pytest.approx(weights @ (chosen == n_classes) / weights.sum())
    assert len(found.rules) == (4 if n_classes == 2 else 6)
    assert all(each.low <= each.cost <= each.high for each in found.rules)


def test_the_interval_is_about_as_wide_as_the_standard_error_says():
    probabilities, truth, *_ = draw(11, 2, n_rows=400)
    rule = CostDecision(("a", "b"), read_costs({("b", "a"): 5}, "ab"))
    found = measure_decision(rule, probabilities, truth).rules[0]
    costs = np.array(rule.costs)[truth, rule.choose(probabilities)]
    assert found.high - found.low == pytest.approx(2 * 1.96 * costs.std() / 20, rel=0.15)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({("ill", "dead"): 3}, "costs: there is no class 'dead'; the classes, nearest first, are 'healthy', 'ill'"),
        ({("ill", "healthy"): -3}, "to decide 'healthy' where 'ill' is true: the cost is -3; expected a number from"),
        ({"ill": 3}, "costs are given for 'ill'; expected a pair"),
        ([[0, 1, 2], [1, 0, 2]], r"costs have the shape \(2, 3\); expected \(2, 2\)"),
        ([[0, 1], [float("nan"), 0]], "the cost is nan"),
        ([[0, "1"], [1, 0]], "the cost is '1'"),
    ],
)
def test_unusable_costs_are_refused_in_words(costs, message):
    with pytest.raises(OptionError, match=message):
        read_costs(costs, ("healthy", "ill"))


@pytest.mark.parametrize("tune", [tune_for_sensitivity, tune_for_specificity])
@pytest.mark.parametrize("wanted", [0.0, 1.2, float("nan")])
def test_a_share_that_is_none_is_refused(tune, wanted):
    with pytest.raises(OptionError, match="expected a share above 0 and at most 1"):
        tune(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([0, 1]), 1, wanted)


def test_a_threshold_cannot_be_tuned_without_rows_of_the_class():
    with pytest.raises(DataError, match="needs rows of the class and of others"):
        tune_for_sensitivity(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([0, 0]), 1, 0.9)
