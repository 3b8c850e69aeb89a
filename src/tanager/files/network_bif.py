"""Bayesian Interchange Format, .bif (Cozman 1998, version 0.15): `variable` and `probability` blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tanager.files.network_blocks import C_COMMENTS, Words
from tanager.files.network_names import plain, word, word_or_integer
from tanager.files.network_nodes import CellBudget, FileNode, add_once, cells_of, nodes_of
from tanager.network.document import DocumentError
from tanager.network.network import Network

KEYWORDS = frozenset(["network", "variable", "probability", "property", "type", "discrete", "table", "default"])
"""One that is never closed goes to the end, so that no word is looked for in it again."""


def read_bif(text: str) -> list[FileNode]:
    """The nodes in the order of their `variable` blocks."""
    words = Words(text, "{}()[];,|", C_COMMENTS)
    states: dict[str, tuple[str, ...]] = {}
    tables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
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
    states = {node.name: [word_or_integer(str(state), KEYWORDS) for state in node.states] for node in nodes}
    lines = ["network unknown {", "}"]
    for node in nodes:
        labels = states[node.name]
        lines.append(f"variable {word(node.name, KEYWORDS)} {{")
        lines.append(f"  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};\n}}")
    for node in nodes:
        given = ", ".join(word(parent, KEYWORDS) for parent in node.parents)
        lines.append(f"probability ( {word(node.name, KEYWORDS)}{' | ' * bool(given)}{given} ) {{")
        configurations = product(*(states[parent] for parent in node.parents))
        for configuration, row in zip(configurations, node.rows(), strict=True):
            head = f"({', '.join(configuration)})" if configuration else "table"
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _read_states(words: Words, name: str) -> tuple[str, ...]:
    found: tuple[str, ...] | None = None
    words.expect("{")
    while words.mark != "}":
        if words.take() == "type":
            words.expect("discrete")
            words.expect("[")
            declared = list(words.until("]"))
            words.expect("{")
            found = tuple(words.until("}"))
            if declared != [str(len(found))]:
                raise DocumentError(f"node {plain(name)!r} has {len(found)} states, expected {' '.join(declared)}")
        words.skip(";")
    words.take()
    if found is None:
        raise DocumentError(f"node {plain(name)!r} has no type")
    return found


def _read_cells(
    words: Words, name: str, parents: Sequence[str], states: dict[str, tuple[str, ...]], budget: CellBudget
) -> NDArray[np.float64]:
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


def _configuration(given: Sequence[str], name: str, parents: Sequence[str], codes: Sequence[dict[str, int]]) -> int:
    """The number of a parent configuration."""
    if len(given) != len(parents):
        raise DocumentError(f"a row of the table of {plain(name)!r} names {len(given)} states, expected {len(parents)}")
    place = 0
    for parent, state, code in zip(parents, given, codes, strict=True):
        if state not in code:
            raise DocumentError(
                f"a row of the table of {plain(name)!r} names the state {plain(state)!r}, "
                f"which {plain(parent)!r} does not have"
            )
        place = place * len(code) + code[state]
    return place


def _numbers(words: Words, name: str, expected: int) -> NDArray[np.float64]:
    found = cells_of(words.until(";"), name)
    if len(found) != expected:
        raise DocumentError(f"the table of {plain(name)!r} has {len(found)} numbers in a row, expected {expected}")
    return found
