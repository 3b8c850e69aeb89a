"""Cells removed at random: in the test rows only (unknown), and in training and test rows (missing), beside boosting.

    python -m experiments.missing_cells [TABLE ...]

Log-loss with 10, 25 and 50 % of the cells removed, on one of 5 folds of tables of up to MAX_ROWS rows.
LightGBM, CatBoost and HistGradientBoosting have their own rules for missing cells. A library that is not installed is
left out. Writes docs/missing_data_table.md. The folder is $TANAGER_DATA.
"""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.ensemble import HistGradientBoostingClassifier

from experiments.commit import commit
from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.evaluate.cross_validate import add_unseen_classes, stratified_folds
from tanager.metrics import log_loss
from tanager.runtime.resources import thread_limit

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "missing_data_table.md"
MAX_ROWS, MAX_CLASSES, N_FOLDS, MEASURED_FOLDS = 1_500, 8, 5, 1
RATES = (0.1, 0.25, 0.5)
CASES = ("unknown", "missing")


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, verbose=0, iterations=100, allow_writing_files=False)


MODELS: dict[str, Callable[[], Any]] = {
    "AdditiveClassifier": lambda: AdditiveClassifier(n_jobs=1),
    "TAN, conditional tables": lambda: BayesianNetworkClassifier(n_jobs=1),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(categorical_features="from_dtype"),
    **({"LightGBM": lightgbm} if find_spec("lightgbm") else {}),
    **({"CatBoost": catboost} if find_spec("catboost") else {}),
}


def main() -> None:
    warnings.simplefilter("ignore")
    sets = find_data_sets(Path(os.environ.get("TANAGER_DATA", ROOT / "../shared/data")))
    chosen = [each for each in sets if each.n_rows <= MAX_ROWS and (not sys.argv[1:] or each.name in sys.argv[1:])]
    losses: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    names = []
    with thread_limit(1):
        for data_set in sorted(chosen, key=lambda each: each.n_rows):
            X, y = data_set.read()
            if len(np.unique(y)) > MAX_CLASSES:
                continue
            for key, loss in measure_table(X.to_pandas(), y).items():
                losses[key].append(loss)
            names.append(data_set.name)
            print(data_set.name, flush=True)
            PAGE.write_text(page(losses, names), encoding="utf-8")


def measure_table(X: pd.DataFrame, y: np.ndarray) -> dict[tuple[str, str, float], float]:
    """(model, case, rate) -> log-loss, the mean over the folds."""
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), object))
    classes, found = np.unique(y), defaultdict(list)
    for fold, (train, test) in enumerate(stratified_folds(y, N_FOLDS, 0)[:MEASURED_FOLDS]):
        complete = {name: fit(name, X, y, train) for name in MODELS}
        for rate in RATES:
            removed = X.mask(np.random.default_rng([fold, round(100 * rate)]).random(X.shape) < rate)
            for name in MODELS:
                models = {"unknown": complete[name], "missing": fit(name, removed, y, train)}
                for case in CASES:
                    p = models[case].predict_proba(prepare(name, removed, X).iloc[test])
                    p = add_unseen_classes(p, models[case].classes_, classes, len(train))
                    found[name, case, rate].append(log_loss(p, np.searchsorted(classes, y[test])))
    return {key: float(np.mean(each)) for key, each in found.items()}


def fit(name: str, X: pd.DataFrame, y: np.ndarray, train: np.ndarray) -> Any:
    model, rows = MODELS[name](), prepare(name, X, X).iloc[train]
    text = [column for column in rows if not is_numeric_dtype(rows[column])]
    return model.fit(rows, y[train], cat_features=text) if name == "CatBoost" else model.fit(rows, y[train])


def prepare(name: str, X: pd.DataFrame, whole: pd.DataFrame) -> pd.DataFrame:
    """As each library wants categories; their list is that of the whole table."""
    text = [column for column in X if not is_numeric_dtype(X[column])]
    if name == "CatBoost":
        return X.assign(**{column: X[column].fillna("missing").astype(str) for column in text})
    if name in ("LightGBM", "HistGradientBoosting"):
        kinds = {column: pd.CategoricalDtype(sorted(whole[column].dropna().unique())) for column in text}
        return X.astype(kinds)
    return X


def page(losses: dict[tuple[str, str, float], list[float]], names: list[str]) -> str:
    heads = [f"{case} {rate:.0%}" for case in CASES for rate in RATES]
    lines = [
        "<!-- written by experiments/missing_cells.py; do not edit -->",
        "",
        f"Written by `python -m experiments.missing_cells` on {datetime.date.today()}, {commit()}. "
        f"Log-loss, mean over {len(names)} tables of up to {MAX_ROWS:,} rows ({', '.join(sorted(names))}).",
        "",
        f"| cells removed | {' | '.join(heads)} |",
        "| --- |" + " ---: |" * len(heads),
    ]
    for name in MODELS:
        values = [np.mean(losses[name, case, rate]) for case in CASES for rate in RATES]
        lines.append(f"| {name} | {' | '.join(f'{value:.4f}' for value in values)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
