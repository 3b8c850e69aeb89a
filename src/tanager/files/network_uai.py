"""The format of the UAI inference competitions, .uai: numbers only, so a node is called by its number."""

from __future__ import annotations

import re

from tanager.files.network_nodes import CellBudget, FileNode, add_once, cells_of, nodes_of
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network

COMMENTS = re.compile(r"^c\b[^\n]*|#[^\n]*", re.MULTILINE)


def read_uai(text: str) -> list[FileNode]:
    """Nodes "0", "1", ... with the states 0, 1, ...; the last node of each function's scope is the child."""
    words = _Numbers(COMMENTS.sub("", text).split())
    kind = words.take()
    if kind != "BAYES":
        raise DocumentError(f"its first word is {shorten(kind)}, expected 'BAYES'")
    n_states = [words.count("states") for _ in range(words.count("nodes"))]
    scopes = [[words.count("node") for _ in range(words.count("scope"))] for _ in range(words.count("tables"))]
    families: dict[str, FileNode] = {}
    budget = CellBudget(len(text))
    for scope in scopes:
        if not scope or max(scope) >= len(n_states):
            raise DocumentError(f"a table is over the nodes {shorten(scope)}, expected some below {len(n_states)}")
        *parents, child = map(str, scope)
        expected = budget.spend(child, [n_states[node] for node in scope[:-1]], n_states[scope[-1]])
        if words.count("cells") != expected:
            raise DocumentError(f"the table of {child!r} has not the {expected} cells that its states ask for")
        cells = cells_of([words.take() for _ in range(expected)], child)
        add_once(families, child, FileNode(child, tuple(range(n_states[scope[-1]])), tuple(parents), cells))
    absent = [node for node in map(str, range(len(n_states))) if node not in families]
    if absent:
        raise DocumentError(f"node {absent[0]} is the last of no table's nodes")
    return [families[str(node)] for node in range(len(n_states))]


def write_uai(network: Network) -> str:
    """The names of nodes and states are lost: they are numbered in the order of the network."""
    nodes = nodes_of(network)
    scopes = [(*parents, child) for child, parents in enumerate(network.dag.parents)]
    lines = ["BAYES", str(len(nodes)), " ".join(map(str, network.n_states)), str(len(nodes))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope in scopes]
    for node in nodes:
        lines += ["", str(len(node.cells)), *(" ".join(map(repr, row)) for row in node.rows())]
    return "\n".join([*lines, ""])


class _Numbers:
    """The words of a file one after the other."""

    def __init__(self, words: list[str]) -> None:
        self._left = iter(words)

    def take(self) -> str:
        word = next(self._left, None)
        if word is None:
            raise DocumentError("it ends too early, so it was cut short")
        return word

    def count(self, what: str) -> int:
        word = self.take()
        if not (word.isascii() and word.isdigit() and len(word) < 10) or (what == "states" and int(word) == 0):
            raise DocumentError(f"it has {shorten(word)} where a number of {what} should be")
        return int(word)
