"""Hill climbing: from naive Bayes, the best change of one edge at a time, for any score.

A graph is an adjacency matrix, (n_nodes, n_nodes) booleans at [parent, child], the class last. All moves of one kind
are a matrix of the same shape, so that a step looks at them all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tanager.arrays import Array, Flags
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.scores.protocol import FamilyScore
from tanager.structure.constraints import Edges, IndexEdges, check_constraints, check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, evaluate, level, smallest_gain, total_score
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask

Adjacency = Flags
Gains = Array
GainsOfMoves = Callable[[Adjacency, Flags, float], Gains]
ACTIONS = ("add", "delete", "reverse")


class HillClimb(StructureLearner):
    """Add, delete or reverse the edge that raises the score most, until no such change raises it.

    A score that is not a sum over families (`cll`) is evaluated for every neighbour (Grossman and Domingos 2004).

    Parameters
    ----------
    max_parents : int
        The most attribute parents of a node (the class does not count; Weka's "P=2" is 1 here).
    class_edges : "kept" or "free"
        Whether the class stays a parent of every attribute, or its edges are chosen like any other.
    required_edges : list of (parent, child)
        Edges, by name or number, that are always there.
    forbidden_edges : list of (parent, child)
        Edges, by name or number, that never are.
    """

    def __init__(
        self,
        max_parents: int = 2,
        class_edges: Literal["kept", "free"] = "kept",
        required_edges: Edges = (),
        forbidden_edges: Edges = (),
    ) -> None:
        self.max_parents = max_parents
        self.class_edges = class_edges
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges

    def learn(self, task: StructureTask) -> LearntStructure:
        rules = make_rules(
            task.names,
            check_count("max_parents", self.max_parents),
            check_option("class_edges", self.class_edges, ["kept", "free"]) == "kept",
            task.edges("required_edges", self.required_edges),
            task.edges("forbidden_edges", self.forbidden_edges),
        )
        graph = rules.start()
        search = Search(task, total_score(task, to_dag(graph)))
        gains_of_moves = _evaluated_gains(task)
        if isinstance(task.criterion, FamilyScore):
            gains_of_moves = _FamilyGains(FamilyTerms(task.counts, task.criterion), rules)
        while True:
            legal = legal_moves(graph, rules)
            gains = gains_of_moves(graph, legal, search.score)
            smallest = smallest_gain(search.score)
            # Of equal ones in the order add, delete, reverse, the lowest edge first.
            levels = np.where(legal & ~np.isnan(gains), level(gains, smallest), -np.inf)
            place = np.unravel_index(levels.argmax(), legal.shape)
            if not (legal[place] and gains[place] > smallest):
                return search.learnt(to_dag(graph))
            move = Move(*map(int, place))
            graph = move.apply(graph)
            edge = f"{task.names[move.parent]} -> {task.names[move.child]}"
            search.step(f"{ACTIONS[move.action]} {edge}", float(gains[place]))


class _FamilyGains:
    """Score changes of all moves of a decomposable score; only the nodes whose parents changed are scored again."""

    def __init__(self, terms: FamilyTerms, rules: Rules) -> None:
        self._terms = terms
        self._pair_gains = terms.edge_gains()
        self._rules = rules
        n_nodes = len(rules.allowed)
        # [p, c]: the change when p joins the parents of c or, if it is one, leaves them.
        self._toggle = np.full((n_nodes, n_nodes), -np.inf)
        self._parents: list[bytes] = [b""] * n_nodes

    def __call__(self, graph: Adjacency, legal: Flags, score: float) -> Gains:
        for child in range(len(graph)):
            parents = graph[:, child].tobytes()
            if self._parents[child] != parents:
                self._toggle[:, child] = self._column(graph, child)
                self._parents[child] = parents
        # Reversing p -> c takes p from the parents of c and gives c to those of p.
        return np.stack([self._toggle, self._toggle, self._toggle + self._toggle.T])

    def _column(self, graph: Adjacency, child: int) -> Gains:
        target = len(graph) - 1
        parents = np.flatnonzero(graph[:, child])
        result = np.full(len(graph), -np.inf)
        if child != target and parents.tolist() == [target] and self._rules.max_parents > 0:
            result[:target] = self._pair_gains[:, child]
        has_room = np.count_nonzero(parents != target) < self._rules.max_parents
        joins = self._rules.allowed[:, child] & ~graph[:, child] & (has_room | (np.arange(len(graph)) == target))
        leaves = graph[:, child] & ~self._rules.required[:, child]
        new = [node for node in np.flatnonzero(joins | leaves).tolist() if result[node] == -np.inf]
        families = [Family.of(child, {*parents.tolist()} ^ {node}) for node in new]
        before, *after = self._terms.terms([Family.of(child, parents.tolist()), *families])
        result[new] = np.asarray(after) - before
        return result


def _evaluated_gains(task: StructureTask) -> GainsOfMoves:
    """Score changes of all moves of a score that must be evaluated structure by structure."""

    def gains(graph: Adjacency, legal: Flags, score: float) -> Gains:
        result = np.full(legal.shape, -np.inf)
        for place in np.argwhere(legal).tolist():
            result[*place] = evaluate(task, to_dag(Move(*place).apply(graph))) - score
        return result

    return gains


class Move(NamedTuple):
    """Add, delete or reverse (0, 1 or 2) the edge `parent` -> `child`."""

    action: int
    parent: int
    child: int

    def apply(self, graph: Adjacency) -> Adjacency:
        result = graph.copy()
        result[self.parent, self.child] = self.action == 0
        if self.action == 2:
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
    hint = "leave the class out, or use class_edges='free'." if keep_class_edges else None
    check_constraints(required, forbidden, names, hint)
    n_nodes = len(names)
    allowed = ~np.eye(n_nodes, dtype=bool)
    needed = np.zeros((n_nodes, n_nodes), dtype=bool)
    if keep_class_edges:
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


def legal_moves(graph: Adjacency, rules: Rules) -> Flags:
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


def to_dag(graph: Adjacency) -> Dag:
    return Dag(tuple(tuple(np.flatnonzero(column).tolist()) for column in graph.T))
