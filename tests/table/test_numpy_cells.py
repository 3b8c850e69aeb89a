"""Masked cells are missing cells wherever an array is taken; dates of NumPy mean the same in every unit and layout."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager import AdditiveClassifier, DataError, DataWarning, NaiveBayesClassifier, TANClassifier
from tanager.classifiers.calibration import calibration
from tanager.table import MDLPDiscretizer
from tanager.table.read_columns import read_columns

N_ROWS = 60
GENERATOR = np.random.default_rng(3)
X = GENERATOR.integers(0, 4, (N_ROWS, 2))
Y = (X.sum(axis=1) > 3).astype(int)
MASK = GENERATOR.random(X.shape) < 0.25
WITH_GAPS = np.where(MASK, np.nan, X)
HIDDEN = 77
"""The number below the mask, which nobody is to see."""


def masked(kind: str, mask: np.ndarray = MASK) -> np.ma.MaskedArray:
    return np.ma.array(np.where(mask, HIDDEN, X).astype(kind), mask=mask)


@pytest.mark.parametrize("kind", ["f8", "f4", "g", "i8", "i2", "u1", "O"])
@pytest.mark.parametrize("clf", [AdditiveClassifier(), NaiveBayesClassifier()], ids=["default", "naive Bayes"])
def test_a_masked_cell_is_a_missing_cell_in_fit_and_in_predict(kind, clf):
    expected = clf.fit(WITH_GAPS, Y).predict_proba(WITH_GAPS)
    np.testing.assert_array_equal(clf.predict_proba(masked(kind)), expected)
    np.testing.assert_array_equal(clf.fit(masked(kind), Y).predict_proba(WITH_GAPS), expected)


def test_rows_that_are_masked_arrays_keep_their_masks():
    table = read_columns(list(masked("f8")))
    np.testing.assert_array_equal(table.matrix, WITH_GAPS)


@pytest.mark.parametrize(
    ("cells", "gap"),
    [
        (np.array([True, False, True]), None),
        (np.array(["p", "q", "r"]), None),
        (np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]"), np.datetime64("NaT")),
        (np.array([1, 2, 3], dtype="m8[s]"), np.timedelta64("NaT")),
        (np.array([1, 2, 2**62 + 1]), None),
    ],
    ids=["booleans", "text", "dates", "durations", "integers beyond a float"],
)
def test_masked_cells_of_every_kind_are_missing(cells, gap):
    given = read_columns(np.ma.array(cells, mask=[False, True, False])[:, np.newaxis]).columns[0]
    plain = cells.astype(object) if gap is None else cells.copy()
    plain[1] = gap
    expected = read_columns(plain[:, np.newaxis]).columns[0]
    for attribute in ("values", "indices"):
        np.testing.assert_array_equal(getattr(given, attribute, None), getattr(expected, attribute, None))


def test_an_array_whose_mask_hides_nothing_is_its_numbers():
    clf = TANClassifier().fit(X, Y)
    given = np.ma.array(X)
    np.testing.assert_array_equal(clf.predict_proba(given), clf.predict_proba(X))
    assert read_columns(given).matrix.dtype == X.dtype


@pytest.mark.parametrize("labels", [Y, np.array(["no", "yes"])[Y], Y == 1], ids=["numbers", "text", "booleans"])
def test_a_masked_label_is_a_row_without_a_class(labels):
    hidden = MASK[:, 0]
    with pytest.warns(DataWarning, match=f"missing in {hidden.sum()} of {N_ROWS} rows"):
        found = NaiveBayesClassifier().fit(X, np.ma.array(labels, mask=hidden))
    expected = NaiveBayesClassifier().fit(X[~hidden], labels[~hidden])
    assert found.classes_.dtype == expected.classes_.dtype
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_a_masked_label_is_refused_where_every_row_needs_a_class():
    clf = NaiveBayesClassifier().fit(X, Y)
    with pytest.raises(DataError, match="not among the classes"):
        calibration(clf, X, np.ma.array(Y.astype(float), mask=MASK[:, 0]))


def test_a_masked_weight_is_refused_like_a_missing_one():
    weights = np.ma.array(np.ones(N_ROWS), mask=MASK[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        NaiveBayesClassifier().fit(X, Y, weights)


def test_the_discretizer_sees_no_masked_cell():
    expected = MDLPDiscretizer().fit(WITH_GAPS, Y)
    found = MDLPDiscretizer().fit(masked("f8"), Y)
    np.testing.assert_array_equal(found.transform(masked("f8")), expected.transform(WITH_GAPS))


def test_a_structured_array_is_refused_with_the_names_of_its_fields():
    with pytest.raises(DataError, match=r"structured array with the fields 'p', 'q'"):
        NaiveBayesClassifier().fit(np.zeros(4, dtype=[("p", "f8"), ("q", "i4")]), [0, 1, 0, 1])


NOTHING = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("nan")]


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda cell: f"{type(cell).__name__} {cell}")
@pytest.mark.parametrize("value", [1.5, 3, "p", True, datetime.date(2020, 1, 2)], ids=repr)
def test_whatever_stands_for_nothing_is_nothing_beside_any_kind_of_cell(value, nothing):
    (found,) = read_columns(np.array([[value], [nothing], [value]], dtype=object)).columns
    (expected,) = read_columns(np.array([[value], [None], [value]], dtype=object)).columns
    for attribute in ("values", "indices", "dictionary"):
        np.testing.assert_array_equal(getattr(found, attribute, None), getattr(expected, attribute, None))


@pytest.mark.parametrize("as_objects", [False, True], ids=["array", "objects"])
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_moments_of_numpy_are_microseconds_in_every_unit(kind, unit, as_objects):
    numbers = np.array([0, 7, 10**6 if unit in ("ns", "ps") else 100])
    cells = np.append(numbers.astype(f"{kind}[{unit}]"), np.array("NaT", kind))
    table = np.array([[cell] for cell in cells], dtype=object) if as_objects else cells[:, np.newaxis]
    (column,) = read_columns(table).columns
    expected = cells[:3].astype(f"{kind}[us]").astype(float)
    np.testing.assert_array_equal(column.values, [*expected, np.nan])


@pytest.mark.parametrize(
    "table",
    [
        np.array([[10**7], [1]], dtype="M8[Y]"),
        np.array([[10**17], [1]], dtype="M8[s]"),
        np.array([[10**16], [1]], dtype="m8[h]"),
        pa.table({"x0": pa.array([2**31 - 1, 1], pa.date32())}),
        pl.DataFrame({"x0": pl.Series([2**31 - 1, 1]).cast(pl.Int32).cast(pl.Date)}),
    ],
    ids=["years", "seconds", "hours", "days of Arrow", "days of polars"],
)
def test_moments_that_microseconds_cannot_hold_are_refused(table):
    with pytest.raises(DataError, match="'x0' holds a date or duration of more than"):
        read_columns(table)


def test_moments_without_a_unit_are_refused():
    with pytest.raises(DataError, match="no unit"):
        read_columns(np.array([[1], [2]]).astype("m8"))


def test_a_date_beyond_the_calendar_is_cut_but_can_be_no_category():
    dates = np.array([["20000-01-01"], ["1970-01-01"]] * 6, dtype="M8[D]")
    labels = [1, 0] * 6
    np.testing.assert_array_equal(NaiveBayesClassifier().fit(dates, labels).predict(dates), labels)
    with pytest.raises(DataError, match="a date of year 20000 can be no category"):
        NaiveBayesClassifier(categorical_features="all").fit(dates, labels)
