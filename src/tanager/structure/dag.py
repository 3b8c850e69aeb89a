"""Dag: who the parents of each node are. A frozen value; learners make them, networks hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tanager.counts.family import Family
from tanager.errors import OptionError


@dataclass(frozen=True)
class Dag:
    """A directed acyclic graph over nodes 0 .. n_nodes-1; `parents[node]` ascending.

    In a classifier's structure the attributes come first and the class is the last node.
    """

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(map(_ascending, self.parents)))
        object.__setattr__(self, "order", _topological_order(self.parents))

    @classmethod
    def augmented_naive_bayes(cls, attribute_parents: Sequence[Iterable[int]]) -> Dag:
        """The class is a parent of every attribute and has none itself; attributes may be parents of each other."""
        target = len(attribute_parents)
        return cls((*((*parents, target) for parents in attribute_parents), ()))

    @classmethod
    def of_pairs(cls, n_attributes: int, pairs: Iterable[tuple[int, int]]) -> Dag:
        """Such a graph in which the first attribute of each pair is a parent of the second."""
        parents: list[list[int]] = [[] for _ in range(n_attributes)]
        for parent, child in pairs:
            parents[child].append(parent)
        return cls.augmented_naive_bayes(parents)

    @property
    def n_nodes(self) -> int:
        return len(self.parents)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(parent, child) pairs, by child."""
        return tuple((parent, child) for child, parents in enumerate(self.parents) for parent in parents)

    def renumbered(self, numbers: Sequence[int]) -> Dag:
        """The same graph after node k has become node numbers[k]."""
        parents: list[tuple[int, ...]] = [()] * self.n_nodes
        for node, own in enumerate(self.parents):
            parents[numbers[node]] = tuple(numbers[parent] for parent in own)
        return Dag(tuple(parents))

    @property
    def families(self) -> tuple[Family, ...]:
        """The family of each node, in node order."""
        return tuple(map(Family, range(self.n_nodes), self.parents))


def _ascending(parents: Iterable[int]) -> tuple[int, ...]:
    own = tuple(parents)
    if len(own) < 2 or (len(own) == 2 and own[0] < own[1]):  # nearly all nodes of a large structure
        return own
    return tuple(sorted(set(own)))


def _topological_order(parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Parents before children, lowest number first where there is a choice (Kahn 1962); an error names a cycle.

    The parents of each node are ascending.
    """
    n_nodes = len(parents)
    for own in parents:
        if own and not (own[0] >= 0 and own[-1] < n_nodes):
            stranger = own[0] if own[0] < 0 else own[-1]
            raise OptionError(f"a structure over {n_nodes} nodes names parent {stranger}, which is not one of them.")
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for child, own in enumerate(parents):
        for parent in own:
            children[parent].append(child)
    waits_for = list(map(len, parents))
    ready = [node for node in range(n_nodes) if waits_for[node] == 0]
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            if waits_for[child] == 1:
                heappush(ready, child)
            else:
                waits_for[child] -= 1
    if len(order) < n_nodes:
        stuck = [str(node) for node in sorted(set(range(n_nodes)).difference(order))]
        raise OptionError(f"the structure has a cycle among the nodes {', '.join(stuck[:10])}.")
    return tuple(order)
