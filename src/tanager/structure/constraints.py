"""Edges a user asks for: by name or number, checked against the table and against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import SupportsIndex, TypeVar

from tanager.errors import OptionError
from tanager.registry import nearest_first

Node = str | SupportsIndex
Edges = Iterable[tuple[Node, Node]]
IndexEdges = frozenset[tuple[int, int]]
Listed = TypeVar("Listed")


def node_index(option: str, node: Node, names: Sequence[str], columns: Sequence[int] = ()) -> int:
    """The node that is given by the name of its column or by its number in the table; the class is the last.

    `columns` are the nodes of the table's columns, where these are in another order.
    """
    if isinstance(node, str):
        if node in names:
            return names.index(node)
        likely = ", ".join(map(repr, nearest_first(node, names)[:5]))
        raise OptionError(f"{option} names {node!r}, which is not a column of the table; nearest are {likely}.")
    try:
        index = node.__index__()
    except AttributeError:
        raise OptionError(f"{option} holds {node!r}; expected the name of a column or its number.") from None
    if not 0 <= index < len(names):
        raise OptionError(f"{option} names column {index}; expected 0 to {len(names) - 1}.")
    return columns[index] if columns else index


def listed(option: str, values: Iterable[Listed], what: str) -> Iterable[Listed]:
    """The values, if they are a list of any kind and not a text, a mapping or a single value."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise OptionError(f"{option}={values!r} is not valid; expected a list of {what}.")
    return values


def edge_indices(option: str, edges: Edges, names: Sequence[str], columns: Sequence[int] = ()) -> IndexEdges:
    """(parent, child) pairs of nodes (`node_index`); an edge from a node to itself is refused."""
    result = set()
    for edge in listed(option, edges, "pairs of columns"):
        parent, child = (node_index(option, node, names, columns) for node in _two_nodes(option, edge))
        if parent == child:
            raise OptionError(f"{option} joins {names[child]!r} to itself.")
        result.add((parent, child))
    return frozenset(result)


def _two_nodes(option: str, edge: object) -> tuple[Node, Node]:
    # A string of two letters would unpack as well.
    if isinstance(edge, Iterable) and not isinstance(edge, str):
        nodes = tuple(edge)
        if len(nodes) == 2:
            return nodes
    raise OptionError(f"{option} holds {edge!r}; expected (parent, child) pairs.")


def check_constraints(
    required: IndexEdges, forbidden: IndexEdges, names: Sequence[str], class_hint: str | None = None
) -> None:
    """Refuse edges that are required and forbidden at once, and required edges that close a cycle.

    With a `class_hint`, edges that begin or end at the class as well, for learners that do not choose those.
    """
    for parent, child in sorted(required & forbidden):
        raise OptionError(f"the edge {names[parent]!r} -> {names[child]!r} is both required and forbidden.")
    if required:
        refuse_cycle("required_edges", required, names)
    if class_hint is not None:
        refuse_class_edges("required_edges", required, names, class_hint)
        refuse_class_edges("forbidden_edges", forbidden, names, class_hint)


def refuse_cycle(option: str, edges: Iterable[tuple[int, int]], names: Sequence[str]) -> None:
    """Raise an error that spells out a cycle, if the edges close one."""
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for parent, child in sorted(edges):
        sorter.add(child, parent)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1][1:]
        first = cycle.index(min(cycle))
        path = " -> ".join(names[node] for node in (*cycle[first:], *cycle[: first + 1]))
        raise OptionError(f"{option} close a cycle: {path}.") from None


def refuse_class_edges(option: str, edges: IndexEdges, names: Sequence[str], hint: str) -> None:
    """Raise an error if an edge begins or ends at the class, for learners that do not choose those."""
    for parent, child in sorted(edges):
        if len(names) - 1 in (parent, child):
            raise OptionError(
                f"{option} holds {names[parent]!r} -> {names[child]!r}, but the class is always a parent of every "
                "attribute and has none itself here.",
                hint=hint,
            )


def check_count(option: str, value: object, at_least: int = 0) -> int:
    """Return `value` if it is a whole number of at least `at_least`."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool) and value.__index__() >= at_least:
        return value.__index__()
    raise OptionError(f"{option}={value!r} is not valid; expected a whole number of at least {at_least}.")
