"""structure_score and information, from raw tables, against sums written out over rows."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import NaiveBayesClassifier, TANClassifier, structure_score
from tanager.classifiers import information
from tanager.errors import OptionError
from tanager.scores import ACLL, CLL, SCORES, BDeu


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
def test_log_likelihood_is_minus_n_times_the_conditional_entropies(seed):
    X, y = frame(seed)
    n = len(y)
    chain = {"b": ["a"], "c": ["b"]}
    expected = -n * (
        entropy(y)
        + (entropy(X.a, y) - entropy(y))
        + (entropy(X.b, X.a, y) - entropy(X.a, y))
        + (entropy(X.c, X.b, y) - entropy(X.b, y))
    )
    assert structure_score(X, y, chain, "ll") == pytest.approx(expected)
    assert structure_score(X, y, {1: [0], 2: [1]}, "ll") == pytest.approx(expected)


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


def test_information_may_use_the_cuts_of_a_classifier():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    y = (X[:, 0] > 0.3).astype(int)
    clf = NaiveBayesClassifier().fit(X, y)
    few = information(clf, X[:40], y[:40])
    above = X[:40, 0] >= clf.encoder_.schema.attributes[0].cuts[0]
    assert few.target[0] == pytest.approx(entropy(above) + entropy(y[:40]) - entropy(above, y[:40]))


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


@pytest.mark.parametrize(
    ("score", "name", "options"),
    [
        (BDeu(ess=3.0), "bdeu", {"ess": 3.0}),
        (ACLL(beta=-0.3, gamma=0.5), "acll", {"beta": -0.3, "gamma": 0.5}),
        (CLL("mdl"), "cll", {"penalty": "mdl"}),
    ],
)
def test_a_score_is_given_as_an_object_or_by_name_with_its_options(score, name, options):
    X, y = frame(4)
    assert structure_score(X, y, {}, score) == structure_score(X, y, {}, name, **options)
    with pytest.raises(OptionError, match="has its options already, and level is given"):
        structure_score(X, y, {}, score, level=0.9)
    with pytest.raises(OptionError, match="neither a known name nor an object with a method 'check_options'"):
        structure_score(X, y, {}, type(score))


def test_options_of_the_score_are_passed_on_and_checked():
    X, y = frame(4)
    assert structure_score(X, y, {}, "bdeu", ess=1) != structure_score(X, y, {}, "bdeu", ess=10)
    with pytest.raises(OptionError, match="criterion 'bdeu' has no option prior; its options are: ess"):
        structure_score(X, y, {}, "bdeu", prior=3)
    with pytest.raises(OptionError, match="criterion='bdu' is not known; expected one of 'bdeu'"):
        structure_score(X, y, {}, "bdu")
    with pytest.raises(OptionError, match="'d'"):
        structure_score(X, y, {"d": ["a"]})
