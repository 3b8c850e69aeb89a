"""BayesianNetworkClassifier and TANClassifier: the scikit-learn face over real work, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from missing.test_missing_rows import drawn
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.errors import DataError, OptionError
from tanager.parameters import Conditional, Frequency


def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.mark.parametrize("cell", ["never seen", None])
@pytest.mark.parametrize("missing", ["marginalize", "category"])
def test_an_unseen_category_and_a_gap_where_training_had_none_are_summed_out_exactly(cell, missing):
    X, y = drawn(2, gaps=0.0)
    gappy = X.copy()
    gappy.loc[::5, "n1"] = None
    clf = TANClassifier(criterion="ll", parameters="frequency", missing=missing).fit(gappy, y)
    row = X.iloc[[3]].copy()
    row["n0"] = cell
    expected = clf.network_.query("n4", {name: value for name, value in X.iloc[3].items() if name != "n0"})
    np.testing.assert_allclose(clf.predict_proba(row)[0], [expected[label] for label in clf.classes_], rtol=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [
        NaiveBayesClassifier(),
        TANClassifier(parameters="frequency"),
        TANClassifier(parameters="em"),
        BayesianNetworkClassifier("tree-average", parameters="frequency"),
        TANClassifier(parameters=Conditional(strength=1.0)),  # strengths are chosen on folds, which are made of rows
    ],
)
def test_integer_weights_equal_repeated_rows_with_gaps(estimator):
    X, y = iris()
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(estimator).fit(X, y, weights)
    repeated = clone(estimator).fit(X.loc[X.index.repeat(weights)], y.repeat(weights))
    assert weighted.encoder_.schema == repeated.encoder_.schema
    assert weighted.network_.edges == repeated.network_.edges
    # Counts are the same to the bit; an optimiser adds up its rows in another order.
    tolerance = 0.0 if estimator.parameters == "frequency" else 1e-6
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=tolerance)


def test_the_class_takes_the_name_of_its_column_and_never_an_attribute_s():
    X, y = iris()
    assert TANClassifier().fit(X, y).network_.target == "target"
    assert TANClassifier().fit(X, y.to_numpy()).network_.target == "class"
    clash = pd.DataFrame({"class": ["a", "b"] * 5})
    assert NaiveBayesClassifier().fit(clash, [0, 1] * 5).network_.target == "class_"


def test_verbose_prints_what_was_chosen_and_more_of_it_every_step(capsys):
    X, y = iris()
    clf = TANClassifier(verbose=1).fit(X, y)
    short = capsys.readouterr().out
    assert all(word in short for word in ("structure: ", "strengths", "passes over the rows: tolerance"))
    assert short.count("\n") == 3
    TANClassifier(verbose=2).fit(X, y)
    assert capsys.readouterr().out.count("\n") == 3 + len(clf.trace_.structure)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], [0], "1 sample"),
        ([[1.0], [2.0]], ["a", "a"], "one class, 'a'|one class, np.str_"),
        ([[1.0], [2.0]], [0.5, 1.5], "Unknown label type"),
        ([[1.0], [2.0]], [None, None], "missing in 2 rows, all there are"),
        ([[1.0], [2.0]], [1.0, np.inf], "contains infinity"),
        ([[1.0], [2.0]], None, "y to be passed"),
        ([[1.0], [2.0]], [0, 1, 1], "inconsistent"),
        ([[np.inf], [2.0]], [0, 1], "column 'x0' contains infinity"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), [0, 1], "two columns"),
        (pd.DataFrame(index=range(4)), [0, 1, 0, 1], "no column"),
    ],
)
def test_bad_training_data_get_one_clear_message(X, y, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "tann"}, "structure='tann' is not known; expected one of 'tan'"),
        ({"parameters": Frequency}, "not its class"),
        ({"missing": "drop"}, "missing='drop' is not known"),
        ({"handle_unknown": "ignore"}, "handle_unknown='ignore' is not known"),
    ],
)
def test_unknown_options_list_the_valid_ones_nearest_first(options, message):
    X, y = iris()
    with pytest.raises(OptionError, match=message):
        BayesianNetworkClassifier(**options).fit(X, y)


def test_too_many_classes_for_folds_are_refused_and_the_hint_works():
    X, y = np.zeros((501, 1)), np.arange(501)
    with pytest.raises(DataError, match=r"has 501 values; .* at most 500 classes.\nHint: .*parameters='frequency'"):
        BayesianNetworkClassifier().fit(X, y)
    assert len(BayesianNetworkClassifier(parameters="frequency").fit(X, y).classes_) == 501


def test_a_gap_may_be_a_state_of_its_own():
    X, y = drawn(2, gaps=0.0)
    gappy = X.copy()
    gappy.loc[::5, "n1"] = None
    filled = gappy.fillna({"n1": "zzz nothing"})
    by_option = TANClassifier(missing="category").fit(gappy, y)
    assert by_option.network_.states["n1"][-1] == "(missing)"
    by_hand = TANClassifier().fit(filled, y)
    np.testing.assert_allclose(by_option.predict_proba(gappy), by_hand.predict_proba(filled), rtol=1e-12)
