"""Dag: the parents of each node; Markov blankets, d-separation, canonical and perfect forms (Roos et al. 2005)."""

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

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node, ascending."""
        children: list[list[int]] = [[] for _ in self.parents]
        for parent, child in self.edges:
            children[parent].append(child)
        return tuple(map(tuple, children))

    def renumbered(self, numbers: Sequence[int]) -> Dag:
        """The same graph after node k has become node numbers[k]."""
        parents: list[tuple[int, ...]] = [()] * self.n_nodes
        for node, node_parents in enumerate(self.parents):
            parents[numbers[node]] = tuple(numbers[parent] for parent in node_parents)
        return Dag(tuple(parents))

    @property
    def families(self) -> tuple[Family, ...]:
        """The family of each node, in node order."""
        return tuple(map(Family, range(self.n_nodes), self.parents))


def markov_blanket(dag: Dag, node: int) -> set[int]:
    """The parents of a node, its children and their parents: given these it is independent of all other nodes."""
    children = dag.children[node]
    return set(dag.parents[node]).union(children, *(dag.parents[child] for child in children)) - {node}


def canonical_form(dag: Dag, target: int) -> Dag:
    """The Markov blanket of `target` with its parents fully connected (definition 1); same P(target | the rest).

    Nodes keep their numbers; those outside the blanket lose their edges. Added edges follow the order of `dag`.
    """
    kept = {target} | markov_blanket(dag, target)
    parents = [kept.intersection(dag.parents[node]) if node in kept else set() for node in range(dag.n_nodes)]
    earlier: set[int] = set()
    for node in dag.order:
        if node in dag.parents[target]:
            parents[node] |= earlier
            earlier.add(node)
    return Dag(tuple(map(tuple, parents)))


def is_perfect(dag: Dag) -> bool:
    """Whether every two parents of a common child are joined (definition 2).

    It is enough that the last parent of each node, in topological order, has all the others as parents: the pairs
    among those are then judged as parents of that last one.
    """
    place = {node: number for number, node in enumerate(dag.order)}
    lasts = [max(parents, key=place.__getitem__) if parents else None for parents in dag.parents]
    return all(
        last is None or set(parents) <= {last, *dag.parents[last]}
        for parents, last in zip(dag.parents, lasts, strict=True)
    )


def is_perfect_for(dag: Dag, target: int) -> bool:
    """Whether the canonical form is perfect: then any P(target | the rest) of unnormalised tables has CPTs too.

    The conditional log likelihood has no local maxima then (theorem 3). Naive Bayes, TAN and networks whose class
    has no children pass.
    """
    return is_perfect(canonical_form(dag, target))


def perfect_form(dag: Dag, target: int | None = None) -> Dag:
    """The structure with arrows added until it is perfect; then the conditional log likelihood has no local maxima.

    From the last node to the first, in topological order, the last parent of the node gets the other parents as its
    parents. The pairs among those are joined when that parent's turn comes. With a `target`, only arrows that its
    canonical form lacks are added, and its own parents stay as they are, since that form joins them. As the arrows may
    enlarge the form, this is repeated until it is perfect.
    """
    form = dag if target is None else canonical_form(dag, target)
    place = {node: number for number, node in enumerate(dag.order)}
    parents = list(map(set, form.parents))
    for node in reversed(dag.order):
        if len(parents[node]) > 1 and node != target:
            last = max(parents[node], key=place.__getitem__)
            parents[last] |= parents[node] - {last}
    lacking = [joined.difference(before) for joined, before in zip(parents, form.parents, strict=True)]
    larger = Dag(tuple((*before, *more) for before, more in zip(dag.parents, lacking, strict=True)))
    return larger if target is None or larger == dag else perfect_form(larger, target)


def requisite_nodes(dag: Dag, query: Collection[int], observed: Collection[int]) -> set[int]:
    """Nodes whose tables P(query | observed) depends on, whatever the numbers in them (Shachter 1998)."""
    return _bayes_ball(dag, query, observed)[0]


def are_separated(dag: Dag, nodes: Collection[int], others: Collection[int], observed: Collection[int]) -> bool:
    """Whether the observed nodes d-separate two sets: then the sets are independent given them, in any tables."""
    return not _bayes_ball(dag, nodes, observed)[1].intersection(others)


def _bayes_ball(dag: Dag, query: Collection[int], observed: Collection[int]) -> tuple[set[int], set[int]]:
    """Nodes that pass a ball to their parents, and nodes that pass it to their children ("Bayes ball", Shachter 1998).

    A ball starts at the query as if it came from a child. From a child it passes an unobserved node to its parents
    and children; from a parent it passes an unobserved node to the children, and bounces off an observed one to the
    parents. P(query | observed) needs the tables of the first set; all unobserved nodes outside the second are
    irrelevant to the query.
    """
    children, known = dag.children, set(observed).difference(query)
    sent_up: set[int] = set()
    sent_down: set[int] = set()
    balls = [(node, True) for node in query]
    while balls:
        node, from_child = balls.pop()
        if from_child != (node in known) and node not in sent_up:
            sent_up.add(node)
            balls.extend((parent, True) for parent in dag.parents[node])
        if node not in known and node not in sent_down:
            sent_down.add(node)
            balls.extend((child, False) for child in children[node])
    return sent_up, sent_down


@dataclass(frozen=True)
class PartOfDag:
    """Some families of a structure, numbered anew.

    nodes     old number of each node, ascending: the children of the families and their parents
    children  old numbers of the children; a node that is only a parent has lost its parents
    dag       over the new numbers; since the order is kept, so is the layout of the families' tables
    """

    nodes: tuple[int, ...]
    children: frozenset[int]
    dag: Dag

    @classmethod
    def of(cls, dag: Dag, children: Collection[int]) -> PartOfDag:
        """The families of these nodes."""
        children = frozenset(children)
        nodes = sorted(children.union(*(dag.parents[child] for child in children)))
        number = {node: k for k, node in enumerate(nodes)}
        parents = [tuple(number[p] for p in dag.parents[node]) if node in children else () for node in nodes]
        return cls(tuple(nodes), children, Dag(tuple(parents)))


def _ascending(parents: Iterable[int]) -> tuple[int, ...]:
    numbers = tuple(parents)
    if len(numbers) < 2 or (len(numbers) == 2 and numbers[0] < numbers[1]):  # nearly all nodes of a large structure
        return numbers
    return tuple(sorted(set(numbers)))


def _topological_order(parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Parents before children, lowest number first where there is a choice (Kahn 1962); an error names a cycle.

    The parents of each node are ascending.
    """
    n_nodes = len(parents)
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for child, node_parents in enumerate(parents):
        if node_parents and not (node_parents[0] >= 0 and node_parents[-1] < n_nodes):
            stranger = node_parents[0] if node_parents[0] < 0 else node_parents[-1]
            raise OptionError(f"a structure over {n_nodes} nodes names parent {stranger}, which is not one of them.")
        for parent in node_parents:
            children[parent].append(child)
    waits_for = list(map(len, parents))
    ready = [node for node in range(n_nodes) if waits_for[node] == 0]
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for child in children[node]:
            waits_for[child] -= 1
            if waits_for[child] == 0:
                heappush(ready, child)
    if len(order) < n_nodes:
        stuck = [str(node) for node in sorted(set(range(n_nodes)).difference(order))]
        raise OptionError(f"the structure has a cycle among the nodes {', '.join(stuck[:10])}.")
    return tuple(order)
