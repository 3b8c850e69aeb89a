"""How far the additive model, and a TAN with conditional tables, depend on the unit of the weights of their rows.

    python -m experiments.weights

The weighted test log-loss with weights 5 : 1 on imbalanced generated tables, the mean of SEEDS, with the weights as
they are and divided by 5; then the log-loss on half of the rows of folder tables with all weights 1, 0.5 and 2. Writes
docs/weights_table.md. The folder is $TANAGER_DATA.
"""

from __future__ import annotations

import datetime
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.commit import commit
from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.evaluate.cross_validate import stratified_folds

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "weights_table.md"
SEEDS = 10
TABLES = ("anneal", "australian", "breast", "cleve", "diabetes", "ecoli", "german", "hepatitis", "ionosphere", "glass")
UNITS = (1.0, 0.5, 2.0)
MODELS = {"additive model": AdditiveClassifier, "TAN": BayesianNetworkClassifier}


def main() -> None:
    warnings.simplefilter("ignore")
    losses = np.array([[imbalanced_loss(seed, unit) for unit in (1.0, 0.2)] for seed in range(SEEDS)])
    full, fifth = losses.mean(axis=0)
    lines = [
        "<!-- written by experiments/weights.py; do not edit -->",
        "",
        f"Written by `python -m experiments.weights` on {datetime.date.today()}, {commit()}. With weights 5 : 1 on "
        f"imbalanced generated tables the weighted test log-loss is {full:.4f}, and {fifth:.4f} with the weights "
        f"divided by 5 (mean of {SEEDS} seeds). Log-loss with weights of one, and its change when they are multiplied:",
        "",
        "| table | model | weights of one | times 0.5 | times 2 |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for data_set in find_data_sets(Path(os.environ.get("TANAGER_DATA", ROOT / "../shared/data"))):
        if data_set.name in TABLES:
            X, y = data_set.read()
            train, test = stratified_folds(y, 2, 0)[0]
            for name, model in MODELS.items():
                one, *others = (table_loss(model(n_jobs=1), X, y, train, test, unit) for unit in UNITS)
                changes = " | ".join(f"{100 * (loss / one - 1):+.2f} %" for loss in others)
                lines.append(f"| {data_set.name} | {name} | {one:.4f} | {changes} |")
    PAGE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def imbalanced_loss(seed: int, unit: float) -> float:
    """The weighted log-loss of 1,000 new rows; a row of the rare class weighs five times as much as another."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(1_600, 8))
    logit = 1.5 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] - 3.0
    y = (generator.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    weights = unit * np.where(y == 1, 5.0, 1.0)
    train, test = slice(600), slice(600, None)
    p = AdditiveClassifier(n_jobs=1).fit(X[train], y[train], weights[train]).predict_proba(X[test])
    return float(np.average(row_losses(p, y[test]), weights=weights[test]))


def table_loss(model: Any, X: Any, y: Any, train: Any, test: Any, unit: float) -> float:
    model.fit(X.take(train), y[train], np.full(len(train), unit))
    return float(row_losses(model.predict_proba(X.take(test)), np.searchsorted(model.classes_, y[test])).mean())


def row_losses(p: Any, codes: Any) -> Any:
    return -np.log(np.maximum(p[np.arange(len(p)), codes], 1e-15))


if __name__ == "__main__":
    main()
