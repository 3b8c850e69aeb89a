"""The XML formats: .bifxml (XMLBIF 0.3) and GeNIe's .xdsl."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tanager.arrays import Array
from tanager.files.network_nodes import (
    CellBudget,
    FileNode,
    add_once,
    cells_of,
    nodes_of,
    plain,
    word,
    word_or_integer,
    xml_text,
)
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network


def read_bifxml(content: bytes) -> list[FileNode]:
    """The nodes in the order of their VARIABLE elements."""
    network = _root(content, "BIF").find("NETWORK")
    if network is None:
        raise DocumentError("it has no element NETWORK")
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[tuple[str, ...], Array]] = {}
    for variable in network.iter("VARIABLE"):
        name = _text(variable.find("NAME"), "a variable has no NAME")
        if variable.get("TYPE", "nature") != "nature":
            raise DocumentError(f"node {plain(name)!r} is a {variable.get('TYPE')} node, expected a chance node")
        add_once(states, name, tuple((outcome.text or "").strip() for outcome in variable.findall("OUTCOME")))
    for definition in (element for element in network if element.tag in ("DEFINITION", "PROBABILITY")):
        name = _text(definition.find("FOR"), "a table has no FOR")
        parents = tuple(_text(given, f"GIVEN of {name!r} is empty") for given in definition.findall("GIVEN"))
        table = _text(definition.find("TABLE"), f"node {plain(name)!r} has no TABLE")
        add_once(tables, name, (parents, cells_of(table.split(), name)))
    absent = [name for name in states if name not in tables]
    if absent:
        raise DocumentError(f"node {plain(absent[0])!r} has no DEFINITION")
    return [FileNode(name, labels, *tables[name]) for name, labels in states.items()]


def write_bifxml(network: Network) -> bytes:
    """Names and states are any text; control characters and outer or repeated blanks are escaped."""
    root = Element("BIF", VERSION="0.3")
    content = SubElement(root, "NETWORK")
    SubElement(content, "NAME").text = "unknown"
    nodes = nodes_of(network)
    for node in nodes:
        variable = SubElement(content, "VARIABLE", TYPE="nature")
        SubElement(variable, "NAME").text = xml_text(node.name)
        for state in node.states:
            SubElement(variable, "OUTCOME").text = xml_text(str(state))
    for node in nodes:
        definition = SubElement(content, "DEFINITION")
        SubElement(definition, "FOR").text = xml_text(node.name)
        for parent in node.parents:
            SubElement(definition, "GIVEN").text = xml_text(parent)
        SubElement(definition, "TABLE").text = _numbers(node)
    return _document(root)


def read_xdsl(content: bytes) -> list[FileNode]:
    """The nodes in their order; a deterministic node is a table of ones and zeros, other kinds are refused."""
    root = _root(content, "smile")
    budget = CellBudget(len(content))
    if root.find("dynamic") is not None:
        raise DocumentError("it is a dynamic network, which has no table for each node")
    nodes = root.find("nodes")
    return [_xdsl_node(element, budget) for element in (() if nodes is None else nodes)]


def write_xdsl(network: Network) -> bytes:
    """Names and states are identifiers (states also whole numbers); other characters are escaped. Parents come first.

    GeNIe shows the text of the `name` elements, which is the name of the node as it is.
    """
    root = Element("smile", version="1.0", id="unknown", numsamples="10000", discsamples="10000")
    content, extensions = SubElement(root, "nodes"), SubElement(root, "extensions")
    shown = SubElement(extensions, "genie", version="1.0", app="tanager", name="unknown")
    for node in nodes_of(network, parents_first=True):
        element = SubElement(content, "cpt", id=word(node.name))
        for state in node.states:
            SubElement(element, "state", id=word_or_integer(str(state)))
        if node.parents:
            SubElement(element, "parents").text = " ".join(map(word, node.parents))
        SubElement(element, "probabilities").text = _numbers(node)
        SubElement(SubElement(shown, "node", id=word(node.name)), "name").text = xml_text(node.name)
    return _document(root)


def _root(content: bytes, tag: str) -> Element:
    try:
        # The standard has nothing before "<?xml"; files have a mark of their encoding, blanks, or both.
        root = ElementTree.fromstring(content.removeprefix(codecs.BOM_UTF8).lstrip())
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the others: an unknown encoding
        raise DocumentError(f"it is not XML, or was cut short ({error})") from None
    if root.tag != tag:
        raise DocumentError(f"its outermost element is {shorten(root.tag)}, expected {tag!r}")
    return root


def _xdsl_node(element: Element, budget: CellBudget) -> FileNode:
    name = element.get("id")
    if name is None:
        raise DocumentError(f"an element {shorten(element.tag)} of nodes has no id")
    states = tuple(state.get("id", "") for state in element.findall("state"))
    parents = tuple((element.findtext("parents") or "").split())
    if element.tag == "cpt":
        cells = cells_of((element.findtext("probabilities") or "").split(), name)
    elif element.tag == "deterministic":
        cells = _certain((element.findtext("resultingstates") or "").split(), states, name, budget)
    else:
        kind = shorten(element.tag)
        raise DocumentError(f"node {plain(name)!r} is of kind {kind}, expected 'cpt': a chance node with a table")
    return FileNode(name, states, parents, cells)


def _certain(results: Sequence[str], states: tuple[str, ...], name: str, budget: CellBudget) -> Array:
    """The table of a node whose state is given by its parents'."""
    budget.spend(plain(name), [len(results)], len(states))
    codes = {state: code for code, state in enumerate(states)}
    if not codes.keys() >= set(results):
        raise DocumentError(f"the results of node {plain(name)!r} are not all states of it")
    cells = np.zeros((len(results), len(states)))
    cells[range(len(results)), [codes[state] for state in results]] = 1.0
    return cells.ravel()


def _text(element: Element | None, problem: str) -> str:
    content = "" if element is None else (element.text or "").strip()
    if not content:
        raise DocumentError(problem)
    return content


def _numbers(node: FileNode) -> str:
    return " ".join(map(repr, node.cells.tolist()))


def _document(root: Element) -> bytes:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
