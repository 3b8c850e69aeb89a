"""One table has the same codes whatever the type of its cells and the way they lie in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.schema import ColumnSchema

N_VALUES = 30
# In their order: the first is empty, every third is longer than what a view of Arrow holds, one is not ASCII.
WORDS = ["", *(f"{k:02d}" + ["", " and more than twelve bytes", "é"][k % 3] for k in range(1, N_VALUES))]


def names(rows):
    return [f"x{j}" for j in range(len(rows[0]))]


def by_column(make_column, make_table, rows):
    return make_table(
        {name: make_column(column) for name, column in zip(names(rows), zip(*rows, strict=True), strict=True)}
    )


def polars_of(dtype, rows):
    return by_column(lambda column: pl.Series(column, dtype=dtype), pl.DataFrame, rows)


def arrow_of(dtype, rows):
    return by_column(lambda column: pa.array(column, dtype), pa.table, rows)


def pandas_of(dtype, rows):
    return pd.DataFrame(np.array(rows, dtype=object), columns=names(rows)).astype(dtype)


def words(rows):
    return [[None if value is None else WORDS[value] for value in row] for row in rows]


def fresh(rows):
    """Objects of which no two are the same one."""
    return np.array([[None if v is None else "".join(list(WORDS[v])) for v in row] for row in rows], dtype=object)


def every_second(array, axis):
    """The same cells with others between them."""
    wide = np.repeat(array, 2, axis=axis)
    wide[(slice(None),) * axis + (slice(1, None, 2),)] = np.roll(array, 1)
    return wide[(slice(None),) * axis + (slice(None, None, 2),)]


def read_only(array):
    array.setflags(write=False)
    return array


def with_both_zeros(rows):
    quarters = (np.array(rows) - 15) / 4
    return np.where((quarters == 0) & (np.arange(len(rows)) % 2 == 0)[:, np.newaxis], -0.0, quarters)


def with_both_nans(rows):
    array = np.array(rows, dtype=float)
    odd = (np.arange(len(rows)) % 2 == 1)[:, np.newaxis]
    return np.where(np.isnan(array) & odd, -array, array)


NUMBERS = {
    **{
        f"{dtype} {order}": lambda rows, dtype=dtype, order=order: np.array(rows, dtype=dtype, order=order)
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i8", ">u2", ">f4", ">f8")
        for order in "CF"
    },
    "long double": lambda rows: np.array(rows, dtype=np.longdouble),
    "negative": lambda rows: np.array(rows) - 17,
    "wide": lambda rows: np.array(rows) * 2**55 - 2**59,
    "fractions and both zeros": with_both_zeros,
    "every second column": lambda rows: every_second(np.array(rows), axis=1),
    "every second row": lambda rows: every_second(np.array(rows, dtype=np.uint8), axis=0),
    "backwards": lambda rows: np.array(rows[::-1], dtype=np.float32)[::-1],
    "read-only": lambda rows: read_only(np.array(rows, dtype=np.uint8)),
    "objects": lambda rows: np.array(rows, dtype=object),
    "pandas": lambda rows: pandas_of("int64", rows),
    "pandas float": lambda rows: pandas_of("float64", rows),
    "polars": lambda rows: polars_of(pl.UInt16, rows),
}
GAPPY = {
    "float": lambda rows: np.array(rows, dtype=float),
    "float F": lambda rows: np.array(rows, dtype=float, order="F"),
    "NaN of the other sign": lambda rows: (
        -np.array([[v if v is None else -v for v in row] for row in rows], dtype=float)
    ),
    "pandas nullable": lambda rows: pandas_of("Int64", rows),
    "polars": lambda rows: polars_of(pl.Int8, rows),
    "pyarrow": lambda rows: arrow_of(pa.int32(), rows),
    "objects of text": lambda rows: np.array(words(rows), dtype=object),
    "fresh objects": fresh,
    "fresh objects F": lambda rows: np.asfortranarray(fresh(rows)),
    "pandas objects": lambda rows: pandas_of(object, words(rows)),
    "pandas str": lambda rows: pandas_of("str", words(rows)),
    "pandas string": lambda rows: pandas_of("string[python]", words(rows)),
    "pandas Arrow": lambda rows: pandas_of("string[pyarrow]", words(rows)),
    "pandas category": lambda rows: pandas_of(pd.CategoricalDtype(WORDS), words(rows)),
    "polars text": lambda rows: polars_of(pl.String, words(rows)),
    "polars enum": lambda rows: polars_of(pl.Enum(WORDS), words(rows)),
    "pyarrow text": lambda rows: arrow_of(pa.string(), words(rows)),
    "pyarrow text in slices": lambda rows: pa.concat_tables(
        [arrow_of(pa.large_string(), words([row, row])).slice(1) for row in rows]
    ),
}
TEXT = {
    "text C": lambda rows: np.array(words(rows)),
    "text of even width": lambda rows: np.array(words(rows), dtype="U32"),
    "text F": lambda rows: np.asfortranarray(np.array(words(rows))),
    "text of the other end": lambda rows: np.array(words(rows)).astype(">U32"),
    "every second column of text": lambda rows: every_second(np.array(words(rows)), axis=1),
}
TRUTH = {
    "array": lambda rows: np.array(rows, dtype=bool),
    "array F": lambda rows: np.array(rows, dtype=bool, order="F"),
    "objects": lambda rows: np.array(np.array(rows, dtype=bool), dtype=object),
    "pandas": lambda rows: pandas_of(bool, rows),
    "pandas nullable": lambda rows: pandas_of("boolean", np.array(rows, dtype=bool)),
    "pyarrow": lambda rows: arrow_of(pa.bool_(), np.array(rows, dtype=bool).tolist()),
}
KINDS = {"numbers": NUMBERS, "gappy": GAPPY, "text": TEXT, "truth": TRUTH}
FORMS = [pytest.param(kind, form, id=f"{kind}: {form}") for kind, forms in KINDS.items() for form in forms]


@st.composite
def tables(draw, kind):
    """Rows to learn from and rows to code, as numbers below `N_VALUES`."""
    n_columns = draw(st.integers(1, 4))
    value = st.integers(0, 1 if kind == "truth" else N_VALUES - 1)
    cell = st.one_of(value, st.none()) if kind == "gappy" else value
    row = st.lists(cell, min_size=n_columns, max_size=n_columns)
    learnt = draw(st.lists(row, min_size=1, max_size=40))
    # Every column has a value to learn its type from.
    return [[1] * n_columns, *learnt], draw(st.lists(row, min_size=1, max_size=12))


def codes_by_hand(learnt, new):
    """The position of a value among those of its column in order; one more than the last for one that is not there."""
    known = [sorted({row[j] for row in learnt} - {None}) for j in range(len(learnt[0]))]
    return [[found.index(v) if v in found else len(found) for v, found in zip(row, known, strict=True)] for row in new]


@pytest.mark.parametrize(("kind", "form"), FORMS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_codes_are_those_of_a_list_of_values_in_order(kind, form, data):
    learnt, new = data.draw(tables(kind))
    make = KINDS[kind][form]
    classes = np.zeros(len(learnt), dtype=np.uint8)
    target = ColumnSchema("class", "categorical", (0, 1))
    schema = learn_schema(read_columns(make(learnt)), target, classes, None, choose_discretizer("mdlp"), "all")
    for rows in (learnt, new):
        assert TableEncoder(schema).encode(read_columns(make(rows))).tolist() == codes_by_hand(learnt, rows)
