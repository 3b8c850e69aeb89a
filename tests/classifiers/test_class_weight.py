"""`class_weight` multiplies the weights of rows: in memory, batch by batch, in a file and in the command."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from all_parts import make_classifier
from classifiers.stream_tables import assert_same_model, cut, mixed_table, split
from tanager import NaiveBayesClassifier, OptionError, TANClassifier
from tanager.parameters import Conditional

MODELS = [
    ("naive-bayes", "frequency"),
    ("tan", "conditional"),
    ("additive", ""),
]


def weights_of(y):
    """A whole weight for each class."""
    return dict(zip(np.unique(y).tolist(), (3, 1, 2), strict=True))


# Folds are made of rows: what is chosen on them is fixed here.
@pytest.mark.parametrize(
    ("structure", "parameters"), [("naive-bayes", "frequency"), ("tan", Conditional(strength=[10.0, 1.0]))]
)
def test_whole_class_weights_are_repeated_rows_in_the_same_number_of_bins(structure, parameters, monkeypatch):
    monkeypatch.setattr("tanager.table.binning.n_bins", lambda n_rows: (64, 16))
    X, y = split(mixed_table(200, gaps=0.1))
    weights = weights_of(y)
    again = np.repeat(np.arange(len(y)), [weights[label] for label in np.asarray(y).tolist()])
    options = {"parameters": parameters, "random_state": 0}
    weighted = make_classifier(structure, class_weight=weights, **options).fit(X, y)
    repeated = make_classifier(structure, **options).fit(X.take(again), y.iloc[again])
    assert_same_model(weighted, repeated, 1e-5)  # descents on folds end where rounding lets them
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-5)


def test_class_weights_multiply_the_weights_of_rows():
    X, y = split(mixed_table(200))
    rows = np.random.default_rng(0).integers(0, 4, len(y)) / 2
    weights = weights_of(y)
    times = np.array([weights[label] for label in np.asarray(y).tolist()])
    ours = TANClassifier(parameters="frequency", class_weight=weights).fit(X, y, rows)
    assert_same_model(ours, TANClassifier(parameters="frequency").fit(X, y, rows * times))


def test_balanced_means_what_it_means_in_scikit_learn():
    X, y = split(mixed_table(200))
    labels = np.asarray(y)
    classes = np.unique(labels)
    by_class = dict(zip(classes.tolist(), compute_class_weight("balanced", classes=classes, y=labels), strict=True))
    ours = NaiveBayesClassifier(class_weight="balanced").fit(X, y)
    assert_same_model(ours, NaiveBayesClassifier(class_weight=by_class).fit(X, y))
    assert ours.class_count_ == pytest.approx(np.full(len(classes), len(labels) / len(classes)))


def test_balanced_weighs_rows_of_weight_two_as_two():
    X, y = split(mixed_table(200))
    twice = np.arange(len(y)) % 2 + 1
    again = np.repeat(np.arange(len(y)), twice)
    weighted = NaiveBayesClassifier(class_weight="balanced").fit(X, y, twice)
    repeated = NaiveBayesClassifier(class_weight="balanced").fit(X.take(again), y.iloc[again])
    assert_same_model(weighted, repeated)


def test_partial_fit_weighs_classes_as_fit_does():
    X, y = split(mixed_table(200))
    labels, weights = y.to_numpy(str), weights_of(y)
    clf = NaiveBayesClassifier(class_weight=weights).partial_fit(X.slice(0, 90), labels[:90], classes=np.unique(labels))
    clf.partial_fit(X.slice(90), labels[90:])
    assert_same_model(clf, NaiveBayesClassifier(class_weight=weights).fit(X, labels))


@pytest.mark.parametrize(
    "fit",
    [
        lambda clf, X, y, table: clf.fit(cut(table, [100]), "outcome"),
        lambda clf, X, y, table: clf.partial_fit(X, y, classes=np.unique(np.asarray(y))),
    ],
)
def test_balanced_is_refused_where_classes_are_counted_too_late(fit):
    table = mixed_table(200)
    with pytest.raises(OptionError, match="needs the number of rows of each class"):
        fit(NaiveBayesClassifier(class_weight="balanced"), *split(table), table)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"nobody": 2}, "names the class 'nobody', which the table does not have; its classes are"),
        ({"a": -1.0}, "gives 'a' the weight -1.0; expected a number above zero"),
        ({"a": float("nan")}, "gives 'a' the weight nan"),
        ({"a": "2"}, "gives 'a' the weight '2'"),
        ("even", "class_weight='even' is not valid; expected None, 'balanced' or the weights of classes"),
        (2.0, "class_weight=2.0 is not valid"),
    ],
)
def test_unusable_class_weights_are_refused_in_words(class_weight, message):
    table = mixed_table(200)
    with pytest.raises(OptionError, match=message):
        NaiveBayesClassifier(class_weight=class_weight).fit(*split(table))
    with pytest.raises(OptionError, match=message):
        NaiveBayesClassifier(class_weight=class_weight).fit(cut(table, [100]), "outcome")
