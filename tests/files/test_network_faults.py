"""Whatever is wrong with a network file is one clear error, and nothing is printed or left half written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import joint, random_network
from tanager.errors import FileError
from tanager.files.network_file import FORMATS, read_network, write_network
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

SUFFIXES = [*FORMATS, ".json"]
NAMED = [suffix for suffix in SUFFIXES if suffix != ".uai"]
GOOD = random_network(1, [2, 3, 2], density=1.0)
CYCLE = {
    ".bif": "network n {} variable a { type discrete [1] { s }; } variable b { type discrete [1] { s }; } "
    "probability ( a | b ) { (s) 1; } probability ( b | a ) { (s) 1; }",
    ".bifxml": "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>s</OUTCOME></VARIABLE><VARIABLE><NAME>b</NAME>"
    "<OUTCOME>s</OUTCOME></VARIABLE><DEFINITION><FOR>a</FOR><GIVEN>b</GIVEN><TABLE>1</TABLE></DEFINITION>"
    "<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>",
    ".xdsl": '<smile><nodes><cpt id="a"><state id="s"/><parents>b</parents><probabilities>1</probabilities></cpt>'
    '<cpt id="b"><state id="s"/><parents>a</parents><probabilities>1</probabilities></cpt></nodes></smile>',
    ".net": "net {} node a { states = (s); } node b { states = (s); } "
    "potential (a | b) { data = (1); } potential (b | a) { data = (1); }",
    ".dne": "bnet n { node a { states = (s); parents = (b); probs = (1); }; "
    "node b { states = (s); parents = (a); probs = (1); }; };",
    ".uai": "BAYES 2 1 1 2 2 1 0 2 0 1 1 1 1 1",
}


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


@pytest.mark.parametrize("suffix", CYCLE)
def test_a_cycle_is_refused_and_spelt_out(tmp_path, suffix):
    a, b = ("0", "1") if suffix == ".uai" else ("a", "b")
    assert f"close a cycle: {a} -> {b} -> {a}" in refused_text(tmp_path, suffix, CYCLE[suffix])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_wrong_table_is_refused_by_name(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    write_network(GOOD, path)
    content = path.read_text()
    p = repr(float(GOOD.tables[0][0, 0]))
    name = "0" if suffix == ".uai" else "n0"
    for wrong, words in (("0.987654", "sum"), ("-0.5", "negative")):
        message = refused_text(tmp_path, suffix, content.replace(p, wrong))
        assert words in message
        assert f"table of {name!r}" in message
    for wrong in ("nan", "half", "1e999"):
        message = refused_text(tmp_path, suffix, content.replace(p, wrong))
        # JSON has neither of the first two, and its parts are known by number.
        assert f"table of {name!r}" in message or "is not JSON" in message or "tables[0]" in message


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in (".bif", ".json")])
def test_a_table_of_the_wrong_size_is_refused_by_name(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    write_network(GOOD, path)
    p = repr(float(GOOD.tables[0][0, 0]))
    size = GOOD.tables[0].size
    content = path.read_text()
    if suffix == ".uai":
        assert "cells" in refused_text(tmp_path, suffix, content.replace(f"\n{size}\n", f"\n{size - 1}\n", 1))
        return
    comma = "," if suffix == ".dne" else ""
    for other in ("", f"{p}{comma} 0.0"):
        found = size - 1 if other == "" else size + 1
        changed = content.replace(p + comma, other + comma if other else "")
        assert f"the table of 'n0' has {found} cells, expected {size}" in refused_text(tmp_path, suffix, changed)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_short_anywhere_is_refused(tmp_path, suffix):
    path = tmp_path / f"network{suffix}"
    write_network(GOOD, path)
    content = path.read_bytes().rstrip()
    # Without its last digit the last number of .uai is another number.
    end = content.rindex(b" ") if suffix == ".uai" else len(content) - 1
    for length in [*range(1, end, max(1, end // 60)), end - 1]:
        path.write_bytes(content[:length])
        assert "is not a network that can be read" in refusal(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_network_of_the_format_is_refused(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    for content in (
        b"hello world",
        b"\x80\x04\x95\x00pickle",
        b"PK\x03\x04" * 50,
        b"{}",
        b"[1, 2]",
        b"<a/>",
        b"((((" * 9,
    ):
        path.write_bytes(content)
        assert "is not a network that can be read" in refusal(path)
    for other in SUFFIXES:
        if {suffix, other} != {".xml", ".bifxml"} and suffix != other:
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
        bif: "node 'a' has no probability block",
        bif + variable: "describes the node 'a' twice",
        bif + table + table: "describes the node 'a' twice",
        bif.replace("[2]", "[3]") + table: "node 'a' has 2 states, expected 3",
        bif.replace("s, t", "s, s") + table: "node 'a' has the state 's' twice",
        bif + "probability ( b ) { table 1; }": "no variable block describes",
        bif + "probability ( a | b ) { table 1; }": "no variable block describes",
        bif + "probability ( a | a ) { (s) 0.5 0.5; (t) 0.5 0.5; }": "cycle: a -> a",
        bif + "probability ( a | a a ) { default 0.5 0.5; }": "has the parent 'a' twice",
        bif + "probability ( a ) { table 0.5 0.2 0.3; }": "has 3 numbers in a row, expected 2",
        bif + "probability ( a ) { }": "has no row for 1 configurations",
        bif + "probability ( a | a ) { (u) 0.5 0.5; }": "names the state 'u', which 'a' does not have",
        bif + "probability ( a | a ) { (s, t) 0.5 0.5; }": "names 2 states, expected 1",
        bif + "utility u {}": "a block 'utility'",
        bif + 'property "never closed': "a quote in line 1 is never closed",
        "network n {}": "it has no node",
    }
    for content, words in faults.items():
        assert words in refused_text(tmp_path, ".bif", content)
    parents = " ".join(f"p{k}" for k in range(40))
    many = "".join(variable.replace(" a ", f" p{k} ") for k in range(40))
    huge = bif + many + f"probability ( a | {parents} ) {{ default 0.5 0.5; }}"
    assert "the table of 'a' asks for more cells" in refused_text(tmp_path, ".bif", huge)
    xdsl = '<smile><nodes><noisymax id="m"><state id="s"/></noisymax></nodes></smile>'
    assert "node 'm' is of kind 'noisymax'" in refused_text(tmp_path, ".xdsl", xdsl)
    assert "block 'utility u'" in refused_text(tmp_path, ".net", "net {} utility u {}")
    assert "is of kind 'UTILITY'" in refused_text(tmp_path, ".dne", "bnet n { node u { kind = UTILITY; }; };")
    assert "expected 'BAYES'" in refused_text(tmp_path, ".uai", CYCLE[".uai"].replace("BAYES", "MARKOV"))
    assert "nested too deeply" in refused_text(tmp_path, ".net", "net {} potential " + "(" * 100_000)


def test_files_suffixes_and_targets_that_are_not_there_are_refused(tmp_path):
    assert "no such file" in refusal(tmp_path / "absent.bif")
    (tmp_path / "folder.bif").mkdir()
    assert "is a folder" in refusal(tmp_path / "folder.bif")
    for name in ("network.txt", "network", "network.bif.gz"):
        assert "expected one of .bif, .bifxml, .xml, .xdsl, .net, .dne, .uai, .json" in refusal(tmp_path / name)
        with pytest.raises(FileError, match=r"expected one of \.bif, \.bifxml"):
            write_network(GOOD, tmp_path / name)
    with pytest.raises(FileError, match="does not exist"):
        write_network(GOOD, tmp_path / "absent" / "network.bif")
    for suffix in NAMED:
        write_network(GOOD, tmp_path / f"network{suffix}")
        message = refusal(tmp_path / f"network{suffix}", target="m2")
        assert "no node 'm2' to be the class; the nearest are 'n2'" in message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_older_file_is_left_as_it_was_when_a_network_cannot_be_written(tmp_path, suffix):
    path = tmp_path / f"network{suffix}"
    path.write_text("old")
    odd = Network((ColumnSchema("x", "categorical", (1, "1")),), Dag(((),)), (np.array([[0.5, 0.5]]),))
    cannot = replace(odd, columns=(ColumnSchema("x", "categorical", (b"1", "1")),)) if suffix == ".json" else odd
    with pytest.raises(FileError, match="cannot write the network"):
        write_network(cannot, path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(path.name, "old")]


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_file_changed_anywhere_is_refused_or_a_network(tmp_path_factory, suffix, data):
    path = tmp_path_factory.mktemp("fuzz") / f"network{suffix}"
    write_network(GOOD, path)
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start, min(start + 5, len(content))))
    inserted = data.draw(
        st.binary(max_size=3) | st.sampled_from([b"{", b"}", b"(", b")", b'"', b";", b"0", b"<", b"/*"])
    )
    path.write_bytes(content[:start] + inserted + content[end:])
    try:
        network = read_network(path)
    except FileError:
        return
    assert sum(joint(network).values()) == pytest.approx(1.0)
