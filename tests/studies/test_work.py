"""Work on processes: limits of time, interruptions, and processes that are ended."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from experiments.studies.entries import Entry, parse_entry
from experiments.studies.jobs import OutOfTime, time_limit
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.study import Study
from studies.trouble import Deadly, Slow
from tanager.errors import TanagerError

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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_process_tries_a_pair_that_is_out_of_time_once(sets, tmp_path, n_jobs):
    entries = [Entry("slow", Slow(True)), Entry("quick", Slow(False))]
    study = Study("s", "", sets[:2], entries, Protocol(KFold(5)), limit_seconds=3600)
    results = study.run(tmp_path / "out", n_jobs)
    for data_set in sets[:2]:
        tried = [each["failure"] for each in results.failures if each["set"] == data_set.name]
        assert len(tried) == 5
        assert 1 <= tried.count("not done within 3600 seconds") <= n_jobs
    assert not np.isnan(results.column("quick", "error")).any()


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


@pytest.mark.parametrize(("late", "raised"), [(True, OutOfTime), (False, KeyboardInterrupt)])
def test_an_alarm_that_a_library_takes_for_ctrl_c_is_told_from_a_person_who_presses_it(late, raised):
    def library():
        try:
            if late:
                signal.raise_signal(signal.SIGPROF)
        finally:
            raise KeyboardInterrupt

    with pytest.raises(raised), time_limit(60):
        library()


def test_a_worker_that_is_killed_ends_the_run_in_words_and_what_was_done_is_kept(sets, tmp_path, monkeypatch):
    monkeypatch.setenv("TANAGER_TEST_PID", str(os.getpid()))
    study = study_of([sets[0], Deadly("deadly", 18)], parse_entry(NAIVE_BAYES))
    with pytest.raises(TanagerError, match="ended from outside"):
        study.run(tmp_path / "out", n_jobs=2)
    assert not study.run(tmp_path / "out", n_jobs=1).failures


def test_a_classifier_that_another_process_cannot_import_is_refused_in_words(sets, tmp_path, monkeypatch):
    # As if its module lay in a folder that only this process looks into.
    monkeypatch.setattr(Slow, "__module__", "not_to_be_found")
    monkeypatch.setitem(sys.modules, "not_to_be_found", sys.modules["studies.trouble"])
    study = study_of(sets, Entry("slow", Slow(False)))
    with pytest.raises(TanagerError, match=r"another process.*No module named 'not_to_be_found'"):
        study.run(tmp_path / "out", n_jobs=2)
    assert not study.run(tmp_path / "out", n_jobs=1).failures
