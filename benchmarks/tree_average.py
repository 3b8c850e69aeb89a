"""The mean of all trees: log-loss on sequences of letters against single trees and AODE, and the time of its edges.

5-fold stratified cross-validation on the binding sites of the folder of benchmark sets (`TANAGER_DATA`), the same folds
for all. Times are processor time of one thread. No rule of the tree average was chosen on these sets; rules
of the default model were chosen on some of them.
"""

from __future__ import annotations

import os
import time
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies.data_sets import DataSet, choose, read_manifest
from experiments.studies.entries import make_entries, parse_estimator
from tanager.evaluate.cross_validate import judge_fold, stratified_folds
from tanager.metrics import log_loss
from tanager.structure.all_trees import AllTrees

FOLDS, SEED = 5, 0
SMALL = 350
OURS = {
    "tree average": "tree-average:k2:frequency",
    "TAN-LL": "tan:ll:frequency(smoothing=friedman)",
    "AODE": "aode:frequency",
    "NB": "naive-bayes:frequency",
    "default": "default",
}
PEER, BOTH = "AODE (scikit-bayes)", "mean of tree average and default"


def main() -> None:
    warnings.simplefilter("ignore")
    sequences()
    print()
    edges()


def sequences() -> None:
    folder = os.environ.get("TANAGER_DATA")
    if folder is None:
        print("TANAGER_DATA names no folder of benchmark sets, so nothing is measured on them.")
        return
    classifiers = {entry.name: entry.estimator for entry in make_entries(OURS)}
    if find_spec("skbn"):
        print(f"scikit-bayes {version('scikit-bayes')}.\n")
        classifiers[PEER] = parse_estimator("skbn.AnDE(n_dependence=1)").set_params(preparation="bins")
    sets = choose(read_manifest(Path(folder)), groups=["tfbs"])
    losses = {data_set.name: losses_on(data_set, classifiers) for data_set in sets}
    names = [*classifiers, BOTH]
    small = [data_set.name for data_set in sets if data_set.n_rows <= SMALL]
    reference = np.mean([found["TAN-LL"] for found in losses.values()])
    print(
        f"| mean log-loss | all {len(sets)} sets | beside TAN-LL | {len(small)} sets of up to {SMALL} rows | sets won |"
    )
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in sorted(names, key=lambda name: np.mean([found[name] for found in losses.values()])):
        mean = np.mean([found[name] for found in losses.values()])
        mean_small = np.mean([losses[each][name] for each in small])
        won = sum(min(found, key=found.__getitem__) == name for found in losses.values())
        print(f"| {name} | {mean:.4f} | {mean / reference - 1:+.0%} | {mean_small:.4f} | {won} |", flush=True)
    ahead = {each: found["default"] / found[PEER if PEER in found else "AODE"] for each, found in losses.items()}
    worst = sorted(ahead, key=ahead.__getitem__)[::-1][:5]
    print("\nWhere AODE is furthest ahead of the default:\n")
    print(f"| set | {' | '.join(names)} |\n| --- |{' ---: |' * len(names)}")
    for each in worst:
        print(f"| {each} | {' | '.join(f'{losses[each][name]:.4f}' for name in names)} |")


def losses_on(data_set: DataSet, classifiers: dict[str, Any]) -> dict[str, float]:
    """The mean log-loss of each classifier, and of the mean of two."""
    X, y = data_set.read()
    classes, codes = np.unique(y, return_inverse=True)
    said = {name: np.empty((len(y), len(classes))) for name in classifiers}
    for train, test in stratified_folds(y, FOLDS, SEED):
        for name, classifier in classifiers.items():
            said[name][test] = judge_fold(classifier, X, y, train, test, classes).probabilities
    said[BOTH] = (said["tree average"] + said["default"]) / 2
    return {name: log_loss(probabilities, codes) for name, probabilities in said.items()}


def edges() -> None:
    """All edge probabilities, of weights whose logs are random with this standard deviation."""
    print("| attributes | nats | all edges | sum of edges - (n - 1) | asked |")
    print("| ---: | ---: | ---: | ---: | --- |")
    generator = np.random.default_rng(SEED)
    AllTrees(symmetric(generator, 300, 1.0)).probability.sum()  # which compiles
    for n_attributes, nats in ((50, 3.0), (200, 3.0), (200, 500.0), (1000, 3.0), (1000, 500.0)):
        trees = AllTrees(symmetric(generator, n_attributes, nats))
        started = time.process_time()
        total = trees.probability[1:].sum()
        found = time.process_time()
        asked = "under 1 s" if n_attributes == 200 else "sum to 1e-6" if n_attributes == 1000 else ""
        print(
            f"| {n_attributes:,} | {nats:g} | {found - started:.2f} s | {total - (n_attributes - 1):.1e} | {asked} |",
            flush=True,
        )


def symmetric(generator: np.random.Generator, n_attributes: int, nats: float) -> np.ndarray:
    half = nats * np.tril(generator.normal(size=(n_attributes, n_attributes)), -1)
    return np.vstack([np.full(n_attributes, -np.inf), half + half.T])


if __name__ == "__main__":
    main()
