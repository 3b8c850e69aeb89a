"""EliminationPlan: the order in which inference sums the nodes of a structure out, and where their tables lie.

The order follows a junction tree: moral graph, min-fill triangulation, cliques emptied from the leaves to the root.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, log, prod

from tanager.counts.family import Family, strides
from tanager.structure.dag import Dag

Graph = dict[int, set[int]]
Clique = frozenset[int]


@dataclass(frozen=True)
class EliminationPlan:
    """Nodes numbered anew, by place: first those to sum out, in that order, then the query, then the known ones.

    nodes     node of each place; a node that is left out has none
    n_states  states by place
    n_summed  places below this one are summed out when they are not observed
    n_open    places below this one may be unobserved: the summed and the query
    later     for each open place the later places of the clique it is summed out of, ascending
    families  children before parents, without those of nodes left out
    """

    nodes: tuple[int, ...]
    n_states: tuple[int, ...]
    n_summed: int
    n_open: int
    later: tuple[tuple[int, ...], ...]
    families: tuple[PlacedFamily, ...]

    @classmethod
    def of(
        cls, dag: Dag, n_states: Sequence[int], query: Sequence[int], known: Collection[int], unknown: Collection[int]
    ) -> EliminationPlan:
        """See `JunctionTree.of`."""
        relevant = relevant_nodes(dag, set(range(dag.n_nodes)).difference(unknown).union(query))
        looked_up = relevant.intersection(known).difference(query)
        order, cliques = order_by_cliques(moral_graph(dag, relevant, looked_up, query), n_states, query)
        nodes = (*order, *sorted(looked_up))
        place = {node: k for k, node in enumerate(nodes)}
        later = [
            tuple(sorted(place[member] for member in clique if member != node))
            for node, clique in zip(order, cliques, strict=True)
        ]
        families = dag.families
        offsets = list(accumulate((family.size(n_states) for family in families), initial=0))
        return cls(
            nodes,
            tuple(n_states[node] for node in nodes),
            len(order) - len(query),
            len(order),
            tuple(later),
            tuple(
                _placed(families[node], offsets[node], place, n_states)
                for node in reversed(dag.order)
                if node in relevant
            ),
        )

    def clique_cells(self, unobserved: Collection[int]) -> list[int]:
        """Cells of the table each of these places is summed out of, at most, when only these are unobserved."""
        return [
            prod(self.n_states[p] for p in (place, *self.later[place]) if p in unobserved)
            for place in unobserved
            if place < self.n_open
        ]


@dataclass(frozen=True)
class PlacedFamily:
    """A family by places: its members ascending, and how far apart their states are in the flat table.

    The cell of codes x is `offset + sum_m steps[m] * x[places[m]]` of all tables laid end to end in node order.
    """

    child: int
    places: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int


def _placed(family: Family, offset: int, place: dict[int, int], n_states: Sequence[int]) -> PlacedFamily:
    steps = dict(zip(family.nodes, strides(family.nodes, n_states), strict=True))
    members = sorted(family.nodes, key=place.__getitem__)
    return PlacedFamily(place[family.child], tuple(place[m] for m in members), tuple(steps[m] for m in members), offset)


def relevant_nodes(dag: Dag, nodes: Collection[int]) -> set[int]:
    """The nodes and their ancestors: all others sum to one whatever the state of these (they are barren)."""
    relevant: set[int] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in relevant:
            relevant.add(node)
            waiting.extend(dag.parents[node])
    return relevant


def moral_graph(dag: Dag, relevant: Collection[int], known: Collection[int], joined: Collection[int]) -> Graph:
    """The relevant nodes without the known ones; those of a family are neighbours, and so are the `joined` ones.

    Taking the known nodes out makes separation in this graph the same as d-separation given them.
    """
    graph: Graph = {node: set() for node in relevant if node not in known}
    for members in (*((*dag.parents[node], node) for node in relevant), joined):
        left = [node for node in members if node in graph]
        for node in left:
            graph[node].update(left)
    for node, neighbours in graph.items():
        neighbours.discard(node)
    return graph


def order_by_cliques(graph: Graph, n_states: Sequence[int], last: Sequence[int]) -> tuple[list[int], list[Clique]]:
    """Nodes in the order to sum them out, `last` at the end, and the clique each of them is summed out of.

    The cliques are those of the min-fill triangulation, joined into a junction tree, which is then rooted where all
    of `last` (neighbours of each other) are, so that keeping them to the end makes no clique larger. Cliques are
    emptied from the leaves to the root: what a node leaves behind when it is summed out fits into a later clique.
    """
    cliques = min_fill_cliques(graph, n_states)
    root = next((node for node in cliques if node in last), None)
    order: list[int] = []
    emptied: list[Clique] = []
    done: set[int] = set()

    def sum_out(clique: Clique, nodes: Sequence[int]) -> None:
        for node in nodes:
            order.append(node)
            emptied.append(clique - done)
            done.add(node)

    for place, parent in reversed(_from_the_root(cliques, root)):
        kept = frozenset(last) if parent is None else cliques[parent]
        sum_out(cliques[place], sorted(cliques[place] - kept))
    sum_out(frozenset(last), last)
    return order, emptied


def min_fill_cliques(graph: Graph, n_states: Sequence[int]) -> dict[int, Clique]:
    """Node by node of the min-fill order: the node and its neighbours when it is eliminated.

    The next node is the one that needs the fewest new edges between its neighbours; of those the one with the
    smallest table, then the lowest number.
    """
    left = {node: set(neighbours) for node, neighbours in graph.items()}
    cost = {node: _cost(node, left, n_states) for node in left}
    cliques: dict[int, Clique] = {}
    while left:
        node = min(cost, key=cost.__getitem__)
        neighbours = left.pop(node)
        fills = cost.pop(node)[0] > 0
        cliques[node] = frozenset((node, *neighbours))
        changed = set(neighbours)
        for neighbour in neighbours:
            left[neighbour] |= neighbours
            left[neighbour] -= {node, neighbour}
            if fills:
                changed |= left[neighbour]
        for other in changed:
            cost[other] = _cost(other, left, n_states)
    return cliques


def _cost(node: int, graph: Graph, n_states: Sequence[int]) -> tuple[int, float, int]:
    """New edges, log of the cells, number."""
    neighbours = graph[node]
    absent = sum(len(neighbours) - 1 - len(neighbours & graph[neighbour]) for neighbour in neighbours)
    return absent // 2, fsum(log(n_states[member]) for member in (node, *neighbours)), node


def _from_the_root(cliques: dict[int, Clique], root: int | None) -> list[tuple[int, int | None]]:
    """Cliques, named by the node they were made for, each after its parent in the junction tree: (clique, parent).

    A clique is joined to that of the first of its other nodes to be eliminated, which holds all of them; so the tree
    has the running intersection property. Parts that do not hang together come one after another, `root` first.
    """
    place = {node: k for k, node in enumerate(cliques)}
    joined: Graph = {node: set() for node in cliques}
    for node, clique in cliques.items():
        others = clique - {node}
        if others:
            nearest = min(others, key=place.__getitem__)
            joined[node].add(nearest)
            joined[nearest].add(node)
    placed: list[tuple[int, int | None]] = []
    seen: set[int] = set()
    for start in ([] if root is None else [root]) + list(reversed(cliques)):
        waiting: list[tuple[int, int | None]] = [] if start in seen else [(start, None)]
        while waiting:
            node, parent = waiting.pop()
            seen.add(node)
            placed.append((node, parent))
            waiting.extend((other, node) for other in sorted(joined[node]) if other != parent)
    return placed
