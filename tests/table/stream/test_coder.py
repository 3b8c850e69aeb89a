"""Provisional codes stand for the same value in every batch, whatever the batches are like."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tanager import NaiveBayesClassifier
from tanager.table.binning import learn_column
from tanager.table.columns import NumericColumn
from tanager.table.discretizer import choose_discretizer
from tanager.table.stream import coder as stream_coder
from tanager.table.stream.coder import MAX_DISTINCT_NUMBERS, BatchRows, ColumnCoder
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


def code_batches(batches: list[np.ndarray]) -> tuple[ColumnCoder, list[np.ndarray]]:
    coder = ColumnCoder()
    rows = [BatchRows(np.zeros(len(values), dtype=np.uint8), 1) for values in batches]
    return coder, [coder.encode(NumericColumn("a", own), True, each) for own, each in zip(batches, rows, strict=True)]


@settings(max_examples=200, deadline=None)
@given(batches_of_numbers)
def test_a_code_leads_back_to_its_number(batches):
    given = [np.array(batch, dtype=dtype) for dtype, batch in batches]
    coder, coded = code_batches(given)
    known = coder.values
    assert len(np.unique(known)) == len(known)
    for values, codes in zip(given, coded, strict=True):
        np.testing.assert_array_equal(codes == -1, np.isnan(values))
        np.testing.assert_array_equal(known[codes[codes >= 0]].astype(float), values[codes >= 0].astype(float))


@pytest.mark.parametrize("n_values", [127, 128, 129, 256])
def test_codes_take_the_smallest_dtype_that_has_a_number_below_zero_for_missing_cells(n_values):
    values = np.arange(n_values, dtype=np.uint8)
    for codes in code_batches([values, values[::-1].copy()])[1]:
        assert codes.dtype == (np.int8 if n_values <= 128 else np.int16)
        assert sorted(codes.tolist()) == list(range(n_values))


def test_dates_too_many_to_keep_are_binned_as_in_memory(monkeypatch):
    monkeypatch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", 5)
    days = np.datetime64("2020-01-01") + np.arange(40)
    table = pa.table({"day": days, "y": np.where(np.arange(40) < 15, "no", "yes")})
    streamed = NaiveBayesClassifier().fit(iter([table.slice(0, 20), table.slice(20)]), "y")
    whole = NaiveBayesClassifier().fit(table.select(["day"]), table["y"].to_numpy())
    np.testing.assert_array_equal(
        streamed.predict_proba(table.select(["day"])), whole.predict_proba(table.select(["day"]))
    )


WORDS = ["b", "a", "Z", "zoë"]
TYPES = {np.int8: pa.int8(), np.int64: pa.int64(), np.float64: pa.float64()}
parts_of_words = st.tuples(st.permutations(WORDS), st.lists(st.sampled_from([*WORDS, None]), max_size=8))
parts_of_numbers = st.tuples(st.sampled_from(list(TYPES)), st.lists(st.integers(-4, 4) | st.none(), max_size=8))


def column_of(kind: object, cells: list) -> pa.Array:
    """Numbers of a type, or words by a dictionary that may hold others too."""
    if not isinstance(kind, list):
        return pa.array(cells, TYPES[kind])
    places = [None if cell is None else kind.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(kind))


@pytest.mark.parametrize("most_distinct", [4, MAX_DISTINCT_NUMBERS], ids=["sketch", "exact"])
@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(parts_of_words, min_size=1, max_size=5) | st.lists(parts_of_numbers, min_size=1, max_size=5),
    features=st.sampled_from(["from_dtype", "all"]),
)
def test_batches_of_any_dictionaries_types_and_gaps_are_learnt_as_the_whole_column(parts, features, most_distinct):
    cells = [cell for _, part in parts for cell in part]
    assume(len({cell for cell in cells if cell is not None}) > 1)
    labels = [k % 2 for k in range(len(cells))]
    whole = pa.array(cells, pa.string() if isinstance(parts[0][0], list) else None)
    if any(kind is np.float64 for kind, part in parts if part):
        whole = whole.cast(pa.float64())
    ends = np.cumsum([0, *(len(part) for _, part in parts)]).tolist()
    columns = [column_of(*part) for part in parts]
    batches = [
        pa.table({"a": own, "y": labels[first:last]})
        for own, (first, last) in zip(columns, pairwise(ends), strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", most_distinct)
        clf = NaiveBayesClassifier(categorical_features=features, discretizer="quantile", missing="category")
        streamed = clone(clf).fit(iter(batches), "y")
    memory = clf.fit(pa.table({"a": whole}), labels)
    assert repr(streamed.encoder_.schema.attributes) == repr(memory.encoder_.schema.attributes)
    for own, expected in zip(streamed.network_.tables, memory.network_.tables, strict=True):
        np.testing.assert_array_equal(own, expected)


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
