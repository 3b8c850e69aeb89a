"""An export is equal to predict_proba, run by the engine it is for: 1e-12, raw values in, gaps and all."""

from __future__ import annotations

import datetime
import math
import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.studies.data_sets import find_data_sets
from export.engines import ENGINES
from export.made_models import classifier_of, effects_model, made_rows, tables_model
from files.mixed_table import CATEGORICAL, LABELS, MIXED
from report.models import class_with_parents, table
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    DataError,
    DataWarning,
    NaiveBayesClassifier,
    TANClassifier,
)
from tanager.additive import AdditiveModel
from tanager.classifiers.base import encode_table
from tanager.decide import CostDecision, ThresholdDecision
from tanager.export.program import Program
from tanager.table.schema import ColumnSchema

TOLERANCE = 1e-12
DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[3] / "shared" / "data"))
EVERY_SET = bool(os.environ.get("TANAGER_EVERY_SET"))
"""What `make test-exports` asks for."""

MODELS = {
    "naive Bayes": lambda: NaiveBayesClassifier(),
    "TAN of frequencies": lambda: TANClassifier(parameters="frequency"),
    "TAN with gaps skipped": lambda: TANClassifier(missing="skip"),
    "KDB": lambda: BayesianNetworkClassifier("kdb", parameters="frequency"),
    "gaps as states": lambda: NaiveBayesClassifier(missing="category"),
    "effects of order 2": lambda: AdditiveClassifier(trees=False),
    "the default": lambda: AdditiveClassifier(),
    "the default with missing states": lambda: AdditiveClassifier(),
}
SETS = {
    "iris": "the default",
    "crx": "the default",
    "hepatitis": "TAN of frequencies",
    "heart-hungarian": "gaps as states",
    "lymphography": "KDB",
    "audiology": "naive Bayes",
    "mushroom": "TAN with gaps skipped",
}


def with_gaps(rows: pa.Table, share: float, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)

    def drop(column: pa.ChunkedArray) -> pa.Array:
        gaps = rng.random(len(column)) < share
        cells = [None if gap else cell for cell, gap in zip(column.to_pylist(), gaps, strict=True)]
        return pa.array(cells, type=column.type)

    return pa.table([drop(column) for column in rows.columns], names=rows.column_names)


def check(engine, clf: BayesianNetworkClassifier, rows: pa.Table, folder: Path) -> np.ndarray:
    """Equal on all rows; where the language cannot express the rule, on all without an unknown cell.

    A missing cell of a column with missing cells in training is no unknown cell.
    """
    with np.errstate(invalid="ignore"):  # a row that is impossible under every class has no probabilities
        expected = clf.predict_proba(rows)
    shares = engine(clf, rows, folder)
    refused = np.isnan(shares).all(axis=1) & ~np.isnan(expected).all(axis=1)
    any_rule = engine in (ENGINES["python"], ENGINES["node"]) or Program.of(clf).missing_rule == "looked up"
    assert not refused[~clf.missing_rule_.has_unknown(encode_table(clf, rows)[1]) | any_rule].any()
    np.testing.assert_allclose(shares[~refused], expected[~refused], rtol=0, atol=TOLERANCE)
    return refused


def sets_to_test() -> list:
    """With `--dist loadgroup` all engines of a set run beside each other, so that its model is fitted once."""
    names = [one.name for one in find_data_sets(DATA)] if EVERY_SET and DATA.is_dir() else list(SETS)
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no benchmark tables in {DATA}; set TANAGER_DATA")
@pytest.mark.parametrize("name", sets_to_test())
def test_an_export_is_equal_to_predict_proba_on_benchmark_sets(name, engine, tmp_path):
    clf = fitted(SETS.get(name, "the default"), name)
    rows = fitted_rows(name)[0].slice(0, 40)
    check(engine, clf, pa.concat_tables([rows, with_gaps(rows, 0.1)]), tmp_path)


