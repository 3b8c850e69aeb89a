"""Classifiers that decide: clones, pickles, files, explanations; probabilities stay what they are."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import FixedThresholdClassifier, cross_val_predict, cross_val_score

from tanager import (
    DataWarning,
    FileError,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    OptionError,
    TunedDecisionClassifierCV,
    explain,
    load_model,
    save_model,
)
from tanager.decide import CostDecision, ThresholdDecision


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
    "tuned": TunedDecisionClassifierCV(NaiveBayesClassifier(), costs={("ill", "healthy"): 10}, pos_label="ill", cv=3),
    "sensitivity": TunedDecisionClassifierCV(NaiveBayesClassifier(), sensitivity=0.9, pos_label="ill", cv=3),
}


@pytest.fixture(params=MODELS)
def fitted(request, table):
    return clone(MODELS[request.param]).fit(*table)


def test_probabilities_are_those_of_the_classifier_within(fitted, table):
    X, y = table
    np.testing.assert_array_equal(fitted.predict_proba(X), NaiveBayesClassifier().fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(fitted.predict_log_proba(X), fitted.estimator_.predict_log_proba(X))


def test_clones_and_pickles_decide_alike(fitted, table):
    X, y = table
    decided = fitted.predict(X).tolist()
    assert clone(fitted).fit(X, y).predict(X).tolist() == decided
    assert pickle.loads(pickle.dumps(fitted)).predict(X).tolist() == decided


def test_a_file_keeps_the_decision(fitted, table, tmp_path):
    X, _ = table
    save_model(fitted, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.decision_ == fitted.decision_
    assert loaded.predict(X).tolist() == fitted.predict(X).tolist()
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    save_model(loaded, tmp_path / "again.json")
    assert load_model(tmp_path / "again.json").decision_ == fitted.decision_


def test_an_explanation_says_how_far_a_row_is_from_the_other_decision(fitted, table, tmp_path):
    X, _ = table
    explained = explain(fitted, X.iloc[:20])
    said = fitted.decision_.explain(fitted.predict_proba(X.iloc[:20]))
    labels = ["ask a person" if label is None else label for label in fitted.predict(X.iloc[:20])]
    for row, expected, label in zip(explained, said, labels, strict=True):
        assert row.decision.decided == label
        assert row.decision.distance == pytest.approx(expected.distance)
        assert f"decided: {row.decision.words}" in str(row)
        assert row.to_dict()["decision"] == row.decision.to_dict()
    save_model(fitted, tmp_path / "model.json")
    assert str(explain(load_model(tmp_path / "model.json"), X.iloc[:20])) == str(explained)


def test_without_a_decision_nothing_is_said_of_one(table):
    X, y = table
    row = explain(NaiveBayesClassifier().fit(X, y), X)[0]
    assert row.decision is None
    assert "decision" not in row.to_dict()
    assert "decided" not in str(row)


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


def test_a_threshold_is_tuned_on_rows_held_out(table):
    X, y = table
    clf = TunedDecisionClassifierCV(LogisticRegression(), sensitivity=0.9, pos_label="ill", cv=4).fit(X, y)
    p = cross_val_predict(LogisticRegression(), X, y, cv=4, method="predict_proba")[:, 1]
    reached = p[y == "ill"] >= clf.decision_.threshold
    assert reached.mean() >= 0.9
    assert (reached.sum() - 1) / len(reached) < 0.9  # one row less would be too few


def test_weights_are_repeated_rows_when_folds_are_the_same(table):
    X, y = table
    times = np.arange(len(y)) % 3
    folds = np.arange(len(y)) % 4
    again = np.repeat(np.arange(len(y)), times)

    def splits(of):
        return [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(4)]

    options = {"costs": {("ill", "healthy"): 10}, "pos_label": "ill"}
    weighted = TunedDecisionClassifierCV(NaiveBayesClassifier(), **options, cv=splits(folds)).fit(X, y, times)
    repeated = TunedDecisionClassifierCV(NaiveBayesClassifier(), **options, cv=splits(folds[again]))
    repeated.fit(X.iloc[again].reset_index(drop=True), y.iloc[again].reset_index(drop=True))
    assert weighted.quality_.rules[0].cost == pytest.approx(repeated.quality_.rules[0].cost)


def test_scikit_learn_scores_them_in_cross_validation(table):
    recall = make_scorer(recall_score, pos_label="ill")
    assert cross_val_score(clone(MODELS["sensitivity"]), *table, cv=3, scoring=recall).mean() > 0.7


def test_three_classes_are_decided_about_too():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + y[:, np.newaxis]
    costs = [[0, 1, 4], [1, 0, 1], [9, 1, 0]]
    clf = FixedDecisionClassifier(NaiveBayesClassifier(), costs=costs, ask=0.5).fit(X, y)
    expected = np.column_stack([clf.predict_proba(X) @ np.array(costs), np.full(200, 0.5)]).argmin(axis=1)
    assert [3 if label is None else label for label in clf.predict(X)] == expected.tolist()
    tuned = TunedDecisionClassifierCV(NaiveBayesClassifier(), sensitivity=0.8, pos_label=2, cv=3).fit(X, y)
    assert (tuned.predict(X)[y == 2] == 2).mean() > 0.7


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (FixedDecisionClassifier(NaiveBayesClassifier(), costs={("sick", "healthy"): 2}), "there is no class 'sick'"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), ask=-1), "ask: the cost is -1"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=1.5), "threshold=1.5 is reached by no row"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.5, ask=1), "a threshold was given, and costs too"),
        (FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.5, pos_label="x"), "there is no class 'x'"),
        (TunedDecisionClassifierCV(NaiveBayesClassifier()), "given were none"),
        (TunedDecisionClassifierCV(NaiveBayesClassifier(), costs=[[0, 1], [1, 0]], sensitivity=0.9), "costs', 'sens"),
        (TunedDecisionClassifierCV(NaiveBayesClassifier(), sensitivity=1.1), "sensitivity=1.1 is not valid"),
    ],
)
def test_unusable_options_are_refused_in_words(clf, message, table):
    with pytest.raises(OptionError, match=message):
        clf.fit(*table)


def test_a_class_that_is_never_worth_deciding_for_is_said_to_be_so(table):
    free_misses = TunedDecisionClassifierCV(LogisticRegression(), costs=[[0, 5], [0, 0]], pos_label="ill", cv=3)
    with pytest.warns(DataWarning, match="none of 300 rows is decided to be ill"):
        free_misses.fit(*table)
    assert (free_misses.predict(table[0]) == "healthy").all()


def test_of_three_classes_one_has_to_be_named():
    X, y = [["a"], ["b"], ["c"]] * 4, [0, 1, 2] * 4
    with pytest.raises(OptionError, match="there are 3 classes, so pos_label has to say"):
        FixedDecisionClassifier(NaiveBayesClassifier(), threshold=0.2).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["ill", "well"]}, "decision.classes are"),
        ({"costs": [[0, 1]]}, "costs have the shape"),
        ({"costs": [[0, -1], [1, 0]]}, "the cost is -1"),
        ({"costs": "none"}, "decision.costs must be a list"),
        ({"threshold": 5, "positive": 0}, "decision.threshold must be a probability"),
        ({"threshold": 0.5, "positive": 7}, "decision.positive must be the place of a class"),
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


@pytest.mark.parametrize("tuned", [True, False])
def test_on_noise_a_decision_costs_hardly_more_than_treating_everyone_or_no_one(tuned):
    costs, excess = {("ill", "healthy"): 10}, []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, ill = rng.normal(size=(5_300, 5)), rng.random(5_300) < 0.2
        y, new = np.where(ill, "ill", "healthy"), slice(300, None)
        deciding = (
            TunedDecisionClassifierCV(NaiveBayesClassifier(), costs=costs, pos_label="ill")
            if tuned
            else FixedDecisionClassifier(NaiveBayesClassifier(), costs=costs)
        )
        decided = deciding.fit(x[:300], y[:300]).predict(x[new]) == "ill"
        cost = np.where(ill[new], 10.0 * ~decided, decided).mean()
        excess.append(cost - min(10.0 * ill[new].mean(), 1.0 - ill[new].mean()))
    assert np.mean(excess) < 0.02


@pytest.mark.parametrize("wanted", [{"costs": {("ill", "healthy"): 10}}, {"sensitivity": 0.9}, {"specificity": 0.9}])
def test_a_threshold_is_the_same_for_columns_in_any_order(wanted, table):
    X, y = table
    found = [
        TunedDecisionClassifierCV(NaiveBayesClassifier(), **wanted, pos_label="ill", cv=3).fit(X[columns], y).decision_
        for columns in (X.columns, X.columns[::-1])
    ]
    assert found[0].threshold == pytest.approx(found[1].threshold, abs=1e-12)
