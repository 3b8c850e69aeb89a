"""The fit as a whole: what must not change P, what the options promise, and tables with next to nothing in them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from additive.small_terms import COLUMNS, PAIRS, design, random_codes, small_terms
from tanager import AdditiveClassifier
from tanager.additive import fit as fit_module
from tanager.additive import folds as folds_module
from tanager.additive import trees as trees_module
from tanager.additive.fit import _model_of
from tanager.errors import DataError, OptionError
from tanager.table.schema import ColumnSchema

pytestmark = pytest.mark.filterwarnings("ignore:column .* holds no value")


def mixed_table(seed: int = 0, n_rows: int = 260, n_classes: int = 3, missing: float = 0.1) -> tuple:
    """Text, numbers and booleans; the class depends on most of them, one pair, and on what is missing."""
    rng = np.random.default_rng(seed)
    size, pay = rng.normal(size=n_rows), rng.lognormal(size=n_rows)
    town, grade = rng.choice(["Aa", "Bo", "Cu"], n_rows), rng.integers(0, 6, n_rows)
    gone = rng.random((n_rows, 2)) < missing
    score = size + np.where(town == "Bo", 1.0, -0.5) * np.log(pay) + 0.3 * grade - gone[:, 0]
    y = np.digitize(
        score + rng.logistic(scale=0.4, size=n_rows), np.quantile(score, np.arange(1, n_classes) / n_classes)
    )
    X = pd.DataFrame(
        {
            "size": np.where(gone[:, 0], np.nan, size),
            "town": pd.Series(town, dtype=object).mask(gone[:, 1], None),
            "grade": grade,
            "pay": pay,
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    return X, pd.Series(np.array(["no", "perhaps", "yes"])[y], name="y")


def three_together(seed: int = 0, n_rows: int = 400) -> tuple:
    """The sign of a product: no curve and no pair has anything of it, trees have most."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=["d", "a", "c", "b"])
    return X, pd.Series((X["a"] * X["b"] * X["c"] > 0).astype(int), name="y")


TABLES = {"mixed": mixed_table, "trees": three_together}
EACH = pytest.mark.parametrize("name", list(TABLES))


