"""Provisional codes stand for the same value in every batch, whatever the batches are like."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import NaiveBayesClassifier
from tanager.errors import DataError
from tanager.table.binning import learn_column
from tanager.table.columns import DictionaryColumn, NumericColumn
from tanager.table.discretizer import choose_discretizer
from tanager.table.stream import coder as stream_coder
from tanager.table.stream.coder import BatchRows, ColumnCoder, NumberCoder, NumberVocabulary
from tanager.table.value_counts import count_values

INTEGERS = [np.int8, np.uint8, np.int16, np.int64]
batches_of_numbers = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(INTEGERS), st.lists(st.integers(0, 100), min_size=1, max_size=8)),
        st.tuples(st.just(np.int8), st.lists(st.integers(-100, 5), min_size=1, max_size=8)),
        st.tuples(st.just(np.int64), st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8)),
        st.tuples(st.just(np.float64), st.lists(st.sampled_from([0.5, -0.0, 0.0, 3.0, np.nan]), min_size=1)),
    ),
    min_size=1,
    max_size=8,
)


def code_batches(*batches: np.ndarray) -> list[np.ndarray]:
    vocabulary = NumberVocabulary()
    return [vocabulary.codes(values) for values in batches]


def encode(coder: ColumnCoder, column, categorical=True) -> np.ndarray:
    cells = column.indices if isinstance(column, DictionaryColumn) else column.values
    rows = BatchRows(np.zeros(len(cells), dtype=np.uint8), 1)
    return coder.encode(column, categorical, rows)


@settings(max_examples=200, deadline=None)
@given(batches_of_numbers)
def test_a_code_leads_back_to_its_number(batches):
    vocabulary = NumberVocabulary()
    coded = []
    for dtype, batch in batches:
        values = np.array(batch, dtype=dtype)
        coded.append((values, vocabulary.codes(values)))
    known = vocabulary.values
    assert len(np.unique(known)) == len(known)
    for values, codes in coded:
        missing = codes == np.iinfo(codes.dtype).max
        np.testing.assert_array_equal(missing, np.isnan(values))
        np.testing.assert_array_equal(known[codes[~missing]].astype(float), values[~missing].astype(float))


@pytest.mark.parametrize("n_values", [254, 255, 256])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_no_code_of_a_byte_is_taken_for_a_missing_cell(n_values, dtype):
    values = (np.arange(n_values) + np.iinfo(dtype).min).astype(dtype)
    for codes in code_batches(values, values[::-1].copy()):
        assert codes.dtype == (np.uint8 if n_values < 256 else np.uint16)
        assert sorted(codes.tolist()) == list(range(n_values))


def test_integers_beyond_the_largest_with_a_sign_are_told_apart():
    values = np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=np.uint64)
    first, later = code_batches(values, values)
    assert first.tolist() == later.tolist() == [1, 0, 1]


def test_numbers_too_many_to_keep_are_spooled_as_they_are_and_counted_by_a_sketch(monkeypatch):
    monkeypatch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", 300)
    rng = np.random.default_rng(0)
    values = rng.normal(size=1_000)
    coder = NumberCoder(cut=True)
    rows = BatchRows(np.zeros(200, dtype=np.uint8), 1)
    parts = [coder.encode(part, rows) for part in np.split(values, 5)]
    assert [part.dtype.kind for part in parts] == ["u", "f", "f", "f", "f"]
    assert coder.counts().weights.sum() == 1_000
    np.testing.assert_array_equal(coder.counts().values, np.sort(values))  # so few fit into the sketch


def test_dates_too_many_to_keep_are_binned_as_in_memory(monkeypatch):
    monkeypatch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", 5)
    days = np.datetime64("2020-01-01") + np.arange(40)
    table = pa.table({"day": days, "y": np.where(np.arange(40) < 15, "no", "yes")})
    streamed = NaiveBayesClassifier().fit(iter([table.slice(0, 20), table.slice(20)]), "y")
    whole = NaiveBayesClassifier().fit(table.select(["day"]), table["y"].to_numpy())
    np.testing.assert_array_equal(
        streamed.predict_proba(table.select(["day"])), whole.predict_proba(table.select(["day"]))
    )


def test_a_type_is_known_from_the_first_batch_that_has_any():
    coder = ColumnCoder()
    nobody = DictionaryColumn("a", np.full(2, -1, dtype=np.int32), ())
    numbers = NumericColumn("a", np.array([1.5, 2.5]))
    assert encode(coder, nobody).tolist() == [255, 255]
    assert encode(coder, numbers, categorical=False).tolist() == [0, 1]
    schema = coder.statistics("a", np.array([0])).schema(choose_discretizer("quantile"), 1, True)
    assert schema.kind == "numeric"
    assert schema.missing_state


def test_a_batch_without_a_cell_says_nothing_of_the_type_but_of_the_width():
    nobody = NumericColumn("a", np.array([np.nan, np.nan]))
    words = DictionaryColumn("a", np.array([0, 1], dtype=np.int32), ("x", "y"))
    for batches, expected in (
        ([nobody, words, nobody], ("x", "y")),
        ([words, nobody], ("x", "y")),
        ([nobody, NumericColumn("a", np.array([4, 3]))], (3.0, 4.0)),
        ([NumericColumn("a", np.array([4, 3])), nobody], (3.0, 4.0)),
    ):
        coder = ColumnCoder()
        for batch in batches:
            encode(coder, batch)
        schema = coder.statistics("a", np.array([0])).schema(choose_discretizer("mdlp"), 1, True)
        assert schema.categories == expected
        assert [type(category) for category in schema.categories] == [type(category) for category in expected]
        assert schema.missing_state


def test_text_after_numbers_is_refused():
    coder = ColumnCoder()
    encode(coder, NumericColumn("a", np.array([1])), categorical=False)
    with pytest.raises(DataError, match=r"column 'a' holds text in a batch; earlier batches held numbers"):
        encode(coder, DictionaryColumn("a", np.array([0], dtype=np.int32), ("x",)))


def test_dictionaries_of_batches_may_differ():
    coder = ColumnCoder()
    first = encode(coder, DictionaryColumn("a", np.array([1, -1], np.int32), ("unused", "b")))
    later = encode(coder, DictionaryColumn("a", np.array([0, 1], np.int32), ("a", "b")))
    assert (first.tolist(), later.tolist()) == ([0, 255], [1, 0])
    schema = coder.statistics("a", np.array([0])).schema(choose_discretizer("mdlp"), 1, False)
    assert schema.categories == ("a", "b")
    assert coder.final_codes(schema, np.dtype(np.uint8)).codes.tolist() == [1, 0, 2]


def test_a_category_that_a_schema_of_other_rows_lacks_is_missing_there():
    coder, other = ColumnCoder(), ColumnCoder()
    encode(coder, DictionaryColumn("a", np.array([0, 1], np.int32), ("x", "y")))
    encode(other, DictionaryColumn("a", np.array([0, 1, 2], np.int32), ("new", "y", "x")))
    schema = coder.statistics("a", np.array([0])).schema(choose_discretizer("mdlp"), 1, False)
    own, final = (each.final_codes(schema, np.dtype(np.uint8)) for each in (coder, other))
    assert final.codes.tolist() == [2, 1, 0, 2]
    assert (own.incomplete, final.incomplete) == (False, True)


@pytest.mark.parametrize("most_distinct", [10, 1_000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_batches_count_the_rows_that_hold_a_value(whole, weighted, most_distinct, monkeypatch):
    monkeypatch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", most_distinct)  # more are counted by a sketch
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 300, 400)
    values = 10**9 * drawn if whole else np.where(rng.random(400) < 0.2, np.nan, drawn / 4)
    classes, weights = rng.integers(0, 2, 400).astype(np.uint8), rng.random(400) + 1e-3
    coder = ColumnCoder()
    for rows in np.array_split(np.arange(400), 5):
        batch = BatchRows(classes[rows], 2, weights[rows] if weighted else None)
        coder.encode(NumericColumn("a", values[rows]), False, batch)
    found = coder.statistics("a", np.array([1, 0])).counts
    assert found.n_rows == np.count_nonzero(~np.isnan(values))
    expected = count_values(values, 1 - classes, weights if weighted else None, n_classes=2)
    assert expected.n_rows == found.n_rows
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
    schemas = [coder.statistics("a", np.array([1, 0])).schema(choose_discretizer(None, True), 2, False, fine=True)]
    schemas.append(learn_column(NumericColumn("a", values), expected, False, choose_discretizer(None, True), 2, True))
    assert schemas[0] == schemas[1]
