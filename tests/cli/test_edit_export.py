"""`tanager edit` and `tanager export` write what the functions give; bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from report.models import mixed_table
from tanager import AdditiveClassifier, NaiveBayesClassifier, apply_edits, export, load_model, save_model
from tanager.cli.main import run
from tanager.edits import Edit, Edits
from tanager.edits.edit import model_digest
from tanager.files import save_edits

EDITS = (Edit.flatten("age", 20, 40, reason="noise"), Edit.remove("town", reason="law", who="B. Clerk"))


def model_and_edits() -> None:
    X, y = mixed_table(1, n_rows=200)
    X.assign(y=y).to_csv("rows.csv", index=False)
    save_model(AdditiveClassifier().fit(X, y), "m.json")
    save_edits(Edits(EDITS, model_digest(load_model("m.json").model_)), "edits.json")


@pytest.fixture
def folder(tmp_path, monkeypatch, fill):
    monkeypatch.chdir(tmp_path)
    fill(model_and_edits)
    return mixed_table(1, n_rows=200)


def test_the_command_writes_what_the_function_makes_and_undoes_it(folder, capsys):
    assert run(["edit", "m.json", "edits.json", "-o", "new.json", "--refit", "rows.csv", "--by", "A. Nurse"]) == 0
    out = capsys.readouterr().out
    new, expected = load_model("new.json"), apply_edits(load_model("m.json"), Edits(EDITS), *folder)
    assert (new.predict_proba(folder[0]) == expected.predict_proba(folder[0])).all()
    kept = new.edits_[0].edits.edits
    assert [edit.who for edit in kept] == ["A. Nurse", "B. Clerk"]
    assert "flatten age from 20 to 40: noise (A. Nurse, 20" in out
    assert "The intercept was fitted again." in out
    assert run(["edit", "new.json", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [edit["reason"] for edit in listed[0]["edits"]] == ["noise", "law"]
    assert run(["edit", "new.json", "--undo", "-o", "old.json"]) == 0
    assert Path("old.json").read_bytes() == Path("m.json").read_bytes()
    assert "No edits" in capsys.readouterr().out
    assert not np.allclose(new.predict_proba(folder[0]), load_model("old.json").predict_proba(folder[0]))


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
