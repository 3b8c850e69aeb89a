"""`tanager edit`: the function's own model, written; undone bit by bit; bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from report.models import mixed_table
from tanager import AdditiveClassifier, apply_edits, load_model, save_model
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
