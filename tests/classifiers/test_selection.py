"""Choices of a fit through the classifier: structure, criterion and strengths."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from all_parts import FITTING, make_classifier
from tanager import BayesianNetworkClassifier, structure_score
from tanager.errors import OptionError
from tanager.parameters import Conditional
from tanager.parameters.conditional.cross_validation import split_folds
from tanager.scores import BIC, CLL
from tanager.structure import STRUCTURES, Fixed

WITH_STRENGTHS = ("tan", "bckg", "kdb", "hill-climb", "additive")


def thirty_of_three(generator, n_rows=300):
    return generator.integers(0, 3, (n_rows, 30))


def two_of_ten(generator, n_rows=2_000):
    return generator.integers(0, 10, (n_rows, 2))


def normal(generator, n_rows=300):
    return generator.normal(size=(n_rows, 200))


# Twenty seeds of each were measured once; here slow shapes have fewer.
@pytest.mark.parametrize(
    ("make", "structure", "n_seeds"),
    [
        *((two_of_ten, structure, 20) for structure in WITH_STRENGTHS),
        (thirty_of_three, "tan", 20),
        (thirty_of_three, "kdb", 20),
        (thirty_of_three, "additive", 20),
        (thirty_of_three, "hill-climb", 5),
        (thirty_of_three, "bckg", 4),
        (normal, "naive-bayes", 2),
        (normal, "tan", 1),
    ],
)
def test_noise_is_left_to_the_class_frequencies(make, structure, n_seeds):
    """Mean log-loss on fresh rows at most 0.005 above that of a coin, and pairs refused 19 times of 20."""
    excess, refused = [], 0
    for seed in range(n_seeds):
        generator = np.random.default_rng(seed)
        X, fresh = make(generator), make(generator, 20_000)
        y, truth = generator.integers(0, 2, len(X)), generator.integers(0, 2, len(fresh))
        kinds = "from_dtype" if make is normal else "all"
        clf = make_classifier(structure, parameters="conditional", categorical_features=kinds).fit(X, y)
        p = clf.predict_proba(fresh)[np.arange(len(fresh)), truth]
        excess.append(-np.log(p).mean() - np.log(2.0))
        if structure == "additive":
            refused += clf.trace_.pairs == 0 and clf.trace_.tree_share == 0.0
        else:
            refused += np.isinf(clf.trace_.parameters.strength[1:]).all()
    assert np.mean(excess) <= 0.005
    assert refused >= n_seeds * 19 // 20


class WithFolds(Conditional):
    """Keeps the folds that it chooses strengths on."""

    def learn(self, task):
        self.folds_ = list(split_folds(task, 5_000, 0))
        return super().learn(task)


def related(seed, n_rows=400):
    """Binary attributes that depend on the class and on each other."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n_rows)
    columns = [y]
    for number in range(6):
        copied = columns[generator.integers(0, len(columns))] ^ (y if number % 2 else 0)
        columns.append(np.where(generator.random(n_rows) < 0.6, copied, generator.integers(0, 2, n_rows)))
    return np.column_stack(columns[1:]), y


@pytest.mark.parametrize("structure", ["naive-bayes", "tan", "bckg", "kdb", "hill-climb"])
def test_the_structure_of_a_fold_is_that_learnt_from_its_rows(structure):
    X, y = related(0, n_rows=120)
    learner = WithFolds()
    whole = BayesianNetworkClassifier(structure, parameters=learner, categorical_features="all").fit(X, y)
    others = 0
    for part, _ in learner.folds_:
        rows = part.counts.rows
        number = rows.row_weights.astype(int)
        alone = BayesianNetworkClassifier(structure, parameters="frequency", categorical_features="all")
        alone.fit(rows.codes.repeat(number, axis=0), rows.class_codes.repeat(number))
        assert part.dag == alone.network_.dag
        others += part.dag != whole.network_.dag
    assert len(learner.folds_) == 3
    assert others > 0 or structure == "naive-bayes"


