"""What inference needs to know of a structure: the order of summing nodes out, and where the tables lie."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from tanager.counts.family import Family, strides
from tanager.network.inference.triangulate import moral_graph, order_by_cliques, relevant_nodes
from tanager.structure.dag import Dag


@dataclass(frozen=True)
class PlacedFamily:
    """A family by places: its members ascending, and how far apart their states are in the flat table.

    The cell of codes x is `offset + sum_m steps[m] * x[places[m]]` of all tables laid end to end in node order.
    """

    child: int
    places: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int


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


def _placed(family: Family, offset: int, place: dict[int, int], n_states: Sequence[int]) -> PlacedFamily:
    steps = dict(zip(family.nodes, strides(family.nodes, n_states), strict=True))
    members = sorted(family.nodes, key=place.__getitem__)
    return PlacedFamily(place[family.child], tuple(place[m] for m in members), tuple(steps[m] for m in members), offset)
