"""The rivals' records: out of folders of results into one file, and back into a folder that lacks them."""

from __future__ import annotations

import json

import pytest

from experiments.papers.rivals import FILE, read_rivals, take_rivals, write_rivals
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.results_folder import LINES, results_folder
from tanager.errors import DataError, FileError

SUMS = [[2.0, 1.1234, 1.0], [3.0, 2.75, 3.0]]


def record(name, fold, **more):
    return {"set": "iris", "classifier": name, "estimator": f"OnTable({name}) 0a", "fold": fold} | more


DONE = record("k-NN", 0, accuracy=1 / 3, log_loss=0.1 + 0.2, calibration=SUMS, warnings=["UserWarning"])
SLOW = record("k-NN", 1, failure="not done within 180 seconds", limit_seconds=180.0)
OURS = record("NB", 0, accuracy=0.5) | {"estimator": "AdditiveClassifier() 0b"}


def results(folder, records, protocol=None):
    with results_folder(folder, repr(protocol or Protocol())) as kept:
        for each in records:
            kept.append(each)
    return folder


def test_a_folder_without_records_has_those_of_the_rivals_again_and_measures_digit_by_digit(tmp_path):
    file = tmp_path / "records" / "rivals.jsonl"
    assert write_rivals([results(tmp_path / "a", [SLOW, OURS, DONE])], file) == 2
    assert take_rivals(tmp_path / "b", file) == 2
    done, slow = map(json.loads, (tmp_path / "b" / LINES).read_text().splitlines())
    curve = [[2.0, 1.123, 1.0], [3.0, 2.75, 3.0]]
    assert done == {name: value for name, value in DONE.items() if name != "warnings"} | {"calibration": curve}
    assert slow == SLOW
    assert take_rivals(tmp_path / "b", file) == 0


def test_folders_add_to_the_file_and_later_records_take_the_place_of_earlier_ones(tmp_path):
    file, again, aode = tmp_path / "rivals.jsonl", record("k-NN", 1, accuracy=0.75), record("AODE", 0, accuracy=0.25)
    write_rivals([results(tmp_path / "a", [DONE, SLOW])], file)
    assert write_rivals([results(tmp_path / "b", [aode]), results(tmp_path / "c", [again])], file) == 3
    assert [each["accuracy"] for each in read_rivals(file)] == [0.25, 1 / 3, 0.75]
    before = file.read_bytes()
    assert write_rivals([tmp_path / "c"], file) == 3
    assert file.read_bytes() == before


def test_a_line_being_written_is_left_out_and_other_folders_are_refused(tmp_path):
    file, folder = tmp_path / "rivals.jsonl", results(tmp_path / "a", [DONE])
    with (folder / LINES).open("a") as lines:
        lines.write('{"set": "iri')
    assert write_rivals([folder], file) == 1
    with pytest.raises(FileError, match="is no folder of results"):
        write_rivals([tmp_path], file)
    with pytest.raises(DataError, match=r"are of Protocol\(split=KFold\(n_folds=3"):
        write_rivals([results(tmp_path / "three", [DONE], Protocol(KFold(3)))], file)


def test_records_of_another_protocol_are_not_taken(tmp_path):
    file = tmp_path / "rivals.jsonl"
    write_rivals([results(tmp_path / "a", [DONE])], file)
    file.write_text(file.read_text().replace("n_folds=5", "n_folds=7"))
    assert take_rivals(tmp_path / "b", file) == 0


def test_no_record_of_the_tracked_file_is_ours():
    assert all(each["estimator"].startswith("OnTable(") for each in read_rivals(FILE))