@cache
def fitted_rows(name: str) -> tuple[pa.Table, np.ndarray]:
    (data,) = (one for one in find_data_sets(DATA) if one.name == name)
    X, y = data.read()
    chosen = np.sort(np.random.default_rng(1).permutation(len(y))[:300])
    return X.take(chosen), np.asarray(y)[chosen]


@cache
def fitted(kind: str, name: str) -> BayesianNetworkClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some columns of some sets hold no value
        return MODELS[kind]().fit(*fitted_rows(name))


@cache
def fitted_to_mixed(kind: str) -> BayesianNetworkClassifier:
    clf = MODELS[kind]().set_params(categorical_features=CATEGORICAL)
    return clf.fit(with_gaps(MIXED, 0.1) if "states" in kind else MIXED, LABELS)


@pytest.mark.parametrize("kind", MODELS)
def test_numbers_texts_dates_times_and_flags_are_read_as_python_reads_them(kind, engine, tmp_path):
    clf = fitted_to_mixed(kind)
    rows = pa.concat_tables([MIXED.slice(0, 20), with_gaps(MIXED, 0.2)])
    refused = check(engine, clf, rows, tmp_path)
    if "states" in kind:
        assert not refused.any()  # every column has a missing cell in training


NUMBERS = {
    pa.int64(): [-(2**63), 2**63 - 1, 2**53 + 1, 2**53 + 3, -(2**53) - 1, 0, None],
    pa.float64(): [-sys.float_info.max, sys.float_info.max, 5e-324, -5e-324, -0.0, 0.0, math.nan],
}


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_numbers_at_the_ends_of_their_types_are_read_as_python_reads_them(kind, engine, tmp_path):
    values = NUMBERS[kind]
    cuts = tuple(sorted(float(value) for value in values[:-1] if value not in (-0.0, None)))
    column = ColumnSchema("x", "numeric", cuts=cuts)
    mains = np.arange(2.0 * (len(cuts) + 2)).reshape(-1, 2) ** 2 / 50
    target = ColumnSchema("class", "categorical", ("no", "yes"))
    model = AdditiveModel((column, target), np.zeros(2), (mains,), (), (), (np.ones(len(cuts) + 1) / (len(cuts) + 1),))
    check(engine, classifier_of(model), pa.table({"x": pa.array(values, kind)}), tmp_path)


@pytest.mark.parametrize("kind", ["naive Bayes", "the default"])
def test_infinity_refuses_the_row_as_predict_does(kind, engine, tmp_path):
    rows = MIXED.slice(0, 3).set_column(0, "number", pa.array([math.inf, -math.inf, 1.0]))
    with pytest.raises(DataError, match="infinity"):
        fitted_to_mixed(kind).predict_proba(rows)
    assert np.isnan(engine(fitted_to_mixed(kind), rows, tmp_path)).all(axis=1).tolist() == [True, True, False]


DAY = datetime.datetime(2024, 1, 1)
DRIFT = {
    "numbers": [float(k) for k in range(20)],
    "booleans": [k % 2 == 0 for k in range(20)],
    "text": ["abc"[k % 3] for k in range(20)],
    "dates": [(DAY + k * datetime.timedelta(1)).date() for k in range(20)],
    "times": [DAY + k * datetime.timedelta(0, 1) for k in range(20)],
    "zoned times": [(DAY + k * datetime.timedelta(0, 1)).replace(tzinfo=datetime.UTC) for k in range(20)],
    "durations": [k * datetime.timedelta(0, 1) for k in range(20)],
}


