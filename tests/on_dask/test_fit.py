"""Classifiers on a cluster: the counts and the tables of a fit in memory, whatever the partitions."""

from uuid import uuid4

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")


import tanager
import tanager.dask
from tanager.errors import DataWarning
from tanager.parameters import Conditional


def largest_difference(ours, theirs):
    if isinstance(theirs, tanager.Network):
        assert ours.parents == theirs.parents
        arrays = zip(ours.tables, theirs.tables, strict=True)
    else:
        assert ours.pairs == theirs.pairs
        arrays = zip((*ours.mains, *ours.tables), (*theirs.mains, *theirs.tables), strict=True)
    assert ours.columns == theirs.columns
    return max(np.abs(own - other).max() for own, other in arrays)


@pytest.mark.parametrize("edges", [(), (300,), (7, 7, 450, 590)], ids=["one", "two", "uneven and empty"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_frequencies_are_those_of_a_fit_in_memory(client, edges, gaps, cut, make_table):
    table = make_table(gaps=gaps)
    theirs = tanager.TANClassifier(parameters="frequency").fit(table.drop(columns="outcome"), table["outcome"])
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(cut(table, *edges), "outcome")
    assert largest_difference(ours.model_, theirs.model_) < 1e-9
    assert ours.structure_score_ == pytest.approx(theirs.structure_score_, rel=1e-12)


@pytest.mark.parametrize("missing", ["category", "marginalize"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_table_of_categories_is_computed_once_and_gives_the_model_of_memory(
    client, gaps, missing, cut, make_table, tmp_path
):
    # `size` has more than 255 values, `shape` a declared order, and its last partition is empty there.
    table = make_table(gaps=gaps)
    table["shape"] = table["shape"].mask(table.index >= 590).astype(pd.CategoricalDtype(["long", "round", "flat", "?"]))

    def count(frame):
        (tmp_path / uuid4().hex).touch()
        return frame

    options = {"parameters": "frequency", "categorical_features": "all", "missing": missing}
    rows = cut(table, 7, 7, 450, 590).map_partitions(count, meta=table.iloc[:0])
    ours = tanager.dask.TANClassifier(client, **options).fit(rows, "outcome")
    theirs = tanager.TANClassifier(**options).fit(table.drop(columns="outcome"), table["outcome"])
    assert len(list(tmp_path.iterdir())) == 5
    assert ours.model_.states == theirs.model_.states
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


@pytest.mark.parametrize("gaps", [0.0, 0.1], ids=["complete", "gaps"])
@pytest.mark.parametrize(
    "parameters",
    [
        Conditional(strength=[1.0, 3.0]),
        Conditional(),
        Conditional("squared", strength=2.0),
        Conditional("mixed", prior="generative", strength=1.0),
    ],
    ids=["strength given", "strength chosen", "squared error", "mixed"],
)
def test_conditional_tables_are_those_of_a_fit_in_memory(client, parameters, gaps, cut, make_table):
    table = make_table(1, gaps=gaps)
    theirs = tanager.TANClassifier(parameters=parameters).fit(table.drop(columns="outcome"), table["outcome"])
    ours = tanager.dask.TANClassifier(client, parameters=parameters).fit(cut(table, 100, 450), "outcome")
    assert largest_difference(ours.model_, theirs.model_) < 1e-6
    assert largest_difference(ours.filler_, theirs.filler_) < 1e-9 if theirs.filler_ else ours.filler_ is None
    assert ours.trace_.parameters.passes == theirs.trace_.parameters.passes


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("BayesianNetworkClassifier", {"structure": "bckg", "missing": "category"}),
        ("NaiveBayesClassifier", {"discretizer": "quantile"}),
        ("TANClassifier", {"engine": "numba"}),
        ("AdditiveClassifier", {"pairs": 5, "trees": False, "categorical_features": ["legs"]}),
    ],
)
def test_other_models_are_those_of_a_fit_in_memory(client, name, options, cut, make_table):
    table = make_table(2, gaps=0.05)
    theirs = getattr(tanager, name)(**options).fit(table.drop(columns="outcome"), table["outcome"])
    ours = getattr(tanager.dask, name)(client, **options).fit(cut(table, 200, 200, 410), "outcome")
    assert largest_difference(ours.model_, theirs.model_) < 1e-6


def test_a_category_in_one_partition_only_is_a_state(client, cut, table):
    rare = table.assign(colour=np.where(np.arange(len(table)) == 599, "violet", table["colour"]))
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(cut(rare, 200, 590), "outcome")
    theirs = tanager.TANClassifier(parameters="frequency").fit(rare.drop(columns="outcome"), rare["outcome"])
    assert "violet" in ours.model_.states["colour"]
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


def test_a_class_in_one_partition_only_is_a_class(client, cut, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    ordered = table.sort_values("outcome", kind="stable")
    first = int((ordered["outcome"] == "low").sum())
    ours = tanager.dask.NaiveBayesClassifier(client).fit(cut(ordered, first, first + 50), "outcome")
    theirs = tanager.NaiveBayesClassifier().fit(X, y)
    assert ours.classes_.tolist() == ["low", "mid", "top"]
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


def test_integers_of_different_widths_are_the_same_numbers(client, of_frames, table):
    narrow = table.iloc[:300].astype({"legs": np.int8})
    empty = table.iloc[300:310].assign(shape=None, size=np.nan)
    frames = [narrow, empty, table.iloc[310:]]
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(of_frames(frames), "outcome")
    whole = table.assign(shape=table["shape"].mask(table.index.isin(empty.index)))
    whole.loc[empty.index, "size"] = np.nan
    theirs = tanager.TANClassifier(parameters="frequency").fit(whole.drop(columns="outcome"), whole["outcome"])
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


def test_rows_without_a_class_are_left_out_with_a_warning(client, cut, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    some = table.assign(outcome=table["outcome"].where(np.arange(len(table)) >= 200))
    with pytest.warns(DataWarning, match=r"missing in 200 of 600 rows"):
        ours = tanager.dask.NaiveBayesClassifier(client).fit(cut(some, 150, 300), "outcome")
    theirs = tanager.NaiveBayesClassifier().fit(X.iloc[200:], y.iloc[200:])
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("TANClassifier", {"parameters": Conditional()}),
        ("TANClassifier", {"parameters": Conditional(), "missing": "category"}),
        ("AdditiveClassifier", {}),
    ],
    ids=["strength chosen", "gap states", "additive"],
)
def test_row_weights_mean_what_they_mean_in_memory(client, name, options, cut, make_table):
    table = make_table(3, gaps=0.05)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.7], len(table))
    theirs = getattr(tanager, name)(**options).fit(table.drop(columns="outcome"), table["outcome"], weights)
    rows = cut(table.assign(times=weights), 200, 200, 410)
    ours = getattr(tanager.dask, name)(client, **options).fit(rows, "outcome", "times")
    assert largest_difference(ours.model_, theirs.model_) < 1e-6
    assert ours.predict(rows).compute().tolist() == theirs.predict(table.drop(columns="outcome")).tolist()


