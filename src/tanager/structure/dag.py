"""Dag: who the parents of each node are. A frozen value; learners make them, networks hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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


def canonical_form(dag: Dag, target: int) -> Dag:
    """The Markov blanket of `target` with its parents fully connected (definition 1); same P(target | the rest).

    Nodes keep their numbers; those outside the blanket lose their edges. Added edges follow the order of `dag`.
    """
    children = [node for node, parents in enumerate(dag.parents) if target in parents]
    kept = {target, *dag.parents[target], *children}.union(*(dag.parents[child] for child in children))
    parents = [kept.intersection(own) if node in kept else set[int]() for node, own in enumerate(dag.parents)]
    earlier: set[int] = set()
    for node in dag.order:
        if node in dag.parents[target]:
            parents[node] |= earlier
            earlier.add(node)
    return Dag(tuple(tuple(own) for own in parents))


def is_perfect(dag: Dag) -> bool:
    """Whether every two parents of a common child are joined (definition 2).

    It is enough that the last parent of each node, in topological order, has all the others as parents: the pairs
    among those are then judged as parents of that last one.
    """
    position = {node: place for place, node in enumerate(dag.order)}
    for parents in dag.parents:
        if parents:
            last = max(parents, key=position.__getitem__)
            if not set(parents) - {last} <= set(dag.parents[last]):
                return False
    return True


def is_perfect_for(dag: Dag, target: int) -> bool:
    """Whether the canonical form is perfect: then any P(target | the rest) of unnormalised tables has CPTs too.

    The conditional log likelihood has no local maxima then (theorem 3). Naive Bayes, TAN and networks whose class
    has no children pass.
    """
    return is_perfect(canonical_form(dag, target))


def requisite_nodes(dag: Dag, query: Collection[int], observed: Collection[int]) -> set[int]:
    """Nodes whose tables P(query | observed) depends on, whatever the numbers in them ("Bayes ball", Shachter 1998).

    A ball starts at the query as if it came from a child. From a child it passes an unobserved node to its parents
    and children; from a parent it passes an unobserved node to the children, and bounces off an observed one to the
    parents. The tables needed are those of the nodes from which it went to the parents.
    """
    children: list[list[int]] = [[] for _ in dag.parents]
    for parent, child in dag.edges:
        children[parent].append(child)
    given = set(observed).difference(query)
    sent_up: set[int] = set()
    sent_down: set[int] = set()
    balls = [(node, True) for node in query]
    while balls:
        node, from_child = balls.pop()
        if from_child != (node in given) and node not in sent_up:
            sent_up.add(node)
            balls.extend((parent, True) for parent in dag.parents[node])
        if node not in given and node not in sent_down:
            sent_down.add(node)
            balls.extend((child, False) for child in children[node])
    return sent_up


@dataclass(frozen=True)
class PartOfDag:
    """Some families of a structure, numbered anew.

    nodes  old number of each node, ascending: the children of the families and their parents
    own    old numbers of the children; a node that is only a parent has lost its own parents
    dag    over the new numbers; since the order is kept, so is the layout of the families' tables
    """

    nodes: tuple[int, ...]
    own: frozenset[int]
    dag: Dag

    @classmethod
    def of(cls, dag: Dag, families: Collection[int]) -> PartOfDag:
        """The families of these nodes."""
        own = set(families)
        nodes = sorted(own.union(*(dag.parents[node] for node in own)))
        number = {node: k for k, node in enumerate(nodes)}
        parents = [[number[p] for p in dag.parents[node]] if node in own else [] for node in nodes]
        return cls(tuple(nodes), frozenset(own), Dag(tuple(map(tuple, parents))))
