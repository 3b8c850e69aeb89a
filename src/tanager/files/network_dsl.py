"""GeNIe's older format, .dsl: a `node` block for each node."""

from __future__ import annotations

from tanager.files.network_blocks import C_COMMENTS, Block, Words, read_blocks, texts
from tanager.files.network_names import plain, quoted, word, word_or_integer
from tanager.files.network_nodes import FileNode, cells_of, nodes_of
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network

KEYWORDS = frozenset(["net", "node", "type", "header", "parents", "definition", "namestates", "probabilities"])
"""One that is never closed goes to the end, so that no word is looked for in it again."""


def read_dsl(text: str) -> list[FileNode]:
    """The nodes in the order of their blocks; only nodes with a table (CPT) have a place in a network."""
    whole = read_blocks(Words(text, "{}()=;,|", C_COMMENTS))
    if len(whole.blocks) != 1 or whole.blocks[0].heading[:1] != ["net"]:
        raise DocumentError("it does not consist of one block 'net', so it is not a .dsl file")
    return [_node(block) for block in whole.blocks[0].blocks if block.heading[:1] == ["node"]]


def write_dsl(network: Network) -> str:
    """Names and states are identifiers (states also whole numbers), the rest is escaped; parents come first."""
    lines = ["net unknown", "{"]
    for node in nodes_of(network, parents_first=True):
        name = word(node.name, KEYWORDS)
        states = ", ".join(word_or_integer(str(state), KEYWORDS) for state in node.states)
        lines += [
            f" node {name}",
            " {",
            "  TYPE = CPT;",
            f"  HEADER = {{ ID = {name}; NAME = {quoted(node.name)}; }};",
            f"  PARENTS = ({', '.join(word(parent, KEYWORDS) for parent in node.parents)});",
            "  DEFINITION =",
            "  {",
            f"   NAMESTATES = ({states});",
            f"   PROBABILITIES = ({', '.join(map(repr, node.cells.tolist()))});",
            "  };",
            " };",
        ]
    return "\n".join([*lines, "};", ""])


def _node(block: Block) -> FileNode:
    name = block.heading[-1]
    if not isinstance(name, str) or len(block.heading) != 2:
        raise DocumentError("it has a node without a name")
    if block.value("TYPE") != "CPT":
        kind = shorten(block.value("TYPE"))
        raise DocumentError(f"node {plain(name)!r} is of type {kind}, expected CPT: a chance node with a table")
    definition, where = block.block("DEFINITION"), f"of node {plain(name)!r}"
    return FileNode(
        name,
        tuple(texts(definition.value("NAMESTATES"), f"NAMESTATES {where}")),
        tuple(texts(block.value("PARENTS"), f"PARENTS {where}")),
        cells_of(texts(definition.value("PROBABILITIES"), f"PROBABILITIES {where}"), name),
    )
