"""Weights that come in a column of the batches are the weights of a fit in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from all_parts import make_classifier
from classifiers.stream_tables import assert_same_model, cut, mixed_table, split, table_of_few_values
from tanager import NaiveBayesClassifier
from tanager.errors import DataError


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("make", [mixed_table, table_of_few_values])
@pytest.mark.parametrize(
    ("structure", "parameters"),
    [("naive-bayes", "frequency"), ("tan", "frequency"), ("tan", "conditional"), ("additive", "")],
)
def test_weights_in_a_column_are_the_weights_of_the_rows(structure, parameters, make, gaps, small_chunks):
    table = make(gaps=gaps)
    weights = np.random.default_rng(1).integers(0, 5, table.num_rows) / 2
    weights[100:150] = 0  # a whole batch that is as if it were not there
    X, y = split(table)
    clf = make_classifier(structure, parameters=parameters)
    streamed = clone(clf).fit(cut(table.append_column("w", pa.array(weights)), [100, 150, 330]), "outcome", "w")
    rtol = 1e-6 if parameters in ("conditional", "") else 1e-9  # early stopping spreads rounding
    assert_same_model(streamed, clf.fit(X, y, weights), rtol)
    np.testing.assert_allclose(streamed.predict_proba(cut(table, [7])), clf.predict_proba(X), rtol=rtol)


def test_whole_weights_are_repeated_rows():
    table = table_of_few_values(100)
    times = np.arange(100) % 4
    weighted = table.append_column("w", pa.array(times.astype(np.int8)))
    clf = NaiveBayesClassifier(categorical_features="all").fit(cut(weighted, [40]), "outcome", sample_weight="w")
    repeated = table.take(np.repeat(np.arange(100), times))
    assert_same_model(clf, NaiveBayesClassifier(categorical_features="all").fit(cut(repeated, [40]), "outcome"))


@pytest.mark.parametrize(
    ("weights", "sample_weight", "message"),
    [
        ([1.0, -2.0], "w", "the column of weights 'w' holds -2; expected numbers from zero up"),
        ([1.0, None], "w", "the column of weights 'w' misses a cell"),
        ([1.0, float("inf")], "w", "column 'w' contains infinity"),
        (["1", "2"], "w", "the column of weights 'w' holds text; expected numbers"),
        ([0, 0], "w", "every row has weight zero"),
        ([1, 2], "v", "no column 'v' with the rows' weights; its columns, nearest first, are 'a', 'w', 'outcome'"),
        ([1, 2], "outcome", "the column 'outcome' cannot be both"),
        ([1, 2], [1, 2], "sample_weight is a list; expected the name of the column"),
    ],
)
def test_unusable_weights_are_refused_in_words(weights, sample_weight, message):
    table = pa.table({"a": [0, 1], "w": weights, "outcome": ["x", "y"]})
    with pytest.raises(DataError, match=message):
        NaiveBayesClassifier().fit(iter([table]), "outcome", sample_weight)
