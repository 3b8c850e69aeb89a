"""Folders to run commands in."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cli.iris_table import iris_table
from cli.kept_files import write_kinds
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


@pytest.fixture(scope="package")
def originals(tmp_path_factory) -> Path:
    """Everything that the commands read, and a file of every kind in `kinds`."""
    folder = tmp_path_factory.mktemp("originals")
    write_kinds(folder)
    return folder


@pytest.fixture
def folder(originals, tmp_path, monkeypatch) -> Path:
    """The working folder, with a copy of all that."""
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
