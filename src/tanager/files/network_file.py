"""Network files: bif, net and JSON, chosen by suffix; numbers at full precision.

They are read and written here, not by pyAgrum 3.3: it reads bif and net in single precision, and takes a table that is
too short, too long, negative or not there without a word. The tests hold its answers against ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np

from tanager.additive.model import AdditiveModel
from tanager.arrays import Array
from tanager.errors import FileError, OptionError
from tanager.files.json_file import document_kind, parse_json, read_document, write_document, write_json
from tanager.files.network_nodes import (
    FileNode,
    FileTable,
    add_once,
    cells_of,
    file_nodes,
    file_states,
    network_of,
    plain,
    quoted,
    with_target,
    word,
    word_or_integer,
)
from tanager.files.paths import OutputKind
from tanager.network.document import DocumentError, Json, network_from_document, network_to_document, shorten
from tanager.network.network import Network

JSON = ".json"
BIF_KEYWORDS = frozenset(["network", "variable", "probability", "property", "type", "discrete", "table", "default"])
NET_KEYWORDS = frozenset(["net", "node", "potential", "class", "discrete", "continuous", "decision", "utility", "data"])
C_COMMENTS = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
"""A comment that is never closed ends with the text, so that the text is read once."""
NET_COMMENTS = r"%[^\n]*"
FREE_CELLS = 1 << 20
"""Cells of all tables that a bif file may ask for, however short it is; a longer one has one for each character."""
CLOSING = {"(": ")", "[": "]", "{": "}"}


def read_network(path: str | os.PathLike[str], target: str | None = None) -> Network:
    """Read a network; the nodes keep the order of the file, except that `target`, the class, becomes the last.

    The suffix names the format: .bif, .net, or .json for a file of ours, where a model counts as its network. States
    are text, in .json what they were; states that are the bins of a numeric column in words ("< 2.5", ">= 2.5") become
    that column again. Rows of probabilities must sum to one within 0.001 and are divided by their sum; in .net, whose
    potentials have any scale, by any sum above zero.

    Parameters
    ----------
    path : str or path
        Of the file.
    target : str or None
        The node that is the class.

    Returns
    -------
    Network
        With the nodes, edges and tables of the file.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.files.network_file import read_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/coin.bif"
    ...     with open(path, "w") as stream:
    ...         _ = stream.write("network n {} variable coin { type discrete [2] { heads, tails }; } "
    ...                          "probability ( coin ) { table 0.25, 0.75; }")
    ...     read_network(path).table("coin").row()
    {'heads': 0.25, 'tails': 0.75}
    """
    suffix = network_suffix(path)
    network = read_document(path, "network", lambda content: _parse(content, suffix))
    if target is None:
        return network
    try:
        return with_target(network, target)
    except DocumentError as error:
        raise FileError(f"cannot use the network in {str(path)!r}: {error}.") from None


def write_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network, all at once: an error leaves an older file as it was.

    The suffix names the format, as in `read_network`. JSON keeps everything. The other formats keep no class; their
    states are text, so a number, a boolean or a date becomes its text; what a format has no place for in a name or a
    state is escaped (`network_nodes`), and comes back when it is read. Probabilities are read back bit by bit.

    Parameters
    ----------
    network : Network
        Nodes, parents and tables.
    path : str or path
        Of the file.
    """
    suffix = network_suffix(path)
    if getattr(network, "kind", None) != "tables":
        what = getattr(getattr(network, "model_", network), "summary", f"a {type(network).__name__}")
        raise OptionError(
            f"write_network writes a network of tables; this is no such network: {what}.",
            hint="BayesianNetworkClassifier().fit(X, y).network_ is one; save_model writes any fitted classifier.",
        )
    try:
        if suffix == JSON:
            write_json(path, "network", network_to_document(network))
        else:
            write_document(path, "network", FORMATS[suffix][1](network).encode())
    except DocumentError as error:
        raise FileError(f"cannot write the network to {str(path)!r}: {error}.") from error


