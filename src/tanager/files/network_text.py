"""Network files of text: bif and Hugin's .net."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
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
CUT_SHORT = "it ends too early, so it was cut short"

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
    """The discrete nodes in the order of their blocks; a decision, a utility or a formula is refused.

    A potential is a table of any scale: Hugin divides the numbers of a parent configuration by their sum.
    """
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
    return FileNode(name, states, tuple(parent for parent in listed if parent != "|"), cells, any_scale=True)


def _nested(rows: Sequence[str], n_states: Sequence[int]) -> str:
    """The rows in parentheses, a level for each parent."""
    for n in reversed(n_states):
        rows = [f"({' '.join(rows[first : first + n])})" for first in range(0, len(rows), n)]
    return rows[0]


class Words:
    """The words of a text one after the other: marks, quoted texts without their quotes, and everything between.

    marks     characters that are words of their own
    comments  pattern of what to leave out, besides blanks; a comment may follow a word without a blank
    """

    def __init__(self, text: str, marks: str, comments: str) -> None:
        mark, between = f"[{re.escape(marks)}]", rf'(?:(?!{comments})[^\s"{re.escape(marks)}])++'
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
