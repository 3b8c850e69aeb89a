"""Network files of text: bif, Hugin's .net, Netica's .dne, and .uai of the UAI inference competitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import NoReturn

import numpy as np

from tanager.arrays import Array
from tanager.files.network_nodes import (
    CellBudget,
    FileNode,
    add_once,
    cells_of,
    nodes_of,
    plain,
    quoted,
    word,
    word_or_integer,
)
from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network

BIF_KEYWORDS = frozenset(["network", "variable", "probability", "property", "type", "discrete", "table", "default"])
NET_KEYWORDS = frozenset(["net", "node", "potential", "class", "discrete", "continuous", "decision", "utility", "data"])
C_COMMENTS = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
"""A comment that is never closed ends with the text, so that the text is read once."""
NET_COMMENTS = r"%[^\n]*"
UAI_COMMENTS = re.compile(r"^c\b[^\n]*|#[^\n]*", re.MULTILINE)
CUT_SHORT = "it ends too early, so it was cut short"
LONGEST_DNE = 30
"""Characters of a name or a state of .dne; the first is a letter."""
TITLED = re.compile(r"Titled_\d+")
"""A name of ours whose title has the text itself: it has no place in a name even escaped."""

Item = str | list["Item"]


def read_bif(text: str) -> list[FileNode]:
    """The nodes in the order of their `variable` blocks."""
    words = Words(text, "{}()[];,|", C_COMMENTS)
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[tuple[str, ...], Array]] = {}
    budget = CellBudget(len(text))
    words.expect("network")
    words.skip("}")
    while words.mark != "":
        kind = words.take()
        if kind == "variable":
            name = words.take()
            add_once(states, name, _read_states(words, name))
        elif kind == "probability":
            words.expect("(")
            name, *parents = [*words.until(")")] or [""]
            add_once(tables, name, (tuple(parents), _read_cells(words, name, parents, states, budget)))
        else:
            raise DocumentError(f"it has a block {kind!r}, expected 'variable' or 'probability'")
    absent = [name for name in states if name not in tables]
    if absent:
        raise DocumentError(f"node {plain(absent[0])!r} has no probability block; the file may have been cut short")
    return [FileNode(name, states[name], *tables[name]) for name in states]


def write_bif(network: Network) -> str:
    """Names and states are identifiers (states also whole numbers); other characters are escaped."""
    nodes = nodes_of(network)
    states = {node.name: [word_or_integer(str(state), BIF_KEYWORDS) for state in node.states] for node in nodes}
    lines = ["network unknown {", "}"]
    for node in nodes:
        labels = states[node.name]
        lines.append(f"variable {word(node.name, BIF_KEYWORDS)} {{")
        lines.append(f"  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};\n}}")
    for node in nodes:
        parents = ", ".join(word(parent, BIF_KEYWORDS) for parent in node.parents)
        lines.append(f"probability ( {word(node.name, BIF_KEYWORDS)}{' | ' * bool(parents)}{parents} ) {{")
        configurations = product(*(states[parent] for parent in node.parents))
        for configuration, row in zip(configurations, node.rows(), strict=True):
            head = f"({', '.join(configuration)})" if configuration else "table"
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _read_states(words: Words, name: str) -> tuple[str, ...]:
    states: tuple[str, ...] | None = None
    words.expect("{")
    while words.mark != "}":
        if words.take() == "type":
            words.expect("discrete")
            words.expect("[")
            declared = list(words.until("]"))
            words.expect("{")
            states = tuple(words.until("}"))
            if declared != [str(len(states))]:
                raise DocumentError(f"node {plain(name)!r} has {len(states)} states, expected {' '.join(declared)}")
        words.skip(";")
    words.take()
    if states is None:
        raise DocumentError(f"node {plain(name)!r} has no type")
    return states


def _read_cells(
    words: Words, name: str, parents: Sequence[str], states: dict[str, tuple[str, ...]], budget: CellBudget
) -> Array:
    """The cells of a `probability` block; after `table` stand all of them, the node's own state changing slowest."""
    for node in (name, *parents):
        if node not in states:
            raise DocumentError(
                f"the table of {plain(name)!r} names {plain(node)!r}, which no variable block describes"
            )
    n_states = len(states[name])
    size = budget.spend(plain(name), [len(states[parent]) for parent in parents], n_states)
    cells = np.zeros((size // max(1, n_states), n_states))
    missing = np.ones(len(cells), dtype=bool)
    codes = [{state: code for code, state in enumerate(states[parent])} for parent in parents]
    words.expect("{")
    while words.mark != "}":
        if words.mark == "(":
            words.take()
            place = _configuration(list(words.until(")")), name, parents, codes)
            cells[place], missing[place] = _numbers(words, name, n_states), False
            continue
        kind = words.take()
        if kind == "table":
            cells[:], missing[:] = _numbers(words, name, size).reshape(n_states, -1).T, False
        elif kind == "default":
            cells[missing], missing[:] = _numbers(words, name, n_states), False
        else:
            words.skip(";")
    words.take()
    if missing.any():
        raise DocumentError(
            f"the table of {plain(name)!r} has no row for {missing.sum()} configurations of its parents"
        )
    return cells.ravel()


def _configuration(
    parent_states: Sequence[str], name: str, parents: Sequence[str], codes: Sequence[dict[str, int]]
) -> int:
    """The number of a parent configuration."""
    if len(parent_states) != len(parents):
        raise DocumentError(
            f"a row of the table of {plain(name)!r} names {len(parent_states)} states, expected {len(parents)}"
        )
    place = 0
    for parent, state, code in zip(parents, parent_states, codes, strict=True):
        if state not in code:
            raise DocumentError(
                f"a row of the table of {plain(name)!r} names the state {plain(state)!r}, "
                f"which {plain(parent)!r} does not have"
            )
        place = place * len(code) + code[state]
    return place


def _numbers(words: Words, name: str, expected: int) -> Array:
    numbers = cells_of(words.until(";"), name)
    if len(numbers) != expected:
        raise DocumentError(f"the table of {plain(name)!r} has {len(numbers)} numbers in a row, expected {expected}")
    return numbers


def read_net(text: str) -> list[FileNode]:
    """The discrete nodes in the order of their blocks; a decision, a utility or a formula is refused."""
    whole = read_blocks(Words(text, "{}()=;,|", NET_COMMENTS))
    if len(whole.blocks) == 1 and whole.blocks[0].heading[:1] == ["class"]:
        whole = whole.blocks[0]
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[list[Item], Item | None]] = {}
    for block in whole.blocks:
        match block.heading:
            case ["net"]:
                pass
            case ["node", str(name)] | ["discrete", "node", str(name)]:
                names = texts(block.values.get("states"), f"the list of states of {plain(name)!r}")
                add_once(states, name, tuple(names))
            case ["potential", [str(name), *parents]]:
                add_once(tables, name, (parents, block.values.get("data")))
            case heading:
                words = " ".join(item for item in heading if isinstance(item, str))
                raise DocumentError(f"it has a block {shorten(words)}, expected 'node' or 'potential'")
    if not states:
        raise DocumentError("it has no node, so it is not a .net file")
    return [_net_node(name, states[name], *tables.get(name, ([], None))) for name in states]


def write_net(network: Network) -> str:
    """Names are identifiers, states are quoted ASCII text; other characters are escaped."""
    lines = ["net", "{", "}"]
    nodes = nodes_of(network)
    for node in nodes:
        lines += [f"node {word(node.name, NET_KEYWORDS)}", "{", f"  label = {quoted(node.name)};"]
        lines += [f"  states = ({' '.join(quoted(str(state)) for state in node.states)});", "}"]
    n_states = {node.name: len(node.states) for node in nodes}
    for node in nodes:
        parents = "".join(f" {word(parent, NET_KEYWORDS)}" for parent in node.parents)
        lines += [f"potential ({word(node.name, NET_KEYWORDS)}{' |' * bool(parents)}{parents})", "{"]
        rows = [f"({' '.join(map(repr, row))})" for row in node.rows()]
        lines += [f"  data = {_nested(rows, [n_states[parent] for parent in node.parents])};", "}"]
    return "\n".join([*lines, ""])


def _net_node(name: str, states: tuple[str, ...], parents: list[Item], data: Item | None) -> FileNode:
    listed = texts(parents, f"the list of parents of {plain(name)!r}")
    cells = cells_of(flat(data, f"the table of {plain(name)!r}"), name)
    return FileNode(name, states, tuple(parent for parent in listed if parent != "|"), cells)


def _nested(rows: Sequence[str], n_states: Sequence[int]) -> str:
    """The rows in parentheses, a level for each parent."""
    for n in reversed(n_states):
        rows = [f"({' '.join(rows[first : first + n])})" for first in range(0, len(rows), n)]
    return rows[0]


def read_dne(text: str) -> list[FileNode]:
    """The nodes in the order of their blocks; only chance nodes with a table have a place in a network."""
    whole = read_blocks(Words(text, "{}()=;,|", C_COMMENTS))
    nets = [block for block in whole.blocks if block.heading[:1] in (["bnet"], ["network"])]
    if len(nets) != 1:
        raise DocumentError("it does not consist of one block 'bnet', so it is not a .dne file")
    blocks = [block for block in nets[0].blocks if block.heading[:1] == ["node"]]
    names = {_id(block): _titled(_id(block), block.values.get("title")) for block in blocks}
    return [_dne_node(block, names) for block in blocks]


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
    fits = [len(text) <= LONGEST_DNE and text[0].isalpha() and not TITLED.fullmatch(text) for text in escaped]
    return [text if fit else f"Titled_{number}" for number, (text, fit) in enumerate(zip(escaped, fits, strict=True))]


def _id(block: Block) -> str:
    match block.heading:
        case ["node", str(name)]:
            return name
    raise DocumentError("it has a node without a name")


def _titled(name: str, title: object) -> str:
    return title if isinstance(title, str) and TITLED.fullmatch(name) else name


def _dne_node(block: Block, names: dict[str, str]) -> FileNode:
    name = names[_id(block)]
    where = f"of node {plain(name)!r}"
    if block.values.get("kind") not in ("NATURE", None):
        kind = shorten(block.values.get("kind"))
        raise DocumentError(f"node {plain(name)!r} is of kind {kind}, expected NATURE: a chance node with a table")
    parents = texts(block.values.get("parents") or [], f"parents {where}")
    cells = cells_of(flat(block.values.get("probs"), f"probs {where}"), name)
    return FileNode(name, _states(block, where), tuple(names.get(parent, parent) for parent in parents), cells)


def _states(block: Block, where: str) -> tuple[str, ...]:
    """The states by name; those of a continuous node are the bins between its levels, whose ends are open to us."""
    if block.values.get("states") is not None:
        names = texts(block.values.get("states"), f"states {where}")
        titles = block.values.get("statetitles")
        if isinstance(titles, list) and len(titles) == len(names):
            return tuple(_titled(state, title) for state, title in zip(names, titles, strict=True))
        return tuple(names)
    levels = texts(block.values.get("levels"), f"states {where}")
    if block.values.get("discrete") == "TRUE":
        return tuple(levels)
    edges = levels[1:-1]
    bins = (f"[{low}, {high})" for low, high in pairwise(edges))
    return (f"< {edges[0]}", *bins, f">= {edges[-1]}") if edges else ("any",)


def read_uai(text: str) -> list[FileNode]:
    """Nodes "0", "1", ... with the states 0, 1, ...; the last node of each function's scope is the child."""
    words = iter(UAI_COMMENTS.sub("", text).split())
    kind = _take(words)
    if kind != "BAYES":
        raise DocumentError(f"its first word is {shorten(kind)}, expected 'BAYES'")
    n_states = [_count(words, "states") for _ in range(_count(words, "nodes"))]
    scopes = [[_count(words, "node") for _ in range(_count(words, "scope"))] for _ in range(_count(words, "tables"))]
    families: dict[str, FileNode] = {}
    budget = CellBudget(len(text))
    for scope in scopes:
        if not scope or max(scope) >= len(n_states):
            raise DocumentError(f"a table is over the nodes {shorten(scope)}, expected some below {len(n_states)}")
        *parents, child = map(str, scope)
        expected = budget.spend(child, [n_states[node] for node in scope[:-1]], n_states[scope[-1]])
        if _count(words, "cells") != expected:
            raise DocumentError(f"the table of {child!r} has not the {expected} cells that its states ask for")
        cells = cells_of([_take(words) for _ in range(expected)], child)
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


def _take(words: Iterator[str]) -> str:
    word = next(words, None)
    if word is None:
        raise DocumentError(CUT_SHORT)
    return word


def _count(words: Iterator[str], what: str) -> int:
    word = _take(words)
    if not (word.isascii() and word.isdigit() and len(word) < 10) or (what == "states" and int(word) == 0):
        raise DocumentError(f"it has {shorten(word)} where a number of {what} should be")
    return int(word)


class Words:
    """The words of a text one after the other: marks, quoted texts without their quotes, and everything between.

    marks     characters that are words of their own
    comments  pattern of what to leave out, besides blanks
    """

    def __init__(self, text: str, marks: str, comments: str) -> None:
        mark, between = f"[{re.escape(marks)}]", rf'[^\s"{re.escape(marks)}]+'
        quoted = r'"(?:[^"\\]|\\.)*+"'
        words = rf"(?P<quoted>{quoted})|(?P<mark>{mark})|(?P<word>{between})|(?P<end>\Z)|(?P<open>.)"
        self._text = text
        self._found = re.compile(rf"(?:\s|{comments})*+(?:{words})", re.DOTALL).finditer(text)
        self._advance()

    def _advance(self) -> None:
        self._ahead = match = next(self._found)
        self._kind = kind = match.lastgroup or "end"
        self.mark = match[kind] if kind in ("mark", "end") else None
        """The next word, if it is a mark; "" at the end."""
        if kind == "open":
            raise DocumentError(f"a quote in line {self._line} is never closed")

    def take(self) -> str:
        """The next word; the text must not end before it."""
        kind, word = self._kind, self._ahead[self._kind]
        if kind == "end":
            raise DocumentError(CUT_SHORT)
        self._advance()
        return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL) if kind == "quoted" else word

    def expect(self, word: str) -> None:
        """Take the next word, which must be this one."""
        if self._kind != "end" and self._ahead[self._kind].lower() != word:
            self.refuse(f"expected {word!r}")
        self.take()

    def until(self, end: str) -> Iterator[str]:
        """The words before the next mark `end`, commas and bars left out; the end is taken."""
        while self.mark != end:
            if self.mark in (",", "|"):
                self.take()
            elif self.mark:
                self.refuse(f"expected {end!r}")
            else:
                yield self.take()
        self.take()

    def skip(self, end: str) -> None:
        """Leave out everything up to the next mark `end`, and it."""
        while self.mark != end:
            self.take()
        self.take()

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error that names the line and the word ahead."""
        if self._kind == "end":
            raise DocumentError(CUT_SHORT)
        raise DocumentError(f"line {self._line}: {problem}, got {shorten(self._ahead[self._kind])}")

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._ahead.start(self._kind)) + 1


@dataclass
class Block:
    """`heading { key = value; ... heading { ... } }`; a list in parentheses is a list, its commas left out."""

    heading: list[Item]
    values: dict[str, Item | None] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


def read_blocks(words: Words, heading: Sequence[Item] = (), end: str = "") -> Block:
    """The block up to its end; the whole text is one without heading and braces."""
    block = Block(list(heading))
    while words.mark != end:
        items = _items(words, "={;")
        mark = words.take()
        if mark == "{":
            block.blocks.append(read_blocks(words, items, "}"))
        elif mark == "=":
            if len(items) != 1 or not isinstance(items[0], str):
                words.refuse("expected one name before '='")
            block.values[items[0]] = next(iter(_items(words, ";")), None)
            words.take()
    if end:
        words.take()
    return block


def _items(words: Words, ends: str) -> list[Item]:
    """Words and lists in parentheses up to one of the marks, which is not taken."""
    items: list[Item] = []
    while not words.mark or words.mark not in ends:
        if words.mark in ("}", ")", "{"):
            words.refuse("expected a name or a value")
        if words.mark == "(":
            words.take()
            items.append(_items(words, ")"))
            words.take()
        elif words.mark == ",":
            words.take()
        else:
            items.append(words.take())
    return items


def texts(items: Item | None, where: str) -> list[str]:
    """A list of words, if it is one."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise DocumentError(f"{where} is not there, or is no list of words")
    return [item for item in items if isinstance(item, str)]


def flat(items: Item | None, where: str) -> list[str]:
    """The words of a list and of the lists in it, in order."""
    if not isinstance(items, list):
        raise DocumentError(f"{where} is not there, or is no list of numbers")
    return [word for item in items for word in ([item] if isinstance(item, str) else flat(item, where))]
