"""`tanager convert`: any network in, any format out, nothing lost; `tanager tune`: the function's own result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from random_networks import joint, random_network
from tanager import Network, load_model, read_network, tune, write_network
from tanager.cli.main import run
from tanager.files.network_file import FORMATS
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

TABLE = "petal length,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5


def model_and_network() -> None:
    Path("data.csv").write_text(TABLE)
    assert run(["fit", "data.csv", "--class", "y", "--structure", "tan", "-o", "model.json"]) == 0
    write_network(random_network(2, [2, 3, 2]), "expert.bif")


@pytest.fixture
def folder(tmp_path, monkeypatch, fill):
    """The working folder, with a model and a network in it."""
    monkeypatch.chdir(tmp_path)
    fill(model_and_network)
    return tmp_path


def test_every_format_can_be_converted_to_every_other(folder, capsys):
    expected = joint(read_network("expert.bif"))
    assert run(["convert", "expert.bif", "start.json"]) == 0
    for source in (".json", *FORMATS):
        assert run(["convert", "start.json", f"from{source}"]) == 0
        for target in (".json", *FORMATS):
            assert run(["convert", f"from{source}", f"to{target}"]) == 0
            found = read_network(f"to{target}")
            order = [found.nodes.index(name) for name in sorted(found.nodes)]
            cells = {tuple(cell[node] for node in order): p for cell, p in joint(found).items()}
            np.testing.assert_allclose([cells[cell] for cell in expected], list(expected.values()), rtol=1e-14)
    assert capsys.readouterr() == ("", "")


def test_the_network_of_a_model_comes_back_with_its_bins_and_names(folder, capsys):
    network = load_model("model.json").network_
    assert network.columns[0].kind == "numeric"
    for suffix in (".bif", ".net", ".json"):
        assert run(["convert", "model.json", f"model{suffix}" if suffix != ".json" else "network.json"]) == 0
    for name in ("model.bif", "model.net", "network.json"):
        assert read_network(name).columns == network.columns
        assert read_network(name).query("y", {"petal length": 5.5}) == network.query("y", {"petal length": 5.5})
    assert capsys.readouterr() == ("", "")


def test_what_was_written_is_said_as_json(folder, capsys):
    assert run(["convert", "expert.bif", "expert.net", "--json"]) == 0
    network = read_network("expert.net")
    expected = {"network": "expert.net", "nodes": len(network.nodes), "edges": len(network.edges)}
    assert json.loads(capsys.readouterr().out) == expected


@pytest.fixture
def clinic(tmp_path, monkeypatch):
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


def test_it_prints_what_the_function_finds_and_writes_the_tuned_network(clinic, capsys):
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


def test_options_reach_the_function(clinic, capsys):
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
