"""Cells that no column can hold are one clear error; those that say nothing are missing cells."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from tanager import DataError, DataWarning, FileError, NaiveBayesClassifier, TANClassifier
from tanager.files.model_file import load_model, save_model
from tanager.table.read_columns import read_columns

CLASSES = [0, 1] * 6
LONE = "x\ud800"


def dictionary(indices: list[int], values: list) -> pa.Table:
    return pa.table({"a": pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(values))})


REFUSED = {
    "a whole number beyond 64 bits": (np.array([[10**30], [1]] * 6, dtype=object), "cannot be kept: 10000"),
    "such numbers as categories": (pd.DataFrame({"a": pd.Categorical([10**30, 1] * 6)}), "cannot be kept: 10000"),
    "a wide float beyond 64 bits": (np.array([["1e4000"], ["1"]] * 6).astype(np.longdouble), "contains infinity"),
    "an infinite decimal": (pd.DataFrame({"a": [Decimal("Infinity"), Decimal(1)] * 6}), "cannot be kept"),
    "a lone surrogate": (np.array([[LONE], ["y"]] * 6, dtype=object), "cannot be kept: 'x"),
    "arrays beside pandas.NA": (pd.DataFrame({"a": [pd.NA, np.array([1, 2])] * 6}), "list<"),
    "arrays beside text": (pd.DataFrame({"a": ["x", np.array([1, 2]), pd.NA] * 4}), "ndarray in row 1"),
    "a dictionary of lists": (dictionary([0, 1] * 6, [[1], [2]]), "dictionary<values=list"),
    "a dictionary of decimals": (dictionary([0, 1] * 6, [Decimal(1), Decimal(2)]), "dictionary<values=decimal"),
    "a dict in place of a table": ({"a": [1, 2] * 6}, "the table is a dict"),
    "an infinite category": (dictionary([0, 1] * 6, [1.0, np.inf]), "infinity among its categories"),
}


@pytest.mark.parametrize(("table", "words"), REFUSED.values(), ids=REFUSED)
def test_cells_that_no_column_can_hold_are_one_clear_error(table, words):
    with pytest.raises(DataError, match=words):
        NaiveBayesClassifier().fit(table, CLASSES)


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


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_a_label_of_a_list_that_is_nothing_is_no_text(nothing):
    with pytest.warns(DataWarning, match="missing in 4 of 12 rows"):
        clf = NaiveBayesClassifier().fit([[1], [2], [3]] * 4, ["a", "b", nothing] * 4)
    assert clf.classes_.tolist() == ["a", "b"]


def test_names_of_columns_and_texts_hold_every_character_of_unicode(tmp_path):
    table = pd.DataFrame({"a\0b": ["p\0", "q"] * 6, '\n,"': [1.0, 2.0] * 6})
    clf = NaiveBayesClassifier().fit(table, CLASSES)
    save_model(clf, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json")
    assert found.feature_names_in_.tolist() == ["a\0b", '\n,"']
    np.testing.assert_array_equal(found.predict_proba(table), clf.predict_proba(table))


def test_a_name_that_is_no_unicode_is_refused_in_one_line_where_it_would_be_written(tmp_path):
    table = pd.DataFrame([[1.0], [2.0]] * 6, columns=pd.Index([LONE], dtype=object))
    clf = NaiveBayesClassifier().fit(table, CLASSES)
    np.testing.assert_array_equal(clf.predict_proba(table).argmax(axis=1), CLASSES)
    with pytest.raises(FileError, match="not valid Unicode"):
        save_model(clf, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


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


@pytest.mark.parametrize("values", [[2**53, 2**53 + 1], [-(2**63), 5], [-(2**63), 2**63 - 1]], ids=str)
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


def test_booleans_where_numbers_were_are_zero_and_one():
    training = pd.DataFrame({"x": [0.0, 1.0] * 6})
    clf = NaiveBayesClassifier().fit(training, CLASSES)
    np.testing.assert_array_equal(
        clf.predict_proba(pd.DataFrame({"x": [False, True]})), clf.predict_proba(training[:2])
    )


@pytest.mark.parametrize("weight", [1e30, 1e300, 1e-30])
def test_weights_that_cannot_be_counted_are_refused_in_memory_and_batch_by_batch(weight):
    table = pa.table({"x": [0.0, 1.0] * 6, "w": [weight] * 12, "y": CLASSES})
    with pytest.raises(DataError, match="weights of the rows sum to"):
        NaiveBayesClassifier().fit(table.select(["x"]), CLASSES, table["w"].to_numpy())
    with pytest.raises(DataError, match="weights of the rows sum to"):
        NaiveBayesClassifier().fit(iter(table.to_batches(max_chunksize=4)), "y", "w")


@pytest.mark.parametrize("clf", [NaiveBayesClassifier(), TANClassifier()], ids=["naive Bayes", "TAN"])
def test_a_row_of_next_to_no_weight_is_refused_in_memory_and_batch_by_batch(clf):
    weights = [5e-324, 1.0, 1.0] * 4
    table = pa.table({"x": [0.0, 1.0] * 6, "w": weights, "y": CLASSES})
    with pytest.raises(DataError, match=r"a row has weight 4\.94066e-324; expected 0, or at least"):
        clf.fit(table.select(["x"]), CLASSES, weights)
    with pytest.raises(DataError, match=r"a row has weight 4\.94066e-324; expected 0, or at least"):
        clf.fit(iter(table.to_batches(max_chunksize=4)), "y", "w")


@pytest.mark.filterwarnings("ignore:the mean weight of a row:tanager.errors.DataWarning")
@pytest.mark.parametrize("parameters", ["frequency", "conditional", "pruned"])
def test_equal_weights_of_any_size_that_is_allowed_tell_separable_classes_apart(parameters):
    X = [[0.0, 1.0], [1.0, 0.0]] * 6
    for weight in (1.0, 1e6, 1e14):
        clf = NaiveBayesClassifier(parameters=parameters).fit(X, CLASSES, [weight] * 12)
        shares = clf.predict_proba(X)
        np.testing.assert_array_equal(shares.argmax(axis=1), CLASSES)
        assert shares.max(axis=1).min() > 0.85
