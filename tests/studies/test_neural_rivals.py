"""Neural rivals fitted on another machine: their records are those of a fit here."""

from __future__ import annotations

import csv
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from sklearn.tree import DecisionTreeClassifier

from experiments.neural_rivals import collect, export, records
from experiments.neural_train import FITS, fit, plan, read_fits
from experiments.papers.rivals import fitted_elsewhere, read_rivals
from experiments.studies.data_sets import FileSet
from experiments.studies.entries import Entry
from experiments.studies.field import NEURAL_OTHERS
from experiments.studies.jobs import Job, key_of, run_job
from experiments.studies.on_table import OnTable
from experiments.studies.protocol import Protocol

pytestmark = pytest.mark.filterwarnings("ignore:the rarest class has fewer rows")
NOT_KEPT = ("train_cll", "fit_seconds", "predict_seconds", "warnings", "device")


class Neural(DecisionTreeClassifier):
    """Takes what pytabkit's classifiers take; learns in no time."""

    def __init__(self, device=None, val_metric_name=None, use_ls=None, random_state=None, n_threads=None):
        super().__init__(min_samples_leaf=5, random_state=random_state)
        self.device, self.val_metric_name, self.use_ls, self.n_threads = device, val_metric_name, use_ls, n_threads

    def fit(self, X, y, cat_indicator):
        return super().fit(X, y)

    def get_params(self, deep=True):
        return {"random_state": self.random_state}


ENTRIES = [Entry(name, OnTable(Neural(), "filled")) for name, _, _ in NEURAL_OTHERS]


@pytest.fixture
def small(sets, tmp_path):
    """Sets with gaps, and one with a class that a fold does not train on."""
    path = tmp_path / "rare.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("x", "class"), *((i % 7, "ab"[i % 2]) for i in range(30)), (3, "c")])
    return [*sets, FileSet("rare", 31, path=path)]


@pytest.fixture
def folder(small, tmp_path, monkeypatch):
    """The folds, and every fit done."""
    there = ModuleType("pytabkit")
    there.__getattr__ = lambda name: Neural
    monkeypatch.setitem(sys.modules, "pytabkit", there)
    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda: "a GPU"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    export(tmp_path / "folds", small)
    lines = [json.dumps(fit(task)) + "\n" for task in plan(tmp_path / "folds", "cuda")]
    (tmp_path / "folds" / FITS).write_text("".join(lines))
    return tmp_path / "folds"


def without(record):
    return {name: value for name, value in record.items() if name not in NOT_KEPT}


def test_a_collected_record_is_that_of_a_direct_fit_also_where_training_lacks_a_class(small, folder):
    collected = {key_of(record): record for record in records(folder, small, ENTRIES, Protocol())}
    jobs = [Job(each, entry, fold, Protocol()) for each in small for entry in ENTRIES for fold in range(5)]
    assert {job.key for job in jobs} == set(collected)
    for job in jobs:
        assert without(collected[job.key]) == without(run_job(job))
        assert collected[job.key]["device"] == "a GPU"
        assert "train_cll" not in collected[job.key]


def test_collected_records_are_in_the_rivals_file_and_a_page_says_where_they_were_fitted(small, folder, tmp_path):
    assert collect(folder, small, ENTRIES, tmp_path / "rivals.jsonl") == 2 * 5 * len(small)
    note = fitted_elsewhere(read_rivals(tmp_path / "rivals.jsonl"))
    assert note.endswith("cannot be compared: RealMLP on 4 sets (a GPU), TabM on 4 sets (a GPU).")
    assert fitted_elsewhere([{"set": "iris", "classifier": "SVC", "fold": 0}]) == ""


def test_a_stopped_run_goes_on_with_what_it_lacks_without_the_line_cut_short(folder):
    whole = (folder / FITS).read_text()
    kept = whole.splitlines()[:7]
    (folder / FITS).write_text("\n".join(kept) + "\n" + whole.splitlines()[7][:50])
    assert len(plan(folder, "cuda")) == len(whole.splitlines()) - 7
    assert read_fits(folder) == [json.loads(line) for line in kept]


def test_a_failed_fit_is_a_failure_of_the_field_and_is_tried_again(small, folder):
    first = read_fits(folder)[0]
    heading = {name: first[name] for name in ("set", "fold", "classifier", "device")}
    (folder / FITS).write_text(json.dumps(heading | {"failure": "ValueError: too small"}) + "\n")
    (record,) = records(folder, small, ENTRIES, Protocol())
    assert record["failure"] == "ValueError: too small"
    assert (first["set"], first["fold"], first["classifier"]) in [task.key for task in plan(folder, "cuda")]
