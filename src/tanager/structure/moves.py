"""Moves of a search: add, delete or reverse one edge, as long as the graph stays a structure that is allowed.

A graph is an adjacency matrix, (n_nodes, n_nodes) booleans at [parent, child], the class last. All moves of one kind
are a matrix of the same shape, so that a step looks at them all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.structure.constraints import IndexEdges, check_constraints, refuse_class_edges
from tanager.structure.dag import Dag
from tanager.structure.ties import level

Adjacency = NDArray[np.bool_]
ACTIONS = ("add", "delete", "reverse")


@dataclass(frozen=True)
class Move:
    """Add, delete or reverse the edge `parent` -> `child`."""

    action: str
    parent: int
    child: int

    def apply(self, graph: Adjacency) -> Adjacency:
        result = graph.copy()
        result[self.parent, self.child] = self.action == "add"
        if self.action == "reverse":
            result[self.child, self.parent] = True
        return result


@dataclass(frozen=True)
class Rules:
    """Which graphs may be visited.

    allowed      (n_nodes, n_nodes): edges that may be added
    required     (n_nodes, n_nodes): edges that may not be taken away
    max_parents  the most attribute parents of a node
    """

    allowed: Adjacency
    required: Adjacency
    max_parents: int

    def start(self) -> Adjacency:
        """Naive Bayes with the required edges, less the class edges that are forbidden or would close a cycle."""
        graph = self.required.copy()
        before_class = reachable(self.required)[:, -1]
        graph[-1] |= self.allowed[-1] & ~before_class
        return graph


def make_rules(
    names: Sequence[str], max_parents: int, keep_class_edges: bool, required: IndexEdges, forbidden: IndexEdges
) -> Rules:
    """Rules from a user's wishes; wishes that contradict each other are refused."""
    check_constraints(required, forbidden, names)
    n_nodes = len(names)
    allowed = ~np.eye(n_nodes, dtype=bool)
    needed = np.zeros((n_nodes, n_nodes), dtype=bool)
    if keep_class_edges:
        hint = "leave the class out, or use class_edges='free'."
        refuse_class_edges("required_edges", required, names, hint)
        refuse_class_edges("forbidden_edges", forbidden, names, hint)
        allowed[-1] = allowed[:, -1] = False
        needed[-1, :-1] = True
    for parent, child in forbidden:
        allowed[parent, child] = False
    for parent, child in required:
        needed[parent, child] = True
    for child in np.flatnonzero(needed[:-1].sum(axis=0) > max_parents).tolist():
        raise OptionError(
            f"required_edges give {names[child]!r} {needed[:-1, child].sum()} attribute parents; expected no more than "
            f"max_parents={max_parents}."
        )
    return Rules(allowed, needed, max_parents)


def reachable(graph: Adjacency) -> Adjacency:
    """[i, j]: whether a path of one edge or more leads from i to j (Warshall 1962)."""
    result = graph.copy()
    for through in np.flatnonzero(graph.any(axis=0) & graph.any(axis=1)):
        result |= result[:, through, None] & result[through]
    return result


def legal_moves(graph: Adjacency, rules: Rules) -> NDArray[np.bool_]:
    """(3, n_nodes, n_nodes): whether each of ACTIONS may be done to the edge [parent, child]."""
    paths = reachable(graph)
    has_room = graph[:-1].sum(axis=0) < rules.max_parents
    # The class as a parent does not count; `room[p, c]`: whether c may take p as one more parent.
    room = np.broadcast_to(has_room, graph.shape).copy()
    room[-1] = True
    free = graph & ~rules.required
    add = rules.allowed & ~graph & ~paths.T & room
    # Reversing closes a cycle if a second path, of two edges or more, leads the same way.
    detour = (graph.astype(np.float32) @ paths.astype(np.float32)) > 0
    reverse = free & rules.allowed.T & room.T & ~detour
    return np.stack([add, free, reverse])


def moves(legal: NDArray[np.bool_], gains: NDArray[np.float64], smallest: float) -> Iterator[tuple[Move, float]]:
    """Legal moves with their score changes, best first; equal ones in the order add, delete, reverse, lowest first.

    Changes are equal if they differ by less than the `smallest` gain.
    """
    places = np.flatnonzero(legal)
    worth = gains.reshape(-1)[places]
    for position in np.argsort(-level(worth, smallest), kind="stable"):
        action, parent, child = np.unravel_index(places[position], legal.shape)
        yield Move(ACTIONS[int(action)], int(parent), int(child)), float(worth[position])


def to_dag(graph: Adjacency) -> Dag:
    return Dag(tuple(tuple(np.flatnonzero(column).tolist()) for column in graph.T))
