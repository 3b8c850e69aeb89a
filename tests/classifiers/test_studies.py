"""structure_score, information and feature_importances_: by hand, and the same for any order of columns."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    explain,
    load_model,
    save_model,
    structure_score,
)
from tanager.classifiers import information
from tanager.errors import OptionError
from tanager.parameters import Frequency
from tanager.scores import SCORES, BDeu
from tanager.structure import HillClimb


def frame(seed, n_rows=60):
    generator = np.random.default_rng(seed)
    y = generator.choice(["u", "v", "w"], n_rows)
    a = generator.choice(["p", "q"], n_rows)
    b = np.where(generator.random(n_rows) < 0.6, a, y)
    c = np.where(generator.random(n_rows) < 0.5, b, "z")
    return pd.DataFrame({"a": a, "b": b, "c": c}), y


def entropy(*columns, base=math.e):
    n = len(columns[0])
    return -sum(m / n * math.log(m / n) for m in Counter(zip(*columns, strict=True)).values())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_information_is_a_sum_of_entropies(seed):
    X, y = frame(seed)
    found = information(X, y)
    assert found.names == ("a", "b", "c")
    for i, first in enumerate("abc"):
        expected = entropy(X[first]) + entropy(y) - entropy(X[first], y)
        assert found.target[i] == pytest.approx(expected, abs=1e-12)
        for j, second in enumerate("abc"):
            if i != j:
                p, q = X[first], X[second]
                conditional = entropy(p, y) + entropy(q, y) - entropy(p, q, y) - entropy(y)
                marginal = entropy(p) + entropy(q) - entropy(p, q)
                assert found.conditional[i, j] == pytest.approx(conditional, abs=1e-12)
                assert found.marginal[i, j] == pytest.approx(marginal, abs=1e-12)
                assert found.interaction[i, j] == pytest.approx(conditional - marginal, abs=1e-12)


def test_pairs_are_ranked_by_interaction():
    X, y = frame(3)
    table = information(X, y).pairs()
    assert list(table) == ["first", "second", "conditional", "marginal", "interaction"]
    assert table["interaction"] == sorted(table["interaction"], reverse=True)


@pytest.mark.parametrize("score", sorted(set(SCORES) - {"bde", "cll"}))
def test_the_score_of_the_learnt_tree_is_the_structure_score_of_its_parents(score):
    X, y = frame(1, n_rows=200)
    clf = TANClassifier(criterion=score).fit(X, y)
    parents = {name: [p for p in ps if p != "class"] for name, ps in clf.network_.parents.items() if name != "class"}
    assert structure_score(X, y, parents, score) == pytest.approx(clf.structure_score_)


def test_cll_is_the_conditional_likelihood_of_the_fitted_classifier():
    X, y = frame(2)
    posterior = NaiveBayesClassifier().fit(X, y).predict_log_proba(X)
    own = posterior[np.arange(len(y)), np.searchsorted(["u", "v", "w"], y)]
    assert structure_score(X, y, {}, "cll") == pytest.approx(own.sum())


def test_a_score_is_given_by_name_or_as_an_object_with_its_options_and_others_are_refused():
    X, y = frame(4)
    assert structure_score(X, y, {}, BDeu()) == structure_score(X, y, {}, "bdeu")
    assert structure_score(X, y, {}, BDeu(ess=1)) != structure_score(X, y, {}, BDeu(ess=10))
    with pytest.raises(OptionError, match="neither a known name nor an object with a method 'check_options'"):
        structure_score(X, y, {}, BDeu)
    with pytest.raises(OptionError, match="criterion='bdu' is not known; expected one of 'bdeu'"):
        structure_score(X, y, {}, "bdu")
    with pytest.raises(OptionError, match="'d'"):
        structure_score(X, y, {"d": ["a"]})


MODELS = {
    "naive-bayes": NaiveBayesClassifier(),
    "tan": BayesianNetworkClassifier("tan", parameters="frequency"),
    "pairwise": AdditiveClassifier(trees=False),
    "trees": AdditiveClassifier(),
}


def table(seed=0, n_rows=600):
    """Two attributes that tell the class, a pair that tells it together, one that says nothing, one constant."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    odds = 2 * x[:, 0] + (x[:, 1] > 0) + 1.5 * np.sign(x[:, 2] * x[:, 3])
    y = (odds + rng.logistic(size=n_rows) > 0.5).astype(int)
    X = pd.DataFrame(x, columns=["d", "b", "e", "a"]).assign(noise=rng.choice(["x", "y"], n_rows), same="z")
    return X, pd.Series(y, name="outcome")


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = table()
    return MODELS[request.param].fit(X, y), X, y


def test_importances_are_not_negative_and_a_constant_has_none(fitted, tmp_path):
    clf, X, _ = fitted
    found = dict(zip(X.columns, clf.feature_importances_, strict=True))
    assert len(found) == clf.n_features_in_
    assert min(found.values()) >= 0.0
    assert found["same"] == 0.0
    assert found["d"] == max(found[name] for name in ("d", "b", "noise", "same"))
    save_model(clf, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").feature_importances_, clf.feature_importances_)


def test_those_of_naive_bayes_are_what_attribute_and_class_tell_of_each_other():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 4))
    y = (X[:, 0] + rng.integers(0, 2, 200) > 1).astype(int)
    X = pd.DataFrame(X.astype(str), columns=list("abcd"))
    clf = NaiveBayesClassifier(parameters=Frequency(alpha=1e-9)).fit(X, y)
    np.testing.assert_allclose(clf.feature_importances_, information(X, y).target, atol=1e-9)


def test_half_of_the_strength_of_a_pair_counts_for_each_of_its_attributes():
    X, y = table()
    clf = AdditiveClassifier(trees=False).fit(X, y)
    expected = np.zeros(6)
    for term, strength in zip(clf.model_.terms, explain(clf).strength, strict=True):
        expected[list(term)] += strength / len(term)
    assert clf.model_.pairs
    np.testing.assert_allclose(clf.feature_importances_, expected, rtol=1e-12)


def test_an_attribute_beside_the_network_has_no_importance():
    X, y = table()
    clf = BayesianNetworkClassifier(HillClimb(class_edges="free"), "bic", "frequency").fit(X.drop(columns="same"), y)
    beside = [name for name in clf.model_.nodes[:-1] if ("outcome", name) not in clf.model_.edges]
    beside = [name for name in beside if (name, "outcome") not in clf.model_.edges]
    found = dict(zip(clf.feature_names_in_, clf.feature_importances_, strict=True))
    assert "noise" in beside
    assert all(found[name] == 0.0 for name in beside)
