"""Studies of papers again: as they were kept, or run here with other classifiers, splits or cuts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.studies.entries import Entry
from experiments.studies.jobs import Record, run_job
from experiments.studies.results import Results
from experiments.studies.results_folder import LINES
from experiments.studies.study import Study

FOLDER = Path(__file__).parent
SEEDS = range(3)

Values = NDArray[np.float64]


def kept(study: Study) -> Results:
    """What `make experiments` found, without running anything."""
    lines = (FOLDER / "results" / study.name / LINES).read_text(encoding="utf-8").splitlines()
    wanted = {job.key: job.entry.text for job in study.jobs()}
    latest = {(each["set"], each["classifier"], each["fold"]): each for each in map(json.loads, lines)}
    return results_of(study, [record for key, record in latest.items() if wanted.get(key) == record["estimator"]])


def run(study: Study, entries: Sequence[Entry]) -> Results:
    """The study with other classifiers, here and now."""
    study = replace(study, entries=entries)
    return results_of(study, [run_job(job) for job in study.jobs()])


def results_of(study: Study, records: Sequence[Record]) -> Results:
    names = [data_set.name for data_set in study.data_sets], [entry.name for entry in study.entries]
    return Results(*names, records)


def with_seed(study: Study, seed: int) -> Study:
    return replace(study, protocol=replace(study.protocol, seed=seed))


def show_spread(z: Values) -> list[str]:
    return [f"{z.mean():.2f}", f"{z.min():.2f}", f"{z.max():.2f}"]
