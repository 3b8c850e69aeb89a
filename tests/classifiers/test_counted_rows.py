"""Rows of few values are counted as they are read; the model is that of the fit in memory."""

from __future__ import annotations

import shutil
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from classifiers.stream_tables import assert_same_model, cut, split, table_of_few_values
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier
from tanager.classifiers.batch_reader import Roles, SchemaOptions
from tanager.classifiers.out_of_core import running_counts, streamed_table
from tanager.counts import running_counts as running_counts_module
from tanager.counts.engine import choose_engine
from tanager.counts.running_counts import RunningCounts
from tanager.parameters import Frequency
from tanager.structure import Tree
from tanager.table.discretizer import choose_discretizer
from tanager.table.stream import spool as stream_spool

FEW = {"categorical_features": ["byte", "holes"]}
OF_COUNTS = [
    NaiveBayesClassifier(**FEW),
    NaiveBayesClassifier(missing="average", **FEW),
    BayesianNetworkClassifier("tan", parameters="frequency", **FEW),
    BayesianNetworkClassifier("tan", "bdeu", Frequency("friedman"), missing="category", **FEW),
    BayesianNetworkClassifier("tan", "acll", "acll", engine="numba", **FEW),
]


@pytest.mark.parametrize("gaps", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("clf", OF_COUNTS, ids=str)
@pytest.mark.filterwarnings("ignore:column .* holds no value")
def test_rows_of_few_values_are_counted_as_they_are_read_and_not_kept(clf, gaps, monkeypatch):
    table = table_of_few_values(gaps=gaps).sort_by("byte")  # so that later batches bring other values
    X, y = split(table)
    expected = clone(clf).fit(X, y)
    monkeypatch.setattr(stream_spool.Spool, "append", lambda *rest: pytest.fail("kept"))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(1_000, 1_000, 0))
    assert_same_model(clone(clf).fit(cut(table, [30, 30, 290]), "outcome"), expected)


@pytest.mark.parametrize("clf", OF_COUNTS, ids=str)
def test_rows_are_kept_from_the_batch_on_that_has_many_values(clf, small_chunks):
    table = table_of_few_values(gaps=0.1)
    numbers = [1.0] * 200 + np.random.default_rng(0).normal(size=200).tolist()
    table = table.set_column(4, "number", pa.array(numbers))
    parts = list(cut(table, [90, 200, 320]))
    open_rows = streamed_table(iter(parts), Roles("outcome"), options_of(clf), counts_of(clf))
    with open_rows as rows:
        assert rows.counted is not None
        assert sum(chunk.n_rows for chunk in rows.batch.chunks()) == 200
        assert rows.batch.n_rows == 400
    X, y = split(table)
    assert_same_model(clone(clf).fit(iter(parts), "outcome"), clone(clf).fit(X, y))


@pytest.mark.parametrize(
    "clf",
    [
        BayesianNetworkClassifier("tan", parameters="conditional", **FEW),
        BayesianNetworkClassifier("kdb", parameters="frequency", **FEW),
        BayesianNetworkClassifier(type("OtherTree", (Tree,), {})(), parameters="frequency", **FEW),
        BayesianNetworkClassifier("tan", parameters=type("OtherFrequency", (Frequency,), {})(), **FEW),
    ],
    ids=lambda clf: f"{clf.structure} {clf.parameters}",
)
def test_rows_are_kept_for_learners_that_may_need_them(clf):
    assert counts_of(clf) is None


def test_rows_are_kept_where_tables_of_all_pairs_are_large(monkeypatch):
    monkeypatch.setattr(running_counts_module, "MOST_CELLS", 100)
    table = table_of_few_values()
    clf = BayesianNetworkClassifier("tan", parameters="frequency", **FEW)
    with streamed_table(cut(table, [200]), Roles("outcome"), options_of(clf), counts_of(clf)) as rows:
        assert rows.counted is None
        assert sum(chunk.n_rows for chunk in rows.batch.chunks()) == 400


def counts_of(clf: BayesianNetworkClassifier) -> RunningCounts | None:
    return running_counts(clf._structure(), clf._parameters(), clf._needs_filler(), choose_engine("numpy"))


def options_of(clf: BayesianNetworkClassifier) -> SchemaOptions:
    return SchemaOptions(choose_discretizer("mdlp"), clf.categorical_features, clf.missing == "category", False)