@pytest.fixture(autouse=True, scope="module")
def few_rounds():
    """Trees of a few rounds have all that trees have, in less time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trees_module, "MAX_ROUNDS", 100)
        yield


@cache
def table(name):
    return TABLES[name]()


@cache
def fitted(name):
    return AdditiveClassifier().fit(*table(name))


def assert_same(clf, name, atol=1e-9):
    """As the model of the table."""
    X, _ = table(name)
    found, expected = clf.predict_proba(X[clf.feature_names_in_]), fitted(name).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def test_the_tables_have_pairs_and_trees():
    """Else what follows would say nothing of them."""
    assert fitted("mixed").model_.pairs
    assert fitted("trees").model_.forest is not None


def rows_in_another_order(X):
    return X.iloc[np.random.default_rng(0).permutation(len(X))]


CHANGES = {
    "rows in another order": (rows_in_another_order, {}),
    "columns in another order": (lambda X: X[X.columns[::-1]], {}),
    "polars": (pl.from_pandas, {}),
    "pyarrow": (pa.Table.from_pandas, {}),
    **{f"{n} threads": (pd.DataFrame.copy, {"n_jobs": n}) for n in (1, 2, 5)},
}


@EACH
@pytest.mark.parametrize(("change", "options"), CHANGES.values(), ids=CHANGES)
def test_order_of_rows_and_columns_library_and_threads_change_nothing(name, change, options):
    X, y = table(name)
    labels = rows_in_another_order(y) if change is rows_in_another_order else y
    assert_same(AdditiveClassifier(**options).fit(change(X), labels), name)


def test_a_bare_array_is_a_frame_of_its_columns():
    X, y = table("trees")
    named = X.set_axis(["x0", "x1", "x2", "x3"], axis=1)
    one, other = AdditiveClassifier().fit(named, y), AdditiveClassifier().fit(X.to_numpy(), y)
    np.testing.assert_allclose(one.predict_proba(named), other.predict_proba(X.to_numpy()), rtol=0, atol=1e-9)


def arrow_dictionary(words):
    values = ["Cu", "unused", "Aa", "Bo"]
    codes = [None if word is None else values.index(word) for word in words]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), values)


def test_the_order_in_which_a_container_holds_categories_changes_nothing():
    X, y = table("mixed")
    words = X["town"].tolist()
    arrow = pa.Table.from_pandas(X)
    dictionary = arrow.set_column(arrow.column_names.index("town"), "town", arrow_dictionary(words))
    categorical = X.assign(town=pd.Categorical(words, categories=["Cu", "Bo", "Aa"]))
    polars = pl.from_pandas(X).with_columns(pl.col("town").cast(pl.Categorical))
    expected = AdditiveClassifier(trees=False).fit(X, y).predict_proba(X)
    for frame in (dictionary, categorical, polars):
        found = AdditiveClassifier(trees=False).fit(frame, y).predict_proba(frame)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_an_order_that_is_declared_is_kept():
    X, y = table("mixed")
    order = ["Cu", "Aa", "Bo"]
    declared = X.assign(town=pd.Categorical(X["town"], categories=order, ordered=True))
    enum = pl.from_pandas(X).with_columns(pl.col("town").cast(pl.Enum(order)))
    one, other = (AdditiveClassifier(trees=False).fit(frame, y) for frame in (declared, enum))
    column = next(column for column in one.model_.columns if column.name == "town")
    assert column.has_order
    assert list(column.categories) == order
    np.testing.assert_allclose(one.predict_proba(declared), other.predict_proba(enum), rtol=0, atol=1e-9)


@EACH
def test_batches_give_the_model_of_the_rows_in_memory(name):
    X, y = table(name)
    rows = X.assign(y=y)
    batches = (rows.iloc[first:last] for first, last in ((0, 7), (7, 150), (150, len(rows))))
    assert_same(AdditiveClassifier().fit(batches, "y"), name, atol=1e-5)


@EACH
@pytest.mark.parametrize("column", ["constant", "number", "missing", "nan"])
def test_a_column_without_information_changes_nothing(name, column):
    X, y = table(name)
    cells = {"constant": "same", "number": 3.0, "missing": None, "nan": np.nan}[column]
    kind = object if column in ("constant", "missing") else float
    more = X.copy()
    more.insert(1, "because", pd.Series([cells] * len(X), dtype=kind))  # among the others, by name and by place
    clf = AdditiveClassifier().fit(more, y)
    np.testing.assert_array_equal(clf.predict_proba(more), fitted(name).predict_proba(X))
    assert "because" in clf.trace_.zero_attributes
    assert clf.tree_share_ == fitted(name).tree_share_


@pytest.mark.parametrize(
    "options",
    [
        {"pairs": [("town", "pay")]},
        {"forbidden_pairs": [("town", "pay")]},
        {"monotonic_cst": {"pay": 1}, "pairs": 0},
    ],
    ids=["given pairs", "forbidden pairs", "constraint"],
)
def test_options_name_the_same_columns_beside_one_without_information(options):
    X, y = mixed_table(9, n_classes=2)
    more = X.assign(first="same")  # by name before most of the others
    one, other = (AdditiveClassifier(**options).fit(frame, y) for frame in (X, more))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(more))
    assert pair_names(one) == pair_names(other)


@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_centred_effects_add_up_to_the_log_odds_of_the_fit(n_classes, unknown):
    """Of every row, with unknown cells too; and no effect has a mean over the training rows that another may have.

    The fit may have seen unknown cells or not: the model has them.
    """
    rng = np.random.default_rng(10)
    terms, codes = small_terms(rng), random_codes(rng, 80)
    seen = terms.with_unknown(unknown)
    n_columns = 1 if n_classes == 2 else n_classes
    effects = rng.normal(size=(terms.first_effect[-1] + 1, n_columns, 1))
    columns = (*COLUMNS, ColumnSchema("y", "categorical", tuple(range(n_classes))))
    shares = [basis.shares for basis in terms.fine]
    model = _model_of(columns, seen, np.concatenate([seen.take(terms, effects[:-1]), effects[-1:]]), shares)
    total = np.tile(model.intercept, (80, 1))
    for a, main in enumerate(model.mains):
        total += main[codes[:, a]]
        np.testing.assert_allclose(shares[a] @ main[:-1], 0.0, atol=1e-12)
    coarse = [column.coarse_codes[codes[:, a]] for a, column in enumerate(COLUMNS)]
    for (i, j), pair in zip(model.pairs, model.tables, strict=True):
        total += pair[coarse[i], coarse[j]]
        np.testing.assert_allclose(np.einsum("i,ijc->jc", terms.coarse[i].shares, pair[:-1]), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.einsum("j,ijc->ic", terms.coarse[j].shares, pair[:, :-1]), 0.0, atol=1e-12)
    expected = design(terms, codes) @ effects[:-1, :, 0] + effects[-1, :, 0]
    if n_classes == 2:
        np.testing.assert_allclose(total[:, 1] - total[:, 0], expected[:, 0], atol=1e-10)
    else:
        differences = (each - each.mean(axis=1, keepdims=True) for each in (total, expected))
        np.testing.assert_allclose(*differences, atol=1e-10)
    assert set(model.pairs) == set(PAIRS)


@EACH
def test_a_row_of_weight_zero_is_a_row_left_out(name):
    X, y = table(name)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 1.0, 1.5], len(y))
    kept = weights > 0
    one = AdditiveClassifier().fit(X, y, weights)
    other = AdditiveClassifier().fit(X[kept], y[kept], weights[kept])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("times", [1e-3, 0.5, 2.0])
@pytest.mark.filterwarnings("ignore:the mean weight")
def test_the_unit_of_weights_does_not_matter(times):
    X, y = table("mixed")
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    one, other = (AdditiveClassifier().fit(X, y, w).predict_proba(X) for w in (weights, times * weights))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)


def test_a_fit_made_again_with_weights_of_one_is_the_same_bit_for_bit():
    X, y = table("trees")
    again = AdditiveClassifier().fit(X, y, np.ones(len(y)))
    np.testing.assert_array_equal(again.predict_proba(X), fitted("trees").predict_proba(X))


@EACH
def test_where_choices_are_made_on_some_of_the_rows_the_order_of_rows_changes_nothing(name, monkeypatch):
    (X, y), on_all = table(name), fitted(name)
    monkeypatch.setattr(folds_module, "ALL_ROWS", len(y) // 2)
    order = np.random.default_rng(3).permutation(len(y))
    one, other = (AdditiveClassifier().fit(X.iloc[rows], y.iloc[rows]) for rows in (np.arange(len(y)), order))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-9)
    assert one.trace_.validation_losses != on_all.trace_.validation_losses
    assert (one.predict(X) == y).mean() > 0.6


@EACH
def test_a_model_of_some_of_the_rows_is_the_same_from_batches(name, monkeypatch):
    """Trees are grown on so many rows, and terms are fitted to half of them."""
    for module in (folds_module, fit_module):
        monkeypatch.setattr(module, "MAX_FITTED", 200)
    X, y = table(name)
    rows = X.assign(y=y)
    batches = (rows.iloc[first:last] for first, last in ((0, 90), (90, len(rows))))
    one, other = AdditiveClassifier().fit(X, y), AdditiveClassifier().fit(batches, "y")
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-5)
    assert np.abs(one.predict_proba(X) - fitted(name).predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("kind", ["number", "text"])
def test_what_is_missing_tells_the_class(kind):
    rng = np.random.default_rng(2)
    gone = rng.random(300) < 0.4
    cells = rng.normal(size=300) if kind == "number" else rng.choice(["a", "b"], 300).astype(object)
    X = pd.DataFrame({"x": pd.Series(cells).mask(gone), "noise": rng.normal(size=300)})
    y = np.where(rng.random(300) < 0.9, gone, ~gone).astype(int)
    clf = AdditiveClassifier().fit(X, y)
    p = clf.predict_proba(X)[:, 1]
    assert abs(p[gone].mean() - y[gone].mean()) < 0.03
    assert abs(p[~gone].mean() - y[~gone].mean()) < 0.03
    average = AdditiveClassifier(missing="average").fit(X, y)
    assert average.predict_proba(X)[gone, 1].mean() < 0.7


@pytest.mark.parametrize("seed", range(3, 7))
@pytest.mark.parametrize(("n_rows", "share"), [(500, 0.5), (4_000, 0.5), (500, 0.2)])
def test_missing_is_a_state_of_pairs_too(n_rows, share, seed):
    """Whether a cell is missing decides with another column, and with neither alone: for rows with and without it."""
    rng = np.random.default_rng(seed)
    gone, side = rng.random(n_rows) < share, rng.choice(["l", "r"], n_rows)
    X = pd.DataFrame({"x": pd.Series(rng.normal(size=n_rows)).mask(gone), "side": side})
    y = (gone ^ (side == "l")).astype(int)
    right = AdditiveClassifier(trees=False).fit(X, y).predict(X) == y
    assert right[gone].mean() > 0.97
    assert right[~gone].mean() > 0.97


def monotone_table(n_rows=500):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    X.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    odds = np.sin(2 * X["a"].fillna(0.0)) + X["a"].fillna(2.0) * X["b"] - X["b"] + X["c"] * X["d"]
    return X, (odds > rng.logistic(scale=0.5, size=n_rows)).astype(int)


@pytest.mark.parametrize(
    "options",
    [{}, {"pairs": 3}, {"pairs": [("c", "d")]}, {"pairs": 0}],
    ids=["auto", "three pairs", "a pair of others", "no pairs"],
)
def test_the_log_odds_never_fall_or_rise_where_asked(options):
    X, y = monotone_table()
    clf = AdditiveClassifier(monotonic_cst={"a": 1, "b": -1}, **options).fit(X, y)
    assert pair_names(clf) <= {frozenset({"c", "d"})}
    grid = np.linspace(-3, 3, 400)
    for row in range(6):
        for name, direction in (("a", 1), ("b", -1)):
            rows = pd.DataFrame([X.iloc[row]] * len(grid)).assign(**{name: grid})
            steps = direction * np.diff(clf.predict_proba(rows)[:, 1])
            assert steps.min() >= -1e-12
    free = AdditiveClassifier(trees=False, pairs=0).fit(X, y)
    rows = pd.DataFrame([X.iloc[0]] * len(grid)).assign(a=grid)
    assert np.diff(free.predict_proba(rows)[:, 1]).min() < -1e-3


@pytest.mark.parametrize("pair", [("b", "c"), ("a", "b")], ids=["a pair of one", "the pair of both"])
def test_a_given_pair_of_a_constrained_attribute_is_refused_in_one_clear_line(pair):
    with pytest.raises(OptionError, match=r"monotonic_cst constrains '[ab]', which is also in the pairs given"):
        AdditiveClassifier(monotonic_cst={"a": 1, "b": -1}, pairs=[pair]).fit(*monotone_table())


def test_a_constraint_that_the_truth_keeps_costs_nothing():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=list("ab"))
    y = (X["a"] + 0.5 * X["b"] > rng.logistic(scale=0.5, size=600)).astype(int)
    test = pd.DataFrame(rng.normal(size=(5_000, 2)), columns=list("ab"))
    labels = (test["a"] + 0.5 * test["b"] > rng.logistic(scale=0.5, size=5_000)).astype(int)
    losses = []
    for constraint in (None, {"a": 1, "b": 1}):
        clf = AdditiveClassifier(monotonic_cst=constraint, trees=False, pairs=0).fit(X, y)
        losses.append(-clf.predict_log_proba(test)[np.arange(5_000), labels].mean())
    assert losses[1] < losses[0] + 0.005


def pair_names(clf):
    return {frozenset(clf.model_.nodes[node] for node in pair) for pair in clf.model_.pairs}


def test_given_pairs_are_the_only_pairs_and_there_are_no_trees():
    """Folds decide how strongly they are shrunk: to nothing where they say nothing, and not where they decide."""
    given = {frozenset({"town", "pay"}), frozenset({"flag", "grade"})}
    for X, y in (table("mixed"), mixed_table(1), mixed_table(2, n_classes=2)):
        clf = AdditiveClassifier(pairs=[tuple(pair) for pair in given]).fit(X, y)
        assert pair_names(clf) <= given
        assert clf.model_.forest is None
    X, y = mixed_table(0, n_rows=1_500)
    clf = AdditiveClassifier(pairs=[("pay", "town")]).fit(X, y)
    assert pair_names(clf) == {frozenset({"town", "pay"})}
    assert clf.trace_.pairs == 1
    without = AdditiveClassifier(pairs=0, trees=False).fit(X, y)
    others, labels = mixed_table(1, n_rows=3_000)
    at = np.searchsorted(clf.classes_, labels)
    one, other = (-each.predict_log_proba(others)[np.arange(3_000), at].mean() for each in (clf, without))
    assert one < other - 0.02


def test_forbidden_pairs_never_appear_and_there_are_no_trees():
    X, y = table("mixed")
    assert frozenset({"town", "pay"}) in pair_names(fitted("mixed"))
    for options in ({}, {"pairs": 4}):
        clf = AdditiveClassifier(forbidden_pairs=[("town", "pay")], **options).fit(X, y)
        assert frozenset({"town", "pay"}) not in pair_names(clf)
        assert clf.model_.forest is None


def test_no_pairs_and_no_trees_where_none_are_asked_for():
    X, y = table("trees")
    clf = AdditiveClassifier(pairs=0, trees=False).fit(X, y)
    assert not clf.model_.pairs
    assert clf.model_.forest is None
    assert clf.tree_share_ == 0.0
    assert not AdditiveClassifier(pairs=0).fit(X, y).model_.pairs
    assert AdditiveClassifier(pairs=2).fit(*table("mixed")).trace_.pairs <= 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intercept_and_effects_are_all_there_is_without_pairs_and_trees(n_classes):
    """By the labels of the table of effects, row by row."""
    X, y = mixed_table(6, n_classes=n_classes)
    X = X[["town", "grade", "flag"]]
    clf = AdditiveClassifier(trees=False, pairs=0).fit(X, y)
    values = clf.effects_.set_index(["term", "state", "class"])["value"]
    total = np.tile(clf.intercept_, (len(X), 1))
    bins = list(dict.fromkeys(clf.effects_.loc[clf.effects_["term"] == "grade", "state"]))
    for row, (town, grade, flag) in enumerate(X.itertuples(index=False)):
        state = next(label for label in bins if in_bin(label, grade))
        for k, label in enumerate(clf.classes_):
            total[row, k] += values["town", "(missing)" if town is None else town, label]
            total[row, k] += values["grade", state, label] + values["flag", str(flag), label]
    total -= np.log(np.exp(total).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(total, clf.predict_log_proba(X), rtol=0, atol=1e-9)


def in_bin(label, value):
    """Whether a number is in "< 2", "[2, 3)" or ">= 3"."""
    if label.startswith("["):
        low, high = (float(end) for end in label.strip("[)").split(","))
        return low <= value < high
    sign, end = label.split()
    return value < float(end) if sign == "<" else value >= float(end)


@pytest.mark.parametrize("y", [[0, 0, 0, 0], [1]])
def test_a_single_class_is_refused_in_one_clear_line(y):
    with pytest.raises(DataError, match="holds one class"):
        AdditiveClassifier().fit(np.arange(len(y), dtype=float)[:, np.newaxis], y)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((8, 2)), [0, 1, 0, 0, 0, 1, 0, 0]),
        (np.full((6, 1), np.nan), [0, 1, 2, 1, 2, 1]),
        (np.array([["a"]] * 5, dtype=object), list("xyxxx")),
        (np.array([[1.0], [2.0]]), [0, 1]),
        (np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 6.0]]), [0, 1, 2]),
    ],
    ids=["constant columns", "missing columns", "one category", "two rows", "three rows of three classes"],
)
def test_where_nothing_can_be_learnt_there_are_the_class_frequencies(X, y):
    clf = AdditiveClassifier().fit(X, y)
    expected = np.unique(y, return_counts=True)[1] / len(y)
    np.testing.assert_allclose(clf.predict_proba(X), np.tile(expected, (len(y), 1)), atol=1e-9)
    assert not clf.model_.pairs
    assert clf.model_.forest is None


@pytest.mark.parametrize("n_rows", [3, 4, 6, 10])
def test_a_table_of_a_few_rows_is_learnt_without_a_fault(n_rows):
    rng = np.random.default_rng(n_rows)
    X, y = rng.normal(size=(n_rows, 2)), np.arange(n_rows) % 2
    p = AdditiveClassifier().fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 3), (0, 2), (1, 2)])
def test_the_change_of_p_that_is_reported_is_about_that_of_going_on(seed, n_classes, monkeypatch):
    X, y = mixed_table(seed, n_classes=n_classes)
    first = AdditiveClassifier(trees=False).fit(X, y)
    with monkeypatch.context() as patched:
        patched.setattr(fit_module, "CLOSE", fit_module.CLOSE / 1_000)
        further = AdditiveClassifier(trees=False).fit(X, y)
    moved = np.abs(first.predict_proba(X) - further.predict_proba(X)).max()
    assert 0 < first.trace_.change_of_p < 0.01
    assert moved <= 3 * first.trace_.change_of_p
    assert further.trace_.change_of_p < first.trace_.change_of_p


@pytest.mark.parametrize(("n_rows", "most"), [(95, 0.1), (195, 0.1), (495, 0.05), (745, 0.05)])
def test_a_few_more_rows_change_little(n_rows, most):
    """No rule switches at a number of rows."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(1_150, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > rng.logistic(scale=0.5, size=1_150)).astype(int)
    test = X[-400:]
    one, other = (AdditiveClassifier().fit(X[:n], y[:n]).predict_proba(test) for n in (n_rows, n_rows + 5))
    assert np.abs(one - other).mean() < most


def test_more_than_a_thousand_classes_are_refused_in_one_line():
    X, y = np.zeros((1_001, 1)), np.arange(1_001)
    with pytest.raises(DataError, match=r"has 1,001 values; an additive model learns at most 1,000 classes"):
        AdditiveClassifier().fit(X, y)
