"""A study: classifiers on data sets by one protocol, run in parallel, kept line by line, resumed where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import ClassVar

from experiments.studies.data_sets import DataSet
from experiments.studies.entries import Entry
from experiments.studies.jobs import Extra, Job, Key, Record, key_of, pair_of
from experiments.studies.protocol import Protocol
from experiments.studies.results import Results
from experiments.studies.results_folder import results_folder
from experiments.studies.tables import (
    TextTable,
    failures_table,
    fold_table,
    has_ranks,
    measure_table,
    rank_table,
    versus_table,
    wilcoxon_table,
)
from experiments.studies.work import work

# Every pair of more classifiers than this is a table nobody reads; then the first is compared with the others.
MAX_CLASSIFIERS_FOR_ALL_PAIRS = 6

Progress = Callable[[Record, int, int], None]
"""Called with each new record, how many are done, and how many there are in all."""


def ignore(record: Record, done: int, total: int) -> None:
    """No progress to show."""


@dataclass(frozen=True)
class Study:
    """What is compared, and how.

    notes          facts about the protocol for the reader
    measures       the measures whose tables are shown, the first of them the one that decides
    extra          further measures that this study alone takes
    limit_seconds  a fit that takes longer is given up, and recorded as a failure; None: no limit. That classifier does
                   not try the set's other folds: they would take as long, and there is no mean without it
    """

    draws: ClassVar[bool] = True
    """Whether pictures over its sets mean something."""

    name: str
    title: str
    data_sets: Sequence[DataSet]
    entries: Sequence[Entry]
    protocol: Protocol = field(default_factory=Protocol)
    measures: tuple[str, ...] = ("error", "log_loss")
    notes: tuple[str, ...] = ()
    extra: Extra | None = None
    limit_seconds: float | None = None

    def jobs(self) -> list[Job]:
        """Everything to do, set by set; pairs too slow for an entry's limit are left out."""
        return [
            Job(data_set, entry, fold, self.protocol, self.extra, self.limit_seconds)
            for data_set in self.data_sets
            for entry in self.entries
            if entry.max_rows is None or self.protocol.split.train_rows(data_set) <= entry.max_rows
            for fold in range(self.protocol.split.count(data_set))
        ]

    def check_sets(self) -> None:
        """Read the sets that no manifest speaks for: better to hear before any work what is wrong with them."""
        for data_set in self.data_sets:
            if not data_set.n_rows:
                data_set.read()

    def run(self, folder: Path, n_jobs: int = 1, progress: Progress = ignore, seconds: float | None = None) -> Results:
        """Do what is not yet in the folder, failures again, and give all results of the study.

        With `seconds` no fit begins later than that; a classifier has no results on a set of which a fold is missing.
        """
        jobs = self.jobs()
        wanted = {job.key: job.entry.text for job in jobs}
        with results_folder(folder, repr(self.protocol)) as kept:
            done = {
                key_of(record): record for record in kept.records if _fits(record, wanted) and self._settled(record)
            }
            todo = [job for job in jobs if job.key not in done]
            n_done = len(jobs) - len(todo)
            slow = {pair_of(record) for record in done.values() if "failure" in record}
            for record in work(todo if seconds is None else _until(monotonic() + seconds, todo), n_jobs, slow):
                kept.append(record)
                n_done += 1
                progress(record, n_done, len(jobs))
            # The last record of a key counts: what failed before may have been done since.
            latest = {key_of(record): record for record in kept.records if _fits(record, wanted)}
        names = [data_set.name for data_set in self.data_sets], [entry.name for entry in self.entries]
        missing = {job.pair for job in jobs if job.key not in latest}
        return Results(*names, [latest[job.key] for job in jobs if job.pair not in missing])

    def tables(self, results: Results) -> Iterator[TextTable]:
        """What to say of the results, the most important first; of a single set its folds, as tests are over sets."""
        if len(results.sets) == 1:
            for measure in self.measures:
                yield fold_table(results, measure)
        else:
            yield from self.rank_tables(results)
            yield from self.test_tables(results)
            yield from self.measure_tables(results)
        if results.failures:
            yield failures_table(results)

    def rank_tables(self, results: Results) -> Iterator[TextTable]:
        """Ranks are over sets that all have: without the classifiers that have fewer than half of them."""
        ranked = results.with_share_of_sets(0.5, self.measures[0])
        if len(self.measures) > 1 and all(has_ranks(ranked, measure) for measure in self.measures):
            yield rank_table(ranked, self.measures)

    def test_tables(self, results: Results) -> Iterator[TextTable]:
        if 1 < len(results.classifiers) <= MAX_CLASSIFIERS_FOR_ALL_PAIRS:
            yield wilcoxon_table(results, self.measures[0])
        if len(results.classifiers) > 1:
            yield versus_table(results, self.measures[0], results.classifiers[0])

    def measure_tables(self, results: Results) -> Iterator[TextTable]:
        for measure in self.measures:
            yield measure_table(results, measure)

    def pairs(self, results: Results) -> Sequence[tuple[str, str]]:
        """Classifiers to draw against each other: the first and each of the others."""
        return [(results.classifiers[0], other) for other in results.classifiers[1:]]

    def _settled(self, record: Record) -> bool:
        """Whether a record need not be tried again: it has no failure, or one of time, and there is not more of it."""
        if "failure" not in record:
            return True
        given = record.get("limit_seconds")
        return given is not None and self.limit_seconds is not None and self.limit_seconds <= float(given)


def _until(end: float, jobs: Sequence[Job]) -> Iterator[Job]:
    """The jobs that are asked for before the clock is there."""
    return takewhile(lambda _: monotonic() < end, jobs)


def _fits(record: Record, wanted: dict[Key, str]) -> bool:
    """Whether a record is of a job of this study, and of the classifier as it is now."""
    return wanted.get(key_of(record)) == str(record["estimator"])
