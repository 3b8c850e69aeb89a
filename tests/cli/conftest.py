"""A folder to run commands in."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cli.iris_table import iris_table
from tanager.files.write_table import write_table


@pytest.fixture
def iris(tmp_path, monkeypatch) -> pa.Table:
    """A folder with the iris table as iris.csv, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    table = iris_table()
    write_table(table, "iris.csv")
    return table