X, y = load_iris(return_X_y=True)
ASKING = [name for name, make in STRUCTURES.items() if make().asks_criterion]
NOT_ASKING = [*(name for name in STRUCTURES if name not in ASKING), Fixed({1: [0]})]


@pytest.mark.parametrize("structure", ASKING)
def test_without_a_criterion_a_structure_that_asks_for_one_is_chosen_by_fcll_and_all_trees_by_k2(structure):
    criterion = "k2" if structure == "tree-average" else "fcll"
    default, given = (BayesianNetworkClassifier(structure, each, "frequency").fit(X, y) for each in (None, criterion))
    assert default.structure_score_ == given.structure_score_
    if structure != "tree-average":
        assert default.model_.dag == given.model_.dag
        found = structure_score(X, y, attribute_parents(default), criterion)
        assert default.structure_score_ == pytest.approx(found)


def attribute_parents(clf):
    n_attributes = clf.n_features_in_
    parents = clf.model_.dag.parents[:-1]
    return {child: [each for each in own if each < n_attributes] for child, own in enumerate(parents)}


@pytest.mark.parametrize("criterion", ["bic", BIC()])
@pytest.mark.parametrize("structure", NOT_ASKING)
def test_a_criterion_that_a_structure_does_not_ask_for_is_refused(structure, criterion):
    clf = BayesianNetworkClassifier(structure, criterion, FITTING.get(str(structure), "conditional"))
    with pytest.raises(OptionError, match=r"criterion=.* is chosen without one(.|\n)*'tan', 'bckg', 'hill-climb'"):
        clf.fit(X, y)
    assert clf.set_params(criterion=None).fit(X, y).structure_score_ is None


@pytest.mark.parametrize(("penalty", "price"), [("aic", 1.0), ("bic", np.log(150) / 2), ("mdl", np.log(150) / 2)])
def test_a_penalised_conditional_likelihood_pays_for_every_free_parameter(penalty, price):
    parents = {1: [0], 3: [0, 2]}
    tables = BayesianNetworkClassifier(Fixed(parents), None, "frequency").fit(X, y).model_.tables
    free = sum(table.shape[0] * (table.shape[1] - 1) for table in tables)
    plain = structure_score(X, y, parents, "cll")
    assert structure_score(X, y, parents, CLL(penalty)) == pytest.approx(plain - price * free)


def test_the_highest_conditional_likelihood_of_naive_bayes_is_that_of_logistic_regression():
    """Where every attribute is a child of the class alone the two are one family of P(class | row)."""
    table = X[:, 1:2].round()  # the classes overlap, so that there is a maximum
    hot = (table == np.unique(table)).astype(float)
    free = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(hot, y)
    expected = free.predict_log_proba(hot)[np.arange(len(y)), y].sum()
    found = structure_score(table, y, {}, CLL(tables="conditional"), categorical_features="all")
    assert found == pytest.approx(expected, abs=1e-3)
    assert structure_score(table, y, {}, "cll", categorical_features="all") < found


@pytest.mark.parametrize("tables", ["frequency", "conditional"])
def test_hill_climbing_by_conditional_description_length_ends_where_no_change_of_an_edge_pays(tables):
    score, (few, within) = CLL("mdl", tables), (X, 1e-9) if tables == "frequency" else (X[:, :3], 1e-3)
    clf = BayesianNetworkClassifier("hill-climb", score, tables).fit(few, y)
    parents = attribute_parents(clf)
    found = structure_score(few, y, parents, score)
    assert clf.structure_score_ == pytest.approx(found, abs=within)
    for child, parent in permutations(parents, 2):
        there = parent in parents[child]
        changed = {**parents, child: [*(set(parents[child]) - {parent}), *([] if there else [parent])]}
        if there or not is_reached(parents, parent, child):
            assert structure_score(few, y, changed, score) <= found + within


def is_reached(parents, above, below):
    """Whether `below` is an ancestor of `above`, or the same."""
    return above == below or any(is_reached(parents, parent, below) for parent in parents[above])
