"""The states of a column of categories: one order, whatever the container and the order of the rows."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import NaiveBayesClassifier
from tanager.table.binning import ColumnStatistics
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.schema import ColumnSchema

WORDS = ["b", "a", "Ä", "aa", "Z", "zoë"]
TARGET = ColumnSchema("y", "categorical", ("n", "p"))
CELLS = st.lists(st.sampled_from([*WORDS, None]), min_size=1, max_size=20).filter(any)


def learn(X):
    """The schema of a column, and its codes."""
    table = read_columns(X)
    classes = np.zeros(table.n_rows, dtype=np.uint8)
    schema = learn_schema(table, TARGET, classes, None, choose_discretizer(None))
    return schema.attributes[0], TableEncoder(schema).encode(table)[:, 0].tolist()


def arrow_dictionary(cells, entries, ordered=False):
    places = [None if cell is None else entries.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(entries), ordered=ordered)


def containers(cells, entries):
    """The cells in every container that declares no order, the categorical ones with these entries."""
    half = len(cells) // 2
    chunks = [arrow_dictionary(cells[:half], entries), arrow_dictionary(cells[half:], entries[::-1])]
    return {
        "pandas categorical": pd.DataFrame({"x0": pd.Categorical(cells, categories=entries)}),
        "polars categorical": pl.DataFrame({"x0": pl.Series(cells, dtype=pl.Categorical)}),
        "arrow text": pa.table({"x0": pa.array(cells, pa.string())}),
        "arrow dictionary": pa.table({"x0": arrow_dictionary(cells, entries)}),
        "arrow chunks": pa.table({"x0": pa.chunked_array(chunks)}),
    }


@given(CELLS, st.permutations(WORDS), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_shuffled_rows_in_any_container_have_the_states_and_codes_of_text(cells, entries, random):
    expected = sorted({cell for cell in cells if cell is not None})
    code_of = {**{cell: code for code, cell in enumerate(expected)}, None: len(expected)}
    random.shuffle(cells)
    for container, X in containers(cells, entries).items():
        schema, codes = learn(X)
        assert schema == ColumnSchema("x0", "categorical", tuple(expected)), container
        assert codes == [code_of[cell] for cell in cells], container


@given(CELLS, st.permutations(WORDS), st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_batches_and_partitions_have_the_states_of_the_whole(cells, entries, edge):
    codes = np.zeros(len(cells), dtype=np.uint8)
    whole, _ = learn(containers(cells, WORDS)["arrow text"])
    edge = min(edge, len(cells))
    for name in ("pandas categorical", "arrow dictionary", "polars categorical"):
        parts = []
        for part, order in ((slice(edge), WORDS), (slice(edge, None), entries)):
            if cells[part]:
                column = read_columns(containers(cells[part], order)[name]).columns[0]
                parts.append(ColumnStatistics.of(column, True, codes[part], None, 2))
        merged = parts[0] if len(parts) == 1 else parts[0].merge(parts[1])
        assert merged.schema(choose_discretizer(None), 2, False) == whole, name


LEVELS = ["low", "mid", "high", "top"]
GRADES = ["mid", None, "low", "high", "mid"]
ORDERED = {
    "pandas": pd.DataFrame({"x0": pd.Categorical(GRADES, categories=LEVELS, ordered=True)}),
    "polars": pl.DataFrame({"x0": pl.Series(GRADES, dtype=pl.Enum(LEVELS))}),
    "arrow": pa.table({"x0": arrow_dictionary(GRADES, LEVELS, ordered=True)}),
}


@pytest.mark.parametrize("X", ORDERED.values(), ids=ORDERED)
def test_an_ordered_column_keeps_its_declared_order(X):
    schema, codes = learn(X)
    assert schema == ColumnSchema("x0", "categorical", ("low", "mid", "high"), ordered=True)
    assert codes == [1, 3, 0, 2, 1]


@pytest.mark.parametrize("X", ORDERED.values(), ids=ORDERED)
def test_batches_keep_the_declared_order(X):
    y = np.array(["n", "p", "n", "p", "p"])
    frame = nw.from_native(X)
    frame = frame.with_columns(nw.new_series("y", y.tolist(), nw.String, backend=frame.implementation))
    batches = [frame[:2].to_native(), frame[2:].to_native()]
    schema = NaiveBayesClassifier().fit(iter(batches), "y").encoder_.schema
    assert schema.attributes == (learn(X)[0],)


def test_two_declared_orders_are_none():
    parts = [arrow_dictionary(["mid", "low"], levels, ordered=True) for levels in (LEVELS, LEVELS[::-1])]
    tables = [pa.table({"x0": part, "y": ["n", "p"]}) for part in parts]
    whole, _ = learn(pa.concat_tables(tables).select(["x0"]))
    streamed = NaiveBayesClassifier().fit(iter(tables), "y").encoder_.schema.attributes[0]
    columns = [read_columns(table.select(["x0"])).columns[0] for table in tables]
    statistics = [ColumnStatistics.of(column, True, np.array([0, 1], np.uint8), None, 2) for column in columns]
    merged = statistics[0].merge(statistics[1]).schema(choose_discretizer(None), 2, False)
    assert whole == streamed == merged == ColumnSchema("x0", "categorical", ("low", "mid"))
