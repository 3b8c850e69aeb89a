"""A folder to run commands in."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cli.iris_table import iris_table
from tanager.files.write_table import write_table

Make = Callable[[], object]


@pytest.fixture(scope="session")
def fill(tmp_path_factory) -> Callable[[Make], None]:
    """Puts into the working folder what a function writes into one; the function is called once for all tests."""
    made: dict[Make, Path] = {}

    def copy(make: Make) -> None:
        if make not in made:
            made[make] = tmp_path_factory.mktemp(make.__name__)
            with contextlib.chdir(made[make]):
                make()
        shutil.copytree(made[make], ".", dirs_exist_ok=True)

    return copy


@pytest.fixture
def iris(tmp_path, monkeypatch) -> pa.Table:
    """A folder with the iris table as iris.csv, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    table = iris_table()
    write_table(table, "iris.csv")
    return table
