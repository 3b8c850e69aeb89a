"""Netica's .dne: a `node` block for each node."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from tanager.files.network_blocks import C_COMMENTS, Block, Words, flat, read_blocks, texts
from tanager.files.network_names import plain, quoted, word
from tanager.files.network_nodes import FileNode, cells_of, nodes_of
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network

LONGEST = 30
"""Characters of a name or a state; the first is a letter."""
TITLED = re.compile(r"Titled_\d+")
"""A name of ours whose title has the text itself: it has no place in a name even escaped."""


def read_dne(text: str) -> list[FileNode]:
    """The nodes in the order of their blocks; only chance nodes with a table have a place in a network."""
    whole = read_blocks(Words(text, "{}()=;,|", C_COMMENTS))
    nets = [block for block in whole.blocks if block.heading[:1] in (["bnet"], ["network"])]
    if len(nets) != 1:
        raise DocumentError("it does not consist of one block 'bnet', so it is not a .dne file")
    blocks = [block for block in nets[0].blocks if block.heading[:1] == ["node"]]
    names = {_id(block): _titled(_id(block), block.value("title")) for block in blocks}
    return [_node(block, names) for block in blocks]


def write_dne(network: Network) -> str:
    """Names and states are identifiers of up to 30 characters; others are in titles. Parents come first."""
    nodes = nodes_of(network, parents_first=True)
    ids = dict(zip((node.name for node in nodes), _ids(node.name for node in nodes), strict=True))
    lines = ["// ~->[DNET-1]->~", "bnet Tanager {"]
    for node in nodes:
        rows = ",\n    ".join(f"({', '.join(map(repr, row))})" for row in node.rows())
        states = [str(state) for state in node.states]
        lines += [
            f"node {ids[node.name]} {{",
            f"  title = {quoted(node.name)};",
            "  kind = NATURE;",
            "  discrete = TRUE;",
            f"  states = ({', '.join(_ids(states))});",
            f"  statetitles = ({', '.join(map(quoted, states))});",
            f"  parents = ({', '.join(ids[parent] for parent in node.parents)});",
            f"  probs = ({rows});",
            "};",
        ]
    return "\n".join([*lines, "};", ""])


def _ids(names: Iterable[str]) -> list[str]:
    """An identifier for each text, its own where it has one."""
    escaped = [word(name) for name in names]
    fits = [len(text) <= LONGEST and text[0].isalpha() and not TITLED.fullmatch(text) for text in escaped]
    return [text if fit else f"Titled_{number}" for number, (text, fit) in enumerate(zip(escaped, fits, strict=True))]


def _id(block: Block) -> str:
    match block.heading:
        case ["node", str(name)]:
            return name
    raise DocumentError("it has a node without a name")


def _titled(name: str, title: object) -> str:
    return title if isinstance(title, str) and TITLED.fullmatch(name) else name


def _node(block: Block, names: dict[str, str]) -> FileNode:
    name = names[_id(block)]
    where = f"of node {plain(name)!r}"
    if block.value("kind") not in ("NATURE", None):
        kind = shorten(block.value("kind"))
        raise DocumentError(f"node {plain(name)!r} is of kind {kind}, expected NATURE: a chance node with a table")
    parents = texts(block.value("parents") or [], f"parents {where}")
    cells = cells_of(flat(block.value("probs"), f"probs {where}"), name)
    return FileNode(name, _states(block, where), tuple(names.get(parent, parent) for parent in parents), cells)


def _states(block: Block, where: str) -> tuple[str, ...]:
    """The states by name; those of a continuous node are the bins between its levels, whose ends are open to us."""
    if block.value("states") is not None:
        found = texts(block.value("states"), f"states {where}")
        titles = block.value("statetitles")
        if isinstance(titles, list) and len(titles) == len(found):
            return tuple(_titled(state, title) for state, title in zip(found, titles, strict=True))
        return tuple(found)
    levels = texts(block.value("levels"), f"states {where}")
    if block.value("discrete") == "TRUE":
        return tuple(levels)
    edges = levels[1:-1]
    bins = (f"[{low}, {high})" for low, high in pairwise(edges))
    return (f"< {edges[0]}", *bins, f">= {edges[-1]}") if edges else ("any",)
