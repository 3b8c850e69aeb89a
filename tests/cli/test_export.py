"""`tanager export` writes what `tanager.export` gives, and says in one line what it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tanager import NaiveBayesClassifier, export, load_model, save_model
from tanager.cli.main import run

ROWS = [["a", 1.0], ["b", 2.0], ["b", 3.0], ["a", 4.0]] * 5
SQL = ["--to", "sql", "--table", "t", "--key", "id", "--key", "part", "--rename", "x0=hue", "--view", "v"]


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_model(NaiveBayesClassifier().fit(ROWS, ["yes", "no"] * 10), "m.json")
    return Path("m.json")


def test_the_command_writes_what_the_function_gives(model):
    clf = load_model(model)
    assert run(["export", "m.json", *SQL, "--dialect", "duckdb", "-o", "m.sql"]) == 0
    options = {"table": "t", "key": ["id", "part"], "rename": {"x0": "hue"}, "view": "v", "dialect": "duckdb"}
    assert Path("m.sql").read_text() == export(clf, "sql", **options)
    assert run(["export", "m.json", "--to", "scorecard", "--double", "10", "-o", "card.csv"]) == 0
    assert Path("card.csv").read_text() == export(clf, "scorecard", double=10.0)


def test_without_a_file_the_export_goes_to_stdout(model, capfdbinary):
    assert run(["export", "m.json", "--to", "c", "--name", "hue"]) == 0
    assert capfdbinary.readouterr().out.decode() == export(load_model(model), "c", name="hue")


@pytest.mark.parametrize("to", ["onnx", "excel"])
def test_a_file_that_is_no_text_replaces_one_of_its_kind(model, to, capsys):
    pytest.importorskip({"onnx": "onnx", "excel": "openpyxl"}[to])
    for _ in range(2):
        assert run(["export", "m.json", "--to", to, "-o", "out"]) == 0
    Path("out").write_bytes(b"PK mine")
    assert run(["export", "m.json", "--to", to, "-o", "out"]) == 2
    assert "replace this one with --force" in capsys.readouterr().err
