"""Work on processes: limits of time, interruptions, and processes that are ended."""

from __future__ import annotations

import signal
from dataclasses import replace

import numpy as np
import pytest

from experiments.studies.entries import Entry, parse_entry
from experiments.studies.jobs import OutOfTime, time_limit
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.study import Study
from studies.trouble import Slow

NAIVE_BAYES = "naive-bayes:frequency"


def study_of(sets, entry):
    return Study("s", "", sets, [entry], Protocol(KFold(3)))


def test_a_pair_out_of_time_is_recorded_and_tried_again_only_with_more_of_it(sets, tmp_path):
    entries = [Entry("slow", Slow(True)), Entry("quick", Slow(False))]
    study = Study("s", "", sets[:1], entries, Protocol(KFold(2)), limit_seconds=3600)
    results = study.run(tmp_path / "out")
    assert [(each["classifier"], each["fold"], each["failure"]) for each in results.failures] == [
        ("slow", 0, "not done within 3600 seconds"),
        ("slow", 1, "not tried: another fold was not done within 3600 seconds"),
    ]
    assert not np.isnan(results.column("quick", "error")).any()
    tried = []

    def keep(record, done, total):
        tried.append(record["limit_seconds"])

    replace(study, limit_seconds=1800).run(tmp_path / "out", progress=keep)
    assert tried == []
    replace(study, limit_seconds=7200).run(tmp_path / "out", progress=keep)
    assert tried == [7200, 7200]


def test_a_run_that_is_resumed_gives_up_what_was_out_of_time_before(sets, tmp_path):
    study = Study("s", "", sets[:1], [Entry("slow", Slow(True))], Protocol(KFold(3)), limit_seconds=3600)

    def interrupt(record, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "out", progress=interrupt)
    after = []
    study.run(tmp_path / "out", progress=lambda record, done, total: after.append(record["failure"]))
    assert after == ["not tried: another fold was not done within 3600 seconds"] * 2


def test_a_run_on_processes_that_is_interrupted_keeps_what_was_done_and_goes_on(sets, tmp_path):
    study = study_of(sets, parse_entry(NAIVE_BAYES))

    def interrupt(record, done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "out", 2, interrupt)
    first = []
    study.run(tmp_path / "out", 2, lambda record, done, total: first.append(done))
    assert first[0] == 4


def spin() -> None:
    while True:
        pass


def test_a_time_limit_is_of_processor_time_and_leaves_no_timer_behind():
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(OutOfTime), time_limit(0.01):
        spin()
    with time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) == before
