"""Rows of few values are counted as they are read; the model is that of the fit in memory."""

from __future__ import annotations

import shutil
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from classifiers.stream_tables import assert_same_model, coded, cut, split, table_of_few_values
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier
from tanager.counts import running_counts as running_counts_module
from tanager.counts.engine import choose_engine
from tanager.parameters import Frequency
from tanager.structure import AnDE
from tanager.table.stream import rows as stream_rows

FEW = {"categorical_features": ["byte", "holes"]}
OF_COUNTS = [
    NaiveBayesClassifier(**FEW),
    NaiveBayesClassifier(missing="average", **FEW),
    BayesianNetworkClassifier("tan", parameters="frequency", **FEW),
    BayesianNetworkClassifier("tan", "bdeu", Frequency("friedman"), missing="category", **FEW),
    BayesianNetworkClassifier("tan", "acll", "acll", engine="numba", **FEW),
    BayesianNetworkClassifier("aode", parameters="frequency", **FEW),
    BayesianNetworkClassifier(AnDE(weights="information", subsumption=20), parameters="frequency", **FEW),
]


@pytest.mark.parametrize("gaps", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("clf", OF_COUNTS, ids=str)
@pytest.mark.filterwarnings("ignore:column .* holds no value")
def test_rows_of_few_values_are_counted_as_they_are_read_and_not_kept(clf, gaps, monkeypatch):
    table = table_of_few_values(gaps=gaps).sort_by("byte")  # so that later batches bring other values
    X, y = split(table)
    expected = clone(clf).fit(X, y)
    monkeypatch.setattr(stream_rows.Spool, "append", lambda *rest: pytest.fail("kept"))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(1_000, 1_000, 0))
    assert_same_model(clone(clf).fit(cut(table, [30, 30, 290]), "outcome"), expected)


@pytest.mark.parametrize("clf", OF_COUNTS, ids=str)
def test_rows_are_kept_from_the_batch_on_that_has_many_values(clf, small_chunks):
    table = table_of_few_values(gaps=0.1)
    numbers = [1.0] * 200 + np.random.default_rng(0).normal(size=200).tolist()
    table = table.set_column(4, "number", pa.array(numbers))
    parts = list(cut(table, [90, 200, 320]))
    with coded(clf, iter(parts)) as rows:
        assert rows.counted is not None
        assert (rows.counted.n_rows, rows.rows.n_rows) == (200, 200)
        assert rows.counts(choose_engine("numpy")).n_rows == 400
    X, y = split(table)
    assert_same_model(clone(clf).fit(iter(parts), "outcome"), clone(clf).fit(X, y))


class OwnTable(Frequency):
    """A part that says nothing of its own needs, but may count any family."""

    needs = "counts"


@pytest.mark.parametrize(
    "clf",
    [
        BayesianNetworkClassifier("tan", parameters="conditional", **FEW),
        BayesianNetworkClassifier("kdb", parameters="frequency", **FEW),
        BayesianNetworkClassifier("tan", "cll", "frequency", **FEW),
        BayesianNetworkClassifier("tan", parameters=OwnTable(), **FEW),
    ],
    ids=lambda clf: f"{clf.structure} {clf.parameters}",
)
def test_rows_are_kept_for_parts_that_may_need_them(clf):
    with coded(clf, cut(table_of_few_values(), [200])) as rows:
        assert rows.counted is None
        assert rows.rows.n_rows == 400


def test_rows_are_kept_where_tables_of_all_pairs_are_large(monkeypatch):
    monkeypatch.setattr(running_counts_module, "MAX_COUNTED_CELLS", 100)
    clf = BayesianNetworkClassifier("tan", parameters="frequency", **FEW)
    with coded(clf, cut(table_of_few_values(), [200])) as rows:
        assert rows.counted is None
        assert rows.rows.n_rows == 400
