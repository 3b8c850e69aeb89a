from __future__ import annotations

import pytest

from evaluate.small_sets import write_sets
from tanager.evaluate.data_sets import find_data_sets


@pytest.fixture
def sets(tmp_path):
    (tmp_path / "sets").mkdir()
    return find_data_sets(write_sets(tmp_path / "sets"))
