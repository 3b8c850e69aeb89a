"""Hugin's .net: `node` and `potential` blocks."""

from __future__ import annotations

from collections.abc import Sequence

from tanager.files.network_blocks import Item, Words, flat, read_blocks, texts
from tanager.files.network_names import plain, quoted, word
from tanager.files.network_nodes import FileNode, add_once, cells_of, nodes_of
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network

KEYWORDS = frozenset(["net", "node", "potential", "class", "discrete", "continuous", "decision", "utility", "data"])
COMMENTS = r"%[^\n]*"


def read_net(text: str) -> list[FileNode]:
    """The discrete nodes in the order of their blocks; a decision, a utility or a formula is refused."""
    whole = read_blocks(Words(text, "{}()=;,|", COMMENTS))
    if len(whole.blocks) == 1 and whole.blocks[0].heading[:1] == ["class"]:
        whole = whole.blocks[0]
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[list[Item], Item | None]] = {}
    for block in whole.blocks:
        match block.heading:
            case ["net"]:
                pass
            case ["node", str(name)] | ["discrete", "node", str(name)]:
                found = texts(block.value("states"), f"the list of states of {plain(name)!r}")
                add_once(states, name, tuple(found))
            case ["potential", [str(name), *parents]]:
                add_once(tables, name, (parents, block.value("data")))
            case heading:
                raise DocumentError(f"it has a block {shorten(_heading(heading))}, expected 'node' or 'potential'")
    if not states:
        raise DocumentError("it has no node, so it is not a .net file")
    return [_node(name, states[name], *tables.get(name, ([], None))) for name in states]


def write_net(network: Network) -> str:
    """Names are identifiers, states are quoted ASCII text; other characters are escaped."""
    lines = ["net", "{", "}"]
    nodes = nodes_of(network)
    for node in nodes:
        lines += [f"node {word(node.name, KEYWORDS)}", "{", f"  label = {quoted(node.name)};"]
        lines += [f"  states = ({' '.join(quoted(str(state)) for state in node.states)});", "}"]
    n_states = {node.name: len(node.states) for node in nodes}
    for node in nodes:
        given = "".join(f" {word(parent, KEYWORDS)}" for parent in node.parents)
        lines += [f"potential ({word(node.name, KEYWORDS)}{' |' * bool(given)}{given})", "{"]
        rows = [f"({' '.join(map(repr, row))})" for row in node.rows()]
        lines += [f"  data = {_nested(rows, [n_states[parent] for parent in node.parents])};", "}"]
    return "\n".join([*lines, ""])


def _node(name: str, states: tuple[str, ...], parents: list[Item], data: Item | None) -> FileNode:
    where = f"the table of {plain(name)!r}"
    given = [parent for parent in texts(parents, f"the list of parents of {plain(name)!r}") if parent != "|"]
    return FileNode(name, states, tuple(given), cells_of(flat(data, where), name))


def _nested(rows: Sequence[str], n_states: Sequence[int]) -> str:
    """The rows in parentheses, a level for each parent."""
    for n in reversed(n_states):
        rows = [f"({' '.join(rows[first : first + n])})" for first in range(0, len(rows), n)]
    return rows[0]


def _heading(heading: Sequence[Item]) -> str:
    return " ".join(item for item in heading if isinstance(item, str))