def test_a_row_of_weight_w_is_w_rows(client, cut, table):
    times = np.random.default_rng(1).integers(0, 4, len(table))
    times[:100] = 0  # a partition of none
    table = table.assign(times=times, outcome=table["outcome"].where(np.arange(len(table)) != 99))
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(cut(table, 100, 350), "outcome", "times")
    repeated = table.loc[table.index.repeat(times)]
    theirs = tanager.TANClassifier(parameters="frequency").fit(
        repeated.drop(columns=["outcome", "times"]), repeated["outcome"]
    )
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


@pytest.mark.parametrize("weights", [None, "times"])
def test_class_weights_mean_what_they_mean_in_memory(client, cut, table, weights):
    rows = table.assign(times=np.random.default_rng(2).integers(0, 4, len(table)))
    options = {"parameters": "frequency", "class_weight": {"low": 3, "top": 0.5}}
    given = rows if weights else table
    ours = tanager.dask.TANClassifier(client, **options).fit(cut(given, 100, 350), "outcome", weights)
    X, y = table.drop(columns="outcome"), table["outcome"]
    theirs = tanager.TANClassifier(**options).fit(X, y, rows["times"] if weights else None)
    assert largest_difference(ours.model_, theirs.model_) < 1e-9


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [("balanced", "needs the number of rows of each class"), ({"lo": 2}, "names the class 'lo'")],
)
def test_class_weights_that_cannot_be_had_are_refused(client, cut, table, class_weight, message):
    with pytest.raises(tanager.OptionError, match=message):
        tanager.dask.TANClassifier(client, class_weight=class_weight).fit(cut(table, 100), "outcome")


