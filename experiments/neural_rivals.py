"""RealMLP and TabM of pytabkit on the field's folds, fitted on another machine: one with a GPU needs minutes.

    python -m experiments.neural_rivals export FOLDER     # here: the folds' inputs, sets of up to 5,000 rows
    python experiments/neural_train.py FOLDER             # there: P(class | test row); needs numpy, torch, pytabkit
    python -m experiments.neural_rivals collect FOLDER    # here, where pytabkit is installed: records

`collect` adds the records to experiments/records/rivals.jsonl, from which the pages take them; each names its device.
The inputs are what the field's preparation gives to pytabkit, and `collect` measures as the field does: its job is run
with a classifier that answers what the other machine answered, and refuses rows that were not exported.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from experiments.neural_train import PLAN, read_fits
from experiments.papers.rivals import FILE, write_rivals
from experiments.studies.data_sets import DataSet, choose, find_data_sets
from experiments.studies.entries import Entry
from experiments.studies.field import MAX_ROWS_NEURAL, NEURAL_OTHERS, rivals
from experiments.studies.jobs import Job, Record, run_job
from experiments.studies.on_table import OnTable
from experiments.studies.protocol import Protocol
from experiments.studies.results_folder import results_folder
from tanager.errors import DataError, TanagerError
from tanager.evaluate.specs import read_part

Matrix = NDArray[np.float64]
DATA = Path(os.environ.get("TANAGER_DATA", Path(__file__).parent / "../../shared/data"))
PREPARATION = "filled"
SECONDS = ("fit_seconds", "predict_seconds")


class Asked(ClassifierMixin, BaseEstimator):
    """Keeps what it is given to learn from and to judge."""

    def fit(self, X: Matrix, y: NDArray[np.intp], cat_indicator: Sequence[bool]) -> Self:
        self.arrays_ = {"X": X, "y": y, "categories": np.array(cat_indicator)}
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        self.arrays_["X_test"] = X
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


class Answered(ClassifierMixin, BaseEstimator):
    """Answers for the test rows of a fold's file; NaN for its training rows, of which no answer was kept.

    file           what was exported
    probabilities  of its test rows, as lists
    """

    def __init__(self, file: Path, probabilities: list[list[float]]) -> None:
        self.file = file
        self.probabilities = probabilities

    def fit(self, X: Matrix, y: NDArray[np.intp], cat_indicator: Sequence[bool]) -> Self:
        with np.load(self.file) as arrays:
            self.X_, self.X_test_ = arrays["X"], arrays["X_test"]
            self._check(_same(X, self.X_) and np.array_equal(y, arrays["y"]))
            self._check(np.array_equal(cat_indicator, arrays["categories"]))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        if _same(X, self.X_test_):
            return np.array(self.probabilities)
        self._check(_same(X, self.X_))
        return np.full((len(X), len(self.classes_)), np.nan)

    def _check(self, same: bool) -> None:
        if not same:
            raise DataError(f"{self.file.name} is of other rows than the field's.", hint="export and train again.")


def _same(one: Matrix, other: Matrix) -> bool:
    return np.array_equal(one, other, equal_nan=True)


def export(folder: Path, sets: Sequence[DataSet]) -> int:
    """Write the folds' inputs and the plan of fits, the small sets first; give how many folds there are."""
    protocol = Protocol()
    folder.mkdir(parents=True, exist_ok=True)
    folds = []
    small = [each for each in sets if protocol.split.train_rows(each) <= MAX_ROWS_NEURAL]
    for data_set in sorted(small, key=lambda each: each.n_rows):
        data = protocol.prepare(data_set)
        for fold, (train, test) in enumerate(data.folds):
            fitted = OnTable(Asked(), PREPARATION).fit(data.X.take(train), data.y[train])
            fitted.predict_proba(data.X.take(test))
            file = f"{data_set.name}-{fold}.npz"
            np.savez_compressed(folder / file, **fitted.estimator_["classifier"].arrays_)
            folds.append({"set": data_set.name, "fold": fold, "file": file})
    plan = {"protocol": repr(protocol), "classifiers": dict(_classifiers(protocol.seed)), "folds": folds}
    (folder / PLAN).write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")
    return len(folds)


def _classifiers(seed: int) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Name, class and options of each neural rival, with the seed and the one thread that the field gives it."""
    for name, spec, preparation in NEURAL_OTHERS:
        assert preparation == PREPARATION
        path, options = read_part(spec)
        yield name, (path.rpartition(".")[2], {**options, "random_state": seed, "n_threads": 1})


def collect(folder: Path, sets: Sequence[DataSet], entries: Sequence[Entry], file: Path = FILE) -> int:
    """Add the records of all fits to the rivals' file; give how many it has then."""
    protocol = Protocol()
    with tempfile.TemporaryDirectory() as temporary:
        with results_folder(Path(temporary), repr(protocol)) as kept:
            for record in records(folder, sets, entries, protocol):
                kept.append(record)
        return write_rivals([Path(temporary)], file)


def records(folder: Path, sets: Sequence[DataSet], entries: Sequence[Entry], protocol: Protocol) -> Iterator[Record]:
    """The field's record of each fit, with the device it was done on."""
    plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    if plan["protocol"] != repr(protocol):
        raise DataError(f"the folds in {str(folder)!r} are of {plan['protocol']}; the field's are of {protocol!r}.")
    files = {(fold["set"], fold["fold"]): folder / fold["file"] for fold in plan["folds"]}
    by_set, by_name = {each.name: each for each in sets}, {entry.name: entry for entry in entries}
    for fit in sorted(read_fits(folder), key=lambda each: (each["set"], each["fold"])):
        if fit["classifier"] not in by_name:
            raise DataError(f"{fit['classifier']} is not in the field here.", hint="install pytabkit.")
        entry, device = by_name[fit["classifier"]], {"device": fit["device"]}
        heading = Job(by_set[fit["set"]], entry, fit["fold"], protocol).heading()
        if "failure" in fit:
            yield heading | {"failure": fit["failure"]} | device
            continue
        answered = OnTable(Answered(files[fit["set"], fit["fold"]], fit["probabilities"]), PREPARATION)
        measured = run_job(Job(by_set[fit["set"]], Entry(entry.name, answered), fit["fold"], protocol))
        if "failure" in measured:
            raise DataError(f"{fit['set']}, fold {fit['fold']}: {measured['failure']}")
        yield measured | heading | {name: fit[name] for name in SECONDS} | device


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="python -m experiments.neural_rivals", description=__doc__.partition("\n")[0])
    parser.add_argument("step", choices=("export", "collect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these, by name")
    options = parser.parse_args(arguments)
    sets = choose(find_data_sets(options.data), options.sets)
    if options.step == "export":
        print(f"{export(options.folder, sets):,} folds in {options.folder}")
    else:
        print(f"{collect(options.folder, sets, list(rivals(slow=True))):,} records in {FILE}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TanagerError as error:
        sys.exit(f"error: {error}")
