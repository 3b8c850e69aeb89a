"""Gaps in training: leaving out their families against summing them out by inference, in a TAN of conditional tables.

Sets of up to 1,500 rows; a quarter of the cells of the training rows is removed at random, with a seed, and a quarter,
or none, of those of the test rows. `experiments.gaps` runs it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from experiments.gap_ways import N_FOLDS, remove
from experiments.studies.data_sets import DataSet
from tanager import TANClassifier
from tanager.classifiers.base import code_labelled
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.evaluate.cross_validate import add_unseen_classes, stratified_folds
from tanager.metrics import measure
from tanager.missing.average import Averaged
from tanager.missing.filling import FillingTask

MAX_ROWS = 1_500
TRAINING_RATE, RATES = 0.25, (0.0, 0.25)
# `skip` leaves the families out in training; at prediction all are asked to average.
TRAINED = {
    "frequencies": TANClassifier(parameters="frequency", missing="average", n_jobs=1),
    "`conditional`, families with a gap left out": TANClassifier(missing="skip", n_jobs=1),
    "`conditional`, gaps summed out by inference": TANClassifier(n_jobs=1),
}


def measure_training(data_set: DataSet) -> Iterator[dict[str, object]]:
    X, y = data_set.read()
    classes = np.unique(y)
    for fold, (train, test) in enumerate(stratified_folds(y, N_FOLDS, 0)):
        rows = remove(X.take(train), TRAINING_RATE, seed=100 + fold)
        for way, clf in TRAINED.items():
            started = time.process_time()
            clf.fit(rows, y[train])
            seconds = time.process_time() - started
            clf.gaps_ = Averaged(clf.network_, _filling(clf, code_labelled(clf, rows, y[train]).counts()))
            for rate in RATES:
                answer = clf.predict_proba(remove(X.take(test), rate, seed=fold))
                p = add_unseen_classes(answer, clf.classes_, classes, len(train))
                quality = measure(p, np.searchsorted(classes, y[test]))
                yield {
                    "set": data_set.name,
                    "way": way,
                    "rate": rate,
                    "log-loss": quality.log_loss,
                    "error": 1.0 - quality.accuracy,
                    "seconds": seconds,
                }


def _filling(clf: TANClassifier, counts: CountStore) -> FillingTask:
    target = counts.n_attributes
    tables = counts.tables([Family(node, (target,)) for node in range(target)])
    by_state = [table[0].T.astype(np.float64) for table in tables]
    return FillingTask.of(clf.network_, counts, clf.class_count_, by_state, range(len(clf.network_.columns)))


def training_table(results: pd.DataFrame) -> list[str]:
    """The lines of a Markdown table."""
    by_way = results.groupby(["way", "rate"], sort=False)[["log-loss", "error", "seconds"]].mean()
    heads = [f"{measure}, {rate:.0%} of test cells removed" for measure in ("log-loss", "error") for rate in RATES]
    lines = [
        f"TAN, {TRAINING_RATE:.0%} of the training cells removed; means over the {results['set'].nunique()} sets of "
        f"up to {MAX_ROWS:,} rows.",
        "",
        f"| tables | {' | '.join(heads)} | seconds to fit |",
        "| --- |" + " ---: |" * (len(heads) + 1),
    ]
    for way in TRAINED:
        found = by_way.loc[way]
        values = [found.loc[rate, measure] for measure in ("log-loss", "error") for rate in RATES]
        lines.append(f"| {way} | {' | '.join(f'{v:.4f}' for v in values)} | {found['seconds'].mean():.2f} |")
    return lines
