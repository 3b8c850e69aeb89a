"""Decisions cost least by brute force; classifiers that decide keep probabilities, files and explanations."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

from tanager import (
    DataError,
    DataWarning,
    FileError,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    OptionError,
    explain,
    load_model,
    save_model,
)
from tanager.decide import (
    CostDecision,
    ThresholdDecision,
    measure_decision,
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.none() | st.floats(0.0, 3.0))
@example(seed=0, n_classes=3, price=0.0)
def test_a_cost_decision_is_the_class_that_is_expected_to_cost_least_or_to_ask_a_person(seed, n_classes, price):
    probabilities, _, costs, _ = draw(seed, n_classes)
    decided = CostDecision(tuple(LETTERS[:n_classes]), costs, price).choose(probabilities)
    for row, k in zip(probabilities, decided, strict=True):
        expected = [sum(row[c] * costs[c][j] for c in range(n_classes)) for j in range(n_classes)]
        expected.append(np.inf if price is None else price)
        assert expected[k] <= min(expected) + 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.9), st.sampled_from([None, 1]), st.booleans())
def test_a_threshold_is_the_highest_of_a_sensitivity_and_the_lowest_of_a_specificity(seed, wanted, decimals, highest):
    probabilities, truth, _, _ = draw(seed, 2, decimals=decimals)
    p, ill = probabilities[:, 0], truth == 0
    assume(ill.any() and not ill.all())
    right = {t: (p[ill] >= t).mean() if highest else (p[~ill] < t).mean() for t in all_thresholds(p)}
    best = (max if highest else min)(t for t, share in right.items() if share >= wanted - 1e-12)
    tune = tune_for_sensitivity if highest else tune_for_specificity
    if (p < best).all():
        with pytest.raises(DataError, match="no row reaches a threshold"):
            tune(probabilities, truth, 0, wanted)
    else:
        assert ((p >= tune(probabilities, truth, 0, wanted)) == (p >= best)).all()


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


def test_a_class_that_no_row_is_decided_for_is_said_to_be_so():
    probabilities, truth, *_ = draw(3, 2)
    with pytest.warns(DataWarning, match="none of 40 rows is decided to be b"):
        measure_decision(ThresholdDecision(("a", "b"), "b", 1.5), probabilities, truth)


def test_a_weight_is_so_many_rows():
    probabilities, truth, costs, _ = draw(8, 2)
    times = np.arange(40) % 3
    again = np.repeat(np.arange(40), times)
    rule = CostDecision(("a", "b"), costs)
    weighted = measure_decision(rule, probabilities, truth, times.astype(float))
    repeated = measure_decision(rule, probabilities[again], truth[again])
    assert [each.cost for each in weighted.rules] == pytest.approx([each.cost for each in repeated.rules])


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


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.2, "ill", "healthy")
    x = rng.normal(size=(300, 3)) + (y == "ill")[:, np.newaxis] * [1.0, 0.5, 0.0]
    return pd.DataFrame(x, columns=["a", "b", "c"]), pd.Series(y, name="state")


MODELS = {
    "costs": FixedDecisionClassifier(NaiveBayesClassifier(), costs={("ill", "healthy"): 10}),
    "ask": FixedDecisionClassifier(NaiveBayesClassifier(), costs=[[0, 1], [10, 0]], ask=0.4),
    "threshold": FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.1, pos_label="ill"),
}


@pytest.fixture(params=MODELS)
def fitted(request, table):
    return clone(MODELS[request.param]).fit(*table)


def test_probabilities_are_those_of_the_classifier_within(fitted, table):
    X, y = table
    np.testing.assert_array_equal(fitted.predict_proba(X), NaiveBayesClassifier().fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(fitted.predict_log_proba(X), fitted.estimator_.predict_log_proba(X))
    assert clone(fitted).fit(X, y).predict(X).tolist() == fitted.predict(X).tolist()


def test_a_file_keeps_the_decision(fitted, table, tmp_path):
    X, _ = table
    save_model(fitted, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.decision_ == fitted.decision_
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert str(explain(loaded, X.iloc[:20])) == str(explain(fitted, X.iloc[:20]))


def test_an_explanation_says_how_far_a_row_is_from_the_other_decision(fitted, table):
    X, _ = table
    explained = explain(fitted, X.iloc[:20])
    said = fitted.decision_.explain(fitted.predict_proba(X.iloc[:20]))
    labels = ["ask a person" if label is None else label for label in fitted.predict(X.iloc[:20])]
    for row, expected, label in zip(explained, said, labels, strict=True):
        assert row.decision.decided == label
        assert row.decision.distance == pytest.approx(expected.distance)
        assert f"decided: {row.decision.words}" in str(row)
        assert row.to_dict()["decision"] == row.decision.to_dict()


def test_a_new_fit_forgets_the_decision(table):
    X, y = table
    model = clone(MODELS["costs"]).fit(X, y).to_model()
    assert (model.predict(X) != NaiveBayesClassifier().fit(X, y).predict(X)).any()
    assert model.fit(X, y).decision_ is None
    assert (model.predict(X) == NaiveBayesClassifier().fit(X, y).predict(X)).all()


def test_a_threshold_decides_as_that_of_scikit_learn(table):
    X, y = table
    ours = FixedDecisionClassifier(LogisticRegression(), threshold=0.2, pos_label="ill").fit(X, y)
    theirs = FixedThresholdClassifier(LogisticRegression(), threshold=0.2, pos_label="ill").fit(X, y)
    assert (ours.predict(X) == theirs.predict(X)).all()
    with pytest.raises(OptionError, match="the classifier within is a LogisticRegression"):
        explain(ours, X)


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=1.5), "threshold=1.5 is reached by no row"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.5, ask=1), "a threshold was given, and costs too"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.5, pos_label="x"), "there is no class 'x'"),
    ],
)
def test_unusable_options_are_refused_in_words(clf, message, table):
    with pytest.raises(OptionError, match=message):
        clf.fit(*table)


def test_of_three_classes_one_has_to_be_named():
    X, y = [["a"], ["b"], ["c"]] * 4, [0, 1, 2] * 4
    with pytest.raises(OptionError, match="there are 3 classes, so pos_label has to say"):
        FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.2).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"costs": [[0, 1]]}, "costs have the shape"),
        ({"costs": "none"}, "decision.costs must be a list"),
        ({"threshold": 5, "positive": 0}, "decision must have"),
        ({"threshold": 0.5, "positive": 7}, "decision must have"),
    ],
)
def test_a_decision_in_a_file_that_does_not_fit_is_refused(change, message, table, tmp_path):
    path = tmp_path / "model.json"
    save_model(clone(MODELS["costs"]).fit(*table), path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "decision": {**document["decision"], **change}}))
    with pytest.raises(FileError, match=message):
        load_model(path)


def test_a_decision_for_other_classes_is_not_saved(table, tmp_path):
    clf = NaiveBayesClassifier().fit(*table)
    clf.decision_ = CostDecision(("a", "b"), ((0.0, 1.0), (1.0, 0.0)))
    with pytest.raises(OptionError, match="the decision is for the classes"):
        save_model(clf, tmp_path / "model.json")
    clf.decision_ = ThresholdDecision(("healthy", "ill"), "ill", 0.2)
    save_model(clf, tmp_path / "model.json")


def test_on_noise_a_decision_costs_hardly_more_than_treating_everyone_or_no_one():
    costs, excess = {("ill", "healthy"): 10}, []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, ill = rng.normal(size=(5_300, 5)), rng.random(5_300) < 0.2
        y, new = np.where(ill, "ill", "healthy"), slice(300, None)
        deciding = FixedDecisionClassifier(NaiveBayesClassifier(), costs=costs)
        decided = deciding.fit(x[:300], y[:300]).predict(x[new]) == "ill"
        cost = np.where(ill[new], 10.0 * ~decided, decided).mean()
        excess.append(cost - min(10.0 * ill[new].mean(), 1.0 - ill[new].mean()))
    assert np.mean(excess) < 0.02
