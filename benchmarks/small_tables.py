"""Averages over the posterior against the optimum, on tables of 80 to 350 rows; writes docs/small_tables.md.

TANAGER_DATA=folder python -m benchmarks.small_tables [group or name ...]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.model_selection import StratifiedKFold

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.uncertainty.interval import log_odds_of_each

MIN_ROWS, MAX_ROWS = 80, 350
WAYS = ("optimum", "mean over laplace", "mean over broad")


def averaged(
    clf: BayesianNetworkClassifier, X: pd.DataFrame, y: np.ndarray, rows: pd.DataFrame, method: str
) -> np.ndarray:
    """E[P] of a normal of log odds, x / sqrt(1 + pi s^2 / 8) (MacKay 1992), normalised over the classes."""
    clf.prepare_intervals(X, y, method=method)
    _, codes = clf.encode(rows)
    logs = clf.predict_log_proba(rows)
    found = clf.posterior_.interval(codes, logs, 0.6826894921370859, clf.gaps_)  # one standard deviation
    deviations = (logit(found.upper.clip(1e-15, 1 - 1e-15)) - logit(found.lower.clip(1e-15, 1 - 1e-15))) / 2.0
    p = expit(log_odds_of_each(logs) / np.sqrt(1.0 + np.pi * deviations**2 / 8.0))
    return p / p.sum(axis=1, keepdims=True)


def losses(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """(n_rows, n_ways) - log P(class) of every row, in five folds."""
    found = np.empty((len(y), len(WAYS)))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        clf = AdditiveClassifier().fit(X.iloc[train], y[train])
        ways = [clf.predict_proba(X.iloc[test])]
        ways += [averaged(clf, X.iloc[train], y[train], X.iloc[test], method) for method in ("laplace", "broad")]
        place = np.searchsorted(clf.classes_, y[test])
        for k, p in enumerate(ways):
            found[test, k] = -np.log(np.maximum(p[np.arange(len(test)), place], 1e-12))
    return found


def main() -> None:
    folder = Path(os.environ["TANAGER_DATA"])
    lines, gains = [], []
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["rows"] > MAX_ROWS or (sys.argv[1:] and not any(word in entry["name"] for word in sys.argv[1:])):
            continue
        name, table = entry["name"], pd.read_csv(folder / entry["file"])
        for column, kind in entry["kinds"].items():
            if kind == "categorical" and column in table:
                table[column] = table[column].astype("category")
        target = table.columns[-1]
        y = table[target].astype(str).to_numpy()
        counted = np.unique(y, return_counts=True)[1]
        if len(y) < MIN_ROWS or len(counted) < 2 or counted.min() < 5:
            continue
        found = losses(table.drop(columns=target), y)
        means = found.mean(axis=0)
        errors = (found[:, 1:] - found[:, :1]).std(axis=0, ddof=1) / np.sqrt(len(found))
        z = (means[1:] - means[0]) / errors
        gains.append(z)
        lines.append(
            f"| {name} | {len(y)} | {means[0]:.4f} | {means[1]:.4f} ({z[0]:+.1f}) | {means[2]:.4f} ({z[1]:+.1f}) |"
        )
        print(lines[-1], flush=True)
    each = np.array(gains)
    total = [
        f"{(z < 0).sum()} of {len(z)} lower, {(z < -2).sum()} clearly; {(z > 2).sum()} clearly higher" for z in each.T
    ]
    page = PAGE + "\n".join(lines) + f"\n\nMean over laplace: {total[0]}. Mean over broad: {total[1]}.\n"
    (Path(__file__).parent.parent / "docs" / "small_tables.md").write_text(page)


PAGE = f"""# Averages over the posterior on small tables

Written by `python -m benchmarks.small_tables`. Log-loss in five folds of the default model on tables of
{MIN_ROWS} to {MAX_ROWS} rows: P at the optimum, and P averaged over the Laplace and the broad posterior
([](sure.md)); in brackets the difference in its own standard errors, negative where the average is better.

| table | rows | optimum | mean over laplace | mean over broad |
| --- | --- | --- | --- | --- |
"""


if __name__ == "__main__":
    main()
