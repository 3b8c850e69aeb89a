"""Laws of every kind of interval."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit
from sklearn.base import clone

from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    DataError,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
    load_model,
    save_model,
)
from tanager.uncertainty.reference import BLOCK_ROWS, MAX_ROWS_TO_FIT


def numbers_and_letters(n_rows: int, seed: int, n_classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"b": rng.normal(size=n_rows), "a": rng.choice(list("xyz"), n_rows), "c": rng.normal(size=n_rows)})
    odds = 1.5 * X["b"].to_numpy() + (X["a"] == "x").to_numpy() - 0.5
    y = (rng.random(n_rows) < expit(odds)).astype(int)
    if n_classes == 3:
        y = y + ((X["c"] > 0.5).to_numpy() & (rng.random(n_rows) < 0.8)) * 1
    return X, np.array(["no", "yes", "maybe"])[y]


KINDS = [
    (AdditiveClassifier(), "auto"),
    (AdditiveClassifier(trees=False, missing="average"), "reference"),
    (TANClassifier(), "auto"),
    (TANClassifier(parameters="frequency"), "auto"),
    (NaiveBayesClassifier(), "auto"),
    (BayesianNetworkClassifier(structure="aode", parameters="frequency"), "auto"),
    (BayesianNetworkClassifier("kdb", parameters="frequency"), "dirichlet"),
]
NAMES = [f"{clf}-{method}" for clf, method in KINDS]


def with_gaps(X):
    X = X.head(40).copy()
    X.loc[1, "b"] = np.nan
    X.loc[2, ["a", "c"]] = None
    X.loc[3] = [np.nan, None, np.nan]
    X.loc[4, "a"] = "never seen"
    return X


@pytest.mark.parametrize(("clf", "method"), KINDS, ids=NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_ends_are_ordered_hold_the_point_and_grow_with_the_level_whatever_is_missing(clf, method, n_classes):
    X, y = numbers_and_letters(90, 0, n_classes)
    clf = clone(clf).fit(X, y).prepare_intervals(X, y, method=method)
    rows, kind = with_gaps(X), clf.posterior_.kind
    found, wider = clf.predict_interval(rows), clf.predict_interval(rows, level=0.99)
    p = clf.predict_proba(rows)
    assert found.lower.shape == p.shape
    ends = [0.0 * p, wider.lower, found.lower, found.median, found.upper, wider.upper, 0.0 * p + 1.0]
    assert (np.diff(ends, axis=0) >= 0.0).all()
    assert (found.lower <= p + 1e-12).all()
    assert (p <= found.upper + 1e-12).all()
    if kind != "dirichlet":
        np.testing.assert_allclose(found.median, p, atol=1e-12)
    if n_classes == 2:
        np.testing.assert_allclose(found.lower[:, 0], 1.0 - found.upper[:, 1], atol=1e-9)


@pytest.mark.parametrize(("clf", "method"), KINDS[:4], ids=NAMES[:4])
def test_intervals_do_not_depend_on_order_of_rows_or_columns_threads_or_engine(clf, method):
    X, y = numbers_and_letters(80, 1)
    rows = with_gaps(X)
    wanted = clone(clf).fit(X, y).prepare_intervals(X, y, method=method).predict_interval(rows)
    order = np.random.default_rng(0).permutation(len(X))
    other = clone(clf).set_params(n_jobs=1).fit(X, y)
    other.prepare_intervals(X.iloc[order], y[order], method=method)
    np.testing.assert_allclose(other.predict_interval(rows).lower, wanted.lower, atol=1e-9)
    turned = X[X.columns[::-1]]
    engine = {} if isinstance(clf, AdditiveClassifier) else {"engine": "numpy"}
    other = clone(clf).set_params(n_jobs=2, **engine).fit(turned, y)
    other.prepare_intervals(turned, y, method=method)
    np.testing.assert_allclose(other.predict_interval(rows[turned.columns]).upper, wanted.upper, atol=1e-9)


@pytest.mark.parametrize("method", ["reference", "dirichlet"])
def test_nor_do_they_on_more_rows_than_a_block_or_a_fit_takes(method):
    X, y = numbers_and_letters(2 * MAX_ROWS_TO_FIT + 7, 1)
    assert len(X) > 2 * BLOCK_ROWS
    one = NaiveBayesClassifier(n_jobs=1).fit(X, y).prepare_intervals(X, y, method=method)
    order = np.random.default_rng(0).permutation(len(X))
    turned = X[X.columns[::-1]].iloc[order]
    other = NaiveBayesClassifier(n_jobs=2).fit(turned, y[order])
    other.prepare_intervals(turned, y[order], method=method)
    wanted, found = one.predict_interval(X), other.predict_interval(X[turned.columns])
    assert np.mean(wanted.upper - wanted.lower) > 1e-3
    np.testing.assert_allclose(found.lower, wanted.lower, atol=1e-9)
    np.testing.assert_allclose(found.upper, wanted.upper, atol=1e-9)


@pytest.mark.parametrize(("clf", "method"), [KINDS[0], KINDS[3]], ids=["reference", "dirichlet"])
def test_a_model_learnt_from_a_stream_is_as_sure_as_that_of_memory(clf, method):
    X, y = numbers_and_letters(150, 5)
    rows = with_gaps(X)
    wanted = clone(clf).fit(X, y).prepare_intervals(X, y, method=method).predict_interval(rows)
    batches = pa.Table.from_pandas(X.assign(outcome=y), preserve_index=False).to_batches(max_chunksize=40)
    streamed = clone(clf).fit(iter(batches), "outcome")
    found = streamed.prepare_intervals(X, y, method=method).predict_interval(rows)
    np.testing.assert_allclose(found.lower, wanted.lower, atol=1e-6)
    np.testing.assert_allclose(found.upper, wanted.upper, atol=1e-6)
    with pytest.raises(DataError, match="rows in memory"):
        streamed.prepare_intervals(iter(batches), "outcome", method=method)


@pytest.mark.parametrize(("clf", "method"), [KINDS[0], KINDS[4]], ids=["reference", "dirichlet"])
def test_fewer_rows_mean_wider_intervals_in_the_mean_over_tables(clf, method):
    widths = np.zeros((3, 2))
    for seed in range(3):
        X, y = numbers_and_letters(450, seed)
        for k, n_rows in enumerate((75, 450)):
            fitted = clone(clf).fit(X[:n_rows], y[:n_rows]).prepare_intervals(X[:n_rows], y[:n_rows], method=method)
            found = fitted.predict_interval(X)
            widths[seed, k] = np.mean(found.upper - found.lower)
    assert widths[:, 0].mean() > 1.3 * widths[:, 1].mean()


def sparse_table():
    """A class that 20 columns tell nearly, 70 % of whose cells are missing."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=300, p=[0.7, 0.25, 0.05])
    X = pd.DataFrame(
        {f"x{k}": np.where(rng.random(300) < 0.9, (y + k) % 3, rng.integers(3, size=300)) for k in range(20)}
    )
    return X.astype(str).mask(rng.random(X.shape) < 0.7), y