def test_a_parquet_folder_and_a_series_of_classes_are_taken_too(client, tmp_path, cut, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    for number, part in enumerate([table.iloc[:100], table.iloc[100:]]):
        part.to_parquet(tmp_path / f"part{number}.parquet")
    by_path = tanager.dask.NaiveBayesClassifier(client).fit(tmp_path, "outcome")
    rows = cut(table, 100, 350)
    by_series = tanager.dask.NaiveBayesClassifier(client).fit(rows.drop(columns="outcome"), rows["outcome"])
    theirs = tanager.NaiveBayesClassifier().fit(X, y)
    assert largest_difference(by_path.model_, theirs.model_) < 1e-9
    assert largest_difference(by_series.model_, theirs.model_) < 1e-9
    assert by_path.predict(tmp_path).compute().tolist() == theirs.predict(X).tolist()


def test_predictions_are_lazy_and_those_of_the_local_classifier(client, cut, table):
    X = table.drop(columns="outcome")
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(cut(table, 300), "outcome")
    local = ours.to_local()
    rows = cut(X, 100, 100, 580)
    labels, shares = ours.predict(rows), ours.predict_proba(rows)
    pd.testing.assert_series_equal(
        labels.compute(), pd.Series(local.predict(X), index=X.index, name="outcome"), check_dtype=False
    )
    np.testing.assert_array_equal(shares.compute(), local.predict_proba(X))

    def refuse(frame):
        raise AssertionError("computed")

    unread = rows.map_partitions(refuse, meta=X.iloc[:0])
    assert ours.predict_proba(unread).shape[1] == 3
    with pytest.raises(AssertionError, match="computed"):
        ours.predict(unread).compute()


def test_the_local_classifier_is_an_ordinary_one(client, tmp_path, cut, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    ours = tanager.dask.NaiveBayesClassifier(client).fit(cut(table.iloc[:400], 30), "outcome")
    local = ours.to_local()
    assert type(local) is tanager.NaiveBayesClassifier
    assert local.feature_names_in_.tolist() == list(X.columns)
    tanager.save_model(local, tmp_path / "model.json")
    np.testing.assert_array_equal(tanager.load_model(tmp_path / "model.json").predict(X), local.predict(X))
    begun = tanager.NaiveBayesClassifier().fit(X.iloc[:400], y.iloc[:400]).partial_fit(X.iloc[400:], y.iloc[400:])
    assert largest_difference(local.partial_fit(X.iloc[400:], y.iloc[400:]).model_, begun.model_) < 1e-12


def test_edits_of_a_model_from_a_cluster_are_those_of_memory(client, cut, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    ours = tanager.dask.AdditiveClassifier(client, trees=False).fit(cut(table, 100, 350), "outcome")
    local = tanager.AdditiveClassifier(trees=False).fit(X, y)
    assert ours.query({"size": 1.0}) == pytest.approx(local.query({"size": 1.0}), abs=1e-6)
    assert ours.tree_share_ == 0.0
    edits = [
        tanager.edits.Edit.monotone("size", "increasing", of="top", reason="known"),
        tanager.edits.Edit.remove("legs", reason="not to be used"),
    ]
    one, other = (tanager.apply_edits(clf, edits) for clf in (ours.to_local(), local))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert np.abs(one.predict_proba(X) - local.predict_proba(X)).max() > 0.01
    back = tanager.undo_edits(one)
    np.testing.assert_array_equal(back.predict_proba(X), ours.to_local().predict_proba(X))


def test_tasks_have_names_that_a_dashboard_groups_by(client, cut, table):
    tanager.dask.TANClassifier(client, parameters=Conditional(strength=1.0)).fit(cut(table, 300), "outcome")
    names = set(client.cluster.scheduler.task_prefixes)
    assert {"tanager-statistics", "tanager-encode", "tanager-count", "tanager-pass"} <= names


def test_options_are_those_of_the_ordinary_classifier(client):
    ours = tanager.dask.TANClassifier(client, criterion="bic", forest=True)
    assert ours.get_params()["criterion"] == "bic"
    assert ours.set_params(criterion="ll").get_params()["criterion"] == "ll"
    assert "forest=True" in repr(ours)
    with pytest.raises(TypeError, match="trees"):
        tanager.dask.TANClassifier(client, trees=3)
