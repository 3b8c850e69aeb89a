"""Provisional codes stand for the same value in every batch, whatever the batches are like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.errors import DataError
from tanager.table import stream_numbers
from tanager.table.discretizer import choose_discretizer
from tanager.table.read_columns import DictionaryColumn, NumericColumn
from tanager.table.stream_coder import ColumnCoder
from tanager.table.stream_numbers import NumberCoder, NumberVocabulary
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


def test_a_value_that_joins_late_below_the_others_keeps_all_codes():
    vocabulary = NumberVocabulary()
    first = vocabulary.codes(np.array([3, 4, 5], dtype=np.int8))
    later = vocabulary.codes(np.array([-7, 300, 4], dtype=np.int64))
    assert first.tolist() == [0, 1, 2]
    assert later.tolist() == [3, 4, 1]


@pytest.mark.parametrize("span", [10, 10**9])
def test_counts_by_class_are_those_of_all_rows_together(span):
    rng = np.random.default_rng(0)
    values, classes = rng.integers(0, 10, 500) * span, rng.integers(0, 3, 500).astype(np.uint8)
    coder = NumberCoder(cut=True)
    for rows in np.split(np.arange(500), [100, 101, 350]):
        coder.encode(values[rows], classes[rows], int(classes[: rows[-1] + 1].max()) + 1)
    exact = count_values(values, classes, n_classes=3)
    for name in ("values", "classes", "weights"):
        np.testing.assert_array_equal(getattr(coder.counts(), name), getattr(exact, name))


def test_numbers_too_many_to_keep_are_spooled_as_they_are_and_counted_by_a_sketch(monkeypatch):
    monkeypatch.setattr(stream_numbers, "MOST_DISTINCT", 300)
    rng = np.random.default_rng(0)
    values, classes = rng.normal(size=1_000), np.zeros(1_000, dtype=np.uint8)
    coder = NumberCoder(cut=True)
    parts = [coder.encode(values[rows], classes[rows], 1) for rows in np.split(np.arange(1_000), 5)]
    assert [part.dtype.kind for part in parts] == ["u", "f", "f", "f", "f"]
    assert coder.counts().weights.sum() == 1_000
    np.testing.assert_array_equal(coder.counts().values, np.sort(values))  # so few fit into the sketch


def test_a_type_is_known_from_the_first_batch_that_has_any():
    coder = ColumnCoder()
    nobody = DictionaryColumn("a", np.full(2, -1, dtype=np.int32), ())
    numbers = NumericColumn("a", np.array([1.5, 2.5]))
    classes = np.zeros(2, dtype=np.uint8)
    assert coder.encode(nobody, True, classes, 1).tolist() == [255, 255]
    assert coder.encode(numbers, False, classes, 1).tolist() == [0, 1]
    schema = coder.learn("a", np.array([0]), choose_discretizer("quantile"), gap_states=True, fine=False)
    assert schema.kind == "numeric"
    assert schema.gap_state


def test_a_batch_without_a_cell_says_nothing_of_the_type_but_of_the_width():
    nobody = NumericColumn("a", np.array([np.nan, np.nan]))
    words = DictionaryColumn("a", np.array([0, 1], dtype=np.int32), ("x", "y"))
    classes = np.zeros(2, dtype=np.uint8)
    for batches, expected in (
        ([nobody, words, nobody], ("x", "y")),
        ([words, nobody], ("x", "y")),
        ([nobody, NumericColumn("a", np.array([4, 3]))], (3.0, 4.0)),
        ([NumericColumn("a", np.array([4, 3])), nobody], (3.0, 4.0)),
    ):
        coder = ColumnCoder()
        for batch in batches:
            coder.encode(batch, True, classes, 1)
        schema = coder.learn("a", np.array([0]), choose_discretizer("mdlp"), gap_states=True, fine=False)
        assert schema.categories == expected
        assert [type(category) for category in schema.categories] == [type(category) for category in expected]
        assert schema.gap_state


def test_text_after_numbers_is_refused():
    coder = ColumnCoder()
    classes = np.zeros(1, dtype=np.uint8)
    coder.encode(NumericColumn("a", np.array([1])), False, classes, 1)
    with pytest.raises(DataError, match=r"column 'a' holds text in a batch; earlier batches held numbers"):
        coder.encode(DictionaryColumn("a", np.array([0], dtype=np.int32), ("x",)), True, classes, 1)


def test_dictionaries_of_batches_may_differ():
    coder = ColumnCoder()
    classes = np.zeros(2, dtype=np.uint8)
    first = coder.encode(DictionaryColumn("a", np.array([1, -1], np.int32), ("unused", "b")), True, classes, 1)
    later = coder.encode(DictionaryColumn("a", np.array([0, 1], np.int32), ("a", "b")), True, classes, 1)
    assert (first.tolist(), later.tolist()) == ([0, 255], [1, 0])
    schema = coder.learn("a", np.array([0]), choose_discretizer("mdlp"), gap_states=False, fine=False)
    assert schema.categories == ("a", "b")
    assert coder.meaning(schema, np.dtype(np.uint8)).tolist() == [1, 0, 2]