@pytest.mark.parametrize("clf", [AdditiveClassifier(), AdditiveClassifier(missing="average"), TANClassifier()], ids=str)
@pytest.mark.parametrize("make", [lambda: numbers_and_letters(400, 2, 3), sparse_table], ids=["few", "many missing"])
def test_with_no_cell_known_the_interval_is_that_of_the_class_frequency(clf, make):
    X, y = make()
    clf = clone(clf).fit(X, y).prepare_intervals(X, y)
    unknown = np.array([clf.model_.n_states[:-1]])
    logs = clf.missing_rule_.log_posterior(unknown)
    found = clf.posterior_.interval(unknown, logs, 0.9, clf.missing_rule_, len(y))
    shares = clf.class_count_ / clf.class_count_.sum()
    deviations = np.sqrt(shares * (1.0 - shares) / len(y))
    assert (found.lower[0] < shares).all()
    assert (shares < found.upper[0]).all()
    widths = (found.upper - found.lower)[0] / (3.29 * deviations)
    assert (widths < 1.1).all()
    assert (widths > 0.9).all()


def test_intervals_of_noise_hold_the_base_rate():
    rng = np.random.default_rng(0)
    X, _ = numbers_and_letters(600, 3)
    y = rng.integers(2, size=600)
    clf = AdditiveClassifier().fit(X, y).prepare_intervals(X, y)
    found = clf.predict_interval(X)
    assert np.mean((found.lower[:, 1] < 0.5) & (found.upper[:, 1] > 0.5)) > 0.9
    assert np.mean(found.upper - found.lower) < 0.45


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = numbers_and_letters(120, 4)
    weights = 1.0 + (np.arange(120) % 2)
    twice = np.repeat(np.arange(120), weights.astype(int))
    for clf, method in (KINDS[0], KINDS[4]):
        fitted = clone(clf).fit(X, y)
        one = fitted.prepare_intervals(X, y, weights, method=method).predict_interval(X).lower
        other = fitted.prepare_intervals(X.iloc[twice], y[twice], method=method).predict_interval(X).lower
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(("clf", "method"), [KINDS[0], KINDS[3]], ids=["reference", "dirichlet"])
def test_a_model_file_keeps_intervals(clf, method, tmp_path):
    X, y = numbers_and_letters(150, 5)
    clf = clone(clf).fit(X, y).prepare_intervals(X, y, method=method)
    save_model(clf, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json").predict_interval(with_gaps(X))
    np.testing.assert_allclose(found.lower, clf.predict_interval(with_gaps(X)).lower, atol=1e-12)


def test_what_cannot_be_had_is_refused_and_says_what_to_do():
    X, y = numbers_and_letters(120, 6)
    clf = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(AttributeError, match="prepare_intervals"):
        clf.predict_interval(X)
    with pytest.raises(OptionError, match="method='laplce'"):
        clf.prepare_intervals(X, y, method="laplce")
    with pytest.raises(OptionError, match="method='reference'"):
        clf.prepare_intervals(X, y, method="bootstrap")
    clf.prepare_intervals(X, y)
    for level in (90, 0, 1 - 1e-16, float("nan"), True, "0.9", None, [0.9]):
        with pytest.raises(OptionError, match=rf"level={re.escape(repr(level))} of an interval"):
            clf.predict_interval(X, level=level)
    with pytest.raises(DataError, match="batch by batch"):
        clf.prepare_intervals(iter([X]), "class")
    dfe = TANClassifier(parameters="dfe").fit(X, y)
    with pytest.raises(OptionError, match="method='dirichlet' is not defined"):
        dfe.prepare_intervals(X, y, method="dirichlet")
    assert dfe.prepare_intervals(X, y).posterior_.kind == "reference"
    assert clf.fit(X, y).posterior_ is None
