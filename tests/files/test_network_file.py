"""Network files: what is read is what was written, name by name and bit by bit."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pytest
from hypothesis import given, settings

from files.mixed_table import mixed_model
from files.odd_networks import ODD, chain
from random_networks import joint, networks
from tanager import save_model
from tanager.errors import FileError
from tanager.files.network_file import FORMATS, read_network, write_network
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

SUFFIXES = [*FORMATS, ".json"]
NAMED = [suffix for suffix in SUFFIXES if suffix != ".uai"]


def reordered(network: Network, names: tuple[str, ...]) -> dict[tuple[int, ...], float]:
    """The joint distribution with its nodes in the order of these names."""
    places = [network.nodes.index(name) for name in names]
    return {tuple(cell[place] for place in places): p for cell, p in joint(network).items()}


def assert_same(found: Network, expected: Network) -> None:
    """The same nodes, in any order, with the same states and the same joint distribution."""
    assert sorted(found.nodes) == sorted(expected.nodes)
    assert sorted(found.edges) == sorted(expected.edges)
    assert found.states == expected.states
    cells = joint(expected)
    found_cells = reordered(found, expected.nodes)
    np.testing.assert_allclose([found_cells[cell] for cell in cells], list(cells.values()), rtol=1e-14)


@pytest.mark.parametrize("suffix", NAMED)
@settings(max_examples=15, deadline=None)
@given(network=networks(max_nodes=6))
def test_a_network_read_is_the_network_written(tmp_path_factory, suffix, network):
    path = tmp_path_factory.mktemp("net") / f"network{suffix}"
    write_network(network, path)
    assert_same(read_network(path), network)
    again = read_network(path, target=network.target)
    assert (again.target, again.nodes[-1]) == (network.target, network.target)
    assert_same(again, network)


@settings(max_examples=15, deadline=None)
@given(network=networks(max_nodes=6))
def test_uai_keeps_all_but_the_names(tmp_path_factory, network):
    path = tmp_path_factory.mktemp("net") / "network.uai"
    write_network(network, path)
    found = read_network(path)
    assert found.nodes == tuple(map(str, range(len(network.nodes))))
    assert list(found.states.values()) == [tuple(range(n)) for n in network.n_states]
    assert joint(found) == joint(network)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_probabilities_are_kept_bit_by_bit(tmp_path, suffix):
    row = np.array([[1 / 3, 0.1 + 0.2, 1e-300, 5e-324, 0.0, 1 - 1 / 3 - (0.1 + 0.2)]])
    network = Network((ColumnSchema("x", "categorical", tuple("abcdef")),), Dag(((),)), (row,))
    write_network(network, tmp_path / f"x{suffix}")
    np.testing.assert_array_equal(read_network(tmp_path / f"x{suffix}").tables[0], row, strict=True)


@pytest.mark.parametrize("suffix", NAMED)
def test_odd_names_and_states_come_back(tmp_path, suffix):
    names = ODD[::-1]
    network = chain(names, tuple(ODD))
    write_network(network, tmp_path / f"odd{suffix}")
    found = read_network(tmp_path / f"odd{suffix}")
    assert found.nodes == network.nodes
    assert found.states == network.states
    assert found.parents == network.parents
    for table, expected in zip(found.tables, network.tables, strict=True):
        np.testing.assert_array_equal(table, expected)


def test_json_keeps_types_the_class_and_every_bit(tmp_path):
    network = mixed_model().network_
    write_network(network, tmp_path / "network.json")
    found = read_network(tmp_path / "network.json")
    assert found.columns == network.columns
    types = [[type(state) for state in column.categories] for column in found.columns]
    assert types == [[type(state) for state in column.categories] for column in network.columns]
    assert {kind for column in types for kind in column} == {str, bool, int, float, datetime.date, datetime.datetime}
    assert (found.dag, found.target) == (network.dag, network.target)
    for table, expected in zip(found.tables, network.tables, strict=True):
        np.testing.assert_array_equal(table, expected, strict=True)


def test_a_model_file_is_read_as_its_network(tmp_path):
    clf = mixed_model()
    save_model(clf, tmp_path / "model.json")
    found = read_network(tmp_path / "model.json")
    assert (found.columns, found.dag, found.target) == (clf.network_.columns, clf.network_.dag, clf.network_.target)


@pytest.mark.parametrize("suffix", NAMED)
def test_bins_are_numeric_columns_again(tmp_path, suffix):
    cuts = (-1e-7, 0.1 + 0.2, 2.45, 1e22)
    columns = (
        ColumnSchema("x", "numeric", cuts=cuts),
        ColumnSchema("y", "numeric", cuts=(5.0,), gap_state=True),
        ColumnSchema("z", "categorical", ("a", "b"), gap_state=True),
    )
    rows = [np.full((1, column.n_states), 1 / column.n_states) for column in columns]
    network = Network(columns, Dag(((), (), ())), tuple(rows))
    write_network(network, tmp_path / f"bins{suffix}")
    assert read_network(tmp_path / f"bins{suffix}").columns == columns


@pytest.mark.parametrize(
    "states",
    [("< 2", ">= 3"), ("< 2", "[2, 1)", ">= 1"), ("< 2.0", ">= 2.0"), (">= 2", "< 2"), ("any",), ("< x", ">= x")],
)
def test_what_only_looks_like_bins_stays_text(tmp_path, states):
    write_network(chain(["x"], states), tmp_path / "x.bif")
    assert read_network(tmp_path / "x.bif").columns == (ColumnSchema("x", "categorical", states),)


def test_states_that_are_one_in_words_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"in words, node 'x' has the state '1' twice"):
        write_network(chain(["x"], (1, "1")), tmp_path / "x.bif")
    assert not list(tmp_path.iterdir())


def test_rows_are_divided_by_their_sum_where_it_is_nearly_one(tmp_path):
    (tmp_path / "x.uai").write_text("BAYES 1 3 1 1 0 3 0.3333 0.3333 0.3333")
    np.testing.assert_allclose(read_network(tmp_path / "x.uai").tables[0], 1 / 3, rtol=1e-15)
    (tmp_path / "x.uai").write_text("BAYES 1 3 1 1 0 3 0.33 0.33 0.33")
    with pytest.raises(FileError, match=r"row 1 of the table of '0' sums to 0.99, expected 1"):
        read_network(tmp_path / "x.uai")


def test_a_network_as_netica_writes_it_is_read(tmp_path):
    (tmp_path / "netica.dne").write_text(
        """// ~->[DNET-1]->~
        // File created by somebody using Netica
        bnet Umbrella {
        AutoCompile = TRUE;
        whenchanged = 1080000000;
        visual V1 { defdispform = BELIEFBARS; nodelabeling = TITLE; NodeSet Node {BuiltIn = 1; Color = 0x00ffff;}; };
        node Rain { kind = NATURE; discrete = TRUE; chance = CHANCE; states = (no, yes); parents = ();
          probs = // no yes
            (0.75, 0.25); title = "Does it rain?"; whenchanged = 1; visual V1 { center = (100, 50); height = 1; }; };
        node Level { kind = NATURE; discrete = FALSE; chance = CHANCE; levels = (0, 1.5, 4, 10); parents = (Rain);
          probs = ((0.5, 0.3, 0.2), (0.1, 0.2, 0.7)); };
        };
        """
    )
    network = read_network(tmp_path / "netica.dne")
    assert (network.nodes, network.edges) == (("Rain", "Level"), (("Rain", "Level"),))
    assert network.columns[1].cuts == (1.5, 4.0)
    assert network.query("Level", {"Rain": "yes"})[">= 4"] == pytest.approx(0.7)


def test_a_name_that_netica_has_no_place_for_is_in_a_title(tmp_path):
    long = ColumnSchema("n" * 40, "categorical", ("1st", "ok"))
    columns = (long, ColumnSchema("y", "categorical", ("s" * 31, "Titled_0")))
    tables = (np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, 0.5]]))
    network = Network(columns, Dag(((1,), ())), tables)
    write_network(network, tmp_path / "long.dne")
    text = (tmp_path / "long.dne").read_text()
    ids = re.findall(r"node (\w+) \{|states = \(([^)]*)\)", text)
    assert all(len(word.strip()) <= 30 for found in ids for word in ",".join(found).split(","))
    found = read_network(tmp_path / "long.dne", target="y")
    assert found.columns == network.columns
