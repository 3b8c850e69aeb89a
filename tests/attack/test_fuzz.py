"""A few hundred hostile cases from a fixed seed; `make attack` tries more."""

from __future__ import annotations

import pytest

from attack.files import CORPUS, check_file, seeds
from attack.page import Tally
from attack.run import attack, random_cases


@pytest.mark.parametrize(("file", "content"), CORPUS.values(), ids=CORPUS)
def test_what_once_fell_stands(tmp_path, file, content):
    check_file(file, content, tmp_path)


def test_files_that_nobody_changed_are_read(tmp_path):
    assert all(check_file(file, content, tmp_path) for file, content in seeds().items())


def test_hostile_files_tables_and_properties_of_real_tables(tmp_path):
    tallies = Tally.of_all_sorts()
    attack(random_cases(1, tmp_path, tallies), tallies, most=208)
    assert [case for tally in tallies.values() for case in tally.failed] == []
    assert tallies["learnt"].n_accepted >= tallies["counted"].n_accepted > 0
    assert tallies["properties"].n_accepted > 10
    assert all(0 < tallies[sort].n_accepted < tallies[sort].n_cases for sort in ("files", "documents"))