def network_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix, if it is that of a format."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS and suffix != JSON:
        raise FileError(
            f"cannot tell the network format of {str(path)!r} from its suffix; "
            f"expected one of {', '.join((*FORMATS, JSON))}.",
            hint="pyAgrum converts other formats to .bif.",
        )
    return suffix


def network_kind(path: str | os.PathLike[str]) -> OutputKind:
    """A network in the format that the suffix says; a model is not one, though it can be read as one."""
    suffix = network_suffix(path)
    if suffix == JSON:
        return document_kind("a network of Tanager", "target")
    return OutputKind(f"a {suffix} network", _is_network)


def _is_network(file: Path) -> bool:
    try:
        read_network(file)
    except FileError:
        return False
    return True


def _parse(content: bytes, suffix: str) -> Network:
    if not content.strip():
        raise DocumentError("it is empty")
    if suffix != JSON:
        return network_of(FORMATS[suffix][0](_decode(content)))
    document: Json = parse_json(content)
    if not isinstance(document, dict) or "classifier" not in document:
        return network_from_document(document)
    from tanager.files.model_file import from_document

    model = from_document(document).model_
    if not isinstance(model, Network):
        what = "an additive model" if isinstance(model, AdditiveModel) else "a mean of networks"
        raise DocumentError(f"it holds {what}, which is no network of tables; `--structure tan` learns one")
    return model


