"""Every structure and every learner learns from a table in batches what it learns from the table in memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from classifiers.stream_tables import (
    FromRows,
    Softened,
    assert_same_model,
    cut,
    imputation_arrays,
    mixed_table,
    model_arrays,
    split,
    table_of_few_values,
    without_some_classes,
)
from report.models import grown_over_gaps
from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier
from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError
from tanager.parameters import EM, PARAMETERS, Conditional, Hierarchical, LikelihoodGradient
from tanager.scores import ACLL, CLL
from tanager.structure import STRUCTURES, AnDE, Selective

pytestmark = pytest.mark.filterwarnings("ignore:the class is missing")

MADE_OF_COUNTS = ("frequency", "acll")
TIGHT = {
    "conditional": Conditional(tol=1e-5),
    "em": EM(tol=1e-10),
    "likelihood-gradient": LikelihoodGradient(tol=1e-10),
}
CLASSIFIERS = [
    BayesianNetworkClassifier(structure, parameters=TIGHT.get(parameters, parameters))
    for structure, parameters in product(STRUCTURES, PARAMETERS)
    if STRUCTURES[structure].learns in PARAMETERS[parameters].fits
    and (not PARAMETERS[parameters].naive_bayes_only or structure == "naive-bayes")
]
ONE_OF_EACH_LEARNER = [
    clf for clf in CLASSIFIERS if clf.structure == "tan" or clf._learner().parameters.naive_bayes_only
]
WITH_OPTIONS = [
    BayesianNetworkClassifier("hill-climb", "cll", "frequency"),
    BayesianNetworkClassifier("hill-climb", CLL(penalty="mdl"), "frequency"),
    BayesianNetworkClassifier("tan", ACLL(at="pooled"), "frequency"),
    BayesianNetworkClassifier(AnDE(n=2, weights="information"), None, "frequency"),
    BayesianNetworkClassifier(Selective(by="accuracy"), None, "frequency"),
    BayesianNetworkClassifier("kdb", None, Hierarchical(8.0)),
    BayesianNetworkClassifier(AnDE(weights="conditional"), None, "frequency"),
]
ADDITIVE = [AdditiveClassifier(), AdditiveClassifier(trees=False, missing="average")]
EDGES = [40, 60, 61, 130]


def weighted(table: pa.Table) -> pa.Table:
    """With weights whose sums are exact in whatever order they are added."""
    weights = np.random.default_rng(1).integers(0, 5, table.num_rows) / 2
    weights[40:60] = 0.0  # a whole batch that is as if it were not there
    return table.append_column("w", pa.array(weights))


def assert_streams(clf: TableClassifier, table: pa.Table) -> TableClassifier:
    weight = "w" if "w" in table.column_names else None
    streamed = clone(clf).fit(cut(table, EDGES), "outcome", weight)
    X, y = split(table.drop_columns(["w"]) if weight else table)
    memory = clone(clf).fit(X, y, table["w"].to_numpy() if weight else None)
    parameters = getattr(clf, "parameters", Conditional())
    optimised = isinstance(parameters, Conditional) or "conditional" in repr(getattr(clf, "structure", ""))
    rtol = 1e-6 if optimised else 1e-9  # rounding of sums, spread by descents
    if optimised and getattr(clf, "structure", "") == "hill-climb":
        rtol = 1e-3  # the loss of a structure that is not perfect has several optima, each flat
    assert_same_model(streamed, memory, rtol)
    if parameters in MADE_OF_COUNTS and not optimised:
        arrays = ([*model_arrays(clf), *imputation_arrays(clf)] for clf in (streamed, memory))
        for own, expected in zip(*arrays, strict=True):
            np.testing.assert_array_equal(own, expected)
    np.testing.assert_allclose(streamed.predict_proba(cut(X, [7])), memory.predict_proba(X), rtol=0, atol=rtol)
    return streamed


@pytest.mark.parametrize("clf", [*CLASSIFIERS, *WITH_OPTIONS, *ADDITIVE], ids=str)
def test_every_structure_and_learner_streams_rows_with_weights_gaps_and_without_a_class(clf, small_chunks):
    assert_streams(clf, without_some_classes(weighted(mixed_table(200, gaps=0.1))))


@pytest.mark.parametrize("make", [mixed_table, table_of_few_values])
@pytest.mark.parametrize(("missing", "gaps"), [("auto", 0.0), ("category", 0.1), ("average", 0.1), ("skip", 0.1)])
@pytest.mark.parametrize("clf", ONE_OF_EACH_LEARNER, ids=str)
def test_every_learner_streams_whatever_a_gap_means(clf, missing, gaps, make, small_chunks):
    assert_streams(clone(clf).set_params(missing=missing), make(150, gaps=gaps))


@pytest.mark.parametrize("learner", [Softened(), FromRows()], ids=str)
@pytest.mark.parametrize("structure", ["tan", "kdb"])
def test_a_learner_of_the_users_own_streams_without_a_word(structure, learner, small_chunks):
    clf = BayesianNetworkClassifier(structure, parameters=learner, missing="skip")
    assert_streams(clf, weighted(mixed_table(200, gaps=0.1)))


@pytest.mark.parametrize("missing", ["auto", "category"])
def test_categories_of_rows_without_a_class_have_no_say_in_the_schema(missing, small_chunks):
    table = without_some_classes(weighted(mixed_table(200, gaps=0.1)))
    words = table["word"].to_pylist()
    words[25] = words[100] = "only in rows without a class"
    streamed = assert_streams(
        BayesianNetworkClassifier("tan", parameters=TIGHT["em"], missing=missing),
        table.set_column(0, "word", pa.array(words)),
    )
    assert "only in rows without a class" not in streamed.encoder_.schema.attributes[0].categories


def test_trees_grown_over_gaps_are_those_of_the_table_in_memory():
    """Gaps are filled by draws, which are those of the row wherever it lies."""
    X, y = grown_over_gaps()
    table = pa.Table.from_pandas(X.assign(y=y), preserve_index=False)
    streamed = AdditiveClassifier().fit(iter(table.to_batches(max_chunksize=97)), "y")
    whole = AdditiveClassifier().fit(X, y)
    assert whole.model_.forest is not None
    np.testing.assert_allclose(streamed.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("weights", "sample_weight", "message"),
    [
        ([1.0, None], "w", "the column of weights 'w' misses a cell"),
        ([1, 2], "v", "no column 'v' with the rows' weights; its columns, nearest first, are 'a', 'w', 'outcome'"),
        ([1, 2], "outcome", "the column 'outcome' cannot be both"),
        ([1, 2], [1, 2], "sample_weight is a list; expected the name of the column"),
    ],
)
def test_unusable_weights_are_refused_in_words(weights, sample_weight, message):
    table = pa.table({"a": [0, 1], "w": weights, "outcome": ["x", "y"]})
    with pytest.raises(DataError, match=message):
        NaiveBayesClassifier().fit(iter([table]), "outcome", sample_weight)


FEW = {"categorical_features": ["byte", "holes"]}


@pytest.mark.parametrize(
    "clf",
    [
        NaiveBayesClassifier(missing="average", **FEW),
        BayesianNetworkClassifier("tan", "acll", "acll", missing="skip", engine="numba", **FEW),
        BayesianNetworkClassifier(AnDE(weights="information"), parameters="frequency", **FEW),
    ],
    ids=str,
)
@pytest.mark.parametrize("gaps", [0.2, 1.0])
@pytest.mark.filterwarnings("ignore:column .* holds no value")
def test_later_batches_may_bring_other_values_and_many(clf, gaps, small_chunks):
    table = table_of_few_values(gaps=gaps).sort_by("byte")
    numbers = [1.0] * 200 + np.random.default_rng(0).normal(size=200).tolist()
    table = table.set_column(4, "number", pa.array(numbers))
    X, y = split(table)
    assert_same_model(clone(clf).fit(cut(table, [30, 30, 290]), "outcome"), clone(clf).fit(X, y))
