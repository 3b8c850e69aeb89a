"""`tanager tune`: the function's own result, printed and written; bad input is one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tanager import Network, read_network, tune, write_network
from tanager.cli.main import run
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A lung clinic: a timid expert's network, and rows in which the cough says more than the expert thinks."""
    monkeypatch.chdir(tmp_path)
    columns = tuple(ColumnSchema(name, "categorical", ("0", "1")) for name in ("Smoker", "Cough", "Cancer"))
    dag = Dag(((), (2,), (0,)))
    truth = (np.array([[0.6, 0.4]]), np.array([[0.95, 0.05], [0.1, 0.9]]), np.array([[0.8, 0.2], [0.3, 0.7]]))
    timid = (truth[0], np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.6, 0.4], [0.4, 0.6]]))
    write_network(Network(columns, dag, timid), "expert.bif")
    rows = pd.DataFrame(Network(columns, dag, truth).sample(200, 0))
    rows.loc[::7, "Cough"] = "?"
    rows.to_csv("data.csv", index=False)
    return tmp_path


def test_it_prints_what_the_function_finds_and_writes_the_tuned_network(folder, capsys):
    arguments = ["tune", "expert.bif", "data.csv", "--query", "Cancer", "--missing", "?"]
    assert run([*arguments, "-o", "tuned.bif"]) == 0
    out, err = capsys.readouterr()
    rows = pd.read_csv("data.csv", dtype=str, na_values="?")
    expected = tune(read_network("expert.bif"), rows, "Cancer")
    assert out == f"{expected}\n"
    assert err == ""
    assert expected.after.log_loss < expected.before.log_loss
    for own, other in zip(read_network("tuned.bif").tables, expected.network.tables, strict=True):
        np.testing.assert_array_equal(own, other)
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))


def test_the_tuned_network_may_go_to_standard_output(folder, capfdbinary):
    arguments = ["tune", "expert.bif", "data.csv", "--query", "Cancer", "--missing", "?"]
    assert run([*arguments, "-o", "tuned.net"]) == 0
    capfdbinary.readouterr()
    assert run([*arguments, "-o", "-", "--to", "net"]) == 0
    assert capfdbinary.readouterr() == (Path("tuned.net").read_bytes(), b"")


def test_options_reach_the_function(folder, capsys):
    options = ["--strength", "5", "--folds", "3", "--seed", "4", "--parameters", "likelihood-gradient", "--json"]
    assert run(["tune", "expert.bif", "data.csv", "-q", "Cancer", "-q", "Smoker", "--missing", "?", *options]) == 0
    rows = pd.read_csv("data.csv", dtype=str, na_values="?")
    expected = tune(
        read_network("expert.bif"),
        rows,
        ["Cancer", "Smoker"],
        "likelihood-gradient",
        strength=5.0,
        cv=3,
        random_state=4,
    )
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected.to_dict()))
