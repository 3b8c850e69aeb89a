"""Network files of XML: .bifxml (XMLBIF 0.3)."""

from __future__ import annotations

import codecs
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tanager.files.network_nodes import FileNode, NodeList, cells_of, nodes_of, plain, xml_text
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network


def read_bifxml(content: bytes) -> list[FileNode]:
    """The nodes in the order of their VARIABLE elements."""
    network = _root(content).find("NETWORK")
    if network is None:
        raise DocumentError("it has no element NETWORK")
    nodes = NodeList()
    for variable in network.iter("VARIABLE"):
        name = _text(variable.find("NAME"), "a variable has no NAME")
        if variable.get("TYPE", "nature") != "nature":
            raise DocumentError(f"node {plain(name)!r} is a {variable.get('TYPE')} node, expected a chance node")
        nodes.describe(name, ((outcome.text or "").strip() for outcome in variable.findall("OUTCOME")))
    for definition in (element for element in network if element.tag in ("DEFINITION", "PROBABILITY")):
        name = _text(definition.find("FOR"), "a table has no FOR")
        parents = [_text(given, f"GIVEN of {name!r} is empty") for given in definition.findall("GIVEN")]
        table = _text(definition.find("TABLE"), f"node {plain(name)!r} has no TABLE")
        nodes.add_table(name, parents, cells_of(table.split(), name))
    return nodes.finish()


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
        SubElement(definition, "TABLE").text = " ".join(map(repr, node.cells.tolist()))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _root(content: bytes) -> Element:
    try:
        # The standard has nothing before "<?xml"; files have a mark of their encoding, blanks, or both.
        root = ElementTree.fromstring(content.removeprefix(codecs.BOM_UTF8).lstrip())
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the others: an unknown encoding
        raise DocumentError(f"it is not XML, or was cut short ({error})") from None
    if root.tag != "BIF":
        raise DocumentError(f"its outermost element is {shorten(root.tag)}, expected 'BIF'")
    return root


def _text(element: Element | None, problem: str) -> str:
    content = "" if element is None else (element.text or "").strip()
    if not content:
        raise DocumentError(problem)
    return content
