"""What a gap means under discriminative tables: held-out log-loss and error with test cells removed at random.

    .venv/bin/python -m experiments.gaps

Every set of the groups friedman25 and roos18 of up to 6,000 rows, 5 folds, training rows as they are; 10, 25 and 50 %
of the cells of the test rows are removed at random, with a seed. Then, on the smaller sets, gaps in training
(`experiments.gap_training`). Writes docs/missing_data_table.md.
"""

from __future__ import annotations

import datetime
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

import tanager
from experiments import gap_training
from experiments.gap_ways import N_FOLDS, WAYS, Fitted, Labels, remove
from experiments.studies.data_sets import DataSet, find_data_sets
from tanager import BayesianNetworkClassifier
from tanager.errors import DataWarning
from tanager.evaluate.cross_validate import add_unseen_classes, stratified_folds
from tanager.metrics import accuracy, log_loss
from tanager.runtime.resources import thread_limit
from tanager.table.read_columns import read_columns

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("TANAGER_DATA", ROOT / "../shared/data"))
PAGE = ROOT / "docs" / "missing_data_table.md"
GROUPS, MAX_ROWS = {"friedman25", "roos18"}, 6_000
STRUCTURES = ("naive-bayes", "tan")
RATES = (0.0, 0.1, 0.25, 0.5)
CATEGORY = "`category`: a state where training had gaps, else `average`"


def main() -> None:
    warnings.simplefilter("ignore", DataWarning)  # classes with fewer rows than folds
    chosen = [d for d in find_data_sets(DATA) if GROUPS & {*d.groups} and d.n_rows <= MAX_ROWS]
    if len(sys.argv) > 1:
        chosen = [d for d in chosen if d.name in sys.argv[1:]]
    results, trained = [], []
    with thread_limit(1):
        for data_set in sorted(chosen, key=lambda d: d.n_rows):
            results += list(measure_set(data_set))
            if data_set.n_rows <= gap_training.MAX_ROWS:
                trained += list(gap_training.measure_training(data_set))
            print(data_set.name, flush=True)
    page = write_page(pd.DataFrame(results), pd.DataFrame(trained), [d.name for d in chosen])
    if len(sys.argv) > 1:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


def measure_set(data_set: DataSet) -> Iterator[dict[str, object]]:
    X, y = data_set.read()
    classes = np.unique(y)
    for fold, (train, test) in enumerate(stratified_folds(y, N_FOLDS, 0)):
        removals = {rate: remove(X.take(test), rate, seed=fold) for rate in RATES}
        for structure in STRUCTURES:
            for rate, way, logs, seen in answers(structure, X.take(train), y[train], removals):
                p = add_unseen_classes(np.exp(logs), seen, classes, len(train))
                class_codes = np.searchsorted(classes, y[test])
                yield {
                    "set": data_set.name,
                    "structure": structure,
                    "rate": rate,
                    "way": way,
                    "log-loss": log_loss(p, class_codes),
                    "error": 1.0 - accuracy(p, class_codes),
                }


def answers(
    structure: str, X: pa.Table, y: Labels, removals: dict[float, pa.Table]
) -> Iterator[tuple[float, str, NDArray[np.float64], Labels]]:
    """(rate, way, log P(class | cells present), classes) of the test rows."""
    fitted = Fitted.of(structure, X, y)
    category = BayesianNetworkClassifier(structure, missing="category", n_jobs=1).fit(X, y)
    for rate, rows in removals.items():
        codes = fitted.clf.encoder_.encode(read_columns(rows))
        for way, answer in WAYS.items():
            yield rate, way, answer(fitted, codes), fitted.clf.classes_
        yield rate, CATEGORY, category.predict_log_proba(rows), category.classes_


def write_page(results: pd.DataFrame, trained: pd.DataFrame, names: list[str]) -> str:
    by_set = results.groupby(["way", "structure", "rate", "set"], sort=False)[["log-loss", "error"]].mean()
    lines = [
        "<!-- written by experiments/gaps.py; do not edit -->",
        "",
        f"Written by `python -m experiments.gaps` on {datetime.date.today()}, Tanager {tanager.__version__}, NumPy "
        f"{np.__version__}. Means over {len(names)} sets ({', '.join(sorted(names))}), {N_FOLDS} folds each.",
        "",
    ]
    for measure, words in (("log-loss", "log-loss in nats"), ("error", "share of errors")):
        table = by_set[measure].groupby(["way", "structure", "rate"], sort=False).mean().unstack(["structure", "rate"])
        gaps = table.loc[:, table.columns.get_level_values("rate") > 0].mean(axis=1)
        heads = [f"{structure} {rate:.0%}" for structure, rate in table.columns]
        lines += [f"| {words}; cells removed | {' | '.join(heads)} | mean of 10, 25, 50 % |"]
        lines += ["| --- |" + " ---: |" * (len(heads) + 1)]
        for way, row in table.iterrows():
            cells = " | ".join(f"{value:.4f}" for value in row)
            lines.append(f"| {way} | {cells} | {gaps[way]:.4f} |")
        lines.append("")
    return "\n".join([*lines, *gap_training.training_table(trained), ""])


if __name__ == "__main__":
    main()
