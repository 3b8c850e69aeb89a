"""The rivals' records: out of folders of results into one file, and back into a folder that lacks them."""

from __future__ import annotations

import json

from experiments.papers.rivals import FILE, read_rivals, take_rivals, write_rivals
from experiments.studies.protocol import Protocol
from experiments.studies.results_folder import LINES, results_folder


def record(name, fold, **more):
    return {"set": "iris", "classifier": name, "estimator": f"OnTable({name}) 0a", "fold": fold} | more


def results(folder, records):
    with results_folder(folder, repr(Protocol())) as kept:
        for each in records:
            kept.append(each)
    return folder


def test_a_folder_without_records_has_those_of_the_rivals_again_and_later_records_count(tmp_path):
    file, done = tmp_path / "records" / "rivals.jsonl", record("k-NN", 0, accuracy=1 / 3, log_loss=0.1 + 0.2)
    slow = record("k-NN", 1, failure="not done within 180 seconds", limit_seconds=180.0)
    ours = record("NB", 0, accuracy=0.5) | {"estimator": "AdditiveClassifier() 0b"}
    assert write_rivals([results(tmp_path / "a", [slow, ours, done])], file) == 2
    assert take_rivals(tmp_path / "b", file) == 2
    assert [json.loads(line) for line in (tmp_path / "b" / LINES).read_text().splitlines()] == [done, slow]
    assert take_rivals(tmp_path / "b", file) == 0
    again = record("k-NN", 1, accuracy=0.75)
    assert write_rivals([results(tmp_path / "c", [again])], file) == 2
    assert [each["accuracy"] for each in read_rivals(file)] == [1 / 3, 0.75]


def test_no_record_of_the_tracked_file_is_ours():
    assert all(each["estimator"].startswith("OnTable(") for each in read_rivals(FILE))