def _decode(content: bytes) -> str:
    """Text of today is UTF-8, that of older programs Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


class Mark(str):
    """A semicolon or an equals sign, which is no word."""


class Group(list["Item"]):
    """What stands between two brackets; `opening` is the first of them."""

    def __init__(self, opening: str) -> None:
        super().__init__()
        self.opening = opening


Item = str | Group


def read_bif(text: str) -> list[FileNode]:
    """The nodes in the order of their `variable` blocks."""
    states: dict[str, tuple[str, ...]] = {}
    blocks: list[tuple[str, list[str], Group]] = []
    for statement in statements(read_items(text, "{}()[];,|", C_COMMENTS)):
        match statement:
            case ["network", *_, Group()]:
                pass
            case ["variable", str(name), Group() as body]:
                add_once(states, name, tuple(_bif_states(name, body)))
            case ["probability", [str(name), *parents], Group() as body]:
                blocks.append((name, texts(parents, f"the list of parents of {plain(name)!r}"), body))
            case _:
                raise DocumentError(f"it has {_heading(statement)}, expected 'variable' or 'probability'")
    tables: dict[str, FileTable] = {}
    room = max(len(text), FREE_CELLS)
    for name, above, body in blocks:
        cells = _bif_cells(name, above, body, states, room)
        room -= len(cells)
        add_once(tables, name, (tuple(above), cells))
    return file_nodes(states, tables)


def write_bif(network: Network) -> str:
    """Names and states are identifiers (states also whole numbers); other characters are escaped."""
    states = {
        name: [word_or_integer(state, BIF_KEYWORDS) for state in texts] for name, texts in file_states(network).items()
    }
    lines = ["network unknown {", "}"]
    for name, labels in states.items():
        lines.append(f"variable {word(name, BIF_KEYWORDS)} {{")
        lines.append(f"  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};\n}}")
    for name, table in zip(network.nodes, network.tables, strict=True):
        parents = ", ".join(word(parent, BIF_KEYWORDS) for parent in network.parents[name])
        lines.append(f"probability ( {word(name, BIF_KEYWORDS)}{' | ' * bool(parents)}{parents} ) {{")
        configurations = product(*(states[parent] for parent in network.parents[name]))
        for configuration, row in zip(configurations, table.tolist(), strict=True):
            head = f"({', '.join(configuration)})" if configuration else "table"
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _bif_states(name: str, body: Group) -> list[str]:
    for statement in statements(body):
        match statement:
            case ["type", "discrete", [str(declared)], Group() as listed]:
                states = texts(listed, f"the list of states of {plain(name)!r}")
                if declared != str(len(states)):
                    raise DocumentError(f"node {plain(name)!r} has {len(states)} states, expected {declared}")
                return states
    raise DocumentError(f"node {plain(name)!r} has no type")


def _bif_cells(name: str, parents: Sequence[str], body: Group, states: dict[str, tuple[str, ...]], room: int) -> Array:
    """The cells of a `probability` block; after `table` stand all of them, the node's own state changing slowest.

    The table may have as many cells as there is room for: a default stands for all rows in a few words.
    """
    for node in (name, *parents):
        if node not in states:
            raise DocumentError(
                f"the table of {plain(name)!r} names {plain(node)!r}, which no variable block describes"
            )
    n_states = len(states[name])
    size = prod(len(states[node]) for node in (name, *parents))
    if size > room:
        raise DocumentError(f"the table of {plain(name)!r} asks for more cells than a file of its length may have")
    cells = np.zeros((size // max(1, n_states), n_states))
    missing = np.ones(len(cells), dtype=bool)
    codes = [{state: code for code, state in enumerate(states[parent])} for parent in parents]
    for statement in statements(body):
        match statement:
            case [Group() as configuration, *numbers]:
                place = _configuration(configuration, name, parents, codes)
                cells[place], missing[place] = _numbers(numbers, name, n_states), False
            case ["table", *numbers]:
                cells[:], missing[:] = _numbers(numbers, name, size).reshape(n_states, -1).T, False
            case ["default", *numbers]:
                cells[missing], missing[:] = _numbers(numbers, name, n_states), False
    if missing.any():
        raise DocumentError(
            f"the table of {plain(name)!r} has no row for {missing.sum()} configurations of its parents"
        )
    return cells.ravel()


def _configuration(
    parent_states: Sequence[Item], name: str, parents: Sequence[str], codes: Sequence[dict[str, int]]
) -> int:
    """The number of a parent configuration."""
    if len(parent_states) != len(parents):
        raise DocumentError(
            f"a row of the table of {plain(name)!r} names {len(parent_states)} states, expected {len(parents)}"
        )
    place = 0
    for parent, state, code in zip(parents, texts(parent_states, "a row"), codes, strict=True):
        if state not in code:
            raise DocumentError(
                f"a row of the table of {plain(name)!r} names the state {plain(state)!r}, "
                f"which {plain(parent)!r} does not have"
            )
        place = place * len(code) + code[state]
    return place


def _numbers(items: Sequence[Item], name: str, expected: int) -> Array:
    numbers = cells_of(texts(items, f"a row of the table of {plain(name)!r}"), name)
    if len(numbers) != expected:
        raise DocumentError(f"the table of {plain(name)!r} has {len(numbers)} numbers in a row, expected {expected}")
    return numbers


def read_net(text: str) -> list[FileNode]:
    """The discrete nodes in the order of their blocks; a decision, a utility or a formula is refused.

    A potential is a table of any scale: Hugin divides the numbers of a parent configuration by their sum.
    """
    blocks = list(statements(read_items(text, "{}()=;,|", NET_COMMENTS)))
    match blocks:
        case [["class", *_, Group() as body]]:
            blocks = list(statements(body))
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, FileTable] = {}
    for block in blocks:
        match block:
            case ["net", Group()] | [str(), Mark(), *_]:
                pass
            case ["node", str(name), Group() as body] | ["discrete", "node", str(name), Group() as body]:
                listed = texts(_value(body, "states"), f"the list of states of {plain(name)!r}")
                add_once(states, name, tuple(listed))
            case ["potential", [str(name), *parents], Group() as body]:
                cells = cells_of(flat(_value(body, "data"), f"the table of {plain(name)!r}"), name)
                add_once(tables, name, (tuple(texts(parents, f"the list of parents of {plain(name)!r}")), cells))
            case _:
                raise DocumentError(f"it has {_heading(block)}, expected 'node' or 'potential'")
    return file_nodes(states, tables, any_scale=True)


def write_net(network: Network) -> str:
    """Names are identifiers, states are quoted ASCII text; other characters are escaped."""
    states, lines = file_states(network), ["net", "{", "}"]
    for name, labels in states.items():
        lines += [f"node {word(name, NET_KEYWORDS)}", "{", f"  label = {quoted(name)};"]
        lines += [f"  states = ({' '.join(map(quoted, labels))});", "}"]
    for name, table in zip(network.nodes, network.tables, strict=True):
        parents = "".join(f" {word(parent, NET_KEYWORDS)}" for parent in network.parents[name])
        lines += [f"potential ({word(name, NET_KEYWORDS)}{' |' * bool(parents)}{parents})", "{"]
        rows = [f"({' '.join(map(repr, row))})" for row in table.tolist()]
        lines += [f"  data = {_nested(rows, [len(states[parent]) for parent in network.parents[name]])};", "}"]
    return "\n".join([*lines, ""])


def _value(body: Group, key: str) -> Item | None:
    """What follows `key =` in a block."""
    found = (statement[2] for statement in statements(body) if len(statement) > 2 and statement[:2] == [key, "="])
    return next(found, None)


def _nested(rows: Sequence[str], n_states: Sequence[int]) -> str:
    """The rows in parentheses, a level for each parent."""
    for n in reversed(n_states):
        rows = [f"({' '.join(rows[first : first + n])})" for first in range(0, len(rows), n)]
    return rows[0]


def read_items(text: str, marks: str, comments: str) -> Group:
    """The words of a text, in groups by its brackets; commas and bars are left out, quotes taken off.

    marks     characters that are no part of words
    comments  pattern of what to leave out, besides blanks; a comment may follow a word without a blank
    """
    mark, between = f"[{re.escape(marks)}]", rf'(?:(?!{comments})[^\s"{re.escape(marks)}])++'
    words = rf'"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<mark>{mark})|(?P<word>{between})|(?P<end>\Z)|(?P<open>.)'
    within = [Group("")]
    for match in re.finditer(rf"(?:\s|{comments})*+(?:{words})", text, re.DOTALL):
        kind = match.lastgroup or "end"
        item = match[kind]
        if kind == "quoted":
            within[-1].append(re.sub(r"\\(.)", r"\1", item, flags=re.DOTALL))
        elif kind == "word":
            within[-1].append(item)
        elif kind == "open":
            raise DocumentError(f"a quote in line {_line(text, match)} is never closed")
        elif not _add_mark(within, item):
            raise DocumentError(f"line {_line(text, match)}: {item!r} closes nothing")
    if len(within) > 1:
        raise DocumentError("it ends too early, so it was cut short")
    return within[0]


def _add_mark(within: list[Group], mark: str) -> bool:
    """Open a group, close the innermost one, or keep a semicolon or an equals sign; whether it closes what is open."""
    if mark in CLOSING:
        within.append(Group(mark))
    elif mark in (";", "="):
        within[-1].append(Mark(mark))
    elif mark in CLOSING.values():
        if mark != CLOSING.get(within[-1].opening):
            return False
        group = within.pop()
        within[-1].append(group)
    return True


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.end()) + 1


def statements(items: Group) -> Iterator[list[Item]]:
    """The items up to each semicolon, or up to a block in braces and with it."""
    statement: list[Item] = []
    for item in items:
        is_end = isinstance(item, Mark) and item == ";"
        if not is_end:
            statement.append(item)
        if statement and (is_end or (isinstance(item, Group) and item.opening == "{")):
            yield statement
            statement = []
    if statement:
        yield statement


def _heading(statement: Sequence[Item]) -> str:
    return f"a block {shorten(' '.join(item for item in statement if isinstance(item, str)))}"


def texts(items: Sequence[Item] | None, where: str) -> list[str]:
    """A list of words, if it is one."""
    words = [item for item in items or () if type(item) is str]
    if not isinstance(items, list) or len(words) < len(items):
        raise DocumentError(f"{where} is not there, or is no list of words")
    return words


def flat(items: Item | None, where: str) -> Iterator[str]:
    """The words of a list and of the lists in it, in order."""
    if not isinstance(items, list):
        raise DocumentError(f"{where} is not there, or is no list of numbers")
    for item in items:
        yield from [item] if isinstance(item, str) else flat(item, where)


Format = tuple[Callable[[str], list[FileNode]], Callable[[Network], str]]
"""The reader and the writer of a format; the reader raises a DocumentError that describes the fault."""
FORMATS: dict[str, Format] = {".bif": (read_bif, write_bif), ".net": (read_net, write_net)}
