"""TableEncoder: codes of every kind of column, and what it says of columns it cannot use."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from tanager import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier, load_model, save_model
from tanager.errors import DataError, DataWarning, OptionError
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.schema import ColumnSchema

TARGET = ColumnSchema("class", "categorical", (0, 1))


def learn(X, y=None, categorical_features="from_dtype", discretizer="mdlp", weights=None):
    table = read_columns(X)
    y = np.arange(table.n_rows) % 2 if y is None else np.asarray(y)
    return learn_schema(
        table, TARGET, y.astype(np.uint8), weights, choose_discretizer(discretizer), categorical_features
    )


def encode(X, **options):
    return TableEncoder(learn(X, **options)).encode(read_columns(X))


def test_a_numeric_cell_is_coded_by_the_cuts_at_or_below_it():
    schema = learn(np.repeat([[1.0], [2.0], [5.0]], 20, axis=0), y=[0] * 20 + [1] * 20 + [0] * 20)
    assert schema.attributes[0].cuts == (1.5, 3.5)
    assert schema.attributes[0].states == ("< 1.5", "[1.5, 3.5)", ">= 3.5")
    codes = TableEncoder(schema).encode(read_columns([[1.4999], [1.5], [3.4999], [3.5], [np.nan], [1e300]]))
    assert codes[:, 0].tolist() == [0, 1, 1, 2, 3, 2]


def test_an_unseen_category_is_missing_or_an_error():
    schema = learn(pd.DataFrame({"a": ["x", "y"]}))
    new = read_columns(pd.DataFrame({"a": ["y", "new", None]}))
    assert TableEncoder(schema).encode(new)[:, 0].tolist() == [1, 2, 2]
    with pytest.raises(DataError, match="column 'a' holds 'new' in row 1, a category unseen in training"):
        TableEncoder(schema, unseen_is_error=True).encode(new)


@pytest.mark.parametrize(("n", "dtype"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)])
def test_codes_take_the_smallest_dtype_that_holds_the_missing_code(n, dtype):
    X = np.tile(np.arange(n), 2)[:, np.newaxis]
    codes = encode(X, categorical_features="all")
    assert codes.dtype == dtype
    assert np.array_equal(codes[:, 0], X[:, 0])


@pytest.mark.parametrize("wanted", [["b"], [1], [False, True], np.array([False, True]), "all"])
def test_categorical_features_take_names_positions_or_a_mask(wanted):
    schema = learn(pd.DataFrame({"a": [1, 2, 3, 4], "b": [7, 8, 7, 8]}), categorical_features=wanted)
    assert schema.attributes[1].categories == (7, 8)
    assert (schema.attributes[0].kind == "categorical") == (isinstance(wanted, str))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["bb"], "'bb', which is no column; the nearest are 'b'"),
        ([2], r"holds 2; expected a column name or 0 \.\. 1"),
        ([True], "a mask of 1; the table has 2 columns"),
        ("some", "'from_dtype', 'all', a list"),
    ],
)
def test_bad_categorical_features_are_explained(wanted, message):
    with pytest.raises(OptionError, match=message):
        learn(pd.DataFrame({"a": [1, 2], "b": [7, 8]}), categorical_features=wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint64])
def test_categories_may_span_all_that_their_type_holds(dtype):
    bounds = np.iinfo(dtype)
    extremes = [bounds.max - 5, bounds.max] if bounds.bits == 64 else [bounds.min, 0, bounds.max]
    X = pd.DataFrame({"a": np.array(extremes, dtype=dtype)})
    assert learn(X, y=np.arange(len(X)) % 2, categorical_features="all").attributes[0].categories == tuple(extremes)


@pytest.mark.parametrize(
    ("learnt", "new", "codes"),
    [
        ([2, 4], [2, 3, 4, 5, 1, np.iinfo(np.int64).min, np.iinfo(np.int64).max], [0, 2, 1, 2, 2, 2, 2]),
        ([2**62, 2**62 + 1, -5], [2**62, 2**62 + 1, -5], [1, 2, 0]),
        ([1, 2], [2.0, np.nan, 1.5], [1, 2, 2]),
    ],
    ids=["outside the range", "wider than a float", "as floats"],
)
def test_whole_numbers_match_themselves_alone(learnt, new, codes):
    schema = learn(np.array([learnt]).T, categorical_features="all")
    assert schema.attributes[0].categories == tuple(sorted(learnt))
    assert TableEncoder(schema).encode(read_columns(np.array([new]).T))[:, 0].tolist() == codes
    if codes == [0, 2, 1, 2, 2, 2, 2]:
        with pytest.raises(DataError, match=r"column 'x0' holds .*3.* in row 1"):
            TableEncoder(schema, unseen_is_error=True).encode(read_columns(np.array([new]).T))


def test_dates_are_cut_like_numbers_or_kept_as_categories():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(40)]
    frame = pl.DataFrame({"day": days})
    cut = learn(frame, y=[0] * 20 + [1] * 20).attributes[0]
    assert cut.states == ("< 2020-01-20", ">= 2020-01-20")
    kept = learn(frame, categorical_features=["day"]).attributes[0]
    assert kept.categories == tuple(days)
    assert encode(frame, categorical_features=["day"])[:, 0].tolist() == list(range(40))


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_a_column_without_values_is_ignored_with_a_warning(nothing):
    frame = pd.DataFrame({"a": [nothing] * 3, "b": ["x", "y", "x"]})
    with pytest.warns(DataWarning, match="column 'a' holds no value"):
        schema = learn(frame)
    assert schema.n_states == (1, 2, 2)
    assert TableEncoder(schema).encode(read_columns(frame))[:, 0].tolist() == [1, 1, 1]


def test_a_column_that_names_rows_gets_a_warning():
    with pytest.warns(DataWarning, match=r"column 'id' has 65,000 categories in 65,000 rows"):
        learn(pd.DataFrame({"id": [f"row {k}" for k in range(65_000)]}))


@pytest.mark.parametrize(
    ("discretizer", "cuts"),
    [
        (KBinsDiscretizer(n_bins=2, strategy="uniform", encode="ordinal"), (4.5,)),
        ("quantile", (0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5)),
    ],
)
def test_any_transformer_that_bins_gives_cut_points(discretizer, cuts):
    X = np.arange(8.0)[:, np.newaxis] + np.array([[0.0]])
    X[-1] = 9.0 if cuts == (4.5,) else 7.0
    assert learn(X, discretizer=discretizer).attributes[0].cuts == pytest.approx(cuts)


def test_a_transformer_that_does_not_bin_is_refused():
    X = np.random.default_rng(0).normal(size=(1000, 1))
    with pytest.raises(OptionError, match="does not cut a column into intervals"):
        learn(X, discretizer=StandardScaler())


def test_an_unknown_discretizer_lists_the_known_ones():
    with pytest.raises(OptionError, match="'mdlp', 'quantile'"):
        learn(np.eye(2), discretizer="mdpl")


BY_HAND = {"age": [18, 65.5], "day": [datetime.date(2020, 1, 6)], "wait": [2 * 86_400e6]}


def people(n=60):
    generator = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + generator.integers(0, 10, n)
    waits = generator.integers(0, 4, n) * np.timedelta64(1, "D").astype("m8[s]")
    cells = {"age": generator.uniform(0, 90, n), "day": days, "wait": waits, "pay": generator.normal(size=n)}
    frame = pd.DataFrame(cells)
    return frame, (frame["age"] + 20 * frame["pay"] > 40).map({True: "yes", False: "no"})


@pytest.mark.parametrize("streamed", [False, True], ids=["in memory", "in batches"])
@pytest.mark.parametrize("make", [NaiveBayesClassifier, BayesianNetworkClassifier, AdditiveClassifier])
def test_cut_points_by_hand_are_the_only_ones_of_their_columns(make, streamed, tmp_path):
    X, y = people()
    rows = (iter([X.assign(y=y)]), "y") if streamed else (X, y)
    clf = make(discretizer=BY_HAND).fit(*rows)
    columns = {column.name: column for column in clf.encoder_.schema.attributes}
    assert columns["age"].states == ("< 18", "[18, 65.5)", ">= 65.5")
    assert columns["day"].cuts == (np.datetime64("2020-01-06", "us").astype(float),)
    assert columns["wait"].cuts == (2 * 86_400e6,)
    learnt = make().fit(X, y).encoder_.schema.attributes[3]
    assert columns["pay"] == learnt
    save_model(clf, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict_proba(X), clf.predict_proba(X))
    assert clone(clf).discretizer == BY_HAND


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ({"agee": [1]}, "discretizer has cut points for 'agee', no column; the nearest are 'age'"),
        ({"town": [1]}, "for 'town', a column of categories"),
        ({"age": [2, 1]}, r"discretizer gives 'age' the cut points \[2, 1\]; expected .* increasing numbers"),
        ({"age": ["x"]}, "expected the name of a column and increasing numbers"),
        ({"age": 3}, "expected the name of a column and increasing numbers"),
        ({"age": [np.nan]}, "expected the name of a column and increasing numbers"),
        ({0: [1]}, "expected the name of a column"),
    ],
)
def test_cut_points_that_cannot_be_used_are_refused(cuts, message):
    X, y = people()
    with pytest.raises(OptionError, match=message):
        NaiveBayesClassifier(discretizer=cuts).fit(X.assign(town="x"), y)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("kind", ["category", "bins"])
def test_many_whole_numbers_have_the_codes_that_few_of_them_have(dtype, kind):
    """Of many rows each integer is encoded once and looked up; of few rows each cell is encoded."""
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    for lowest, span in ((info.min, 200), (0, 3), (max(info.min, -100), 120), (info.max - 50, 51)):
        values = (lowest + rng.integers(0, span, 9_000).astype(object)).astype(dtype)
        schema = learn(values[:500, np.newaxis], categorical_features=[0] if kind == "category" else None)
        encoder = TableEncoder(schema)
        whole = encoder.encode(read_columns(values[:, np.newaxis]))
        parts = [encoder.encode(read_columns(part[:, np.newaxis])) for part in np.split(values, 9)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))
        if kind == "category":
            assert learn(values[:, np.newaxis], categorical_features=[0]).attributes[0].categories == tuple(
                np.unique(values).tolist()
            )
