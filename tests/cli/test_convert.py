"""`tanager convert`: any network format, or a model, in; any network format out; nothing printed, nothing lost."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from random_networks import joint, random_network
from tanager import load_model
from tanager.cli.main import run
from tanager.files.network_file import FORMATS, read_network, write_network

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
    for suffix in (".bif", ".net", ".bifxml", ".json"):
        assert run(["convert", "model.json", f"model{suffix}" if suffix != ".json" else "network.json"]) == 0
    for name in ("model.bif", "model.net", "model.bifxml", "network.json"):
        assert read_network(name).columns == network.columns
        assert read_network(name).query("y", {"petal length": 5.5}) == network.query("y", {"petal length": 5.5})
    assert capsys.readouterr() == ("", "")


def test_a_network_passes_through_standard_input_and_output(folder, capfdbinary, monkeypatch):
    assert run(["convert", "expert.bif", "expert.bifxml"]) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("expert.bif").read_bytes())))
    assert run(["convert", "-", "-", "--from", "bif", "--to", ".bifxml"]) == 0
    assert capfdbinary.readouterr() == (Path("expert.bifxml").read_bytes(), b"")


def test_what_was_written_is_said_as_json(folder, capsys):
    assert run(["convert", "expert.bif", "expert.net", "--json"]) == 0
    network = read_network("expert.net")
    expected = {"network": "expert.net", "nodes": len(network.nodes), "edges": len(network.edges)}
    assert json.loads(capsys.readouterr().out) == expected


def test_a_fault_on_standard_input_is_said_without_a_path(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"rubbish")))
    assert run(["convert", "-", "out.net", "--from", "bif"]) == 2
    assert "error: 'standard input' is not a network" in capsys.readouterr().err
