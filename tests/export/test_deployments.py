"""What the page on exports shows in a shell, in JavaScript and in C runs there, and prints what the page says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tanager import NaiveBayesClassifier, TANClassifier, save_model
from tanager.cli.main import run
from tanager.export.targets import TARGETS

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"(?://|/\*) (\w+\.\w+)")
COLUMNS = "sepal_length float8, sepal_width float8, petal_length float8, petal_width float8"
CELLS = "(1, 5.1, 3.5, 1.4, 0.2), (2, 6.3, 2.9, 5.6, 1.8), (3, 6.3, 2.9, NULL, 1.8)"
TABLE = f"CREATE TABLE IF NOT EXISTS flowers (id int PRIMARY KEY, {COLUMNS}); "
TABLE += f"INSERT INTO flowers VALUES {CELLS} ON CONFLICT DO NOTHING"


def blocks(language: str) -> list[str]:
    return [block for found, block in BLOCK.findall(PAGE) if found == language]


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The working folder with the models of the page, of another kind that is learnt in no time."""
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    save_model(TANClassifier(parameters="frequency").fit(X, y), "iris.json")
    frame = pd.DataFrame({"mean radius": X["petal_length"], "mean texture": X["petal_width"]})
    save_model(NaiveBayesClassifier().fit(frame, y == 2), "tumours.json")


def test_every_language_has_a_deployment_on_the_page():
    shown = set(re.findall(r"--to (\w+)|export\(clf, \"(\w+)\"", "\n".join([*blocks("sh"), *blocks("python")])))
    assert {name for pair in shown for name in pair if name} == TARGETS.keys()


@pytest.mark.parametrize("number", range(len(blocks("sh"))))
def test_what_the_page_shows_in_a_shell_prints_what_it_says(number, models, request):
    for block in [*blocks("js"), *blocks("c")]:
        Path(NAMED.match(block)[1]).write_text(block)
    shell = blocks("sh")[number]
    after = PAGE[PAGE.index(shell) + len(shell) :]
    shown = re.match(r"```\n\n```text\n(.*?)^```$", after, re.DOTALL | re.MULTILINE)
    printed = ""
    for command in map(shlex.split, shell.splitlines()):
        if command[0] == "tanager":
            assert run(command[1:]) == 0
            continue
        settings = {}
        if command[0] == "psql":
            server = request.getfixturevalue("server")
            settings = {"PGHOST": str(server.folder), "PGUSER": "tester", "PGDATABASE": "postgres"}
            server.run(TABLE)
        elif not command[0].startswith("./") and shutil.which(command[0]) is None:
            pytest.skip(f"no {command[0]} here")
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    assert printed == ("" if shown is None else shown[1])
