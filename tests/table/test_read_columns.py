"""Frames and arrays of every kind give the same columns; cells that no column can hold are one clear error."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from tanager import DataError, NaiveBayesClassifier, TANClassifier
from tanager.files.model_file import load_model, save_model
from tanager.table import MDLPDiscretizer
from tanager.table.columns import DictionaryColumn
from tanager.table.read_columns import read_columns, to_arrow

CELLS = {
    "text": ["a", None, "b", "a"],
    "flag": [True, False, None, True],
    "whole": [3, 1, 2, 3],
    "gappy": [3, None, 2, 3],
    "real": [0.5, None, 1.5, -2.0],
    "day": [datetime.date(2020, 1, 2), None, datetime.date(1969, 12, 31), datetime.date(2020, 1, 2)],
}


def cells(column):
    """A column as plain Python cells, None where missing."""
    if isinstance(column, DictionaryColumn):
        return [None if k < 0 else column.dictionary[k] for k in column.indices]
    return [None if value != value else value for value in column.values.tolist()]


def test_a_list_of_rows_keeps_numbers_beside_text_as_numbers():
    text, number = read_columns([["a", 1], ["b", 2.5], [None, None]]).columns
    assert cells(text) == ["a", "b", None]
    assert cells(number) == [1, 2.5, None]


def test_dates_times_and_durations_are_microseconds():
    t = pd.to_datetime(["1970-01-01T00:00:01", "2000-01-01T00:00:00"])
    moments = pd.DataFrame({"t": t, "d": pd.to_timedelta([1, 2], "s")})
    t, d = read_columns(moments).columns
    assert (t.unit, d.unit) == ("datetime", "duration")
    assert t.values.tolist() == [1_000_000, 946_684_800_000_000]
    assert d.values.tolist() == [1_000_000, 2_000_000]


def test_a_numeric_array_is_not_copied():
    X = np.arange(12).reshape(4, 3)
    assert np.shares_memory(read_columns(X).columns[2].values, X)


def test_taking_rows_takes_them_from_every_column():
    kept = np.array([True, False, False, True])
    for table in (read_columns(pa.table(CELLS)), read_columns(np.arange(8.0).reshape(4, 2))):
        some = table.take(kept)
        assert some.n_rows == 2
        for before, after in zip(table.columns, some.columns, strict=True):
            assert cells(after) == [cells(before)[0], cells(before)[3]]


LONE = "x\ud800"


def dictionary(indices: list[int], values: list) -> pa.Table:
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(values))})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1, "x"]}), r"column 'a' mixes numbers \(1, row 0\) and text \('x', row 1\)"),
        (np.array([[1, True], ["b", 2]], dtype=object), r"column 'x0' mixes numbers"),
        (pd.DataFrame({"a": [1.0, np.inf]}), r"column 'a' contains infinity \(inf, in row 1\)"),
        (np.array([[1.0, 2.0], [np.nan, -np.inf]]), r"column 'x1' contains infinity \(-inf, in row 1\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'|two columns of the same name"),
        (pd.DataFrame({"a": []}), "the table has no rows"),
        ([], "the table has no rows"),
        (pd.DataFrame(index=[0, 1]), r"no column"),
        (pa.table({"a": [[1], [2]]}), r"column 'a' holds list<.*> cells"),
        (np.empty((0, 3)), "the table has no rows"),
        (np.arange(3.0), "Reshape your data"),
        (np.array([["a"], [{}]], dtype=object), r"column 'x0' holds a dict in row 1; .*must be a string or a number"),
        (np.array([[1], [2]]).astype("m8"), "no unit"),
        (np.zeros(4, dtype=[("p", "f8"), ("q", "i4")]), r"structured array with the fields 'p', 'q'"),
        (sparse.csr_array(np.eye(2)), r"the table is a sparse csr_array; dense data is required.\nHint: X.toarray()"),
        (sparse.dok_matrix(np.eye(2)), "sparse dok_matrix"),
        (np.eye(2) * 1j, "the table holds complex numbers"),
        (pd.DataFrame({"a": [1j, 2.0]}), "column 'a' holds numbers in row 0 that cannot be kept: .*1j"),
        (pl.DataFrame({"a\0": ["u", "v"]}), "column 'a.x00' of the polars frame has a NUL in its name"),
        (np.array([[10**30], [1]] * 6, dtype=object), "cannot be kept: 10000"),
        (pd.DataFrame({"a": pd.Categorical([10**30, 1] * 6)}), "cannot be kept: 10000"),
        (pl.DataFrame({"a": [{"x\0": 1}] * 6}), "column 'a' holds Struct"),
        (np.array([["1e4000"], ["1"]] * 6).astype(np.longdouble), "contains infinity"),
        (pd.DataFrame({"a": [Decimal("Infinity"), Decimal(1)] * 6}), "cannot be kept"),
        (np.array([[LONE], ["y"]] * 6, dtype=object), "cannot be kept: 'x"),
        (pd.DataFrame({"a": [pd.NA, np.array([1, 2])] * 6}), "list<"),
        (pd.DataFrame({"a": ["x", np.array([1, 2]), pd.NA] * 4}), "ndarray in row 1"),
        (dictionary([0, 1] * 6, [[1], [2]]), "dictionary<values=list"),
        (dictionary([0, 1] * 6, [Decimal(1), Decimal(2)]), "dictionary<values=decimal"),
        ({"a": [1, 2] * 6}, "the table is a dict"),
        (dictionary([0, 1] * 6, [1.0, np.inf]), "infinity among its categories"),
    ],
)
def test_bad_tables_get_one_clear_message(table, message):
    with pytest.raises((TypeError, ValueError) if message[0] in "R[" else DataError, match=message):
        read_columns(table)


@pytest.mark.parametrize("place", ["X", "rows of X", "y", "sample_weight"])
@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), MDLPDiscretizer()], ids=["classifier", "discretizer"])
def test_a_masked_array_is_refused_with_a_way_to_fill_it(estimator, place):
    X, ones = np.arange(12.0).reshape(6, 2), np.ones(6)
    y = ones * [0, 1, 0, 1, 0, 1]
    masked = {"X": np.ma.array(X, mask=X > 9), "rows of X": [np.ma.array(row, mask=row > 9) for row in X]}
    X, y, weights = masked.get(place, X), np.ma.array(y) if place == "y" else y, ones
    weights = np.ma.array(ones) if place == "sample_weight" else ones
    with pytest.raises(DataError, match=r"is a masked array(.|\n)*filled\(numpy.nan\)"):
        estimator.fit(X, y, weights)


NOTHING = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("nan")]


@pytest.mark.parametrize("nothing", NOTHING, ids=lambda cell: f"{type(cell).__name__} {cell}")
@pytest.mark.parametrize("value", [1.5, 3, "p", True, datetime.date(2020, 1, 2)], ids=repr)
def test_whatever_stands_for_nothing_is_nothing_beside_any_kind_of_cell(value, nothing):
    (found,) = read_columns(np.array([[value], [nothing], [value]], dtype=object)).columns
    (expected,) = read_columns(np.array([[value], [None], [value]], dtype=object)).columns
    for attribute in ("values", "indices", "dictionary"):
        np.testing.assert_array_equal(getattr(found, attribute, None), getattr(expected, attribute, None))


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_moments_of_numpy_are_microseconds_in_every_unit(kind, unit):
    numbers = np.array([0, 7, 10**6 if unit in ("ns", "ps") else 100])
    cells = np.append(numbers.astype(f"{kind}[{unit}]"), np.array("NaT", kind))
    (column,) = read_columns(cells[:, np.newaxis]).columns
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


def test_a_date_beyond_the_calendar_is_cut_but_can_be_no_category():
    dates = np.array([["20000-01-01"], ["1970-01-01"]] * 6, dtype="M8[D]")
    labels = [1, 0] * 6
    np.testing.assert_array_equal(NaiveBayesClassifier().fit(dates, labels).predict(dates), labels)
    with pytest.raises(DataError, match="a date of year 20000 can be no category"):
        NaiveBayesClassifier(categorical_features="all").fit(dates, labels)


CLASSES = [0, 1] * 6
LABELS = {
    "two types": np.array(["1", 1] * 6, dtype=object),
    "two types in a list": ["1", 1, "2"] * 4,
    "bytes": np.array([b"1", b"2"] * 6),
    "lists": pd.Series([[1], [2]] * 6),
    "complex numbers": np.array([1j, 2] * 6),
    "whole numbers beyond 64 bits": np.array([10**30, 1] * 6, dtype=object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_that_are_no_classes_are_one_clear_error(labels):
    with pytest.raises(DataError):
        NaiveBayesClassifier().fit([[1], [2]] * 6, labels)


def test_names_of_columns_and_texts_hold_every_character_of_unicode(tmp_path):
    table = pd.DataFrame({"a\0b": ["p\0", "q"] * 6, '\n,"': [1.0, 2.0] * 6})
    clf = NaiveBayesClassifier().fit(table, CLASSES)
    save_model(clf, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json")
    assert found.feature_names_in_.tolist() == ["a\0b", '\n,"']
    np.testing.assert_array_equal(found.predict_proba(table), clf.predict_proba(table))


def test_names_and_labels_that_are_no_unicode_are_refused_before_anything_is_learnt():
    """No file could hold them."""
    labels = [LONE if label else "b" for label in CLASSES]
    table = pd.DataFrame({"a": [1.0, 2.0] * 6})
    for X, y, words in (
        (pd.DataFrame([[1.0], [2.0]] * 6, columns=pd.Index([LONE], dtype=object)), CLASSES, "a column has the name"),
        (table, labels, "the class column holds the label"),
        (table, np.array(labels, dtype=object), "the class column holds the label"),
        (table, pd.Series(CLASSES, name=LONE), "the class column has the name"),
    ):
        with pytest.raises(DataError, match=f"{words}.*not valid Unicode"):
            NaiveBayesClassifier().fit(X, y)


@pytest.mark.parametrize("values", [[2**53, 2**53 + 1], [-(2**63), 5], [2**64 - 1, 1]], ids=str)
def test_whole_numbers_that_a_float_cannot_tell_apart_are_categories_in_memory_alone(values):
    column = pa.array(values * 6, pa.uint64() if values[0] > 2**63 else pa.int64())
    table = pa.table({"a": column, "y": CLASSES})
    clf = NaiveBayesClassifier(categorical_features="all")
    assert clf.fit(table.select(["a"]), CLASSES).encoder_.schema.attributes[0].categories == tuple(sorted(values))
    with pytest.raises(DataError, match="not told apart"):
        clf.fit(iter(table.to_batches(max_chunksize=4)), "y")
    with pytest.raises(DataError, match="not told apart"):
        clone(clf).partial_fit(table.select(["a"]), CLASSES, classes=[0, 1])


LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    "values", [[2**53, 2**53 + 1], [-(2**63), 5], [-(2**63), 2**63 - 1], [LARGEST, 0.9 * LARGEST]], ids=str
)
@pytest.mark.parametrize("clf", [NaiveBayesClassifier(), TANClassifier()], ids=["naive Bayes", "TAN"])
def test_numbers_of_any_size_are_cut(values, clf):
    X = np.array(values * 6).reshape(-1, 1)
    shares = clf.fit(X, CLASSES).predict_proba(X)
    told_apart = float(values[0]) != float(values[1])
    assert (shares[0, 0] > 0.8) == told_apart
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_a_column_of_128_bits_is_read_as_floats():
    wide = pl.Series([1, 2**100, None] * 4, dtype=pl.Int128)
    (column,) = read_columns(pl.DataFrame({"a": wide})).columns
    np.testing.assert_array_equal(column.values, [1.0, 2.0**100, np.nan] * 4)


def test_a_value_that_a_dictionary_lists_twice_is_one_category(tmp_path):
    repeated, plain = dictionary([0, 1, 2] * 4, ["p", "q", "p"]), pa.table({"a": ["p", "q", "p"] * 4})
    clf = NaiveBayesClassifier().fit(repeated, CLASSES)
    assert clf.encoder_.schema.attributes[0].categories == ("p", "q")
    save_model(clf, tmp_path / "model.json")
    expected = NaiveBayesClassifier().fit(plain, CLASSES).predict_proba(plain)
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict_proba(repeated), expected)


def test_an_entry_of_a_dictionary_that_is_nothing_is_a_missing_cell():
    (column,) = read_columns(dictionary([0, 1, 2, 0], [1.5, np.nan, None])).columns
    assert (column.dictionary, column.indices.tolist()) == ((1.5,), [0, -1, -1, 0])


EMPTY = {
    "NaN": np.full(3, np.nan),
    "text": pd.Series([None] * 3, dtype="string"),
    "objects": pd.Series([None] * 3, dtype=object),
    "categories": pd.Categorical([None] * 3, categories=["u"]),
    "categories of numbers": pd.Categorical([None] * 3, categories=[1, 2]),
    "booleans": pd.Series([None] * 3, dtype="boolean"),
    "integers": pd.Series([None] * 3, dtype="Int64"),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("times", [1, 1_000])
@pytest.mark.parametrize("name", ["text", "number", "flag"])
def test_a_column_of_a_batch_without_a_value_holds_missing_cells_whatever_its_type(name, empty, times):
    training = pd.DataFrame({"text": ["p", "q"] * 6, "number": [1.0, 2.0] * 6, "flag": [True, False] * 6})
    clf = NaiveBayesClassifier().fit(training, CLASSES)
    batch = training.iloc[[0, 1, 2]].reset_index(drop=True)
    expected = clf.predict_proba(batch.assign(**{name: [None] * 3}))
    given = pd.concat([batch.assign(**{name: empty})] * times, ignore_index=True)
    np.testing.assert_array_equal(clf.predict_proba(given), np.tile(expected, (times, 1)))
    assert not np.array_equal(expected, clf.predict_proba(batch))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        *(([weight] * 12, "weights of the rows sum to") for weight in (1e30, 1e300, 1e-30)),
        ([5e-324, 1.0, 1.0] * 4, r"a row has weight 4\.94066e-324; expected 0, or at least"),
    ],
)
def test_weights_that_cannot_be_counted_are_refused_in_memory_and_batch_by_batch(weights, words):
    table = pa.table({"x": [0.0, 1.0] * 6, "w": weights, "y": CLASSES})
    with pytest.raises(DataError, match=words):
        NaiveBayesClassifier().fit(table.select(["x"]), CLASSES, weights)
    with pytest.raises(DataError, match=words):
        NaiveBayesClassifier().fit(iter(table.to_batches(max_chunksize=4)), "y", "w")


@pytest.mark.filterwarnings("ignore:the mean weight of a row:tanager.errors.DataWarning")
@pytest.mark.parametrize("parameters", ["frequency", "conditional", "pruned"])
def test_equal_weights_of_any_size_that_is_allowed_tell_separable_classes_apart(parameters):
    X = [[0.0, 1.0], [1.0, 0.0]] * 6
    for weight in (1.0, 1e6, 1e14):
        clf = NaiveBayesClassifier(parameters=parameters).fit(X, CLASSES, [weight] * 12)
        shares = clf.predict_proba(X)
        np.testing.assert_array_equal(shares.argmax(axis=1), CLASSES)
        assert shares.max(axis=1).min() > 0.85


def test_what_arrow_has_no_type_for_is_in_an_arrow_table_by_its_value():
    frame = pl.DataFrame({"a": pl.Series([10**30, 1], dtype=pl.Int128), "b": pl.Series([True, None], dtype=pl.Object)})
    assert to_arrow(frame).to_pydict() == {"a": [1e30, 1.0], "b": [True, None]}
