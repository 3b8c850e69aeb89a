"""Compare classifiers on the benchmark sets by stratified 5-fold cross-validation, and write experiments/RESULTS.md.

The sets are those of the groups friedman25 and roos18 in the folder named by $TANAGER_DATA (default ../shared/data),
a folder with a manifest.json. A missing cell is a category of its own here, for every classifier alike. Discretisation
is learnt on the training part of each fold. The same folds for all, seed 0.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import tanager
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.parameters import Frequency

FRIEDMAN = Frequency("friedman")
CLASSIFIERS: dict[str, BayesianNetworkClassifier] = {
    "naive Bayes": NaiveBayesClassifier(),
    "TAN-LL": TANClassifier(score="ll", parameters=FRIEDMAN),
    "TAN-fCLL": TANClassifier(score="fcll", parameters=FRIEDMAN),
    "TAN-aCLL": TANClassifier(score="acll", parameters=FRIEDMAN),
}
GROUPS = {"friedman25", "roos18"}


def main() -> None:
    folder = Path(os.environ.get("TANAGER_DATA", "../shared/data"))
    if not (folder / "manifest.json").exists():
        sys.exit(f"No benchmark sets in '{folder}': set TANAGER_DATA to a folder with a manifest.json.")
    sets = [entry for entry in json.loads((folder / "manifest.json").read_text()) if GROUPS & {*entry["group"]}]
    tasks = [(folder / entry["file"], entry["kinds"]) for entry in sets]
    with ProcessPoolExecutor() as pool:
        results = np.array(list(pool.map(measure, *zip(*tasks, strict=True))))  # (sets, classifiers, measures)
    text = f"{__doc__}\n{datetime.date.today()}, tanager {tanager.__version__}; command: `make experiments`.\n"
    for position, measure_name in enumerate(("log-loss", "error in %")):
        text += table(measure_name, [entry["name"] for entry in sets], results[:, :, position])
    Path(__file__).with_name("RESULTS.md").write_text(f"# Experiments\n\nGenerated; do not edit. {text}")
    print(text)


def measure(path: Path, kinds: dict[str, str]) -> list[tuple[float, float]]:
    """Mean log-loss and error of every classifier over the folds of one set."""
    X = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    y = X.pop("class").to_numpy(dtype=str)
    for name in X.columns:
        if kinds[name] == "numeric":
            X[name] = pd.to_numeric(X[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds; a column that names rows
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
        return [measure_one(clf, X, y, folds) for clf in CLASSIFIERS.values()]


def measure_one(clf: BayesianNetworkClassifier, X: pd.DataFrame, y: np.ndarray, folds: list) -> tuple[float, float]:
    losses, errors = [], []
    classes = np.unique(y)
    for train, test in folds:
        fitted = clf.set_params(n_jobs=1, missing="category").fit(X.iloc[train], y[train])
        # A class that the training part does not have gets probability zero, which the loss cuts off.
        probabilities = np.zeros((len(test), len(classes)))
        probabilities[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X.iloc[test])
        losses.append(log_loss(y[test], probabilities, labels=classes))
        errors.append(100 * np.mean(classes[probabilities.argmax(axis=1)] != y[test]))
    return float(np.mean(losses)), float(np.mean(errors))


def table(measure_name: str, names: list[str], values: np.ndarray) -> str:
    head = f"\n## {measure_name}\n\n| set | {' | '.join(CLASSIFIERS)} |\n| --- |{' ---: |' * len(CLASSIFIERS)}\n"
    lines = [f"| {name} | {' | '.join(f'{v:.3f}' for v in row)} |" for name, row in zip(names, values, strict=True)]
    ranks = np.mean([rankdata(row) for row in values], axis=0)
    lines.append(f"| **mean** | {' | '.join(f'{v:.3f}' for v in values.mean(axis=0))} |")
    lines.append(f"| **mean rank** | {' | '.join(f'{v:.2f}' for v in ranks)} |")
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
