"""Every structure and every parameter learner, and those of a user: the model of a cluster is that of memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")

import tanager
import tanager.dask
from classifiers.stream_tables import FromRows, Softened, assert_same_model
from tanager.errors import DataWarning, OptionError
from tanager.parameters import EM, PARAMETERS, Conditional, Hierarchical, LikelihoodGradient
from tanager.scores import ACLL, CLL
from tanager.structure import STRUCTURES, AnDE, Fixed, Selective
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

N_ROWS = 300
CUTS = (7, 7, 100, 290)
OF_COUNTS = {"frequency", "acll"}
# At a tight tolerance, and with a prior that holds, the order of summation is all that is left of a difference.
TIGHT = {
    "conditional": Conditional(strength=3.0, tol=1e-6),
    "em": EM(tol=1e-12),
    "likelihood-gradient": LikelihoodGradient(tol=1e-10),
}
LEARNERS = sorted(set(PARAMETERS) - {"dfe"})  # which needs the rows in their order
CLASS_WEIGHTS = {"low": 3, "top": 0.5}
NETWORK = "BayesianNetworkClassifier"
# Every structure, every learner; all pairs of them are tried on a stream, whose passes are the same.
COMBINATIONS = [
    *((structure, "frequency") for structure in STRUCTURES if structure != "tan"),
    *(
        ("naive-bayes" if PARAMETERS[name].naive_bayes_only else "tan", name)
        for name in LEARNERS
        if name != "frequency"
    ),
    *(("bckg", name) for name in ("conditional", "em")),
    (AnDE(n=2, weights="information"), "frequency"),
    (Selective(by="accuracy"), "frequency"),
]
# The classifier, its column of weights, its options, and the largest relative difference.
CASES = [
    *(
        (
            NETWORK,
            None,
            {"structure": structure, "parameters": TIGHT.get(name, name)},
            0.0 if name in OF_COUNTS else 1e-9,
        )
        for structure, name in COMBINATIONS
    ),
    (NETWORK, None, {"structure": AnDE(weights="conditional"), "parameters": "frequency"}, 1e-9),
    (NETWORK, None, {"structure": "kdb", "parameters": Hierarchical(8.0)}, 1e-9),
    (NETWORK, None, {"structure": "tan", "criterion": ACLL(at="pooled"), "parameters": "frequency"}, 0.0),
    (NETWORK, None, {"structure": "hill-climb", "criterion": CLL(penalty="mdl"), "parameters": "frequency"}, 0.0),
    (NETWORK, None, {"structure": "kdb", "parameters": "frequency", "missing": "category"}, 1e-9),
    ("NaiveBayesClassifier", None, {"discretizer": "quantile"}, 1e-9),
    ("TANClassifier", None, {"engine": "numba"}, 1e-6),
    ("TANClassifier", None, {"parameters": "frequency", "class_weight": CLASS_WEIGHTS}, 1e-9),
    ("TANClassifier", "times", {"parameters": "frequency", "class_weight": CLASS_WEIGHTS}, 1e-9),
    ("TANClassifier", "times", {"parameters": "frequency", "class_weight": "balanced"}, 1e-9),
    ("AdditiveClassifier", None, {"pairs": 5, "trees": False, "categorical_features": ["legs"]}, 1e-6),
    ("AdditiveClassifier", "times", {}, 1e-6),
]


def fit_both(client, cut, table, weights=None, name="BayesianNetworkClassifier", **options):
    """The fits on a cluster and in memory."""
    columns = ["outcome"] if weights is None else ["outcome", weights]
    ours = getattr(tanager.dask, name)(client, **options).fit(cut(table, *CUTS), "outcome", weights)
    theirs = getattr(tanager, name)(**options).fit(
        table.drop(columns=columns), table["outcome"], None if weights is None else table[weights]
    )
    return ours, theirs


@pytest.mark.parametrize(("name", "weights", "options", "tolerance"), CASES)
def test_the_model_is_that_of_memory(client, name, weights, options, tolerance, cut, make_table):
    table = make_table(2, N_ROWS, gaps=0.05)
    if weights:
        table[weights] = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.7], len(table))
    ours, theirs = fit_both(client, cut, table, weights, name, **options)
    assert_same_model(ours, theirs, tolerance, imputed=1e-6)


@pytest.mark.parametrize(
    "parameters",
    [Conditional(), Conditional("squared", strength=2.0), Conditional("mixed", prior="generative", strength=1.0)],
    ids=["strength chosen", "squared error", "mixed"],
)
def test_other_objectives_are_made_small_as_in_memory(client, parameters, cut, make_table):
    ours, theirs = fit_both(client, cut, make_table(1, gaps=0.1), structure="tan", parameters=parameters)
    assert_same_model(ours, theirs, 1e-6)
    traces = ours.trace_.parameters, theirs.trace_.parameters
    assert traces[0].passes == traces[1].passes
    assert traces[0].strength == traces[1].strength
    assert dict(traces[0].held_out) == pytest.approx(dict(traces[1].held_out), abs=1e-9)


def test_a_monotone_model_is_that_of_memory(client, cut, make_table):
    table = make_table(2, N_ROWS, gaps=0.05)
    table = table[table["outcome"].isin(sorted(table["outcome"].unique())[:2])].reset_index(drop=True)
    X = table.drop(columns="outcome")
    ours, theirs = fit_both(client, cut, table, name="AdditiveClassifier", monotonic_cst={"size": 1, "weight": -1})
    assert set(ours.trace_.monotone) == set(theirs.trace_.monotone)
    assert ours.query({"size": 1.0}) == pytest.approx(theirs.query({"size": 1.0}), abs=1e-3)
    np.testing.assert_allclose(ours.predict_proba(cut(X, *CUTS)), theirs.predict_proba(X), atol=1e-3)  # tol


@pytest.mark.filterwarnings("ignore:the class is missing")
@pytest.mark.parametrize("parameters", LEARNERS)
def test_weights_and_rows_without_a_class_mean_what_they_mean_in_memory(client, parameters, cut, make_table):
    table = make_table(5, N_ROWS, gaps=0.05)
    rng = np.random.default_rng(0)
    # No row of the first partition has a weight, none of the second a class; one colour is only in rows without.
    rows = np.arange(len(table))
    without = (rng.random(len(table)) < 0.2) | ((rows >= 7) & (rows < 100))
    table.loc[np.flatnonzero(without)[:5], "colour"] = "violet"
    times = np.where(rows < 7, 0.0, rng.choice([0.0, 0.5, 1.0, 2.7], len(table)))
    table = table.assign(outcome=table["outcome"].mask(without), times=times)
    options = {"structure": "naive-bayes" if PARAMETERS[parameters].naive_bayes_only else "tan"}
    options["parameters"] = TIGHT.get(parameters, parameters)
    assert_same_model(*fit_both(client, cut, table, "times", **options), imputed=1e-6)


def test_a_learner_that_needs_the_rows_in_their_order_is_refused_before_any_work(client, cut, table):
    def refuse(frame):
        raise AssertionError("computed")

    rows = cut(table, 300).map_partitions(refuse, meta=table.iloc[:0])
    with pytest.raises(OptionError, match=r"DFE\(\) goes through the rows one after the other.*workers of a cluster"):
        tanager.dask.NaiveBayesClassifier(client, parameters="dfe").fit(rows, "outcome")


def test_hidden_nodes_are_learnt_as_in_memory(client, cut, table):
    names = ("colour", "shape", "cause", "outcome")
    states = [sorted(table[name].unique()) if name in table else ["no", "yes"] for name in names]
    columns = tuple(ColumnSchema(*own[:1], "categorical", tuple(own[1])) for own in zip(names, states, strict=True))
    dag = Dag(((2,), (2,), (3,), ()))
    tables = tuple(
        np.full((columns[dag.parents[node][0]].n_states if dag.parents[node] else 1, column.n_states), 1.0)
        / column.n_states
        for node, column in enumerate(columns)
    )
    network = tanager.Network(columns, dag, tables, "outcome")
    own = table[["colour", "shape", "outcome"]]
    for parameters in (EM(tol=1e-8, max_iter=2_000), Conditional(strength=1.0)):
        ours, theirs = fit_both(client, cut, own, structure=Fixed(network), parameters=parameters)
        assert_same_model(ours, theirs)


@pytest.mark.parametrize("parameters", [Softened(), FromRows()], ids=str)
def test_a_learner_of_the_users_own_works_by_itself(client, parameters, cut, make_table):
    table = make_table(6, N_ROWS, gaps=0.05)
    ours, theirs = fit_both(client, cut, table, structure="tan", parameters=parameters, missing="skip")
    assert_same_model(ours, theirs, 0.0)


@pytest.mark.parametrize("missing", ["category", "marginalize"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_table_of_categories_gives_the_model_of_memory(client, gaps, missing, cut, make_table):
    # `size` has more than 255 values, each in one partition; `shape` a declared order, and its last partition is empty.
    table = make_table(gaps=gaps)
    table["shape"] = table["shape"].mask(table.index >= 290).astype(pd.CategoricalDtype(["long", "round", "flat", "?"]))
    options = {"parameters": "frequency", "categorical_features": "all", "missing": missing}
    ours, theirs = fit_both(client, cut, table, name="TANClassifier", **options)
    assert ours.model_.states == theirs.model_.states
    assert_same_model(ours, theirs)


def test_a_class_in_one_partition_only_is_a_class(client, cut, table):
    ours, theirs = fit_both(client, cut, table.sort_values("outcome", kind="stable"), name="NaiveBayesClassifier")
    assert ours.classes_.tolist() == ["low", "mid", "top"]
    assert_same_model(ours, theirs)


def test_integers_of_different_widths_are_the_same_numbers(client, of_frames, table):
    narrow = table.iloc[:300].astype({"legs": np.int8})
    empty = table.iloc[300:310].assign(shape=None, size=np.nan)
    frames = [narrow, empty, table.iloc[310:]]
    ours = tanager.dask.TANClassifier(client, parameters="frequency").fit(of_frames(frames), "outcome")
    whole = table.assign(shape=table["shape"].mask(table.index.isin(empty.index)))
    whole.loc[empty.index, "size"] = np.nan
    theirs = tanager.TANClassifier(parameters="frequency").fit(whole.drop(columns="outcome"), whole["outcome"])
    assert_same_model(ours, theirs)


def test_rows_without_a_class_are_left_out_with_a_warning(client, cut, table):
    some = table.assign(outcome=table["outcome"].where(np.arange(len(table)) >= 200))
    with pytest.warns(DataWarning, match=r"missing in 200 of 600 rows"):
        fit_both(client, cut, some, name="NaiveBayesClassifier")


def test_a_weight_of_no_class_is_refused(client, cut, table):
    with pytest.raises(tanager.OptionError, match="names the class 'lo'"):
        tanager.dask.TANClassifier(client, class_weight={"lo": 2}).fit(cut(table, 100), "outcome")


def test_a_parquet_folder_is_taken_too(client, tmp_path, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    for number, part in enumerate([table.iloc[:100], table.iloc[100:]]):
        part.to_parquet(tmp_path / f"part{number}.parquet")
    by_path = tanager.dask.NaiveBayesClassifier(client).fit(tmp_path, "outcome")
    theirs = tanager.NaiveBayesClassifier().fit(X, y)
    assert_same_model(by_path, theirs)
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
    assert_same_model(local.partial_fit(X.iloc[400:], y.iloc[400:]), begun, 1e-12)


def test_tasks_have_names_that_a_dashboard_groups_by(client, cut, table):
    tanager.dask.TANClassifier(client, parameters=Conditional(strength=1.0)).fit(cut(table, 300), "outcome")
    names = set(client.cluster.scheduler.task_prefixes)
    assert {"tanager-statistics", "tanager-encode", "tanager-count", "tanager-pass"} <= names


def test_options_are_those_of_the_ordinary_classifier(client, cut, table):
    ours = tanager.dask.TANClassifier(client, criterion="bic", forest=True)
    assert ours.get_params()["criterion"] == "bic"
    assert ours.set_params(criterion="ll").get_params()["criterion"] == "ll"
    assert "forest=True" in repr(ours)
    with pytest.raises(TypeError, match="trees"):
        tanager.dask.TANClassifier(client, trees=3)
    with pytest.raises(OptionError, match="engine='torch' does not count on the workers"):
        tanager.dask.TANClassifier(client, engine="torch").fit(cut(table), "outcome")
