"""Hostile tables and options.

Properties: the table can be checked. It is refused by an error of ours, or there are probabilities: finite, in [0, 1],
summing to one, the same for a row alone and among others, after a pickle, as an Arrow table, and, where learning is by
counts alone, for any order of rows and columns, number of threads and engine. Times of another kind, with a zone or
without, are refused. An export, also of a model with a recipe, is refused by an error of ours, or where it gives a
number it is the probability.
"""

from __future__ import annotations

import datetime
import pickle
import sqlite3
import tempfile
import traceback
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.base import clone

from export.engines import ENGINES
from tanager import AdditiveClassifier, BayesianNetworkClassifier, check
from tanager.check.preprocessing import NOTHING_TO_DO, Recipe
from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, TanagerError
from tanager.table.read_columns import to_arrow

NEW_YORK = datetime.timezone(datetime.timedelta(hours=-5))
VALUES: list[list[Any]] = [
    [0, 1],
    [0.5, float("nan"), -1e300, 1e300],
    [True, False, None],
    ["a", "b", "c", None],
    ["", " ", "a\0b", "é", "(missing)"],
    [2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    [10**30, 1],
    ["x\ud800", "y"],
    [Decimal("1.5"), Decimal("Infinity"), Decimal("NaN")],
    [datetime.date(2024, 2, 29), datetime.date(1, 1, 1), None],
    [datetime.datetime(2024, 2, 29, 12), datetime.datetime(9999, 12, 31)],
    [datetime.datetime(2024, 2, 29, hour, tzinfo=NEW_YORK) for hour in (1, 23)],
    [datetime.datetime(2024, 2, 29, 12), datetime.datetime(2024, 3, 1, tzinfo=NEW_YORK), datetime.date(2024, 2, 1)],
    [datetime.timedelta(1), datetime.timedelta(days=-999_999)],
    [1, 2, 3, -999],
    ["red", "red ", "Blue", "blue", "unknown"],
    [1, "1", 1.0],
    [None],
    [float("nan")],
    [float("inf"), 1.0],
    [[1], [2]],
    [b"x", b"\xff"],
    [1e-320, 5e-324, 0.0, -0.0],
    [pd.NA, "x", 1],
    [np.array([1, 2]), pd.NA],
    ["1,5", "2,25", "x"],
    ["01/02/2020", "31/12/2020"],
    ["50%", "3%", "$5"],
]
LABELS: list[list[Any]] = [
    ["a", "b"],
    [0, 1, 2],
    [True, False],
    ["a", "b", None],
    [1.0, 2.0],
    ["1", 1],
    [0.5, 0.7],
    ["a"],
    ["", "b"],
    ["=1+1", "x\r=1+2", '"'],
    [2**53, 2**53 + 1],
    ["\ud800", "y"],
]
NAMES = [
    "rowid",
    "k0",
    "step0_0",
    "source",
    "label",
    "",
    "a\0b",
    "x\ud800",
    "x\r=1+2",
    '"',
    "concat",
    "A",
    "a",
    "class",
]
EXPORTED = ["python", "sqlite", "duckdb", "onnxruntime"]
# Learnt from counts alone, so that nothing may depend on the order in which rows are seen.
COUNTED: list[tuple[str, str]] = [
    ("naive-bayes", "frequency"),
    ("tan", "frequency"),
    ("kdb", "frequency"),
    ("tan", "acll"),
]
LEARNT: list[tuple[str, str]] = [
    ("additive", ""),
    ("additive", ""),
    ("tan", "conditional"),
    ("naive-bayes", "em"),
]


def _classifier(structure: str, parameters: str, options: dict[str, object]) -> TableClassifier:
    if structure != "additive":
        return BayesianNetworkClassifier(structure, parameters=parameters, random_state=0, engine="numpy", **options)
    missing = "average" if options["missing"] == "skip" else "auto"
    unknown = "error" if options["handle_unknown"] == "error" else "average"
    return AdditiveClassifier(random_state=0, **{**options, "missing": missing, "handle_unknown": unknown})


def attack_table(number: int, seed: int, counted: bool) -> bool:
    """Case `number` of this seed: whether the table was learnt from; if not, the error was one of ours."""
    rng = np.random.default_rng([seed, number, 1])
    structure, parameters = (COUNTED if counted else LEARNT)[rng.integers(4)]
    options = {
        "missing": str(rng.choice(["auto", "skip", "category"])),
        "categorical_features": str(rng.choice(["from_dtype", "all"])),
        "discretizer": [None, "quantile", "mdlp"][rng.integers(3)],
        "handle_unknown": str(rng.choice(["average", "error"])),
    }
    clf = _classifier(structure, parameters, options)
    n_rows = int(rng.choice([2, 7, 30, 60]))
    names = [f"x{k}" for k in range(4)] if rng.random() < 0.7 else rng.permutation(NAMES).tolist()
    columns = {names[k]: _column(rng, n_rows) for k in range(rng.integers(1, 5))}
    y = _draw(LABELS[rng.integers(4 if rng.random() < 0.8 else len(LABELS))], rng, n_rows)
    weights = None if rng.random() < 0.7 else rng.choice([0.0, 1.0, 2.5, 1e-300, 1e30], n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = _frame(columns, rng)
        except Exception:  # pandas or polars refuses it, not we
            return False
        recipe = _check_issues(table, y) if number % 3 == 0 else NOTHING_TO_DO
        try:
            shares = clf.fit(table, y, weights).predict_proba(table)
        except TanagerError:
            return False
        except (ValueError, TypeError) as error:
            if "sklearn/utils/validation" in traceback.extract_tb(error.__traceback__)[-1].filename.replace("\\", "/"):
                return False  # in scikit-learn's own words
            raise
        check_shares(shares)
        np.testing.assert_allclose(clf.predict_proba(table[: n_rows // 2 + 1]), shares[: n_rows // 2 + 1], atol=1e-12)
        assert pickle.loads(pickle.dumps(clf)).predict_proba(table).tobytes() == shares.tobytes()
        rows = to_arrow(table)
        np.testing.assert_allclose(clf.predict_proba(rows), shares, atol=1e-12)
        _check_zones(clf, rows)
        _check_export(clf, rows, shares, rng)
        _check_recipe(clf, recipe, rows, y, rng)
        if counted:
            _check_orders(clf, table, y, weights, shares, rng)
    return True


def _check_issues(table: Any, y: Any) -> Recipe:
    """The issues of the table are named, and the preprocessing that is proposed for them can be applied."""
    try:
        checkup = check(table, y)
        assert str(checkup)
        checkup.recipe.apply(table)
    except TanagerError:
        return NOTHING_TO_DO
    return checkup.recipe


def _check_zones(clf: TableClassifier, rows: pa.Table) -> None:
    """Times that get a zone, or lose it, are refused."""
    for place, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if pa.types.is_timestamp(column.type) and column.null_count < len(column):
            zone = None if column.type.tz else "UTC"
            moved = rows.set_column(place, name, column.cast(pa.int64()).cast(pa.timestamp(column.type.unit, zone)))
            try:
                clf.predict_proba(moved)
            except DataError:
                continue
            raise AssertionError(f"{name!r}: times of another kind are answered")


def _check_export(clf: TableClassifier, rows: pa.Table, shares: np.ndarray[Any, Any], rng: np.random.Generator) -> None:
    """Numbers of an export are those of `shares`. What the engine cannot be given is no fault of the export."""
    engine = EXPORTED[rng.integers(len(EXPORTED))]
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = ENGINES[engine](clf, rows, Path(folder))
        except TanagerError:
            return
        except (TypeError, OverflowError, sqlite3.Error, duckdb.Error):
            # a Decimal in Python, a whole number or a name that a database has no place for
            return
    answered = ~np.isnan(found).all(axis=1)
    np.testing.assert_allclose(found[answered], shares[answered], atol=1e-9 if engine == "python" else 1e-3)


def _check_recipe(clf: TableClassifier, recipe: Recipe, rows: pa.Table, y: Any, rng: np.random.Generator) -> None:
    """A model with a recipe, exported, answers rows that are not preprocessed as it answers preprocessed ones."""
    if not recipe:
        return
    try:
        mended = recipe.apply(rows)
        again = clone(clf).fit(mended, y)
    except (TanagerError, ValueError):
        return
    again.recipe_ = recipe
    _check_export(again, rows, again.predict_proba(mended), rng)


def check_shares(shares: np.ndarray[Any, Any]) -> None:
    """Probabilities, in each row."""
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    assert (shares <= 1).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def _check_orders(clf: Any, table: Any, y: Any, weights: Any, shares: Any, rng: np.random.Generator) -> None:
    """The same rows in another order, with columns in another order, on one thread and by the other engine."""
    order = rng.permutation(len(y))
    names = list(table.columns)[::-1]
    rows = table.iloc[order][names] if isinstance(table, pd.DataFrame) else table[order.tolist()][names]
    again = clf.set_params(engine="numba", n_jobs=1).fit(
        rows, [y[k] for k in order], None if weights is None else weights[order]
    )
    np.testing.assert_allclose(again.predict_proba(rows), shares[order], atol=1e-9)


def _column(rng: np.random.Generator, n_rows: int) -> list[Any]:
    common = rng.random() < 0.85  # else hardly a table would be learnt from
    return _draw(VALUES[rng.integers(4) if common else rng.integers(len(VALUES))], rng, n_rows)


def _draw(values: list[Any], rng: np.random.Generator, n_rows: int) -> list[Any]:
    return [values[k] for k in rng.integers(len(values), size=n_rows)]


def _frame(columns: dict[str, list[Any]], rng: np.random.Generator) -> Any:
    # polars panics at a decimal that is not finite.
    panics = any(isinstance(cell, Decimal) and not cell.is_finite() for cells in columns.values() for cell in cells)
    match int(rng.integers(2 if panics else 3)):
        case 0:
            return pd.DataFrame(columns)
        case 1:
            return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
        case _:
            return pl.DataFrame(columns)
