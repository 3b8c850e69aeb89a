"""The option `criterion`: its default, who may be given one, and scikit-learn's method `score` beside it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

import tanager
from all_parts import FITTING
from tanager import BayesianNetworkClassifier, classifiers, structure_score
from tanager.errors import OptionError
from tanager.scores import BIC, CLL
from tanager.structure import STRUCTURES, Fixed

X, y = load_iris(return_X_y=True)
ASKING = [name for name, make in STRUCTURES.items() if make().asks_criterion]
NOT_ASKING = [*(name for name in STRUCTURES if name not in ASKING), Fixed({1: [0]})]
PRESETS_WITHOUT = ["KDBClassifier", "NaiveBayesClassifier", "SelectiveNaiveBayesClassifier"]


def test_all_trees_are_weighed_by_k2_where_no_criterion_is_given():
    default, given = (
        BayesianNetworkClassifier("tree-average", criterion, "frequency").fit(X, y) for criterion in (None, "k2")
    )
    assert default.structure_score_ == given.structure_score_


@pytest.mark.parametrize("structure", [name for name in ASKING if name != "tree-average"])
def test_without_a_criterion_a_structure_that_asks_for_one_is_chosen_by_fcll(structure):
    default, given = (
        BayesianNetworkClassifier(structure, criterion, "frequency").fit(X, y) for criterion in (None, "fcll")
    )
    assert default.model_.dag == given.model_.dag
    assert default.structure_score_ == given.structure_score_
    attributes = len(X[0])
    parents = {child: [each for each in default.model_.dag.parents[child] if each < attributes] for child in range(4)}
    assert default.structure_score_ == pytest.approx(structure_score(X, y, parents, criterion="fcll"))


@pytest.mark.parametrize("criterion", ["bic", BIC()])
@pytest.mark.parametrize("structure", NOT_ASKING)
def test_a_criterion_that_a_structure_does_not_ask_for_is_refused(structure, criterion):
    clf = BayesianNetworkClassifier(structure, criterion, FITTING.get(str(structure), "conditional"))
    with pytest.raises(OptionError, match=r"criterion=.* is chosen without one(.|\n)*'tan', 'bckg', 'hill-climb'"):
        clf.fit(X, y)
    assert clf.set_params(criterion=None).fit(X, y).structure_score_ is None


@pytest.mark.parametrize("name", PRESETS_WITHOUT)
def test_a_preset_that_asks_for_no_criterion_has_no_such_option(name):
    clf = getattr(classifiers, name)()
    assert "criterion" not in clf.get_params()
    assert clf.fit(X, y).structure_score_ is None


def test_score_is_the_method_of_scikit_learn():
    clf = tanager.TANClassifier(criterion="bic", parameters="frequency").fit(X, y)
    assert tanager.TANClassifier.score is ClassifierMixin.score
    assert clf.score(X, y) == accuracy_score(y, clf.predict(X))


@pytest.mark.parametrize(("penalty", "price"), [("aic", 1.0), ("bic", np.log(150) / 2), ("mdl", np.log(150) / 2)])
def test_a_penalised_conditional_likelihood_pays_for_every_free_parameter(penalty, price):
    parents = {1: [0], 3: [0, 2]}
    tables = BayesianNetworkClassifier(Fixed(parents), None, "frequency").fit(X, y).model_.tables
    free = sum(table.shape[0] * (table.shape[1] - 1) for table in tables)
    plain = structure_score(X, y, parents, "cll")
    assert structure_score(X, y, parents, "cll", penalty=penalty) == pytest.approx(plain - price * free)


def test_hill_climbing_by_conditional_description_length_takes_the_edges_that_pay_for_their_parameters():
    clf = BayesianNetworkClassifier("hill-climb", CLL(penalty="mdl"), "frequency").fit(X, y)
    parents = {child: [each for each in clf.model_.dag.parents[child] if each < 4] for child in range(4)}
    found = structure_score(X, y, parents, "cll", penalty="mdl")
    assert clf.structure_score_ == pytest.approx(found)
    for child, parent in permutations(range(4), 2):
        edge = {parent} if parent not in parents[child] else set()
        changed = {**parents, child: [*(set(parents[child]) - {parent}), *edge]}
        if parent in parents[child] or not is_reached(parents, parent, child):
            assert structure_score(X, y, changed, "cll", penalty="mdl") <= found + 1e-9


def test_the_highest_conditional_likelihood_of_naive_bayes_is_that_of_logistic_regression():
    """Where every attribute is a child of the class alone the two are one family of P(class | row)."""
    table = X[:, 1:2].round()  # the classes overlap, so that there is a maximum
    hot = (table == np.unique(table)).astype(float)
    free = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(hot, y)
    expected = free.predict_log_proba(hot)[np.arange(len(y)), y].sum()
    found = structure_score(table, y, {}, "cll", tables="conditional", categorical_features="all")
    assert found == pytest.approx(expected, abs=1e-3)
    assert structure_score(table, y, {}, "cll", categorical_features="all") < found


def test_hill_climbing_with_conditional_tables_ends_where_no_single_edge_pays_for_its_parameters():
    score, few = CLL("mdl", tables="conditional"), X[:, :3]
    clf = BayesianNetworkClassifier("hill-climb", score, "conditional").fit(few, y)
    parents = {child: [each for each in clf.model_.dag.parents[child] if each < 3] for child in range(3)}
    found = structure_score(few, y, parents, "cll", penalty="mdl", tables="conditional")
    assert clf.structure_score_ == pytest.approx(found, abs=1e-3)
    for child, parent in permutations(range(3), 2):
        if parent not in parents[child] and not is_reached(parents, parent, child):
            changed = {**parents, child: [*parents[child], parent]}
            assert structure_score(few, y, changed, "cll", penalty="mdl", tables="conditional") <= found + 1e-3


def is_reached(parents, above, below):
    """Whether `below` is an ancestor of `above`, or the same."""
    return above == below or any(is_reached(parents, parent, below) for parent in parents[above])


def test_an_unknown_penalty_is_refused():
    with pytest.raises(OptionError, match="penalty='bif' is not known; expected one of 'bic'"):
        structure_score(X, y, {}, "cll", penalty="bif")
