"""A few hundred hostile cases from a fixed seed; `make fuzz` tries more."""

from __future__ import annotations

import pytest

from attack.files import CORPUS, check_file, seeds
from attack.run import attack


@pytest.mark.parametrize(("file", "content"), CORPUS.values(), ids=CORPUS)
def test_what_once_fell_stands(tmp_path, file, content):
    check_file(file, content, tmp_path)


def test_files_that_nobody_changed_are_read(tmp_path):
    assert all(check_file(file, content, tmp_path) for file, content in seeds().items())


def test_hostile_files_and_tables_are_refused_or_work():
    tallies = attack("fuzz", seed=1, n_cases=1_000)
    assert [case for tally in tallies for case in tally.fell] == []
    assert all(0 < tally.n_accepted < tally.n_cases for tally in tallies)
