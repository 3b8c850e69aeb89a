"""Nodes as network files list them <-> a Network: order, bins, sums, and what a file may get wrong about them."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager.network.document import DocumentError, shorten
from tanager.network.network import Network
from tanager.registry import nearest_first
from tanager.structure.constraints import refuse_cycle
from tanager.structure.dag import Dag
from tanager.table.schema import MISSING_LABEL, Category, ColumnSchema

Value = TypeVar("Value")
FileTable = tuple[tuple[str, ...], NDArray[np.float64]]
"""The parents of a node and its cells, as in `FileNode`."""

LARGEST_GAP = 1e-3
"""Greatest distance from one of the sum of a row of probabilities, which is then divided by it."""
ROUNDING = 1e-12
"""A row this near to one is left as it is, bit by bit."""
MOST_CELLS = 1 << 60
"""From here on the number of cells of a table is no longer told."""
BOUND = r"[-+]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?\d++)?+"
LOWER_BOUND = re.compile(rf"(?:\[|>= )(?P<low>{BOUND})")


@dataclass(frozen=True)
class FileNode:
    """A node as a file gives it.

    cells      P(node | parents), flat: the parents in the order given, the last one changing fastest, then the states
    any_scale  whether the cells of a configuration are P times any positive number
    """

    name: str
    states: tuple[Category, ...]
    parents: tuple[str, ...]
    cells: NDArray[np.float64]
    any_scale: bool = False


def add_once(known: dict[str, Value], name: str, value: Value) -> None:
    """Keep the states or the table of a node, which a file gives once."""
    if name in known:
        raise DocumentError(f"it describes the node {plain(name)!r} twice")
    known[name] = value


def file_nodes(
    states: dict[str, tuple[str, ...]], tables: dict[str, FileTable], any_scale: bool = False
) -> list[FileNode]:
    """The nodes in the order of their descriptions; each must have a table."""
    absent = [name for name in states if name not in tables]
    if absent:
        raise DocumentError(f"node {plain(absent[0])!r} has no table; the file may have been cut short")
    return [FileNode(name, states[name], *tables[name], any_scale) for name in states]


def file_states(network: Network) -> dict[str, tuple[str, ...]]:
    """The states of each node as the texts that stand for them, which must differ."""
    states = {name: state_texts(column) for name, column in zip(network.nodes, network.columns, strict=True)}
    for name, labels in states.items():
        _refuse_repeated(labels, f"in words, node {name!r} has the state")
    return states


def state_texts(column: ColumnSchema) -> tuple[str, ...]:
    """The states in words: text as it is, dates and times in ISO 8601, numbers and the bounds of bins in full."""
    states = column.states
    if column.kind == "numeric" and column.unit == "number" and column.cuts:
        edges = [f"{cut:.6g}" if float(f"{cut:.6g}") == cut else repr(cut) for cut in column.cuts]
        bins = (f"< {edges[0]}", *(f"[{low}, {high})" for low, high in pairwise(edges)), f">= {edges[-1]}")
        states = (*bins, *states[len(bins) :])
    return tuple(state.isoformat() if isinstance(state, datetime.date) else str(state) for state in states)


def network_of(nodes: Sequence[FileNode]) -> Network:
    """The network of a file, its nodes in the order of the file; a DocumentError names the node that is wrong."""
    if not nodes:
        raise DocumentError("it has no node")
    columns = [_column(node) for node in nodes]
    names = [column.name for column in columns]
    _refuse_repeated(names, "it has the node")
    numbers = {name: number for number, name in enumerate(names)}
    parents = []
    for name, node in zip(names, nodes, strict=True):
        node_parents = [plain(parent) for parent in node.parents]
        _refuse_repeated(node_parents, f"node {name!r} has the parent")
        absent = [parent for parent in node_parents if parent not in numbers]
        if absent:
            raise DocumentError(f"node {name!r} has the parent {absent[0]!r}, which is not a node")
        parents.append([numbers[parent] for parent in node_parents])
    refuse_cycle("the edges", ((parent, child) for child, above in enumerate(parents) for parent in above), names)
    n_states = [column.n_states for column in columns]
    for child, node in enumerate(nodes):
        expected = prod(n_states[member] for member in (child, *parents[child]))
        if len(node.cells) != expected:
            number = expected if expected < MOST_CELLS else "more than a file can hold"
            raise DocumentError(f"the table of {names[child]!r} has {len(node.cells)} cells, expected {number}")
    tables = [_ascending(_normalized(names[child], node), parents[child], n_states) for child, node in enumerate(nodes)]
    return Network(tuple(columns), Dag(tuple(map(tuple, parents))), tuple(tables))


def cells_of(words: Iterable[str], name: str) -> NDArray[np.float64]:
    """The numbers of a table, which are words in the file."""
    try:
        return np.array([float(word) for word in words])
    except ValueError as error:
        raise DocumentError(f"the table of {plain(name)!r} holds a word that is no number ({error})") from None


def with_target(network: Network, target: str) -> Network:
    """The same distribution with the node `target` as the class, which is the last node."""
    if target not in network.nodes:
        nearest = ", ".join(map(repr, nearest_first(target, network.nodes)[:5]))
        raise DocumentError(f"it has no node {target!r} to be the class; the nearest are {nearest}")
    last = network.number(target)
    order = [*(node for node in range(len(network.nodes)) if node != last), last]
    new_number = {node: number for number, node in enumerate(order)}
    columns = tuple(network.columns[node] for node in order)
    parents = [[new_number[parent] for parent in network.dag.parents[node]] for node in order]
    n_states = [column.n_states for column in columns]
    tables = tuple(
        _ascending(network.tables[node], above, n_states) for node, above in zip(order, parents, strict=True)
    )
    return Network(columns, Dag(tuple(map(tuple, parents))), tables, target)


def _column(node: FileNode) -> ColumnSchema:
    """The column of a node: categories, or bins where its states are bins in words."""
    name = plain(node.name)
    states = tuple(plain(state) if isinstance(state, str) else state for state in node.states)
    if not states:
        raise DocumentError(f"node {name!r} has no state")
    _refuse_repeated(states, f"node {name!r} has the state")
    missing_state = len(states) > 1 and states[-1] == MISSING_LABEL
    values = states[:-1] if missing_state else states
    return _bins(name, values, missing_state) or ColumnSchema(name, "categorical", values, missing_state=missing_state)


def _bins(name: str, states: tuple[Category, ...], missing_state: bool) -> ColumnSchema | None:
    """The numeric column whose bins have these labels, if there is one."""
    labels = [state for state in states if isinstance(state, str)]
    lows = [found and float(found["low"]) for found in map(LOWER_BOUND.match, labels[1:])]
    cuts = tuple(low for low in lows if low is not None and isfinite(low))
    if not cuts or len(cuts) + 1 < len(states) or any(low >= high for low, high in pairwise(cuts)):
        return None
    column = ColumnSchema(name, "numeric", cuts=cuts)
    return replace(column, missing_state=missing_state) if states in (column.states, state_texts(column)) else None


def _refuse_repeated(items: Sequence[Category], what: str) -> None:
    repeated = [item for item, times in Counter(items).items() if times > 1]
    if repeated:
        raise DocumentError(f"{what} {shorten(repeated[0])} twice")


def _ascending(table: NDArray[np.float64], parents: Sequence[int], n_states: Sequence[int]) -> NDArray[np.float64]:
    """The table (configurations, states), whose parents are in this order, with its parents in ascending order."""
    # An axis for each parent with a choice: NumPy has 64 of them, which no table in memory exceeds.
    axes = [parent for parent in parents if n_states[parent] > 1]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    cube = table.reshape(*(n_states[parent] for parent in axes), table.shape[1])
    return np.ascontiguousarray(cube.transpose(*order, len(axes)).reshape(table.shape))


def _normalized(name: str, node: FileNode) -> NDArray[np.float64]:
    """(configurations, states) the table with rows that sum to one, if they nearly do or have any scale."""
    table = node.cells.reshape(-1, len(node.states))
    if not np.isfinite(table).all() or (table < 0).any():
        raise DocumentError(f"the table of {name!r} holds a probability that is negative or not a number")
    with np.errstate(over="ignore"):
        sums = table.sum(axis=1, keepdims=True)
    is_right = (sums > 0) & np.isfinite(sums) if node.any_scale else np.abs(sums - 1.0) <= LARGEST_GAP
    if not is_right.all():
        row = int(is_right.argmin())
        expected = "a sum above 0" if node.any_scale else "1"
        raise DocumentError(f"row {row + 1} of the table of {name!r} sums to {sums[row, 0]:.6g}, expected {expected}")
    return np.where(np.abs(sums - 1.0) > ROUNDING, table / sums, table)


ESCAPE = re.compile(r"_0x(?P<code>[0-9A-F]{2,6})?_")
# An underscore that would begin an escape is escaped too, so that every "_0x" in the result is one.
AMBIGUOUS = r"_(?=0x)"
NOT_IN_WORD = re.compile(rf"{AMBIGUOUS}|^[0-9]|[^A-Za-z0-9_]")
NOT_IN_QUOTES = re.compile(rf'{AMBIGUOUS}|["\\]|[^ -~]')
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
"""A whole number that 64 bits hold; a longer one is a text."""


def word(text: str, keywords: Collection[str] = ()) -> str:
    """The text as an identifier: ASCII letters, digits and underscores, the first no digit, none of the keywords."""
    if text.lower() in keywords:
        return _code(text[0]) + text[1:]
    return _escape(text, NOT_IN_WORD)


def word_or_integer(text: str, keywords: Collection[str] = ()) -> str:
    """The text as an identifier, unless it is a whole number."""
    return text if INTEGER.fullmatch(text) else word(text, keywords)


def quoted(text: str) -> str:
    """The text between double quotes: ASCII, without quotes and backslashes."""
    return f'"{_escape(text, NOT_IN_QUOTES)}"'


def plain(text: str) -> str:
    """The text that was escaped, whatever the format."""

    def character(match: re.Match[str]) -> str:
        number = int(match["code"] or "0", 16)
        # A code beyond Unicode is somebody's name, not an escape.
        return "" if not match["code"] else chr(number) if number <= 0x10FFFF else match[0]

    return ESCAPE.sub(character, text)


def _escape(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(lambda match: _code(match[0]), text) if text else "_0x_"


def _code(character: str) -> str:
    return f"_0x{ord(character):02X}_"
