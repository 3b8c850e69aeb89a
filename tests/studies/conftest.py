from __future__ import annotations

import pytest

from experiments.studies.data_sets import find_data_sets
from studies.small_sets import write_sets


@pytest.fixture
def sets(tmp_path):
    (tmp_path / "sets").mkdir()
    return find_data_sets(write_sets(tmp_path / "sets"))
