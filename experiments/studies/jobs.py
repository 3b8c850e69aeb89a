"""One data set x classifier x fold: fit within a limit of time, measure, and give a record to keep."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from experiments.studies.data_sets import DataSet, Labels
from experiments.studies.entries import Entry
from experiments.studies.measured_fold import MeasuredFold, measure_fold
from experiments.studies.protocol import Prepared, Protocol
from tanager.errors import TanagerError
from tanager.metrics import bin_sums, predicted_class

Record = dict[str, Any]
"""One line of results. Always: set, classifier, estimator, fold; then the measures, or `failure`, the reason in words,
with `limit_seconds` where that is the time it, or another fold, was given."""

Pair = tuple[str, str]
"""A data set and a classifier, by name."""

Key = tuple[str, str, int]
"""Both, and the fold."""

BIN_EDGES = np.linspace(0.0, 1.0, 11)
"""Of the bins of confidence, for calibration curves."""

Extra = Callable[[MeasuredFold, pa.Table, Labels], Mapping[str, float]]
"""A study's further measures: of a measured fold and its test rows."""


@dataclass(frozen=True)
class Job:
    """One line of results to be; given up after `limit_seconds`."""

    data_set: DataSet
    entry: Entry
    fold: int
    protocol: Protocol
    extra: Extra | None = None
    limit_seconds: float | None = None

    @property
    def pair(self) -> Pair:
        return self.data_set.name, self.entry.name

    @property
    def key(self) -> Key:
        return *self.pair, self.fold

    def heading(self) -> Record:
        """How the record begins."""
        name, classifier, fold = self.key
        return {"set": name, "classifier": classifier, "estimator": self.entry.text, "fold": fold}


def pair_of(record: Record) -> Pair:
    return record["set"], record["classifier"]


def key_of(record: Record) -> Key:
    return *pair_of(record), record["fold"]


def run_job(job: Job) -> Record:
    """The record of a job. A failure is a record too: one bad pair must not end a night's work."""
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(job.limit_seconds):
                measured = _measure(job)
        except OutOfTime:
            return _out_of_time(job, "not done")
        except Exception as error:
            kind = "" if isinstance(error, TanagerError) else f"{type(error).__name__}: "
            return job.heading() | {"failure": kind + " ".join(str(error).split())}
    warned = sorted({warning.category.__name__ for warning in caught})
    return job.heading() | measured | ({"warnings": warned} if warned else {})


def give_up(job: Job) -> Record:
    """The record of a job that is not tried, another fold having taken too long."""
    return _out_of_time(job, "not tried: another fold was not done")


def _out_of_time(job: Job, failure: str) -> Record:
    limit = job.limit_seconds
    return job.heading() | {"failure": f"{failure} within {limit:g} seconds", "limit_seconds": limit}


def _measure(job: Job) -> Record:
    data = _prepared(job.protocol, job.data_set)
    (train, test), X = data.folds[job.fold], job.protocol.attributes(data, job.fold)
    clf = job.entry.configured(job.protocol.seed, job.protocol.missing)
    fold = measure_fold(clf, X, data.y, train, test, data.classes)
    extra = {} if job.extra is None else job.extra(fold, X.take(test), data.y[test])
    record: Record = {"train_rows": len(train), "test_rows": len(test)}
    # JSON has no NaN: a measure that the classifier cannot give is left out.
    record |= {name: value for name, value in {**vars(fold.measures), **extra}.items() if math.isfinite(value)}
    if fold.probabilities is not None:
        top = predicted_class(fold.probabilities, np.searchsorted(data.classes, data.y[test]))
        record["calibration"] = np.round(bin_sums(*top, BIN_EDGES), 6).tolist()
    return record


def _prepared(protocol: Protocol, data_set: DataSet) -> Prepared:
    key = repr((protocol, data_set))
    if key not in _last:
        _last.clear()
        _last[key] = protocol.prepare(data_set)
    return _last[key]


_last: dict[str, Prepared] = {}
"""The last data set of this process: the jobs of one set come one after another."""


class OutOfTime(BaseException):
    """A block of `time_limit` was stopped. No `Exception`, lest a classifier catch it and go on."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Stop the block by `OutOfTime` after so many seconds of processor time, as soon as it is back in Python.

    No limit where there are no timers: on Windows, and outside the main thread.
    """
    timers = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not timers:
        yield
        return
    rung = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal rung
        rung = True
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except KeyboardInterrupt:
        # CatBoost raises this for whatever a signal raises.
        if rung:
            raise OutOfTime from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
