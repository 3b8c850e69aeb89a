"""`class_weight` multiplies the weights of rows: in memory, batch by batch, in a file and in the command."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils.class_weight import compute_class_weight

from all_parts import make_classifier
from classifiers.stream_tables import assert_same_model, cut, mixed_table, split, table_of_few_values
from tanager import NaiveBayesClassifier, OptionError
from tanager.parameters import Conditional


def weights_of(y):
    """A whole weight for each class."""
    return dict(zip(np.unique(y).tolist(), (3, 1, 2), strict=True))


def scaled(weights):
    """Weights that only say how much a row matters: one in the mean."""
    return weights / weights.mean()


# Folds are made of rows: what is chosen on them is fixed here.
@pytest.mark.parametrize(
    ("structure", "parameters"), [("naive-bayes", "frequency"), ("tan", Conditional(strength=[10.0, 1.0]))]
)
def test_class_weights_of_any_unit_multiply_the_weights_of_rows_and_keep_their_sum(structure, parameters):
    X, y = split(mixed_table(200, gaps=0.1))
    rows = np.random.default_rng(0).integers(1, 4, len(y)) / 2
    times = np.array([weights_of(y)[label] for label in np.asarray(y).tolist()])
    options = {"parameters": parameters, "random_state": 0}
    by_class = {name: 7.0 * weight for name, weight in weights_of(y).items()}
    ours = make_classifier(structure, class_weight=by_class, **options).fit(X, y, rows)
    theirs = make_classifier(structure, **options).fit(X, y, scaled(rows * times) * rows.mean())
    assert ours.class_count_.sum() == pytest.approx(rows.sum())
    assert_same_model(ours, theirs, 1e-5)  # descents on folds end where rounding lets them


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


@pytest.mark.parametrize("kind", [None, "balanced", "given"])
@pytest.mark.parametrize("after_fit", [False, True])
def test_batches_weigh_classes_as_one_fit_does(kind, after_fit):
    """After `fit` the cut points stay: here all columns are categories."""
    table = mixed_table(200)
    X, y = split(table)
    labels, options = y.to_numpy(str), {"class_weight": weights_of(y) if kind == "given" else kind}
    if after_fit:
        options["categorical_features"] = "all"
    expected = NaiveBayesClassifier(**options).fit(X, labels)
    clf = NaiveBayesClassifier(**options)
    first = len(labels) if after_fit else 90
    begin = clf.fit if after_fit else lambda *rows: clf.partial_fit(*rows, classes=np.unique(labels))
    begin(X.slice(0, first), labels[:first])
    if after_fit:
        clf.partial_fit(X.slice(0, 90), labels[:90])
        expected.fit(pa.concat_tables([X, X.slice(0, 90)]), np.concatenate([labels, labels[:90]]))
    else:
        clf.partial_fit(X.slice(90), labels[90:])
    assert_same_model(clf, expected)


@pytest.mark.parametrize("structure", ["naive-bayes", "tan"])
@pytest.mark.parametrize("make_table", [mixed_table, table_of_few_values])  # kept on disk; counted as they come
@pytest.mark.parametrize("kind", ["balanced", "given"])
def test_a_stream_weighs_classes_as_a_table_in_memory(structure, make_table, kind):
    table = make_table(200, gaps=0.1)
    X, y = split(table)
    options = {"parameters": "frequency", "class_weight": kind if kind == "balanced" else weights_of(y)}
    streamed = make_classifier(structure, **options).fit(cut(table, [60, 100]), "outcome")
    assert_same_model(streamed, make_classifier(structure, **options).fit(X, y))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"nobody": 2}, "names the class 'nobody', which the table does not have; its classes are"),
        ({"a": -1.0}, "gives 'a' the weight -1.0; expected a number above zero"),
        ("even", "class_weight='even' is not valid; expected None, 'balanced' or the weights of classes"),
    ],
)
def test_unusable_class_weights_are_refused_in_words(class_weight, message):
    table = mixed_table(200)
    with pytest.raises(OptionError, match=message):
        NaiveBayesClassifier(class_weight=class_weight).fit(*split(table))
    with pytest.raises(OptionError, match=message):
        NaiveBayesClassifier(class_weight=class_weight).fit(cut(table, [100]), "outcome")
