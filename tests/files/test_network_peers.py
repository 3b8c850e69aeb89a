"""Network files that other programs write, or read: the same answers as pyAgrum and as published."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from files.mixed_table import mixed_model
from files.odd_networks import ODD, chain
from quiet_pyagrum import gum
from random_networks import random_network
from tanager.files.network_file import FORMATS, read_network, write_network
from tanager.files.network_nodes import plain
from tanager.network.network import Network

SINGLE = 1e-6
"""pyAgrum reads these formats in single precision."""


def posteriors(bn: gum.BayesNet, evidence: dict[int, int]) -> dict[str, list[float]]:
    inference = gum.LazyPropagation(bn)
    inference.setEvidence(evidence)
    inference.makeInference()
    return {bn.variable(node).name(): inference.posterior(node).tolist() for node in bn.nodes()}


def assert_same_answers(network: Network, bn: gum.BayesNet, tolerance: float) -> None:
    """Every posterior given every single state, and given nothing."""
    numbers = {plain(bn.variable(node).name()): node for node in bn.nodes()}
    assert set(numbers) == set(network.nodes)
    single = [{name: code} for name in network.nodes for code in range(len(network.states[name]))]
    for evidence in [{}, *single]:
        found = posteriors(bn, {numbers[name]: code for name, code in evidence.items()})
        labels = {name: network.states[name][code] for name, code in evidence.items()}
        for name, expected in found.items():
            answer = list(network.query(plain(name), labels).values())
            np.testing.assert_allclose(answer, expected, atol=tolerance, rtol=0)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_pyagrum_reads_what_is_written_and_gives_the_same_answers(tmp_path, suffix, seed):
    path = tmp_path / f"network{suffix}"
    network = random_network(seed, [2, 3, 4, 2, 3, 2], density=0.5)
    write_network(network, path)
    assert_same_answers(network, gum.loadBN(str(path)), SINGLE)


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_pyagrum_writes_is_read_with_the_same_answers(tmp_path, suffix):
    path = tmp_path / f"network{suffix}"
    gum.initRandom(7)
    bn = gum.fastBN("a{x|y|z}->b[3]->c{no|yes};d{u|v};b->e[1,4];a->c<-d;d->e")
    gum.saveBN(bn, str(path))
    assert_same_answers(read_network(path), bn, 1e-9)


def test_pyagrum_and_we_agree_on_a_network_with_the_names_of_a_model(tmp_path):
    network = mixed_model().network_
    for suffix in FORMATS:
        write_network(network, tmp_path / f"model{suffix}")
        found = read_network(tmp_path / f"model{suffix}", target=network.target)
        assert_same_answers(found, gum.loadBN(str(tmp_path / f"model{suffix}")), SINGLE)
        evidence = {"flag": "True", "code": "-3", "half": repr(0.1 + 0.2), "when": "2024-01-01T12:31:00", "number": 1.5}
        typed = {**evidence, "flag": True, "code": -3, "half": 0.1 + 0.2, "when": datetime.datetime(2024, 1, 1, 12, 31)}
        expected = network.query(network.target, typed)
        assert found.query(network.target, evidence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("suffix", FORMATS)
def test_pyagrum_reads_odd_names_and_states(tmp_path, suffix):
    network = chain(ODD[:6], tuple(ODD[6:12]))
    write_network(network, tmp_path / f"odd{suffix}")
    bn = gum.loadBN(str(tmp_path / f"odd{suffix}"))
    assert [plain(bn.variable(node).name()) for node in bn.nodes()] == ODD[:6]
    assert [plain(label) for label in bn.variable(0).labels()] == ODD[6:12]
    assert_same_answers(network, bn, SINGLE)


DIALECT = """
// a comment
network "dog \\"problem\\"" { property "author } of it"; /* more
lines */ }
variable "light-on" { type discrete[2] { "true" "false" }; property position = (1, 2); }
variable bowel { type discrete [ 2 ] { 1.5, <5 }; }
variable out { // three parents' worth
  type discrete [3] { a, b, c };
}
probability ( "light-on" ) { table 0.25 0.75; property none; }
probability ( bowel | "light-on" ) { table 0.1, 0.2, 0.9, 0.8; }
probability ( out "light-on", bowel ) {
  default 0.2, 0.3, 0.5;
  ("true", <5) 0.5, 0.25, 0.25;
}
"""


def test_bif_is_read_with_comments_quotes_defaults_and_whole_tables(tmp_path):
    (tmp_path / "dog.bif").write_text(DIALECT)
    network = read_network(tmp_path / "dog.bif", target="bowel")
    assert network.nodes == ("light-on", "out", "bowel")
    assert network.table("bowel").row({"light-on": "true"}) == {"1.5": 0.1, "<5": 0.9}
    assert network.table("bowel").row({"light-on": "false"}) == {"1.5": 0.2, "<5": 0.8}
    expected = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert network.table("out").row({"light-on": "true", "bowel": "<5"}) == expected
    assert network.table("out").row({"light-on": "false", "bowel": "<5"}) == {"a": 0.2, "b": 0.3, "c": 0.5}


def test_net_is_read_from_a_class_with_comments_and_flat_data(tmp_path):
    text = """class Sprinkler { inputs = (); outputs = (wet); net { node_size = (80 40); }
    discrete node rain { label = "It rains; (really)"; states = ("no" "yes, much"); HR_1 = "{"; } % a comment }
    node wet { states = (no yes); }
    potential (rain) { data = (0.75 0.25); }
    potential (wet | rain) { data = (0.9 0.1 % no
                                     0.2 0.8); } }"""
    (tmp_path / "rain.net").write_bytes(text.replace("rains", "régnar").encode("latin-1"))
    network = read_network(tmp_path / "rain.net")
    assert network.table("wet").row({"rain": "yes, much"}) == {"no": 0.2, "yes": 0.8}
    assert network.query("wet")["yes"] == pytest.approx(0.75 * 0.1 + 0.25 * 0.8)
