"""An export is equal to predict_proba, run by the engine it is for: 1e-12, raw values in, gaps and all."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.studies.data_sets import find_data_sets
from export.engines import ENGINES
from export.made_models import effects_model, made_rows, tables_model
from files.mixed_table import CATEGORICAL, LABELS, MIXED
from report.models import class_with_parents, table, with_hidden_node
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    DataWarning,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
)
from tanager.classifiers.base import encode_table
from tanager.decide import CostDecision, ThresholdDecision

TOLERANCE = 1e-12
DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[3] / "shared" / "data"))
EVERY_SET = bool(os.environ.get("TANAGER_EVERY_SET"))
"""What `make test-exports` asks for."""

MODELS = {
    "naive Bayes": lambda: NaiveBayesClassifier(),
    "TAN of frequencies": lambda: TANClassifier(parameters="frequency"),
    "TAN with gaps skipped": lambda: TANClassifier(missing="skip"),
    "KDB": lambda: BayesianNetworkClassifier("kdb", parameters="frequency"),
    "AODE": lambda: BayesianNetworkClassifier("aode", parameters="frequency"),
    "gaps as states": lambda: NaiveBayesClassifier(missing="category"),
    "effects of order 2": lambda: AdditiveClassifier(trees=False),
    "the default": lambda: AdditiveClassifier(),
}
SETS = {
    "iris": "the default",
    "glass": "TAN of frequencies",
    "crx": "the default",
    "hepatitis": "TAN of frequencies",
    "heart-hungarian": "gaps as states",
    "lymphography": "KDB",
    "soybean-large": "naive Bayes",
    "audiology": "naive Bayes",
    "car": "TAN with gaps skipped",
    "mushroom": "TAN with gaps skipped",
    "anneal": "gaps as states",
    "promoters": "TAN of frequencies",
    "ecoli": "the default",
    "breast-cancer": "AODE",
}


def with_gaps(rows: pa.Table, share: float, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)

    def drop(column: pa.ChunkedArray) -> pa.Array:
        gaps = rng.random(len(column)) < share
        cells = [None if gap else cell for cell, gap in zip(column.to_pylist(), gaps, strict=True)]
        return pa.array(cells, type=column.type)

    return pa.table([drop(column) for column in rows.columns], names=rows.column_names)


def check(engine, clf: BayesianNetworkClassifier, rows: pa.Table, folder: Path) -> None:
    """Equal on all rows; where the language cannot express the rule, equal on those it does not refuse."""
    with np.errstate(invalid="ignore"):  # a row that is impossible under every class has no probabilities
        expected = clf.predict_proba(rows)
    try:
        shares = engine(clf, rows, folder)
    except OptionError:
        shares = engine(clf, rows, folder, missing="refuse")
        refused = np.isnan(shares).all(axis=1)
        has_unknown = clf.missing_rule_.has_unknown(encode_table(clf, rows)[1])
        assert not refused[~has_unknown].any()
        shares, expected = shares[~refused], expected[~refused]
        assert len(shares) or has_unknown.all()
    np.testing.assert_allclose(shares, expected, rtol=0, atol=TOLERANCE)


def sets_to_test() -> list:
    """With `--dist loadgroup` all engines of a set run beside each other, so that its model is fitted once."""
    names = [one.name for one in find_data_sets(DATA)] if EVERY_SET and DATA.is_dir() else list(SETS)
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no benchmark tables in {DATA}; set TANAGER_DATA")
@pytest.mark.parametrize("name", sets_to_test())
def test_an_export_is_equal_to_predict_proba_on_benchmark_sets(name, engine, tmp_path):
    X, y = fitted_rows(name)
    clf = fitted(SETS.get(name, "the default"), name, X, y)
    rows = X.slice(0, 40)
    check(engine, clf, pa.concat_tables([rows, with_gaps(rows, 0.1)]), tmp_path)


@cache
def fitted_rows(name: str) -> tuple[pa.Table, np.ndarray]:
    (data,) = (one for one in find_data_sets(DATA) if one.name == name)
    X, y = data.read()
    chosen = np.sort(np.random.default_rng(1).permutation(len(y))[:300])
    return X.take(chosen), np.asarray(y)[chosen]


FITTED: dict[tuple[str, str], BayesianNetworkClassifier] = {}


def fitted(kind: str, name: str, X: pa.Table, y: np.ndarray) -> BayesianNetworkClassifier:
    if (kind, name) not in FITTED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # some columns of some sets hold no value
            FITTED[kind, name] = MODELS[kind]().fit(X, y)
    return FITTED[kind, name]


@pytest.mark.parametrize("kind", MODELS)
def test_numbers_texts_dates_times_and_flags_are_read_as_python_reads_them(kind, engine, tmp_path):
    clf = MODELS[kind]().set_params(categorical_features=CATEGORICAL)
    clf.fit(with_gaps(MIXED, 0.1) if "states" in kind else MIXED, LABELS)
    check(engine, clf, pa.concat_tables([MIXED.slice(0, 20), with_gaps(MIXED, 0.2)]), tmp_path)


def test_a_class_with_parents_is_carried(engine, tmp_path):
    rows = pa.Table.from_pandas(table(4)[0].head(30))
    check(engine, class_with_parents(), pa.concat_tables([rows, with_gaps(rows, 0.2)]), tmp_path)


def test_a_hidden_node_is_summed_out(tmp_path):
    rows = pa.Table.from_pandas(table(4)[0][list("abde")].head(30))
    for name in ("python", "node", "gcc"):
        check(ENGINES[name], with_hidden_node(), pa.concat_tables([rows, with_gaps(rows, 0.2)]), tmp_path)


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
def test_what_the_model_decides_for_is_the_class_given(rule, engine, tmp_path):
    """The engines compare the class with the decision about the probabilities."""
    clf, table = deciding_model(rule)
    np.testing.assert_allclose(engine(clf, table, tmp_path), clf.predict_proba(table), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", MADE)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_names_and_cut_points_at_the_edges_are_carried(kind, seed, engine, tmp_path):
    clf = MADE[kind](seed)
    check(engine, clf, made_rows(clf, seed), tmp_path)