@pytest.mark.parametrize("name", ["python", "node", "duckdb"])
@pytest.mark.parametrize("learnt", DRIFT)
def test_a_column_of_another_type_is_answered_as_python_answers_it_or_not_at_all(learnt, name, tmp_path):
    """In JavaScript and SQL durations are numbers; a date in JSON is text."""
    kinds = [kind for kind in DRIFT if name == "python" or kind != "durations"]
    if (name, learnt) == ("node", "text"):
        kinds = ["numbers", "booleans", "text"]
    clf = NaiveBayesClassifier().fit(pa.table({"x": DRIFT[learnt], "z": DRIFT["numbers"]}), ["no", "yes"] * 10)
    for given_kind in kinds if learnt in kinds else ():
        rows = pa.table({"x": DRIFT[given_kind], "z": DRIFT["numbers"]})
        try:
            expected = clf.predict_proba(rows)
        except DataError:
            expected = None
        if expected is not None:
            np.testing.assert_allclose(ENGINES[name](clf, rows, tmp_path), expected, rtol=0, atol=TOLERANCE)
            continue
        found = np.array(np.nan)
        with suppress(Exception):
            found = ENGINES[name](clf, rows, tmp_path)
        assert np.isnan(found).all(), given_kind


def test_a_table_without_a_column_is_an_error_and_no_answer(engine, tmp_path):
    if engine is ENGINES["gcc"]:
        pytest.skip("a C compiler sets a field that is left out to zero")
    table = pa.table({"size": [1.0, 2.0, 5.0, 6.0] * 5, "hue": ["a", "b", "a", "c"] * 5, "k0": ["u", "v"] * 10})
    clf = NaiveBayesClassifier().fit(table, ["no", "no", "yes", "yes"] * 5)
    for name in table.column_names:
        with pytest.raises(Exception, match=name):
            engine(clf, table.slice(0, 4).drop_columns([name]), tmp_path)


def test_a_class_with_parents_is_carried(engine, tmp_path):
    rows = pa.Table.from_pandas(table(4)[0].head(30))
    check(engine, class_with_parents(), pa.concat_tables([rows, with_gaps(rows, 0.2)]), tmp_path)


MADE = {
    "effects": effects_model,
    "trees": lambda seed: effects_model(seed, trees=True),
    "naive Bayes": lambda seed: tables_model(seed, max_parents=0),
    "TAN": tables_model,
    "two parents": lambda seed: tables_model(seed, max_parents=2),
    "skipped": lambda seed: tables_model(seed, missing="skip"),
    "zeros": lambda seed: tables_model(seed, max_parents=0, zeros=True),
}


RULES = {
    "costs": CostDecision(("a", "b", "c"), ((0.0, 1.0, 2.0), (6.0, 0.0, 1.0), (0.5, 3.0, 0.0))),
    "a person": CostDecision(("a", "b", "c"), ((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0)), 0.4),
    "a threshold": ThresholdDecision(("a", "b", "c"), "b", 0.2),
}


def deciding_model(rule: str) -> tuple[BayesianNetworkClassifier, pa.Table]:
    """A model of three classes that often decides for another than the most probable one, and its rows."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=90), "kind": rng.choice(["red", "blue", "green"], 90)})
    y = np.where(rng.random(90) < 0.6, rng.choice(list("abc"), 90), np.where(np.array(table["x"]) > 0, "a", "c"))
    clf = NaiveBayesClassifier().fit(table, y)
    clf.decision_ = RULES[rule]
    most_probable = clf.classes_[clf.predict_proba(table).argmax(axis=1)]
    assert (clf.predict(table) != most_probable).mean() > 0.1
    return clf, table


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["python", "node", "sqlite", "duckdb"])
def test_what_the_model_decides_for_is_the_class_given(rule, name, tmp_path):
    """The engines compare the class with the decision about the probabilities."""
    clf, table = deciding_model(rule)
    engine = ENGINES[name]
    np.testing.assert_allclose(engine(clf, table, tmp_path), clf.predict_proba(table), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", MADE)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_names_and_cut_points_at_the_edges_are_carried(kind, seed, engine, tmp_path):
    clf = MADE[kind](seed)
    check(engine, clf, made_rows(clf, seed), tmp_path)
