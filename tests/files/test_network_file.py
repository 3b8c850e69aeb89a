"""Network files: what is read is what was written, name by name and bit by bit; a fault is one clear error."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from files.mixed_table import mixed_model
from files.odd_networks import ODD, chain
from random_networks import joint, networks, random_network
from tanager import save_model
from tanager.errors import FileError
from tanager.files.network_file import FORMATS, read_network, write_network
from tanager.files.network_nodes import plain, quoted, word, word_or_integer
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

SUFFIXES = [*FORMATS, ".json"]


def reordered(network: Network, names: tuple[str, ...]) -> dict[tuple[int, ...], float]:
    """The joint distribution with its nodes in the order of these names."""
    places = [network.nodes.index(name) for name in names]
    return {tuple(cell[place] for place in places): p for cell, p in joint(network).items()}


def assert_same(found: Network, expected: Network) -> None:
    """The same nodes, in any order, with the same states and tables, bit by bit, and the same joint distribution."""
    assert sorted(found.nodes) == sorted(expected.nodes)
    assert sorted(found.edges) == sorted(expected.edges)
    assert found.states == expected.states
    for name in expected.nodes:
        parents = sorted(expected.parents[name])
        for states in product(*(expected.states[parent] for parent in parents)):
            given = dict(zip(parents, states, strict=True))
            assert found.table(name).row(given) == expected.table(name).row(given)
    cells = joint(expected)
    found_cells = reordered(found, expected.nodes)
    np.testing.assert_allclose([found_cells[cell] for cell in cells], list(cells.values()), rtol=1e-14)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=15, deadline=None)
@given(network=networks(max_nodes=6))
def test_a_network_read_is_the_network_written(tmp_path_factory, suffix, network):
    path = tmp_path_factory.mktemp("net") / f"network{suffix}"
    write_network(network, path)
    assert_same(read_network(path), network)
    again = read_network(path, target=network.target)
    assert (again.target, again.nodes[-1]) == (network.target, network.target)
    assert_same(again, network)


BINS = (
    ColumnSchema("x", "numeric", cuts=(-1e-7, 0.1 + 0.2, 2.45, 1e22)),
    ColumnSchema("y", "numeric", cuts=(5.0,), missing_state=True),
    ColumnSchema("z", "categorical", ("a", "b"), missing_state=True),
)
TINY = np.array([[1 / 3, 0.1 + 0.2, 1e-300, 5e-324, 0.0, 1 - 1 / 3 - (0.1 + 0.2)]])
KEPT = {
    "the last bit": Network((ColumnSchema("x", "categorical", tuple("abcdef")),), Dag(((),)), (TINY,)),
    "odd names and states": chain(ODD[::-1], tuple(ODD)),
    "bins": Network(BINS, Dag(((),) * 3), tuple(np.full((1, each.n_states), 1 / each.n_states) for each in BINS)),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("network", KEPT.values(), ids=KEPT)
def test_probabilities_names_and_bins_are_kept_bit_by_bit(tmp_path, suffix, network):
    write_network(network, tmp_path / f"x{suffix}")
    found = read_network(tmp_path / f"x{suffix}")
    assert (found.columns, found.parents) == (network.columns, network.parents)
    for table, expected in zip(found.tables, network.tables, strict=True):
        np.testing.assert_array_equal(table, expected, strict=True)


def test_a_model_file_is_read_as_its_network(tmp_path):
    clf = mixed_model()
    save_model(clf, tmp_path / "model.json")
    found = read_network(tmp_path / "model.json")
    assert (found.columns, found.dag, found.target) == (clf.network_.columns, clf.network_.dag, clf.network_.target)


@pytest.mark.parametrize(
    "states",
    [
        ("< 2", "[2, 1)", ">= 1"),
        ("< 2.0", ">= 2.0"),
        ("any",),
        ("< x", ">= x"),
        ("< 1e999", ">= 1e999"),
    ],
)
def test_what_only_looks_like_bins_stays_text(tmp_path, states):
    write_network(chain(["x"], states), tmp_path / "x.bif")
    assert read_network(tmp_path / "x.bif").columns == (ColumnSchema("x", "categorical", states),)


BIF = "network n {} variable a { type discrete [3] { x, y, z }; } probability ( a ) { table %s; }"
NET = "net {} node a { states = (x y); } node b { states = (u v); } %s potential (b | a) { data = (%s); }"


def read_text(tmp_path, suffix: str, content: str) -> Network:
    path = tmp_path / f"network{suffix}"
    path.write_text(content)
    return read_network(path)


def test_rows_are_divided_by_their_sum_where_it_is_nearly_one(tmp_path):
    found = read_text(tmp_path, ".bif", BIF % "0.3333, 0.3333, 0.3333")
    np.testing.assert_allclose(found.tables[0], 1 / 3, rtol=1e-15)
    assert "row 1 of the table of 'a' sums to 0.99" in refused_text(tmp_path, ".bif", BIF % "0.33, 0.33, 0.33")


def test_potentials_of_hugin_have_any_scale(tmp_path):
    potential = "potential (a) { data = (3 1); }"
    found = read_text(tmp_path, ".net", NET % (potential, "(30 10) (1e-300 0)"))
    assert [table.tolist() for table in found.tables] == [[[0.75, 0.25]], [[0.75, 0.25], [1.0, 0.0]]]
    for numbers, total in ("(1 1) (0 0)", "0"), ("(1e308 1e308) (1 1)", "inf"):
        message = refused_text(tmp_path, ".net", NET % (potential, numbers))
        assert f"of the table of 'b' sums to {total}, expected a sum above 0" in message


@given(st.text(max_size=8) | st.from_regex(r"(_0x[0-9A-F_x]{0,4}| ){1,3}", fullmatch=True))
def test_an_escaped_text_has_only_what_its_place_allows_and_comes_back(text):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word(text))
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+", word_or_integer(text))
    assert re.fullmatch(r'"[ !#-\[\]-~]*"', quoted(text))
    for escaped in (word(text), word_or_integer(text), quoted(text)[1:-1]):
        assert plain(escaped) == text


def test_a_name_that_only_looks_like_an_escape_is_left_alone():
    for name in ("pos_x_0", "img_x1024_y", "addr_0x", "_0xFFFFFF_", "_0xab_", "0x20_"):
        assert plain(name) == name


GOOD = random_network(1, [2, 3, 2], density=1.0)


def refusal(path, target: str | None = None) -> str:
    with pytest.raises(FileError) as caught:
        read_network(path, target)
    message = str(caught.value)
    assert repr(str(path)) in message
    return message


def refused_text(tmp_path, suffix: str, content: str) -> str:
    path = tmp_path / f"bad{suffix}"
    path.write_text(content)
    return refusal(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_wrong_table_is_refused_by_name(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    write_network(GOOD, path)
    content = path.read_text()
    p = repr(float(GOOD.tables[0][0, 0]))
    for wrong, words in (("0.987654", "sum"), ("-0.5", "negative")):
        if (suffix, words) != (".net", "sum"):  # whose potentials have any scale
            message = refused_text(tmp_path, suffix, content.replace(p, wrong))
            assert words in message
            assert "table of 'n0'" in message
    for wrong in ("nan", "half", "1e999"):
        message = refused_text(tmp_path, suffix, content.replace(p, wrong))
        # JSON has neither of the first two, and its parts are known by number.
        assert "table of 'n0'" in message or "is not JSON" in message or "tables[0]" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_short_anywhere_is_refused(tmp_path, suffix):
    path = tmp_path / f"network{suffix}"
    write_network(GOOD, path)
    content = path.read_bytes().rstrip()
    end = len(content) - 1
    for length in [*range(1, end, max(1, end // 60)), end - 1]:
        path.write_bytes(content[:length])
        assert "is not a network that can be read" in refusal(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_network_of_the_format_is_refused(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    for content in (b"hello world", b"\x80\x04\x95\x00pickle", b"{}", b"[1, 2]", b"((((" * 9):
        path.write_bytes(content)
        assert "is not a network that can be read" in refusal(path)
    for other in SUFFIXES:
        if suffix != other:
            write_network(GOOD, tmp_path / f"good{other}")
            path.write_bytes((tmp_path / f"good{other}").read_bytes())
            assert "is not a network that can be read" in refusal(path)
    for content in (b"", b" \n\t"):
        path.write_bytes(content)
        assert "it is empty" in refusal(path)


def test_other_faults_are_refused_and_named(tmp_path):
    variable = "variable a { type discrete [2] { s, t }; }"
    bif = f"network n {{}} {variable} "
    table = "probability ( a ) { table 0.5 0.5; }"
    faults = {
        bif: "node 'a' has no table",
        bif + variable: "describes the node 'a' twice",
        bif.replace("[2]", "[3]") + table: "node 'a' has 2 states, expected 3",
        bif.replace("s, t", "s, s") + table: "node 'a' has the state 's' twice",
        bif + "probability ( a | b ) { table 1; }": "no variable block describes",
        bif
        + variable.replace(" a ", " b ")
        + "probability ( a | b ) { default 1 0; } probability ( b | a ) { default 1 0; }": "cycle: a -> b -> a",
        bif + "probability ( a | a a ) { default 0.5 0.5; }": "has the parent 'a' twice",
        bif + "probability ( a ) { table 0.5 0.2 0.3; }": "has 3 numbers in a row, expected 2",
        bif + "probability ( a ) { }": "has no row for 1 configurations",
        bif + "probability ( a | a ) { (u) 0.5 0.5; }": "names the state 'u', which 'a' does not have",
        bif + "utility u {}": "a block 'utility u'",
        bif + 'property "never closed': "a quote in line 1 is never closed",
        "network n {}": "it has no node",
    }
    for content, words in faults.items():
        assert words in refused_text(tmp_path, ".bif", content)
    parents = " ".join(f"p{k}" for k in range(40))
    many = "".join(variable.replace(" a ", f" p{k} ") for k in range(40))
    huge = bif + many + f"probability ( a | {parents} ) {{ default 0.5 0.5; }}"
    assert "the table of 'a' asks for more cells" in refused_text(tmp_path, ".bif", huge)
    assert "block 'utility u'" in refused_text(tmp_path, ".net", "net {} utility u {}")
    assert "nested too deeply" in refused_text(
        tmp_path,
        ".net",
        "net {} node a { states = (s); } potential (a) { data = %s; }" % ("(" * 100_000 + ")" * 100_000),
    )


def test_files_suffixes_and_targets_that_are_not_there_are_refused(tmp_path):
    assert "no such file" in refusal(tmp_path / "absent.bif")
    (tmp_path / "folder.bif").mkdir()
    assert "is a folder" in refusal(tmp_path / "folder.bif")
    for name in ("network.txt", "network.xml", "network", "network.bif.gz"):
        assert "expected one of .bif, .net, .json" in refusal(tmp_path / name)
        with pytest.raises(FileError, match=r"expected one of \.bif, \.net"):
            write_network(GOOD, tmp_path / name)
    with pytest.raises(FileError, match="does not exist"):
        write_network(GOOD, tmp_path / "absent" / "network.bif")
    for suffix in SUFFIXES:
        write_network(GOOD, tmp_path / f"network{suffix}")
        message = refusal(tmp_path / f"network{suffix}", target="m2")
        assert "no node 'm2' to be the class; the nearest are 'n2'" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_older_file_is_left_as_it_was_when_a_network_cannot_be_written(tmp_path, suffix):
    path = tmp_path / f"network{suffix}"
    path.write_text("old")
    odd = Network((ColumnSchema("x", "categorical", (1, "1")),), Dag(((),)), (np.array([[0.5, 0.5]]),))
    cannot = replace(odd, columns=(ColumnSchema("x", "categorical", (b"1", "1")),)) if suffix == ".json" else odd
    with pytest.raises(FileError, match="cannot write the network") as refused:
        write_network(cannot, path)
    assert suffix == ".json" or "in words, node 'x' has the state '1' twice" in str(refused.value)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(path.name, "old")]
