"""Properties of models of real tables: a change that must not change the answer, and every other way to the answer.

A case takes rows and columns of a benchmark table at random, fits a classifier, and checks one property. The tables are
those of the folder $TANAGER_DATA; without it, three of scikit-learn.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from attack.tables import check_shares
from export.engines import ENGINES
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    OptionError,
    TanagerError,
    explain,
    load_model,
    report,
    save_model,
)
from tanager.classifiers.base import encode_table

DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parents[1] / "../shared/data"))
CLASSIFIERS: list[Any] = [
    AdditiveClassifier(random_state=0),
    AdditiveClassifier(missing="average", trees=False),
    BayesianNetworkClassifier(),
    BayesianNetworkClassifier("aode", parameters="frequency"),
    BayesianNetworkClassifier("kdb", parameters="frequency", missing="category"),
]
TARGETS = [name for name in ENGINES if name not in ("node", "gcc") or shutil.which(name)]
SHARES = [0.45, 0.15, 0.2, 0.1, 0.1]
"""How often each is drawn: the additive model in more than half of the cases."""


@dataclass
class Fitted:
    """A classifier, its training table, and P(class | row) of its rows."""

    X: pd.DataFrame
    y: np.ndarray[Any, Any]
    clf: Any
    rng: np.random.Generator

    @property
    def shares(self) -> np.ndarray[Any, Any]:
        return self.clf.predict_proba(self.X)

    def again(self, X: Any, y: Any = None, **options: Any) -> Any:
        """The same classifier, fitted to another form of the table."""
        return clone(self.clf).set_params(**options).fit(X, self.y if y is None else y)

    @property
    def additive(self) -> bool:
        return isinstance(self.clf, AdditiveClassifier)

    @property
    def mixture(self) -> bool:
        return self.clf.model_.kind == "mixtures"


def equal(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def shuffled_rows(case: Fitted) -> None:
    order = case.rng.permutation(len(case.y))
    equal(case.again(case.X.iloc[order], case.y[order]).predict_proba(case.X), case.shares)


def reversed_columns(case: Fitted) -> None:
    X = case.X[case.X.columns[::-1]]
    equal(case.again(X).predict_proba(X), case.shares)


def columns_without_information(case: Fitted) -> None:
    """A constant column and one without any value do not change the additive model.

    In a network by counts with a missing state, the smoothed table of a constant column is informative.
    """
    if case.additive:
        X = case.X.assign(constant="k", empty=np.nan)
        equal(case.again(X).predict_proba(X), case.shares, 1e-14)


def threads(case: Fitted) -> None:
    for n_jobs in (1, 2, 5):
        equal(case.again(case.X, n_jobs=n_jobs).predict_proba(case.X), case.shares)


def frame_libraries(case: Fitted) -> None:
    arrow = pa.Table.from_pandas(case.X, preserve_index=False)
    text = [column.dictionary_encode() if pa.types.is_large_string(column.type) else column for column in arrow.columns]
    for X in (arrow, pl.from_arrow(arrow), pa.table(text, names=arrow.column_names)):
        equal(case.again(X).predict_proba(X), case.shares)


def weight_zero(case: Fitted) -> None:
    """A row of weight zero is no row."""
    kept = case.rng.random(len(case.y)) < 0.8
    if len(set(case.y[kept])) < len(set(case.y)) or case.X[kept].nunique().min() < 1:
        return
    weighted = clone(case.clf).fit(case.X, case.y, kept.astype(float))
    equal(weighted.predict_proba(case.X), case.again(case.X[kept], case.y[kept]).predict_proba(case.X))


def rows_alone(case: Fitted) -> None:
    for row in case.rng.choice(len(case.y), 5):
        equal(case.clf.predict_proba(case.X.iloc[[row]])[0], case.shares[row], 1e-12)


def concurrent_threads(case: Fitted) -> None:
    """Several threads that predict with one model get the same bits."""
    expected = case.shares.tobytes()
    with ThreadPoolExecutor(4) as pool:
        assert {found.tobytes() for found in pool.map(case.clf.predict_proba, [case.X] * 8)} == {expected}


def pickles(case: Fitted) -> None:
    equal(pickle.loads(pickle.dumps(case.clf)).predict_proba(case.X), case.shares, 0)


def model_files(case: Fitted) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_model(case.clf, Path(folder, "model.json"))
        equal(load_model(Path(folder, "model.json")).predict_proba(case.X), case.shares, 0)


def batches(case: Fitted) -> list[pd.DataFrame]:
    table = case.X.assign(**{"the class": case.y})
    return [table.iloc[first : first + 64] for first in range(0, len(table), 64)]


def streams(case: Fitted) -> None:
    equal(case.again(iter(batches(case)), "the class").predict_proba(case.X), case.shares, 1e-5)


def dask_frames(case: Fitted) -> None:
    import dask.dataframe as dd

    import tanager.dask

    table = dd.from_pandas(case.X.assign(**{"the class": case.y}), npartitions=3)
    options = {name: value for name, value in case.clf.get_params(deep=False).items() if name != "verbose"}
    found = getattr(tanager.dask, type(case.clf).__name__)(dask_client(), **options).fit(table, "the class")
    equal(found.to_local().predict_proba(case.X), case.shares, 1e-5)


@cache
def dask_client() -> Any:
    from distributed import Client

    return Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")


def exports(case: Fitted) -> None:
    """Where an export gives a number, it is the probability; only a row with an unknown cell may have none."""
    rows = case.X.iloc[:30].mask(case.rng.random((min(30, len(case.X)), case.X.shape[1])) < 0.1)
    rows = pa.Table.from_pandas(rows, schema=pa.Schema.from_pandas(case.X), preserve_index=False)
    engine = TARGETS[case.rng.integers(len(TARGETS))]
    with tempfile.TemporaryDirectory() as folder:
        if case.mixture:
            with pytest.raises(OptionError, match="a mean of networks, and an export holds one"):
                ENGINES[engine](case.clf, rows, Path(folder))
            return
        found = ENGINES[engine](case.clf, rows, Path(folder))
    unknown = case.clf.missing_rule_.has_unknown(encode_table(case.clf, rows)[1])
    refused = np.isnan(found).all(axis=1)
    expected = case.clf.predict_proba(rows)
    assert not refused[~unknown].any(), engine
    equal(found[~unknown], expected[~unknown])
    # A column without any effect is not looked at, and then the unknown cell is not seen.
    equal(found[~refused], expected[~refused], 1e-9 if engine in ("python", "node") else 1e-3)


def pages(case: Fitted) -> None:
    """The page is written, and holds no number that is none."""
    if case.mixture:
        return  # the page answers for one network
    page = report(case.clf, case.X, case.y)
    assert "</html>" in page
    assert not any(word in page for word in (">nan<", ">NaN<", ">inf<", "Infinity,", ": NaN"))


def explanations(case: Fitted) -> None:
    """Base rate, baseline and contributions sum to the log odds of `predict_proba`."""
    if case.mixture:
        return  # a mean of networks has no parts
    rows = case.X.iloc[:5]
    found, logs = explain(case.clf, rows), np.log(case.clf.predict_proba(rows))
    row = np.arange(len(rows))
    total = found.base_rate + found.baseline + found.contributions.sum(axis=1) + found.remainder
    equal(total, logs[row, found.favoured] - logs[row, found.against], 1e-6)


def evidence(case: Fitted) -> None:
    """Nothing known: the class frequencies. One unseen category: as if the cell were unknown."""
    if case.additive:
        _, frequency = np.unique(case.y, return_counts=True)
        equal(list(case.clf.query().values()), frequency / len(case.y), 0.005)
    text = [name for name in case.X if not pd.api.types.is_numeric_dtype(case.X[name]) and case.X[name].notna().all()]
    if text:
        unseen, unknown = (case.X.iloc[:9].assign(**{text[0]: cell}) for cell in ("never seen", None))
        equal(case.clf.predict_proba(unseen), case.clf.predict_proba(unknown))


PROPERTIES: dict[str, Callable[[Fitted], None]] = {
    "rows shuffled": shuffled_rows,
    "columns reversed": reversed_columns,
    "a constant and an empty column added": columns_without_information,
    "threads 1, 2, 5": threads,
    "pyarrow, its dictionaries, polars": frame_libraries,
    "rows of weight zero": weight_zero,
    "a row alone": rows_alone,
    "four threads at once": concurrent_threads,
    "pickles": pickles,
    "model files": model_files,
    "streams of batches": streams,
    "Dask": dask_frames,
    "exports": exports,
    "pages": pages,
    "explanations": explanations,
    "no evidence and unseen categories": evidence,
}


@cache
def real_tables() -> dict[str, pd.DataFrame]:
    """By name, the class in the last column."""
    if not DATA.is_dir():
        loaded = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
        return {name: load(as_frame=True).frame for name, load in loaded.items()}
    found = {}
    for entry in json.loads((DATA / "manifest.json").read_text()):
        if entry["rows"] < 20_000 and (DATA / entry["file"]).is_file():
            with gzip.open(DATA / entry["file"]) as stream:
                kinds = {name: str for name, kind in entry["kinds"].items() if kind == "categorical"}
                found[entry["name"]] = pd.read_csv(stream, dtype=kinds)
    return found


def attack_property(number: int, seed: int) -> str:
    """Case `number` of this seed: the property that held, or nothing where the table was refused."""
    rng = np.random.default_rng([seed, number, 3])
    tables = real_tables()
    table = tables[sorted(tables)[rng.integers(len(tables))]]
    rows = rng.permutation(len(table))[: rng.choice([30, 100, 300])]
    y = table.iloc[rows, -1].astype(str).to_numpy()
    X = table.iloc[rows, rng.permutation(table.shape[1] - 1)[: rng.integers(1, 9)]].reset_index(drop=True)
    clf = clone(CLASSIFIERS[rng.choice(len(CLASSIFIERS), p=SHARES)])
    name = list(PROPERTIES)[number % len(PROPERTIES)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            case = Fitted(X, y, clf.fit(X, y), rng)
        except TanagerError:
            return ""
        check_shares(case.shares)
        PROPERTIES[name](case)
    return name
